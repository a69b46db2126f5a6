// The node's state and its durable ledger: machine and settings, allocations, where they are saved, and which CPUs are
// online.
//
//   Propose… -> Proposal   worked out on the newest books, takes nothing; an answer from elsewhere may be waited for
//   Commit   -> saved on another thread -> in force -> its end on the loop's thread
//
// What is being saved is in the newest books already, so that nothing is given twice; what is in force (`ledger`) is on
// disk before. Proposals that come while one is being saved are saved together after it. When saving fails, all of them
// fail, because they were worked out one on the other, and the books are what is in force again.
#ifndef BERTH_NODE_LEDGER_NODE_ALLOCATIONS_H_
#define BERTH_NODE_LEDGER_NODE_ALLOCATIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "base/result.h"
#include "host/event_loop/executor.h"
#include "host/event_loop/task_scope.h"
#include "host/os/clock.h"
#include "model/decision.h"
#include "model/defrag.h"
#include "model/ledger.h"
#include "model/node_figures.h"
#include "model/pod.h"
#include "model/trace.h"
#include "node/checkpoint/store.h"
#include "node/ledger/adopt.h"
#include "node/ledger/decision_counts.h"
#include "node/ledger/placement_request.h"
#include "node/ledger/shared_pool.h"
#include "telemetry/events/event_log.h"

namespace berth::ledger {

/// A machine that is not what it was, and the books as they are on it.
struct NodeChange {
  allocator::Node node;
  std::string machine_fingerprint;  ///< saved beside the ledger
  Ledger ledger;
};

/// A change of the books that takes nothing before it is committed.
struct Proposal {
  std::string object;      ///< what it is about, as events name it: "pod/<namespace>/<name>"
  std::uint64_t base = 0;  ///< the books it was worked out on
  std::variant<LedgerDelta, Ledger, NodeChange> change;  ///< of one pod, all of them anew, or on another machine
};

/// Whether a question is one of a kubelet's admissions: those are counted.
enum class Asked : std::uint8_t {
  kFirst,
  kAgain,  ///< for a pod or container that was decided on before: only the time is counted
};

/// The node as it is now, with what pods lose by that.
struct NodeProposal {
  Proposal proposal;
  std::vector<AdoptionNote> notes;
};

/// What NodeAllocations works with; all outlive it, and `store` is not used by others from the first Commit on.
struct NodeAllocationsParts {
  checkpoint::Store& store;
  event_loop::Executor& executor;
  events::EventLog& events;
  const os::Clock& clock;
};

/// Saved beside the ledger (checkpoint::Saved), and the node's name.
struct NodeAllocationsOptions {
  std::string node_name;
  std::string boot_id;
  std::string machine_fingerprint;
};

/// Devices of a container, with what they bring to it.
struct AnsweredDevices {
  std::string container;
  DeviceAssignment devices;
};

/// Thread: the loop's only.
class NodeAllocations {
 public:
  /// Called once, on the loop's thread, never within Commit: the change is in force, or why it could not be saved.
  using Then = std::function<void(const Result<void>&)>;

  NodeAllocations(const NodeAllocationsParts& parts, allocator::Node node, NodeAllocationsOptions options);
  NodeAllocations(const NodeAllocations&) = delete;
  NodeAllocations& operator=(const NodeAllocations&) = delete;

  /// Called after each change of what is in force, before those who asked for it are told.
  void set_on_change(std::function<void()> changed) { changed_ = std::move(changed); }
  /// At the start: the books as they were saved. `changed`: they were made to fit the node (or anew) and are not on
  /// disk like that; nothing of them may be applied before Settle and durable(). Requires: nothing was committed.
  void Open(Ledger ledger, bool changed);

  /// "node/<name>", as events name it.
  std::string ObjectOfNode() const { return "node/" + options_.node_name; }

  // ---- what is in force ----

  const allocator::Node& node() const { return node_; }
  const Ledger& ledger() const { return ledger_; }
  const Online& online() const { return online_; }
  /// SharedCpus of what is in force.
  CpuSet SharedCpus() const { return ledger::SharedCpus(node_, ledger_); }
  /// What is in force is on disk. False only between Open and the first time that it could be saved.
  bool durable() const { return durable_; }
  /// Something is being saved.
  bool saving() const { return !under_way_.empty(); }
  /// Changes whenever something in force was given back, or the node or what is online changed: a pod that did not fit
  /// before may fit now.
  std::uint64_t freed() const { return freed_; }
  /// Something else than what is in these books may let pods in now: devices came, or are healthy again.
  void NoteFreed() { ++freed_; }
  /// With everything that is being saved.
  const Ledger& newest() const { return newest_; }
  /// Of newest(): another number with every change of it, also where it goes back because it could not be saved.
  std::uint64_t number() const { return number_; }
  /// The node that these books are of.
  const allocator::Node& newest_node() const { return newest_node_; }
  /// Of that one, as it is saved.
  const std::string& newest_fingerprint() const { return newest_fingerprint_; }

