#include "host/os/socket_keeper.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "host/os/path.h"

namespace berth::os {
namespace {

constexpr Millis kLookAgain{1'000};  // after an error, and where nothing tells of changes

}  // namespace

void SocketKeeper::Look(MonoTime now) {
  if (watch_ && watch_->Take().gone) watch_.reset();
  if (lost_ && next_ && now < *next_) return;
  if (keeping_.has_its_file()) return Found(now);
  const std::optional<Mark> there = MarkOf(keeping_.socket);
  if (lost_ && there == there_) return Try(now);
  lost_ = true;
  there_ = there;
  next_ = now + keeping_.pause;
}

void SocketKeeper::Found(MonoTime now) {
  lost_ = false;
  problem_.clear();
  next_.reset();
  if (watch_) return;
  if (auto watch = FolderWatch::Open(FolderOf(keeping_.socket))) watch_ = *std::move(watch);
  // What happened before it was watched is looked for at once.
  next_ = watch_ ? now : now + kLookAgain;
}

void SocketKeeper::Try(MonoTime now) {
  const Result<void> again = keeping_.listen_again();
  std::string problem = again ? "" : again.error().message;
  if (again || problem != problem_) keeping_.tell(again);
  if (again) return Found(now);
  problem_ = std::move(problem);
  next_ = now + kLookAgain;
}

std::optional<SocketKeeper::Mark> SocketKeeper::MarkOf(const std::string& path) {
  struct statx info{};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &info) != 0)
    return std::nullopt;
  const auto& made = (info.stx_mask & STATX_BTIME) != 0 ? info.stx_btime : info.stx_ctime;
  return Mark{.device = makedev(info.stx_dev_major, info.stx_dev_minor),
              .inode = info.stx_ino,
              .seconds = made.tv_sec,
              .nanoseconds = made.tv_nsec};
}

}  // namespace berth::os
