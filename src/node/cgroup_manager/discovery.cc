#include "node/cgroup_manager/discovery.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "host/cgroup/observe.h"
#include "node/checkpoint/ledger_import.h"

namespace berth::cgroup_manager {

Result<void> Discovery::Find(const Ledger& ledger, const std::set<std::string>& known) {
  BERTH_TRY(const std::vector<cgroup::PodGroup> groups, cgroup::FindPodGroups(site_.tree(), site_.names()));
  for (const auto& [path, uid, qos] : groups) {
    const auto record = ledger.pods.find(uid);
    if (record == ledger.pods.end() && !known.contains(uid)) continue;
    table_.KnowPod(uid, path);
    const bool partial = record != ledger.pods.end() && record->second.partial;
    BERTH_RETURN_IF_ERROR(
        site_.ownership().FindContainers(*this, path, uid, partial ? &record->second : nullptr, ledger));
  }
  return {};
}

Result<void> Discovery::KnowPartial(const std::string& pod_path, const PodRecord& record) {
  BERTH_TRY(const std::vector<std::string> groups, site_.tree().Children(pod_path));
  for (const std::string& group : groups) {
    const std::string path = fmt::format("{}/{}", pod_path, group);
    const std::string name = site_.names().ContainerName(record.uid, group).value_or(group);
    const auto cpus = site_.tree().ReadCpus(path);
    const Placement* placement = checkpoint::PlacementOf(record, name, cpus ? *cpus : CpuSet());
    table_.Know(path, {record.uid, placement == nullptr ? name : placement->container});
  }
  return {};
}

Result<void> Discovery::KnowByNames(const std::string& pod_path, const std::string& uid) {
  BERTH_TRY(const std::vector<std::string> groups, site_.tree().Children(pod_path));
  for (const std::string& group : groups)
    if (auto container = site_.names().ContainerName(uid, group))
      table_.Know(fmt::format("{}/{}", pod_path, group), {uid, *std::move(container)});
  return {};
}

Result<std::vector<std::string>> Discovery::FindForeign() {
  BERTH_TRY(const std::vector<cgroup::PodGroup> groups, cgroup::FindPodGroups(site_.tree(), site_.names()));
  std::set<std::string> there;
  for (const cgroup::PodGroup& group : groups) there.insert(group.path);
  table_.KeepTakenOver(there);
  std::vector<std::string> out;
  for (const auto& [path, uid, qos] : groups) {
    if (table_.IsUnfinished(path)) continue;
    const auto known = table_.pods().find(uid);
    if ((known == table_.pods().end() || known->second != path) && !table_.IsTakenOver(path)) out.push_back(path);
  }
  return out;
}

Result<void> Discovery::TakeOver(const std::string& pod_path) {
  const std::optional<std::string> uid = site_.names().PodUid(pod_path.substr(pod_path.rfind('/') + 1));
  if (!uid) return {};
  BERTH_TRY(const std::vector<std::string> groups, site_.tree().Children(pod_path));
  for (const std::string& group : groups) table_.Know(fmt::format("{}/{}", pod_path, group), {*uid, group});
  table_.TakeOver(pod_path);
  return {};
}

}  // namespace berth::cgroup_manager
