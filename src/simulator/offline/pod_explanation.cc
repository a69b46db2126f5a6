#include "simulator/offline/pod_explanation.h"

#include <algorithm>
#include <utility>

#include "allocator/explain/explain.h"
#include "base/text.h"

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

/// In the order in which berthd asks.
std::optional<Wait> WaitFor(const NodeConditions& conditions, const Pod& pod, const Decision& decision,
                            const std::vector<std::string>& names) {
  if (!conditions.ledger_problem.empty()) return Wait{"LedgerNotSaved", conditions.ledger_problem};
  if (auto wait = PressureWait(conditions.memory_pressure, conditions.pid_pressure, pod)) return wait;
  if (std::holds_alternative<Reject>(decision)) {
    std::vector<std::string> others = conditions.releasing;
    std::erase_if(others, [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); });
    if (others.empty()) return std::nullopt;
    return Wait{"WaitingForRelease",
                "pods that are ending still hold their places, and it is decided on again when they are gone: " +
                    Join(others, ", ")};
  }
  const auto& put = std::get<Admit>(decision).delta.put;
  if (!conditions.pool_problem.empty() && put && std::ranges::any_of(put->placements, HasCpusApart))
    return Wait{"PoolNotInForce", conditions.pool_problem};
  return std::nullopt;
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
                   const allocator::Inputs& inputs, const std::string& node_name,
                   const std::vector<allocator::Candidate>* may_go) {
  const std::vector<std::string> names = NamesOf(FullName(pod), node_name);
  Outlook out;
  out.pod = FullName(pod);
  out.qos = QosOf(pod);
  out.machine = node.machine().source;
  out.was_there = TakeOff(names, node, ledger);
  if (pod.uid.empty() || ledger.pods.contains(pod.uid)) pod.uid = "explained";
  out.explanation = allocator::Explain(node, ledger, pod, inputs);
  if (may_go != nullptr && IsCritical(pod) && std::holds_alternative<Reject>(out.explanation.decision))
    if (auto victims = allocator::WhoHasToGo(node, ledger, pod, inputs, *may_go))
      out.explanation.removal = std::move(victims);
  out.wait = WaitFor(conditions, pod, out.explanation.decision, names);
  return out;
}

}  // namespace berth::offline
