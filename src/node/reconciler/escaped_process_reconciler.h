// Processes of containers that left their cpuset: seen by a look over /proc, and moved back.
#ifndef BERTH_NODE_RECONCILER_ESCAPED_PROCESS_RECONCILER_H_
#define BERTH_NODE_RECONCILER_ESCAPED_PROCESS_RECONCILER_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/cgroup/escaped_processes.h"
#include "host/event_loop/executor.h"
#include "host/event_loop/task_scope.h"
#include "host/os/clock.h"
#include "node/cgroup_manager/enforcer.h"
#include "node/ledger/node_allocations.h"
#include "node/pods/pod_table.h"
#include "telemetry/events/event_log.h"

namespace berth::reconciler {

/// Thread: the loop's only; a worker looks and moves, for both take longer the more processes there are.
class EscapedProcessReconciler {
 public:
  explicit EscapedProcessReconciler(ledger::NodeAllocations& allocations, cgroup_manager::Enforcer& groups,
                                    pods::PodTable& pods, events::EventLog& events, event_loop::Executor& executor)
      : allocations_(allocations), groups_(groups), pods_(pods), events_(events), tasks_(executor) {}

  /// Begins a look, unless one is under way. What is astray at two looks in a row is moved back into its container's
  /// groups; where a runtime makes these, a container may have its reasons, and it is only reported. Groups that are
  /// gone (a scope of systemd ends with its last process, and root can remove an empty group) are made again first.
  void Look();
  /// Goes on making groups; to be called now and then, and at the time the agenda is told.
  void Work(os::MonoTime now);

 private:
  struct Of {
    std::string path;  // below our root
    std::string uid;
    std::string container;
    std::string id;                 // of the runtime
    std::vector<std::string> dirs;  // of its groups
    cgroup::Home home;
  };
  /// What was done about it.
  struct Seen {
    cgroup::Stray stray;
    bool homeless = false;  // its container's groups are gone
    std::string outcome;    // "": nothing: it is seen for the first time, and may be on its way, or has no home
  };
  using Known = std::set<std::pair<int, std::string>>;  // pid (of a thread: its own) and cpuset
  std::vector<Of> Running() const;
  void Submit(std::vector<Of> of,
              void (EscapedProcessReconciler::*take)(const std::vector<Of>&, const std::vector<Seen>&));
  static Result<std::vector<Seen>> LookAndReturn(const cgroup::Layout& layout, const std::vector<Of>& of,
                                                 cgroup::Threads threads, const Known& before, const std::string& left);
  void Take(const std::vector<Of>& of, const std::vector<Seen>& seen);
  void TakeMoved(const std::vector<Of>& of, const std::vector<Seen>& seen);
  bool StillRuns(const Of& of) const;
  bool MakeGroups(Of& of, os::MonoTime now);
  void Tell(const Of& of, const Seen& first, std::size_t others);

  ledger::NodeAllocations& allocations_;
  cgroup_manager::Enforcer& groups_;
  pods::PodTable& pods_;
  events::EventLog& events_;
  event_loop::TaskScope tasks_;
  bool looking_ = false;
  bool failed_ = false;                 // the last look, and that was told
  Known seen_;                          // at the last look
  std::set<std::string> told_;          // paths of containers whose strays were told
  std::map<std::string, Of> homeless_;  // by path: containers whose groups are being made again
};

}  // namespace berth::reconciler

#endif  // BERTH_NODE_RECONCILER_ESCAPED_PROCESS_RECONCILER_H_
