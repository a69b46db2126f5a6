// A wait for a socket to appear at a path, whose folders may not be there yet (inotify). Internal to the component.
#ifndef BERTH_RPC_NRI_SOCKET_WATCH_H_
#define BERTH_RPC_NRI_SOCKET_WATCH_H_

#include <optional>
#include <string>

#include "host/os/clock.h"
#include "host/os/folder_watch.h"

namespace berth::nri {

/// Thread: one.
class SocketWatch {
 public:
  /// `path`: absolute.
  explicit SocketWatch(std::string path) : path_(std::move(path)) {}

  /// What appears from now on is seen by the next Wait. Where it cannot be watched Wait only takes its time.
  void Begin();
  /// Waits until something has appeared at the path since Begin (true), `stop_fd` is readable, or `until`.
  bool Wait(int stop_fd, os::MonoTime until);

 private:
  bool Appeared();

  const std::string path_;
  std::optional<os::FolderWatch> watch_;
  std::string folder_;  // that is watched: the socket's, or the nearest one above it that is there
  std::string entry_;   // in it, on the way to the socket
};

}  // namespace berth::nri

#endif  // BERTH_RPC_NRI_SOCKET_WATCH_H_