  // ---- changes ----

  /// Where a pod, or one more container of it, would go. Errors: none; one that does not fit is an answer.
  std::variant<Proposal, Reject> Propose(const PlacementRequest& request, Trace* trace, Asked asked = Asked::kFirst);
  /// What a pod that has a place would have as `pod` says it. Likewise; the reason says whether it is for later.
  std::variant<Proposal, Reject> ProposeResize(const Pod& pod, const allocator::Inputs& inputs, Trace* trace) const;
  /// That a pod gives back all it has; nullopt: it has nothing.
  std::optional<Proposal> ProposeRelease(const std::string& uid) const;
  /// That a container starts, so that the memory of init containers before it comes back; nullopt: there is none.
  std::optional<Proposal> ProposeContainerStart(const std::string& uid, std::string_view container) const;
  /// What a pod's devices bring to its containers. nullopt: it does not hold these (any more).
  std::optional<Proposal> ProposeDeviceAnswers(const std::string& uid,
                                               const std::vector<AnsweredDevices>& answers) const;
  /// What a pod that has a place may use, where its record does not say so: it was made by a berthd that resized
  /// nothing. nullopt: it does, or there is none that is whole.
  std::optional<Proposal> ProposeAllocated(const Pod& pod, const std::string& identity) const;
  /// That a running container (or pod) is elsewhere on the node, and how. Errors: of allocator::PlanMove.
  Result<std::pair<Proposal, Move>> ProposeMove(const MoveRequest& request) const;
  /// Other books, made from newest().
  Proposal ProposeLedger(std::string object, Ledger ledger) const;
  /// The newest books made to fit another machine (Adopt): node and ledger come into force together.
  NodeProposal ProposeNode(allocator::Node node, std::string machine_fingerprint) const;
  /// Makes it durable, then takes it. False: others were committed since it was proposed, and nothing is done; it has
  /// to be proposed again. Requires: the clock has reached next_try(); else it is refused in the same way.
  [[nodiscard]] bool Commit(Proposal proposal, Then then);
  /// Saves what is in force where it is not durable and the time for it has come.
  void Settle();

  /// After a save that failed nothing is saved before this time.
  os::MonoTime next_try() const { return next_try_; }
  /// Why the ledger could not be saved last; empty: it could.
  const std::string& problem() const { return problem_; }

  // ---- figures ----

  /// A pod was rejected, here or before it came here; `reason` as in its status.
  void CountRejection(std::string_view reason) { decisions_.CountRejection(reason); }
  const DecisionFigures& decisions() const { return decisions_.figures(); }
  const LedgerFigures& saves() const { return saves_; }

  // ---- the node ----

  /// CPUs that are online now; the shared pool follows as soon as that can be saved (FollowOnline).
  void SetOnline(CpuSet online) { online_ = std::move(online); }
  /// Commits a shared pool that has to change because of the CPUs that are online; nothing to do: nothing.
  void FollowOnline();

 private:
  struct Change {
    Proposal proposal;
    Then then;
  };

  void StartSaving();
  void Saved();
  void NotSaved(const Error& error);

  NodeAllocationsParts parts_;
  event_loop::TaskScope tasks_{parts_.executor};
  allocator::Node node_;  // in force
  std::string fingerprint_;
  allocator::Node newest_node_;  // with under_way_ and waiting_
  std::string newest_fingerprint_;
  NodeAllocationsOptions options_;
  Online online_;
  Ledger ledger_;             // in force
  Ledger newest_;             // with under_way_ and waiting_
  std::uint64_t number_ = 0;  // of newest_; grows with every change, also back
  std::uint64_t freed_ = 0;
  std::vector<Change> under_way_;  // being saved
  std::vector<Change> waiting_;    // committed since
  bool durable_ = true;
  std::string problem_;
  os::MonoTime next_try_{};
  os::Millis delay_{0};
  DecisionCounts decisions_;
  LedgerFigures saves_;
  os::MonoTime saving_since_{};
  std::function<void()> changed_ = [] {};
};

}  // namespace berth::ledger

#endif  // BERTH_NODE_LEDGER_NODE_ALLOCATIONS_H_
