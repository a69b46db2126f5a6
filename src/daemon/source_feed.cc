#include "daemon/source_feed.h"

#include <utility>

namespace berth::daemon {

SourceFeed::SourceFeed(event_loop::Loop& loop, event_loop::Executor& executor,
                       std::unique_ptr<pod_sources::Source> source, Take take)
    : loop_(loop), tasks_(executor), source_(std::move(source)), take_(std::move(take)) {}

Result<void> SourceFeed::Start() {
  loop_.Keep(
      "source", [this]() BERTH_REQUIRES(loop_thread) { return due_; },
      [this](os::MonoTime now) BERTH_REQUIRES(loop_thread) { LookAt(now); });
  return Watch();
}

Result<void> SourceFeed::Watch() {
  const int fd = source_->event_fd();
  BERTH_RETURN_IF_ERROR(
      loop_.Watch(fd, "source", [this](os::MonoTime now) BERTH_REQUIRES(loop_thread) { LookAt(now); }));
  fd_ = fd;
  return {};
}

/// Its descriptor stays ready until it was looked at: nobody waits for it meanwhile.
void SourceFeed::LookAt(os::MonoTime now) {
  loop_.Forget(std::exchange(fd_, -1));
  due_ = os::MonoTime::max();
  tasks_.Submit<Look>(
      "source",
      [source = source_, now]() -> Result<Look> {
        std::optional<pod_sources::Snapshot> snapshot = source->Poll(now);
        return Look{.snapshot = std::move(snapshot), .due = source->next_due()};
      },
      [this](Result<Look> look) BERTH_REQUIRES(loop_thread) {
        if (look) Looked(*std::move(look));
      });
}

void SourceFeed::Looked(Look look) {
  due_ = look.due;
  // Without its descriptor what is new is seen at the next look.
  [[maybe_unused]] const auto watched = Watch();
  if (look.snapshot) take_(*std::move(look.snapshot), os::SystemClock().Now());
}

}  // namespace berth::daemon
