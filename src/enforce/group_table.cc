#include "enforce/group_table.h"

#include <algorithm>
#include <utility>

namespace berth::enforce {

const std::map<std::string, std::string>& GroupTable::IdsOf(const std::string& uid) const {
  static const std::map<std::string, std::string> kNone;
  const auto ids = ids_.find(uid);
  return ids == ids_.end() ? kNone : ids->second;
}

void GroupTable::KnowPod(const std::string& uid, const std::string& path) {
  pods_.insert_or_assign(uid, path);
  Watch(path);
}

void GroupTable::Know(const std::string& path, ContainerGroup group) {
  containers_.insert_or_assign(path, std::move(group));
  Watch(path);
}

bool GroupTable::KnowId(const std::string& uid, const std::string& container, const std::string& id) {
  return ids_[uid].insert_or_assign(id, container).second;
}

void GroupTable::KeepOnly(const std::string& uid, const std::set<std::string>& paths) {
  std::erase_if(containers_, [&](const auto& c) { return c.second.uid == uid && !paths.contains(c.first); });
}

void GroupTable::Forget(const std::string& uid) {
  std::erase_if(containers_, [&](const auto& entry) { return entry.second.uid == uid; });
  pods_.erase(uid);
  ids_.erase(uid);
}

void GroupTable::KeepTakenOver(const std::set<std::string>& paths) {
  std::erase_if(taken_over_, [&](const std::string& path) {
    if (paths.contains(path)) return false;
    std::erase_if(containers_, [&](const auto& entry) { return entry.first.starts_with(path + "/"); });
    return true;
  });
}

std::string GroupTable::PodPathOf(const Pod& pod) const {
  const auto it = pods_.find(pod.uid);
  return it != pods_.end() ? it->second : site_.names().Pod(QosOf(pod), pod.uid);
}

std::string GroupTable::ContainerPathOf(const Pod& pod, std::string_view container) const {
  const std::string above = PodPathOf(pod);
  if (site_.runtime_makes_groups())  // groups of a pod lie beside each other, below its own
    for (auto it = containers_.lower_bound(above + "/"); it != containers_.end() && it->first.starts_with(above); ++it)
      if (it->second.uid == pod.uid && it->second.container == container) return it->first;
  return site_.names().Container(above, container);
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

}  // namespace berth::enforce
