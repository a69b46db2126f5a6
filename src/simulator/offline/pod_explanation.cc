#include "simulator/offline/pod_explanation.h"

#include <algorithm>
#include <utility>

#include "allocator/explain/explain.h"
#include "base/text.h"
#include "simulator/offline/version_comparison.h"

namespace berth::offline {
namespace {

/// Takes a pod of one of these names off the books. True: there was one.
bool TakeOff(const std::vector<std::string>& names, const allocator::Node& node, Ledger& ledger) {
  for (const std::string& name : names) {
    const PodRecord* const record = FindPod(ledger, name);
    if (record == nullptr) continue;
    Apply(ledger, allocator::Release(node, ledger, record->uid, nullptr));
    return true;
  }
  return false;
}

/// What the engine says, and no where somebody who waits comes first.
void TakeDecision(const allocator::NodeNow& now, const Pod& pod, const LiveNode& live, Outlook& out) {
  if (live.refused) {
    out.explanation = {.decision = *live.refused};
    return;
  }
  out.explanation = allocator::Explain(now.node, now.ledger, pod, now.inputs);
  if (const auto* const admit = std::get_if<Admit>(&out.explanation.decision)) {
    const std::string first = live.queue.line.WhoComesFirst(now, pod, admit->delta, live.find);
    if (!first.empty()) {  // whatever the version
      out.explanation.decision = allocator::OthersComeFirst(first);
      return;
    }
  }
  out.versions = OtherVersions(now, pod, out.explanation.decision);
}

/// Who gets no place, and waits for one all the same.
std::optional<Wait> WaitWithoutPlace(const allocator::NodeNow& now, const Pod& pod, const allocator::Others& others,
                                     Explanation& explanation) {
  allocator::WithoutPlace next = allocator::DecideWithoutPlace(now, pod, others);
  const Reject& reject = std::get<Reject>(explanation.decision);
  switch (next.what) {
    using enum allocator::WithoutPlace::What;
    case kRejected: break;
    case kWaitsForRoom: return Wait{"WaitingForRoom", reject.reason + ": " + reject.message};
    case kAwaitsLeaving: return Wait{"WaitingForRelease", "pod " + others.leaving + " was evicted and is ending"};
    case kOthersGo:
      explanation.removal = std::move(next.victims);
      return Wait{"WaitingForRelease", RemovalText(*explanation.removal) + " would be evicted to make room for it"};
  }
  return std::nullopt;
}

/// In the order in which berthd asks.
std::optional<Wait> WaitFor(const NodeConditions& conditions, const allocator::NodeNow& now, const Pod& pod,
                            const std::vector<std::string>& names, const LiveNode& live, Explanation& explanation) {
  if (!conditions.ledger_problem.empty()) return Wait{"LedgerNotSaved", conditions.ledger_problem};
  if (auto wait = PressureWait(conditions.memory_pressure, conditions.pid_pressure, pod)) return wait;
  if (!live.refused && live.plugin) return live.plugin;
  if (std::holds_alternative<Reject>(explanation.decision)) {
    std::vector<std::string> others = conditions.releasing;
    std::erase_if(others, [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); });
    if (!others.empty())
      return Wait{"WaitingForRelease",
                  "pods that are ending still hold their places, and it is decided on again when they are gone: " +
                      Join(others, ", ")};
    return live.refused ? std::nullopt : WaitWithoutPlace(now, pod, live.queue.others, explanation);
  }
  const auto& put = std::get<Admit>(explanation.decision).delta.put;
  if (!conditions.pool_problem.empty() && put && std::ranges::any_of(put->placements, HasCpusApart))
    return Wait{"PoolNotInForce", conditions.pool_problem};
  return std::nullopt;
}

/// Which devices it would get is not certain where a plug-in has a say in it.
std::vector<std::string> NotesOn(const Decision& decision, const std::set<std::string>& choosy) {
  std::set<std::string> asked;
  if (const auto* const admit = std::get_if<Admit>(&decision); admit != nullptr && admit->delta.put)
    for (const Placement& placement : admit->delta.put->placements)
      for (const DeviceAssignment& devices : placement.devices)
        if (choosy.contains(devices.resource)) asked.insert(devices.resource);
  std::vector<std::string> out;
  for (const std::string& resource : asked)
    out.push_back("The device plug-in of " + resource +
                  " has not been asked which devices it prefers; it may be others.");
  return out;
}

}  // namespace

std::vector<std::string> NamesOf(const std::string& full_name, const std::string& node_name) {
  std::vector<std::string> out{full_name};
  if (node_name.empty()) return out;
  const std::string suffix = "-" + node_name;
  out.push_back(full_name + suffix);
  if (full_name.ends_with(suffix)) out.push_back(full_name.substr(0, full_name.size() - suffix.size()));
  return out;
}

Outlook ExplainNow(const allocator::Node& node, Ledger ledger, const NodeConditions& conditions, Pod pod,
                   const allocator::Inputs& inputs, const std::string& node_name, const LiveNode& live) {
  const std::vector<std::string> names = NamesOf(FullName(pod), node_name);
  Outlook out;
  out.pod = FullName(pod);
  out.qos = QosOf(pod);
  out.machine = node.machine().source;
  out.was_there = TakeOff(names, node, ledger);
  if (pod.uid.empty() || ledger.pods.contains(pod.uid)) pod.uid = "explained";
  const allocator::NodeNow now{node, ledger, inputs};
  TakeDecision(now, pod, live, out);
  out.wait = WaitFor(conditions, now, pod, names, live, out.explanation);
  out.notes = NotesOn(out.explanation.decision, live.choosy);
  return out;
}

}  // namespace berth::offline
