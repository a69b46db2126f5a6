#include "node/cgroup_manager/pod_groups.h"

#include <fmt/core.h>

#include <utility>

#include "host/cgroup/value_lines.h"
namespace berth::cgroup_manager {

void PodGroups::LetGo(const Pod& pod, std::string_view container) {
  site_.tree().LetGo(table_.ContainerPathOf(pod, container));
}

void PodGroups::GiveUp(const Pod& pod, std::string_view container) {
  table_.SetFinished(table_.ContainerPathOf(pod, container));
  table_.SetFinished(table_.PodPathOf(pod));
}

/// What came of making that group. True: it goes on.
template <class T>
bool PodGroups::Note(const std::string& path, const std::string& uid, const Result<T>& made) {
  const bool goes_on = !made && site_.IsUnderWay(made.error());
  if (goes_on)
    table_.SetUnfinished(path, uid);
  else
    table_.SetFinished(path);
  return goes_on;
}

Result<CgroupDirs> PodGroups::MakeContainer(const Pod& pod, const Container& container, const Ledger& ledger) {
  const ContainerGroup group{pod.uid, container.name};
  BERTH_RETURN_IF_ERROR(MakePodGroup(pod, ledger));
  const std::string path = table_.ContainerPathOf(pod, container.name);
  auto dirs = Make(path, group, pod, container, ledger);
  Note(path, pod.uid, dirs);
  if (!dirs && dirs.error().code != Code::kBusy) site_.tree().LetGo(path);
  return dirs;
}

Result<CgroupDirs> PodGroups::Make(const std::string& path, const ContainerGroup& group, const Pod& pod,
                                   const Container& container, const Ledger& ledger) {
  BERTH_TRY(const Online online, site_.tree().OnlineCpus());
  const CpuSet cpus = planner_.CpusNow(group, ledger, online);
  BERTH_RETURN_IF_ERROR(site_.tree().Create(path));
  table_.Know(path, group);
  CgroupValues values = planner_.OfContainer(pod, container, ledger, nullptr);
  values.cpus = cpus;
  if (site_.BelowPoolTier(path) && planner_.Cpus(ledger, online).may_inherit) {
    // One write to the class moves all that inherit its CPUs.
    BERTH_TRY(const CpuSet inherited, site_.tree().ReadCpus(path));
    if (inherited == cpus) values.cpus.reset();
  }
  BERTH_RETURN_IF_ERROR(site_.tree().Write(path, values));
  // The kernel has the last word: on v2 a set outside the parent's is accepted and something else takes effect.
  BERTH_TRY(const CgroupValues now, site_.tree().Read(path));
  if (now.cpus && *now.cpus != cpus)
    return Fail(Code::kIo, fmt::format("cgroup {}: asked for CPUs {}, the kernel gives {}; look for a parent cgroup "
                                       "with fewer CPUs",
                                       path, FormatIds(cpus), FormatIds(*now.cpus)));
  BERTH_TRY([[maybe_unused]] const auto changed, partitions_.Settle(ledger));
  return site_.tree().Dirs(path);
}

Result<void> PodGroups::MakePodGroup(const Pod& pod, const Ledger& ledger) {
  const std::string path = table_.PodPathOf(pod);
  auto made = TryPodGroup(path, pod, ledger);
  if (!Note(path, pod.uid, made)) new_pods_.erase(path);
  return made;
}

Result<void> PodGroups::TryPodGroup(const std::string& path, const Pod& pod, const Ledger& ledger) {
  BERTH_TRY(const Online online, site_.tree().OnlineCpus());
  const auto before = site_.tree().ReadCpus(path);
  if (!before && before.error().code != Code::kNotFound) return std::unexpected(before.error());
  if (!before) new_pods_.insert(path);
  BERTH_RETURN_IF_ERROR(site_.tree().Create(path));
  table_.KnowPod(pod.uid, path);
  CgroupValues values = site_.names().per_qos() ? planner_.OfPod(pod, ledger, nullptr) : CgroupValues();
  if (site_.ownership().SetsPodCpus(site_, path, new_pods_.contains(path)))
    values.cpus = planner_.CpusOfPod(pod.uid, ledger, online);
  BERTH_TRY([[maybe_unused]] const int writes, site_.tree().Write(path, values));
  return {};
}

Result<std::string> PodGroups::MakePod(const Pod& pod, const Ledger& ledger) {
  BERTH_RETURN_IF_ERROR(MakePodGroup(pod, ledger));
  return site_.names().FromTop(table_.PodPathOf(pod));
}

Result<CgroupValues> PodGroups::ValuesNow(const Pod& pod, const Container& container, const Ledger& ledger) {
  BERTH_TRY(const Online online, site_.tree().OnlineCpus());
  CgroupValues values = planner_.OfContainer(pod, container, ledger, nullptr);
  values.cpus = planner_.CpusNow({pod.uid, container.name}, ledger, online);
  return cgroup::WithControllersOf(site_.tree().layout(), std::move(values));
}

Result<std::vector<runtime::ContainerCpus>> PodGroups::CpusNow(const Ledger& ledger) {
  BERTH_TRY(const Online online, site_.tree().OnlineCpus());
  std::vector<runtime::ContainerCpus> out;
  for (const auto& [uid, pod] : ledger.pods)
    for (const Placement& placement : pod.placements)
      out.push_back({.pod_uid = uid,
                     .container = placement.container,
                     .cpus = planner_.CpusNow({uid, placement.container}, ledger, online)});
  return out;
}

Result<void> PodGroups::KillContainer(const Pod& pod, std::string_view container) {
  return site_.tree().Kill(table_.ContainerPathOf(pod, container), os::Millis(0));
}

Result<void> PodGroups::KillPod(const Pod& pod) { return site_.tree().Kill(table_.PodPathOf(pod), os::Millis(0)); }

Result<bool> PodGroups::Remove(const Pod& pod) {
  const std::string path = table_.PodPathOf(pod);
  BERTH_TRY(const std::vector<int> pids, site_.tree().Pids(path));
  if (!pids.empty()) return false;
  BERTH_RETURN_IF_ERROR(site_.tree().Remove(path, os::Millis(0)));
  on_removed_(path);
  new_pods_.erase(path);
  partitions_.Forget(path);
  table_.Forget(pod.uid);
  return true;
}

}  // namespace berth::cgroup_manager
