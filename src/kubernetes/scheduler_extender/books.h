// Scheduler extender state: the nodes' published states, and bound or assumed pods that these do not show yet.
// docs/design/extender.md.
//
// Pure: no I/O, clock or threads; time arrives as a value.
#ifndef BERTH_KUBERNETES_SCHEDULER_EXTENDER_BOOKS_H_
#define BERTH_KUBERNETES_SCHEDULER_EXTENDER_BOOKS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "kubernetes/scheduler_extender/extender_messages.h"
#include "model/node_state.h"
#include "model/pod.h"
#include "simulator/cluster/fleet.h"

namespace berth::scheduler_extender {

using Instant = std::chrono::steady_clock::time_point;

struct BooksOptions {
  /// A pod that was told nodes counts on so many of those that passed, the ones it is likeliest sent to.
  std::size_t most_likely = 16;
  /// For how long that is so when nothing is heard of it; then it counts on the likeliest one alone.
  std::chrono::milliseconds settle{2'000};
  /// When it no longer counts at all.
  std::chrono::milliseconds hold{30'000};
  /// Pods of which nothing is heard at a time.
  std::size_t most_undecided = 4096;
  /// Nodes that publish nothing pass: they are not Berth's.
  bool pass_unknown = true;
};

struct Filtered {
  std::vector<std::size_t> passed;  ///< positions, ascending
  std::vector<Refusal> refused;     ///< in the order of the nodes
  /// Nothing passed, and one that was refused would take the pod but for pods that may turn out to be elsewhere: ask
  /// again soon.
  bool may_change = false;
};

struct BooksFigures {
  std::size_t nodes = 0;        ///< with a state
  std::size_t unusable = 0;     ///< with a state that cannot be used
  std::size_t undecided = 0;    ///< pods that were told nodes, and of which nothing is heard
  std::size_t awaited = 0;      ///< pods with a node whose state does not show them yet
  std::uint64_t decisions = 0;  ///< of the engine, since the start
};

/// Not safe to be used by several threads at one time.
class Books {
 public:
  explicit Books(BooksOptions options = {}, cluster::RunAll run_all = {});
  ~Books();
  Books(const Books&) = delete;
  Books& operator=(const Books&) = delete;

  /// A node's state as it published it last. One that makes no engine is as with SpoilNode, and an error.
  Result<void> SetNode(NodeState state);
  /// What a node published cannot be read: nothing passes there until it can.
  void SpoilNode(std::string_view name, std::string why);
  void DropNode(std::string_view name);

  /// A pod as the API server has it. `nominated`: its status.nominatedNodeName, the node that the scheduler keeps free
  /// for it; "": none.
  void SetPod(const Pod& pod, std::string_view nominated = {});
  void DropPod(std::string_view namespace_, std::string_view name);

  /// Which of the nodes would take the pod, as their engines would decide with everything that is counted there. It
  /// then counts on the likeliest ones that passed, until SetPod or a node's state tells where it is, DropPod that it
  /// is no more, or the time is up; a new call counts instead of the one before. Requires: no node twice; `now` does
  /// not go back. Errors: kOverloaded when too many pods are undecided.
  Result<Filtered> Filter(const Pod& pod, std::span<const Candidate> nodes, Instant now);
  /// 0 to kBestHostScore for each of the nodes; 0 where the pod does not pass, and where nothing is known. After Filter
  /// nodes where the pod counts are above their equals.
  std::vector<int> Prioritize(const Pod& pod, std::span<const Candidate> nodes);
  /// What the time brings, for `most` pods: they settle, or are forgotten, and the nodes concerned are decided anew.
  /// Filter does so for a few. Returns whether there may be more.
  bool Expire(Instant now, std::size_t most = std::numeric_limits<std::size_t>::max());

  BooksFigures figures() const;

 private:
  struct Claim;
  struct Station;
  /// A pod as the API server told of it.
  struct Seen {
    std::string uid;        ///< on its node
    std::string nominated;  ///< as SetPod
    bool shown = false;     ///< by its node's state, at least once
  };
  /// Something happens to a claim, if it is still the one of that number.
  struct Due {
    Instant at;
    std::uint64_t number = 0;
    std::string uid;
  };
  /// The nodes of a call that have a state.
  struct Asked {
    std::vector<std::size_t> positions;
    std::vector<Station*> stations;
    std::vector<cluster::NodeIndex> nodes;
  };

  Station& StationOf(std::string_view name);
  Station* FindStation(std::string_view name) const;
  void Tidy(Station& station);
  void ForgetState(Station& station);
  void BookPending(Station& station);
  bool Shows(const Station& station, std::string_view uid) const;
  void Discount(const Claim& claim, Station& station);

  Claim* FindClaim(std::string_view uid) const;
  Claim& NewClaim(const Pod& pod, std::string uid);
  void DropClaim(const std::string& uid);
  void Send(Claim& claim, Station& station, bool bound);
  void KeepReserved(const Pod& pod);
  void Settle(Claim& claim);
  Claim* NextDue(std::deque<Due>& queue, bool settled, Instant now);
  void MarkShown(const Claim& claim);

  Asked Ask(std::span<const Candidate> nodes);
  void Refuse(const Candidate& node, std::size_t position, Filtered& out) const;
  bool WouldFit(const Pod& pod, const Station& station) const;
  void Hold(const Pod& pod, const std::string& uid, const Asked& asked, const cluster::Verdicts& verdicts, Instant now);

  BooksOptions options_;
  cluster::Fleet fleet_;
  std::unordered_map<std::string, std::unique_ptr<Station>> stations_;
  std::unordered_map<std::string, std::unique_ptr<Claim>> claims_;  // by uid
  std::unordered_map<std::string, Seen> seen_;                      // by "namespace/name"
  std::deque<Due> settling_;                                        // by time, as the next
  std::deque<Due> leaving_;
  std::uint64_t asked_ = 0;
  std::size_t undecided_ = 0;
  std::size_t unusable_ = 0;
};

}  // namespace berth::scheduler_extender

#endif  // BERTH_KUBERNETES_SCHEDULER_EXTENDER_BOOKS_H_
