#include "frontend/nri_agent/new_groups.h"

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace berth::nri_agent {
namespace {

std::vector<std::string> FoldersIn(const std::string& dir) {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator at(dir, error), end; !error && at != end; at.increment(error))
    if (at->is_directory(error)) out.push_back(at->path().filename());
  return out;
}

bool IsClass(std::string_view name) {
  for (const std::string_view word : {"burstable", "besteffort"})
    if (name == word || (name.ends_with(".slice") && name.substr(0, name.size() - 6).ends_with(word))) return true;
  return false;
}

}  // namespace

Result<NewGroups> NewGroups::Open(std::string root, Known known, Came came, Problem problem) {
  BERTH_TRY(os::EntryWatch watch, os::EntryWatch::Open());
  return NewGroups(std::move(root), std::move(known), std::move(came), std::move(problem), std::move(watch));
}

void NewGroups::Begin(bool all_known) {
  settled_ = false;
  if (begun_ && (all_known_ || !all_known)) return;
  End();
  begun_ = true;
  all_known_ = all_known;
  first_look_ = true;
  LookAtAll();
  first_look_ = false;
}

void NewGroups::End() {
  begun_ = false;
  old_.clear();
  watch_.Clear();
  levels_.clear();
}

void NewGroups::LookAtAll() {
  watch_.Clear();
  levels_.clear();
  if (!root_.empty()) Look(root_, Level::kRoot, false);
}

bool NewGroups::IsOld(const std::string& path) {
  if (all_known_) return known_(path);
  if (first_look_) old_.insert(path);
  return old_.contains(path);
}

/// A folder that cannot be watched is looked at this once. False: it is none, or has gone.
bool NewGroups::Watch(const std::string& dir) {
  const auto watched = watch_.Add(dir);
  if (watched) return true;
  if (watched.error().sys == ENOENT || watched.error().sys == ENOTDIR) return false;
  if (!std::exchange(told_, true))
    problem_(watched.error().message +
             "; of the containers that are made while no runtime asks some may be on CPUs of others until it does; the "
             "kernel watches as many folders as fs.inotify.max_user_watches says, raise it with sysctl");
  return true;
}

/// With what was below it.
void NewGroups::Forget(const std::string& dir) {
  old_.erase(PathOf(dir));
  if (levels_.erase(dir) > 0) watch_.Remove(dir);
  const std::string below = dir + "/";
  for (auto at = levels_.lower_bound(below); at != levels_.end() && at->first.starts_with(below);
       at = levels_.erase(at))
    watch_.Remove(at->first);
}

/// First watched, then looked at: what comes in between is seen twice.
void NewGroups::Look(const std::string& dir, Level level, bool is_new) {
  if (!Watch(dir)) return;
  levels_[dir] = level;
  if (level == Level::kGroup) return came_(PathOf(dir));
  for (const std::string& name : FoldersIn(dir)) LookBelow(dir, level, name, is_new);
}

void NewGroups::LookBelow(const std::string& above, Level level, const std::string& name, bool is_new) {
  const std::string dir = above + "/" + name;
  if (level == Level::kRoot) {
    if (name == "kubepods" || name.ends_with("kubepods.slice")) Look(dir, Level::kTier, is_new);
    if (name == "kubelet" || name == "kubelet.slice") Look(dir, Level::kRoot, is_new);  // the kubelet's cgroupRoot
  } else if (level == Level::kTier) {
    Look(dir, IsClass(name) ? Level::kTier : Level::kPod, is_new);
  } else if (is_new || !IsOld(PathOf(dir))) {
    old_.erase(PathOf(dir));
    Look(dir, Level::kGroup, true);
  }
}

/// On v2 a group has a cpuset once the one above hands it down.
void NewGroups::Take() {
  const os::EntryWatch::News news = watch_.Take();
  if (!begun_) return;
  if (news.lost) return LookAtAll();
  for (const os::EntryWatch::Entry& entry : news.list) {
    const auto level = levels_.find(entry.folder);
    if (level == levels_.end()) continue;
    if (entry.what == os::EntryWatch::What::kRemoved) {
      Forget(entry.folder + "/" + entry.name);
    } else if (entry.what == os::EntryWatch::What::kMade && level->second != Level::kGroup) {
      LookBelow(entry.folder, level->second, entry.name, true);
    } else if (level->second == Level::kGroup && entry.name == "cpuset.cpus") {
      if (settled_ && known_(PathOf(entry.folder))) {
        Forget(entry.folder);
      } else {
        came_(PathOf(entry.folder));
      }
    } else if (level->second == Level::kPod && entry.name == "cgroup.subtree_control") {
      const std::string below = entry.folder + "/";
      for (auto at = levels_.lower_bound(below); at != levels_.end() && at->first.starts_with(below); ++at)
        came_(PathOf(at->first));
    }
  }
}

}  // namespace berth::nri_agent
