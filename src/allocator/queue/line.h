// Pods in line for room: their order, and whom an admission or a resize may not pass. docs/rules/queue.md.
#ifndef BERTH_ALLOCATOR_QUEUE_LINE_H_
#define BERTH_ALLOCATOR_QUEUE_LINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "allocator/allocation_state/inputs.h"
#include "allocator/node/engine_node.h"
#include "model/decision.h"
#include "model/explanation.h"
#include "model/ledger.h"
#include "model/pod.h"

namespace berth::allocator {

/// A node as it is when the line is asked.
struct NodeNow {
  const Node& node;
  const Ledger& ledger;
  const Inputs& inputs;
};

/// Sorts the queue: the least first. `arrival`: the earlier, the lower.
inline std::pair<std::int64_t, std::uint64_t> OrderInLine(const Pod& pod, std::uint64_t arrival) {
  return {-std::int64_t{PriorityOf(pod)}, arrival};
}

/// Pods that do not fit now. By default nobody waits, and nobody goes for another.
struct QueueRules {
  int most_waiting = 0;               ///< pods that may wait for room; 0: who does not fit is rejected
  int overtakes = 0;                  ///< pods admitted past the first one before its claim holds
  bool preempt_for_critical = false;  ///< others are evicted for a critical pod that does not fit
};

/// The first one of the queue may be overtaken by so many pods. From then on it has a claim on what the pods give back
/// that run at that moment: nobody of its priority or a lower one is admitted who, without these, would not leave it
/// room. So it has its place at the latest when all of them are gone, whoever is admitted meanwhile. What it fits into
/// already is never taken from it. What others gave up for a critical pod is kept for that one.
///
/// A value; who holds it tells it what happens.
class Line {
 public:
  /// The pod of a uid as long as it waits; nullptr: it does no longer.
  using Find = std::function<const Pod*(const std::string& uid)>;

  explicit Line(int overtakes) : overtakes_(overtakes) {}

  /// "namespace/name" of the pod that stands before an admission or resize of `pod`; "": none does.
  std::string WhoComesFirst(const NodeNow& now, const Pod& pod, const LedgerDelta& change, const Find& find) const;
  /// A pod that was not there has its place in `ledger` now: it has overtaken the first one, unless it is that.
  void Overtakes(const std::string& uid, const Ledger& ledger);
  /// The queue's first pod is this one ("": it is empty). True: it was another one, and who had to stay behind that may
  /// be decided again.
  bool Leads(const std::string& uid, const Ledger& ledger);

  /// What these pods give back is for `critical`, and who would take it is not admitted.
  void Reserve(const std::string& critical, const Removal& victims);
  /// Forgets what is kept for pods that `find` does not know any more. True: there was some.
  bool EndReservations(const Find& find);

 private:
  void ClaimIfDue(const Ledger& ledger);

  int overtakes_;
  std::string first_;  // uid of the queue's first pod; "": it is empty
  int overtaken_ = 0;  // pods admitted since it is the first
  bool claims_ = false;
  std::set<std::string> before_;                           // uids that were in the ledger when the claim began
  std::map<std::string, std::set<std::string>> reserved_;  // by uid of a critical pod: its victims
};

inline constexpr std::string_view kOthersComeFirst = "OthersComeFirst";
/// The answer to a pod that would be admitted, but for `first` (Line::WhoComesFirst).
Reject OthersComeFirst(const std::string& first);
/// Whether a resize asks for more of anything. One that only gives back stands in nobody's way.
bool AsksForMore(const PodRecord& before, const PodRecord& after);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_QUEUE_LINE_H_
