// The pods somebody wants, read and parsed away from the loop's thread.
#ifndef BERTH_DAEMON_SOURCE_FEED_H_
#define BERTH_DAEMON_SOURCE_FEED_H_

#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "loop/executor.h"
#include "loop/loop.h"
#include "source/source.h"

namespace berth::daemon {

/// Asks a source when it has something new or its time has come: one look at a time, each by a worker.
///
/// Thread: the loop's. From Start on the source is the workers', and this outlives the loop's last turn.
class SourceFeed {
 public:
  using Take = std::function<void(source::Snapshot snapshot, os::MonoTime now)>;

  /// `loop` and `executor` outlive this. `take` is called on the loop's thread.
  SourceFeed(loop::Loop& loop, loop::Executor& executor, std::unique_ptr<source::Source> source, Take take);
  SourceFeed(const SourceFeed&) = delete;
  SourceFeed& operator=(const SourceFeed&) = delete;

  /// Called once. Errors: as Loop::Watch.
  Result<void> Start();

 private:
  struct Look {
    std::optional<source::Snapshot> snapshot;
    os::MonoTime due;
  };

  Result<void> Watch();
  void LookAt(os::MonoTime now);
  void Looked(Look look);

  loop::Loop& loop_;
  loop::Executor& executor_;
  std::shared_ptr<source::Source> source_;  // also of the look under way
  Take take_;
  os::MonoTime due_{};
  int fd_ = -1;  // watched; -1: a look is under way, or watching failed
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_SOURCE_FEED_H_
