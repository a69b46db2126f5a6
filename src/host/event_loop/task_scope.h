// Scope of tasks: what an owner asked for ends with it.
#ifndef BERTH_HOST_EVENT_LOOP_TASK_SCOPE_H_
#define BERTH_HOST_EVENT_LOOP_TASK_SCOPE_H_

#include <memory>
#include <string>
#include <utility>

#include "base/loop_thread.h"
#include "host/event_loop/executor.h"

namespace berth::event_loop {

/// A member of who has work done elsewhere, and takes the answers. When it goes, jobs still run (a folder that was to
/// be removed is), and nobody hears of them: no end touches the owner any more.
///
/// Thread: the loop's.
class TaskScope {
 public:
  /// `executor` outlives this.
  explicit TaskScope(Executor& executor) : executor_(executor) {}
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

  /// As event_loop::Submit.
  template <class T, class JobFunction, class ThenFunction>
  void Submit(const std::string& queue, JobFunction job, ThenFunction then) const {
    event_loop::Submit<T>(executor_, queue, std::move(job), Scoped(std::move(then)));
  }

  /// For what is called on the loop's thread by others than the executor: a callback that does nothing any more once
  /// the scope is gone.
  template <class Function>
  auto Scoped(Function callback) const {
    return [alive = std::weak_ptr(alive_), callback = std::move(callback)]<class... Args>(Args&&... args)
               BERTH_REQUIRES(loop_thread) mutable {
                 if (!alive.expired()) callback(std::forward<Args>(args)...);
               };
  }

 private:
  Executor& executor_;
  const std::shared_ptr<const int> alive_ = std::make_shared<const int>(0);
};

}  // namespace berth::event_loop

#endif  // BERTH_HOST_EVENT_LOOP_TASK_SCOPE_H_
