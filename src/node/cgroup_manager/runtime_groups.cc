#include "node/cgroup_manager/runtime_groups.h"

#include <algorithm>
#include <set>
#include <utility>

namespace berth::cgroup_manager {

Result<void> RuntimeGroups::MoveToPool(const std::string& path, const Ledger& ledger) {
  BERTH_TRY(const Online online, site_.tree().OnlineCpus());
  CgroupValues values;
  values.cpus = planner_.CpusNow({}, ledger, online);
  auto written = site_.WriteUnlessGone(path, values);
  // What systemd is being told is looked at again by Cpusets, as that of all groups that are known.
  return !written && site_.IsUnderWay(written.error()) ? Result<void>() : written;
}

Result<void> RuntimeGroups::Find(const std::string& uid, const Ledger& ledger) {
  const auto pod = table_.pods().find(uid);
  if (pod == table_.pods().end()) return {};
  BERTH_TRY(const std::vector<std::string> groups, site_.tree().CpusetChildren(pod->second));
  return FindAmong(uid, groups, ledger);
}

/// Runtimes call a container's group "<id>", "crio-<id>" or "cri-containerd-<id>.scope".
Result<void> RuntimeGroups::FindAmong(const std::string& uid, const std::vector<std::string>& groups,
                                      const Ledger& ledger) {
  const auto pod = table_.pods().find(uid);
  if (pod == table_.pods().end()) return {};
  std::set<std::string> found;
  for (const std::string& group : groups) {
    std::string path = pod->second + "/" + group;
    const auto& ids = table_.IdsOf(uid);
    const auto name = std::ranges::find_if(ids, [&](const auto& id) { return group.find(id.first) != group.npos; });
    if (name == ids.end()) continue;
    if (!table_.containers().contains(path)) {
      table_.Know(path, {uid, name->second});
      if (name->second.empty()) BERTH_RETURN_IF_ERROR(MoveToPool(path, ledger));
    }
    found.insert(std::move(path));
  }
  table_.KeepOnly(uid, found);
  return {};
}

Result<void> RuntimeGroups::Finish(const Pod& pod, const Container& container, std::string_view id,
                                   const Ledger& ledger) {
  const auto group = std::ranges::find_if(table_.containers(), [&](const auto& entry) {
    return entry.second.uid == pod.uid && entry.first.find(id) != std::string::npos;
  });
  if (group == table_.containers().end()) return {};
  CgroupValues all = planner_.OfContainer(pod, container, ledger, nullptr);
  CgroupValues values;
  values.hugetlb = std::move(all.hugetlb);
  values.hugetlb_others = all.hugetlb_others;
  return site_.WriteUnlessGone(group->first, values);
}

Result<bool> RuntimeGroups::FindMore(const Ledger& ledger) {
  const std::size_t before = table_.containers().size();
  for (const auto& [uid, path] : std::map(table_.pods())) BERTH_RETURN_IF_ERROR(Find(uid, ledger));
  return table_.containers().size() != before;
}

Result<std::map<std::string, std::string>> RuntimeGroups::FindUnknown(const Ledger& ledger) {
  std::map<std::string, std::string> out;
  for (const auto& [uid, pod_path] : table_.pods()) {
    BERTH_RETURN_IF_ERROR(Find(uid, ledger));
    BERTH_TRY(const std::vector<std::string> groups, site_.tree().Children(pod_path));
    for (const std::string& group : groups)
      if (std::string path = pod_path + "/" + group; !table_.containers().contains(path))
        out.emplace(std::move(path), uid);
  }
  return out;
}

}  // namespace berth::cgroup_manager
