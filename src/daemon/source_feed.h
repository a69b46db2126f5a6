// The pods somebody wants, read and parsed away from the loop's thread.
#ifndef BERTH_DAEMON_SOURCE_FEED_H_
#define BERTH_DAEMON_SOURCE_FEED_H_

#include <functional>
#include <memory>
#include <optional>

#include "base/loop_thread.h"
#include "base/result.h"
#include "frontend/pod_sources/source.h"
#include "host/event_loop/executor.h"
#include "host/event_loop/loop.h"
#include "host/event_loop/task_scope.h"

namespace berth::daemon {

/// Asks a source when it has something new or its time has come: one look at a time, each by a worker.
///
/// Thread: the loop's. From Start on the source is the workers', and this outlives the loop's last turn.
class SourceFeed {
 public:
  using Take = std::function<void(pod_sources::Snapshot snapshot, os::MonoTime now)>;

  /// `loop` and `executor` outlive this. `take` is called on the loop's thread.
  SourceFeed(event_loop::Loop& loop, event_loop::Executor& executor, std::unique_ptr<pod_sources::Source> source,
             Take take);
  SourceFeed(const SourceFeed&) = delete;
  SourceFeed& operator=(const SourceFeed&) = delete;

  /// Called once. Errors: as Loop::Watch.
  Result<void> Start() BERTH_REQUIRES(loop_thread);

 private:
  struct Look {
    std::optional<pod_sources::Snapshot> snapshot;
    os::MonoTime due;
  };

  Result<void> Watch() BERTH_REQUIRES(loop_thread);
  void LookAt(os::MonoTime now) BERTH_REQUIRES(loop_thread);
  void Looked(Look look) BERTH_REQUIRES(loop_thread);

  event_loop::Loop& loop_;
  event_loop::TaskScope tasks_;
  std::shared_ptr<pod_sources::Source> source_;  // also of the look under way
  Take take_;
  os::MonoTime due_ BERTH_GUARDED_BY(loop_thread){};
  int fd_ BERTH_GUARDED_BY(loop_thread) = -1;  // watched; -1: a look is under way, or watching failed
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_SOURCE_FEED_H_
