#include "allocator/queue/queue_decisions.h"

#include <algorithm>
#include <tuple>
#include <variant>

#include "allocator/decision/decide.h"
#include "allocator/decision/release.h"
#include "allocator/explain/attempt.h"
#include "allocator/explain/removal.h"
#include "model/node_conditions.h"

namespace berth::allocator {
namespace {

constexpr int kVictimTries = 1500;

bool Admits(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs) {
  return std::holds_alternative<Admit>(Decide(node, ledger, pod, inputs, nullptr));
}

}  // namespace

bool NeverFits(const Node& node, const Pod& pod, const Inputs& inputs) {
  return !Admits(node, node.EmptyLedger(), pod, inputs);
}

bool LeavesRoom(const Node& node, const Ledger& after, const std::set<std::string>& gone, const Pod& first,
                const Inputs& inputs) {
  Ledger left = after;
  for (const std::string& uid : gone)
    if (left.pods.contains(uid)) Apply(left, Release(node, left, uid, nullptr));
  return Admits(node, left, first, inputs);
}

std::optional<Removal> WhoHasToGo(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs,
                                  const std::vector<Candidate>& candidates) {
  struct Ranked {
    std::int32_t priority;
    int qos;                 // the better, the larger
    std::uint64_t sequence;  // the later, the less it counts
    std::string uid;
  };
  std::vector<Ranked> ranked;
  for (const Candidate& candidate : candidates) {
    const auto record = ledger.pods.find(candidate.uid);
    if (record == ledger.pods.end() || candidate.priority >= kCriticalPriority) continue;
    const QosClass qos = record->second.qos;
    const int rank = qos == QosClass::kGuaranteed ? 2 : qos == QosClass::kBurstable ? 1 : 0;
    ranked.push_back({candidate.priority, rank, record->second.sequence, candidate.uid});
  }
  std::ranges::sort(ranked, [](const Ranked& a, const Ranked& b) {
    return std::tie(a.priority, a.qos, b.sequence, a.uid) < std::tie(b.priority, b.qos, a.sequence, b.uid);
  });
  std::vector<std::string> order;
  for (Ranked& r : ranked) order.push_back(std::move(r.uid));
  Attempt attempt(node, ledger, inputs);
  attempt.Allow(kVictimTries);
  if (attempt.Admits(pod)) return std::nullopt;
  return SmallestRemoval(attempt, pod, order);
}

}  // namespace berth::allocator
