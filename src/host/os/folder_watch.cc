#include "host/os/folder_watch.h"

#include <sys/inotify.h>

#include <cerrno>
#include <cstdint>

#include "host/os/inotify.h"

namespace berth::os {
namespace {

constexpr std::uint32_t kMask = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO |
                                IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

void Note(const inotify_event& event, const char* name, FolderWatch::Changes& out) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) out.lost = true;
  if ((event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)) != 0) out.lost = out.gone = true;
  if (event.len == 0) return;
  out.names.emplace(name);
  if ((event.mask & IN_MOVED_TO) != 0)
    out.arrived.emplace(name);
  else
    out.arrived.erase(name);
  if ((event.mask & IN_DELETE) != 0) out.removed.emplace(name);
}

}  // namespace

Result<FolderWatch> FolderWatch::Open(const std::string& folder) {
  UniqueFd fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd.valid()) return FailErrno("start watching", folder, errno);
  if (::inotify_add_watch(fd.get(), folder.c_str(), kMask) < 0) return FailErrno("watch folder", folder, errno);
  return FolderWatch(std::move(fd));
}

FolderWatch::Changes FolderWatch::Take() {
  Changes out;
  ForEachEvent(fd_.get(), [&](const inotify_event& event, const char* name) { Note(event, name, out); });
  return out;
}

}  // namespace berth::os
