#include "engine/recorded.h"

#include <algorithm>
#include <utility>

#include "engine/admission.h"
#include "engine/release.h"
#include "engine/tables.h"

namespace berth::engine {
namespace {

Placement& PlacementOf(PodRecord& pod, const std::string& container) {
  for (Placement& placement : pod.placements)
    if (placement.container == container) return placement;
  Placement& added = pod.placements.emplace_back();
  added.container = container;
  return added;
}

}  // namespace

RecordedNode::RecordedNode(Node node, Inputs inputs)
    : node_(std::move(node)), inputs_(std::move(inputs)), ledger_(node_.EmptyLedger()) {}

void RecordedNode::Sweep() {
  if (rejected_.empty()) return;
  if (const auto known = ledger_.pods.find(rejected_); known != ledger_.pods.end())
    Apply(ledger_, ReleasePod(node_, ledger_, known->second, Log()));
  rejected_.clear();
}

void RecordedNode::WriteDeviceCheckpoint(const Pod& pod, const Placement& placement) {
  device_checkpoint_.clear();
  for (const auto& [uid, record] : ledger_.pods)
    for (const Placement& held : record.placements)
      if (!held.devices.empty()) device_checkpoint_[uid][held.container] = held.devices;
  device_checkpoint_[pod.uid][placement.container] = placement.devices;
}

RecordedNode::Step RecordedNode::Add(const Pod& pod, Trace* trace) {
  Sweep();
  Admission admission(node_, ledger_, pod, inputs_, Log(trace), Habits::kRecorder);
  std::optional<Reject> reject = admission.Run();
  if (const auto& given = admission.last_with_devices()) WriteDeviceCheckpoint(pod, *given);
  LedgerDelta delta = admission.Delta();
  Step out;
  if (!reject && node_.tables().settings.topology_policy != TopologyPolicy::kNone)
    for (const Placement& placement : delta.put->placements) out.hints.emplace(placement.container, *placement.hint);
  if (reject) {
    out.admit = false;
    out.reason = std::move(reject->reason);
    out.message = std::move(reject->message);
    rejected_ = pod.uid;
    for (Placement& placement : delta.put->placements) placement.devices.clear();
  }
  std::erase_if(delta.put->placements,
                [](const Placement& p) { return !p.cpus && !p.memory && p.devices.empty(); });
  Apply(ledger_, delta);
  return out;
}

void RecordedNode::Remove(std::string_view uid) {
  Sweep();
  Apply(ledger_, Release(node_, ledger_, uid, nullptr));
}

void RecordedNode::Restart() {
  for (auto& [uid, pod] : ledger_.pods) {
    pod.reusable = Reusable();
    for (Placement& placement : pod.placements) placement.devices.clear();
    const auto known = device_checkpoint_.find(uid);
    if (known == device_checkpoint_.end() || uid == rejected_) continue;
    for (const auto& [container, devices] : known->second) PlacementOf(pod, container).devices = devices;
  }
}

}  // namespace berth::engine
