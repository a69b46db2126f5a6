#include "host/os/entry_watch.h"

#include <sys/inotify.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "host/os/inotify.h"

namespace berth::os {
namespace {

constexpr std::uint32_t kGoneMask = IN_DELETE | IN_MOVED_FROM;
constexpr std::uint32_t kEntryMask = IN_CREATE | IN_MOVED_TO | IN_MODIFY | kGoneMask | IN_ONLYDIR;

EntryWatch::What WhatOf(std::uint32_t mask) {
  if ((mask & kGoneMask) != 0) return EntryWatch::What::kRemoved;
  return (mask & IN_MODIFY) != 0 ? EntryWatch::What::kWritten : EntryWatch::What::kMade;
}

}  // namespace

Result<EntryWatch> EntryWatch::Open() {
  UniqueFd fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd.valid()) return FailErrno("start watching folders", "", errno);
  return EntryWatch(std::move(fd));
}

Result<void> EntryWatch::Add(const std::string& folder) {
  const int id = ::inotify_add_watch(fd_.get(), folder.c_str(), kEntryMask);
  if (id < 0) return FailErrno("watch folder", folder, errno);
  if (const auto before = ids_.find(folder); before != ids_.end() && before->second != id) Remove(folder);
  if (const auto was = folders_.find(id); was != folders_.end() && was->second != folder) ids_.erase(was->second);
  folders_.insert_or_assign(id, folder);
  ids_.insert_or_assign(folder, id);
  return {};
}

void EntryWatch::Remove(const std::string& folder) {
  const auto watched = ids_.find(folder);
  if (watched == ids_.end()) return;
  ::inotify_rm_watch(fd_.get(), watched->second);
  folders_.erase(watched->second);
  ids_.erase(watched);
}

void EntryWatch::Clear() {
  ids_.clear();
  for (const auto& [id, folder] : std::exchange(folders_, {})) ::inotify_rm_watch(fd_.get(), id);
}

EntryWatch::News EntryWatch::Take() {
  News out;
  ForEachEvent(fd_.get(), [&](const inotify_event& event, const char* name) {
    if ((event.mask & IN_Q_OVERFLOW) != 0) out.lost = true;
    const auto folder = folders_.find(event.wd);
    if (folder == folders_.end()) return;
    if ((event.mask & IN_IGNORED) != 0) {
      ids_.erase(folder->second);
      folders_.erase(folder);
    } else if (event.len > 0) {
      out.list.push_back({.folder = folder->second, .name = name, .what = WhatOf(event.mask)});
    }
  });
  return out;
}

}  // namespace berth::os
