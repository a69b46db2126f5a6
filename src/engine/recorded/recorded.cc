#include "engine/recorded/recorded.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/admission/admission.h"
#include "engine/decision/release_pod.h"
#include "engine/node/node_tables.h"

namespace berth::engine {
namespace {

Placement& PlacementOf(PodRecord& pod, const std::string& container) {
  for (Placement& placement : pod.placements)
    if (placement.container == container) return placement;
  Placement& added = pod.placements.emplace_back();
  added.container = container;
  return added;
}

void Forget(const Node& node, Ledger& ledger, std::string_view uid) {
  if (const auto known = ledger.pods.find(uid); known != ledger.pods.end())
    Apply(ledger, ReleasePod(node, ledger, known->second, DecisionLog(), Missing::kLose));
}

}  // namespace

RecordedNode::RecordedNode(Node node, Inputs inputs, Reserved reserved)
    : node_(std::move(node)),
      inputs_(std::move(inputs)),
      ledger_(node_.EmptyLedger()),
      state_(std::make_unique<RecorderState>()) {
  state_->loose_reserved = reserved == Reserved::kAsRecorded;
}
RecordedNode::~RecordedNode() = default;
RecordedNode::RecordedNode(RecordedNode&&) noexcept = default;
RecordedNode& RecordedNode::operator=(RecordedNode&&) noexcept = default;

/// The books as they are once every manager has swept away what pods left that were not admitted.
Ledger RecordedNode::Swept() const {
  Ledger out = ledger_;
  for (const std::string& uid : rejected_) Forget(node_, out, uid);
  return out;
}

/// Puts back what a manager that was not asked has not swept. It was not asked, so its part of the books has not
/// changed.
void RecordedNode::KeepUnswept(const Ledger& before) {
  if (!state_->memory_swept) ledger_.memory = before.memory;
  for (const std::string& uid : rejected_) {
    const auto known = before.pods.find(uid);
    if (known == before.pods.end()) continue;
    PodRecord left = known->second;
    for (Placement& placement : left.placements) {
      if (state_->cpus_swept) placement.cpus.reset();
      if (state_->memory_swept) placement.memory.reset();
      if (placement.cpus) ledger_.shared -= *placement.cpus;
    }
    std::erase_if(left.placements, [](const Placement& p) { return !p.cpus && !p.memory; });
    if (!left.placements.empty()) ledger_.pods.insert_or_assign(uid, std::move(left));
  }
  std::erase_if(rejected_, [&](const std::string& uid) { return !ledger_.pods.contains(uid); });
}

void RecordedNode::WriteDeviceCheckpoint(const Pod& pod, const Placement& placement) {
  device_checkpoint_.clear();
  for (const auto& [uid, record] : ledger_.pods)
    for (const Placement& held : record.placements)
      if (!held.devices.empty()) device_checkpoint_[uid][held.container] = held.devices;
  device_checkpoint_[pod.uid][placement.container] = placement.devices;
}

RecordedNode::Step RecordedNode::Add(const Pod& pod, Trace* trace, const DeviceWishes* wishes) {
  const Ledger before = std::exchange(ledger_, Swept());
  state_->wishes = wishes;
  Admission admission(node_, ledger_, pod, inputs_, DecisionLog(trace), state_.get());
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
    for (Placement& placement : delta.put->placements) {
      state_->stale_devices = state_->stale_devices || !placement.devices.empty();
      placement.devices.clear();
    }
  }
  std::erase_if(delta.put->placements, [](const Placement& p) { return !p.cpus && !p.memory && p.devices.empty(); });
  Apply(ledger_, delta);
  KeepUnswept(before);
  if (reject) rejected_.insert(pod.uid);
  return out;
}

void RecordedNode::Remove(std::string_view uid) {
  ledger_ = Swept();
  rejected_.clear();
  if (const auto known = ledger_.pods.find(uid); known != ledger_.pods.end())
    for (const Placement& placement : known->second.placements)
      state_->stale_devices = state_->stale_devices || !placement.devices.empty();
  Forget(node_, ledger_, uid);
}

void RecordedNode::Restart(bool cpus_swept) {
  const Ledger before = std::exchange(ledger_, Swept());
  state_->cpus_swept = cpus_swept;
  state_->memory_swept = false;
  KeepUnswept(before);
  state_->leaked.clear();
  state_->stale_devices = true;
  for (const std::string& uid : rejected_) device_checkpoint_.erase(uid);
  for (auto& [uid, pod] : ledger_.pods) {
    pod.reusable = Reusable();
    for (Placement& placement : pod.placements) placement.devices.clear();
    const auto known = device_checkpoint_.find(uid);
    if (known == device_checkpoint_.end()) continue;
    for (const auto& [container, devices] : known->second) PlacementOf(pod, container).devices = devices;
  }
}

}  // namespace berth::engine
