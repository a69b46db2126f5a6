// Memory moves: memory nodes of groups with processes, written on another thread, because the kernel migrates what the
// processes use before such a write returns.
#ifndef BERTH_HOST_CGROUP_MEMORY_MOVES_H_
#define BERTH_HOST_CGROUP_MEMORY_MOVES_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/id_set.h"
#include "base/result.h"
#include "host/event_loop/executor.h"
#include "host/event_loop/task_scope.h"
#include "host/os/path.h"

namespace berth::cgroup {

/// One at a time: every write of CPUs or memory nodes to a cpuset of the host, and of a process to cgroup.procs, waits
/// in the kernel for all migrations that were begun before it (flush_workqueue in kernel/cgroup/cpuset.c), so others
/// would only wait as well.
///
/// Thread: the loop's only; jobs run on the executor's.
class MemoryMoves {
 public:
  using Job = std::function<Result<void>()>;

  /// `moved` is called on the executor's loop when a move has ended.
  void Use(event_loop::Executor& executor, std::function<void()> moved) {
    tasks_.emplace(executor);
    moved_ = std::move(moved);
  }
  /// Nothing is moved on another thread any more. Requires: no job runs.
  void Leave() {
    tasks_.reset();
    moving_.clear();
  }

  bool in_use() const { return tasks_.has_value(); }
  bool under_way() const { return !moving_.empty(); }
  /// The group whose memory is being moved. "", the top of the hierarchies, never is.
  bool IsMoving(const std::string& group) const { return under_way() && moving_ == group; }
  /// The same of one at or below `group`.
  bool IsMovingIn(const std::string& group) const { return under_way() && os::IsAtOrBelow(moving_, group); }

  /// kBusy: `job`, which gives the group these nodes, was begun, or another is under way; to be called again, unless
  /// the group has them by then: what the job failed with is returned once. Requires: in_use().
  Result<void> Move(const std::string& group, const NodeSet& nodes, Job job);
  /// What a call fails with that would wait for the move under way.
  std::unexpected<Error> Busy(const std::string& what) const;

 private:
  struct Failed {
    std::string group;
    NodeSet nodes;
    Error error;
  };

  std::optional<event_loop::TaskScope> tasks_;
  std::function<void()> moved_;
  std::string moving_;            // "": none
  NodeSet nodes_;                 // it gets
  std::optional<Failed> failed_;  // until it is asked for
};

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_MEMORY_MOVES_H_
