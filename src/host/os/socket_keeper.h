// Keeper of the file of a listening unix socket: sees that the file is lost, waits, and has it made again.
#ifndef BERTH_HOST_OS_SOCKET_KEEPER_H_
#define BERTH_HOST_OS_SOCKET_KEEPER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/folder_watch.h"

namespace berth::os {

/// What a server does about its socket. The functions are called in Look.
struct SocketKeeping {
  std::string socket;  ///< its path
  Millis pause{0};     ///< from a loss, or from a new file of somebody else at the path, to the next try to listen
  std::function<bool()> has_its_file;                   ///< the file at the path is the server's own
  std::function<Result<void>()> listen_again;           ///< replaces no socket that is listened at
  std::function<void(const Result<void>& again)> tell;  ///< of each try that succeeded, and of each new error once
};

/// Somebody who makes a socket has bound it a moment before he listens at it: until then it looks like one that a dead
/// process left. So there is a try only when the path was the same (no file, or this very file) a pause before. A try
/// that failed is repeated each second, whatever happens in the folder meanwhile. Not thread-safe.
class SocketKeeper {
 public:
  explicit SocketKeeper(SocketKeeping keeping) : keeping_(std::move(keeping)) {}

  /// Of its folder, to be polled for reading; -1: none (yet, or any more), and Look comes by time.
  int fd() const { return watch_ ? watch_->fd() : -1; }
  /// When to look at the latest; nullopt: whenever `fd` is readable. Where the folder cannot be watched: each second.
  std::optional<MonoTime> next() const { return next_; }
  /// `fd` is readable, or it is time.
  void Look(MonoTime now);

 private:
  /// Which file is at the path: an inode's number alone may be given to the next one at once.
  struct Mark {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t seconds = 0;
    std::uint32_t nanoseconds = 0;
    bool operator==(const Mark&) const = default;
  };
  static std::optional<Mark> MarkOf(const std::string& path);
  void Found(MonoTime now);
  void Try(MonoTime now);

  const SocketKeeping keeping_;
  std::optional<FolderWatch> watch_;
  std::optional<MonoTime> next_ = MonoTime();
  bool lost_ = false;          // and next_ is the time of a try
  std::optional<Mark> there_;  // while it is lost: what was at the path at the last look; nullopt: no file
  std::string problem_;        // told last
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_SOCKET_KEEPER_H_
