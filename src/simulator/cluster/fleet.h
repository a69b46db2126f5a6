// Many nodes, decided with a node's own engine: which of them admit a pod, and which fits best. docs/design/fleet.md.
//
// Pure: no I/O, clock or threads; the same calls give the same answers.
#ifndef BERTH_SIMULATOR_CLUSTER_FLEET_H_
#define BERTH_SIMULATOR_CLUSTER_FLEET_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/ledger.h"
#include "model/pod.h"
#include "simulator/cluster/allocation_state.h"
#include "simulator/cluster/decision_cache.h"
#include "simulator/cluster/kind.h"
#include "simulator/cluster/node_score.h"

namespace berth::cluster {

/// A node's number: its own as long as it is there, then another's.
using NodeIndex = std::uint32_t;

/// What a node says to a pod.
struct Verdict {
  NodeIndex node = 0;
  Why why = Why::kDecided;
  bool admitted = false;
  std::uint16_t asked = 0;         ///< kRequested: position in Shape::asked
  const Answer* answer = nullptr;  ///< kDecided
};

/// Of one pod, by ascending number of the node. Valid until the fleet is changed or asked again.
struct Verdicts {
  const Shape* shape = nullptr;
  std::vector<Verdict> nodes;
};

/// What a scheduler that knows no more than sums would go on with.
struct FittingInSum {
  Verdicts verdicts;          ///< admitted, all of them; in the order in which they were looked at
  std::size_t looked_at = 0;  ///< numbers
};

/// What a node has and what of it is requested or free.
struct NodeFigures {
  std::int64_t cpu_milli = 0;  ///< allocatable
  std::int64_t cpu_milli_requested = 0;
  std::int64_t memory = 0;
  std::int64_t memory_requested = 0;
  std::size_t pods = 0;
};

/// Does work(0) to work(count - 1), in any order or at the same time, and returns when all are done.
using RunAll = std::function<void(std::size_t count, const std::function<void(std::size_t)>& work)>;

/// Not safe to be used by several threads at one time. What it works out at one time on others is in `run_all`'s hands.
class Fleet {
 public:
  /// run_all: for decisions, which are pure; {}: one after the other.
  explicit Fleet(RunAll run_all = {}) : run_all_(std::move(run_all)) {}
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  /// A node and its books, instead of what was known of it. Devices on NUMA nodes the machine lacks, and settings that
  /// contradict it, are errors (allocator::Node::Make, allocator::CheckDevices); the fleet is then as before.
  Result<NodeIndex> Put(std::string_view name, NodeDescription description, const Ledger& ledger);
  /// The books alone. Requires: the node is there.
  void PutLedger(NodeIndex node, const Ledger& ledger);
  void Remove(NodeIndex node);

  std::optional<NodeIndex> Find(std::string_view name) const;
  const std::string& Name(NodeIndex node) const { return slots_[node].name; }
  std::size_t size() const { return by_name_.size(); }
  /// Every node's number, ascending.
  std::vector<NodeIndex> Nodes() const;

  /// What every node says, exactly as its engine would decide.
  Verdicts Filter(const Pod& pod);
  /// Of these nodes, in their order. Requires: they are there.
  Verdicts Filter(const Pod& pod, std::span<const NodeIndex> nodes);

  /// Nodes that have enough left of everything the pod requests, whatever their engine would say: the first `most` of
  /// those that `also` holds for, beginning with number `from` and going around.
  FittingInSum FilterBySums(const Pod& pod, NodeIndex from, std::size_t most,
                            const std::function<bool(NodeIndex)>& also = {});

  /// Why a node does not admit the pod, in an operator's words: "cpu: 8 CPUs asked, 4 CPUs of 32 CPUs free on node 1
  /// (4 CPUs short)"; several parts are joined by "; ". Requires: `verdict` is one of `of`, and not admitted.
  std::string Reason(const Verdicts& of, const Verdict& verdict) const;
  /// How well the node fits: 0 to kBestScore, more is better. Requires: `verdict` is one of `of`, and admitted.
  int Score(const Verdicts& of, const Verdict& verdict, Preference preference = Preference::kBalanced) const;

  /// Decides and, where it is admitted, books the pod there. A pod may be booked on several nodes.
  Verdict Assume(const Pod& pod, NodeIndex node);
  /// The pod's containers have been started one after the other: what init containers alone had is free.
  void Start(std::string_view uid, NodeIndex node);
  /// What the pod has comes back, on one node or on all. Nothing happens where it is not.
  void Release(std::string_view uid, NodeIndex node);
  void Release(std::string_view uid);
  bool Holds(std::string_view uid, NodeIndex node) const;
  /// All that is booked there: what PutLedger was told, with what was assumed, started and released since. Names of
  /// pods and revision are not kept.
  Ledger Books(NodeIndex node) const { return FullLedger(slots_[node]); }

  NodeFigures Figures(NodeIndex node) const;
  const Kind& KindOf(NodeIndex node) const { return *slots_[node].state->kind; }
  const State& StateOf(NodeIndex node) const { return *slots_[node].state; }
  /// Distinct kinds of nodes, and distinct states.
  std::size_t kinds() const { return kinds_.Count(); }
  std::size_t states() const { return states_.Count(); }
  /// Decisions of the engine since the start: what the fleet costs.
  std::uint64_t decisions() const { return decisions_; }

 private:
  struct Used {
    std::string resource;
    Quantity sum;
    std::int64_t amount = 0;  // as AmountIn
  };
  struct Slot {
    std::string name;
    StateRef state;  // nullptr: no node
    std::vector<Used> used;
    std::int64_t cpu_milli = 0;     // of `used`, for scores
    std::int64_t memory = 0;        // the same
    std::vector<std::string> pods;  // packed
    std::uint64_t version = 0;      // changes with everything above
  };

  Shaped& ShapedOf(const Pod& pod);
  Verdict Ask(Shaped& shaped, NodeIndex node);
  bool TooMuchInSum(Shaped& shaped, Verdict& verdict);
  bool FitsInSum(Shaped& shaped, NodeIndex node);
  Verdict RuledOut(Shaped& shaped, NodeIndex node);
  void DecideAll(Shaped& shaped, std::span<const NodeIndex> nodes);
  const cluster::Ask& AskOf(Shaped& shaped, const KindRef& kind);

  Ledger FullLedger(const Slot& slot) const;
  const std::string* FindPod(const Slot& slot, std::string_view uid) const;
  void Enter(Slot& slot, StateRef state);
  void AddUsed(Slot& slot, const ResourceList& requests);
  void CountAgain(Slot& slot, const Ledger& books);
  void AddPod(NodeIndex node, const PodRecord& record);
  void DropPods(NodeIndex node);
  void ForgetPlace(std::string_view uid, NodeIndex node);
  static std::int64_t UsedOf(const Slot& slot, std::string_view resource);

  RunAll run_all_;
  Kinds kinds_;
  States states_;
  std::vector<Slot> slots_;
  std::vector<NodeIndex> free_;
  std::unordered_map<std::string, NodeIndex> by_name_;
  std::unordered_multimap<std::size_t, NodeIndex> places_;  // by hash of the uid
  Answers answers_;
  std::uint64_t version_ = 0;
  std::uint64_t decisions_ = 0;
};

}  // namespace berth::cluster

#endif  // BERTH_SIMULATOR_CLUSTER_FLEET_H_
