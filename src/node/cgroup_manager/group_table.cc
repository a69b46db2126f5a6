#include "node/cgroup_manager/group_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::cgroup_manager {

const std::map<std::string, std::string>& GroupTable::IdsOf(const std::string& uid) const {
  static const std::map<std::string, std::string> kNone;
  const auto ids = groups_.ids.find(uid);
  return ids == groups_.ids.end() ? kNone : ids->second;
}

void GroupTable::KnowPod(const std::string& uid, const std::string& path) {
  ++changes_;
  if (const auto pod = groups_.pods.find(uid); pod != groups_.pods.end() && pod->second != path) moved_.insert(uid);
  groups_.pods.insert_or_assign(uid, path);
  Watch(path);
}

void GroupTable::Know(const std::string& path, ContainerGroup group) {
  ++changes_;
  groups_.containers.insert_or_assign(path, std::move(group));
  Watch(path);
}

bool GroupTable::KnowId(const std::string& uid, const std::string& container, const std::string& id) {
  ++changes_;
  return groups_.ids[uid].insert_or_assign(id, container).second;
}

void GroupTable::ForgetId(const std::string& uid, const std::string& id) {
  const auto ids = groups_.ids.find(uid);
  if (ids == groups_.ids.end() || ids->second.erase(id) == 0) return;
  ++changes_;
}

void GroupTable::TakeOver(const std::string& pod_path) {
  ++changes_;
  groups_.taken_over.insert(pod_path);
}

/// Groups of a pod lie below its own, so those of all others need not be looked at.
void GroupTable::EraseContainers(const std::string& uid, const std::set<std::string>& kept) {
  const auto pod = groups_.pods.find(uid);
  const bool anywhere = pod == groups_.pods.end() || moved_.contains(uid);
  const std::string below = anywhere ? "" : pod->second + "/";
  for (auto it = groups_.containers.lower_bound(below); it != groups_.containers.end() && it->first.starts_with(below);)
    it = it->second.uid == uid && !kept.contains(it->first) ? groups_.containers.erase(it) : std::next(it);
}

void GroupTable::KeepOnly(const std::string& uid, const std::set<std::string>& paths) {
  ++changes_;
  EraseContainers(uid, paths);
}

void GroupTable::SetUnfinished(const std::string& path, const std::string& uid) {
  unfinished_.insert_or_assign(path, uid);
}

void GroupTable::Forget(const std::string& uid) {
  ++changes_;
  EraseContainers(uid, {});
  std::erase_if(unfinished_, [&](const auto& group) { return group.second == uid; });
  groups_.pods.erase(uid);
  groups_.ids.erase(uid);
  moved_.erase(uid);
}

void GroupTable::KeepTakenOver(const std::set<std::string>& paths) {
  ++changes_;
  std::erase_if(groups_.taken_over, [&](const std::string& path) {
    if (paths.contains(path)) return false;
    std::erase_if(groups_.containers, [&](const auto& entry) { return entry.first.starts_with(path + "/"); });
    return true;
  });
}

std::string GroupTable::PodPathOf(const Pod& pod) const {
  const auto it = groups_.pods.find(pod.uid);
  return it != groups_.pods.end() ? it->second : site_.names().Pod(QosOf(pod), pod.uid);
}

std::string GroupTable::ContainerPathOf(const Pod& pod, std::string_view container) const {
  if (auto home = HomeOf(pod, container)) return *std::move(home);
  return site_.names().Container(PodPathOf(pod), container);
}

/// Groups of a pod lie beside each other, below its own.
const std::string* GroupTable::FindContainer(const std::string& pod_path, std::string_view uid,
                                             std::string_view container) const {
  const std::string below = pod_path + "/";
  for (auto it = groups_.containers.lower_bound(below); it != groups_.containers.end() && it->first.starts_with(below);
       ++it)
    if (it->second.uid == uid && it->second.container == container) return &it->first;
  return nullptr;
}

std::string GroupTable::CpusetDir(std::string_view path) const {
  const std::vector<cgroup::ControllerMount>& mounts = site_.tree().layout().controllers;
  const auto cpuset = std::ranges::find(mounts, "cpuset", &cgroup::ControllerMount::controller);
  if (cpuset == mounts.end()) return "";
  for (std::string& dir : site_.tree().Dirs(path).dirs)
    if (dir == cpuset->mount || dir.starts_with(cpuset->mount + "/")) return std::move(dir);
  return "";
}

std::optional<std::string> GroupTable::GroupOf(std::string_view dir) const {
  const std::string root = CpusetDir("");
  if (root.empty() || !dir.starts_with(root)) return std::nullopt;
  dir.remove_prefix(root.size());
  if (dir.empty()) return "";
  return dir.front() == '/' ? std::optional(std::string(dir.substr(1))) : std::nullopt;
}

}  // namespace berth::cgroup_manager
