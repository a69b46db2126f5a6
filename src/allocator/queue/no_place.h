// Pods that get no place now: rejected, kept waiting, or let in at the cost of others. docs/rules/queue.md.
#ifndef BERTH_ALLOCATOR_QUEUE_NO_PLACE_H_
#define BERTH_ALLOCATOR_QUEUE_NO_PLACE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "allocator/queue/line.h"
#include "allocator/queue/queue_decisions.h"
#include "model/explanation.h"
#include "model/pod.h"

namespace berth::allocator {

/// The other pods of a node, as far as it depends on them what becomes of one that gets no place.
struct Others {
  QueueRules rules{};
  int waiting = 0;                  ///< in the queue
  std::string leaving{};            ///< "namespace/name" of one that was evicted and still holds its place; "": none
  std::vector<Candidate> may_go{};  ///< for a critical pod
};

/// What becomes of a pod that gets no place now.
struct WithoutPlace {
  enum class What : std::uint8_t {
    kRejected,
    kAwaitsLeaving,  ///< decided again when Others::leaving is gone
    kOthersGo,       ///< `victims` are evicted for it
    kWaitsForRoom,   ///< in the queue
  };
  What what = What::kRejected;
  Removal victims{};
};

/// Who is evicted for the pod, if it is a critical one; nullopt: nobody, or that would not help.
std::optional<Removal> WhoGoesFor(const NodeNow& now, const Pod& pod, const Others& others);
/// Whether the pod may be in the queue: that has room for it, and the empty node would have.
bool MayWait(const NodeNow& now, const Pod& pod, const Others& others);
/// Both, in this order. `others`: without the pod itself.
WithoutPlace DecideWithoutPlace(const NodeNow& now, const Pod& pod, const Others& others);

/// Who waits on a node at one moment, and for what.
struct QueueNow {
  Line line{0};
  std::set<std::string> waiting{};  ///< uids: of the queue, and of those that wait for what others give back
  Others others{};
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_QUEUE_NO_PLACE_H_
