#include "rpc/nri/socket_watch.h"

#include <poll.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <utility>

#include "host/os/poll.h"

namespace berth::nri {
namespace {

bool IsThere(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

/// Not so a link that leads nowhere yet.
bool IsFolder(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

constexpr int kMostRestarts = 16;  // where folders come and go all the time Wait takes its time

}  // namespace

/// A folder may be made between the look at it and the watch of the one above: then that watch is not enough.
void SocketWatch::Begin() {
  const std::string wanted = std::filesystem::path(path_).parent_path();
  if (watch_ && folder_ == wanted) return;
  int restarts = 0;
  for (std::filesystem::path path = path_; path.has_relative_path(); path = path.parent_path()) {
    auto opened = os::FolderWatch::Open(path.parent_path());
    if (!opened && opened.error().code == Code::kNotFound) continue;
    if (!opened) return watch_.reset();
    watch_ = *std::move(opened);
    folder_ = path.parent_path();
    entry_ = path.filename();
    if (folder_ == wanted || !IsFolder(path) || ++restarts > kMostRestarts) return;
    path = path_ + "/";  // once more, from the bottom
  }
}

bool SocketWatch::Appeared() {
  const os::FolderWatch::Changes changes = watch_->Take();
  if (changes.gone) watch_.reset();
  if (!changes.lost && !changes.names.contains(entry_)) return false;
  Begin();
  return IsThere(path_);
}

bool SocketWatch::Wait(int stop_fd, os::MonoTime until) {
  for (os::MonoTime now = os::SystemClock().Now(); now < until; now = os::SystemClock().Now()) {
    std::array<pollfd, 2> fds = {pollfd{.fd = stop_fd, .events = POLLIN, .revents = 0},
                                 pollfd{.fd = watch_ ? watch_->fd() : -1, .events = POLLIN, .revents = 0}};
    ::poll(fds.data(), fds.size(), os::PollTime(now, until));
    if (fds[0].revents != 0) return false;
    if (fds[1].revents != 0 && Appeared()) return true;
  }
  return false;
}

}  // namespace berth::nri
