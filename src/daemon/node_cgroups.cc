#include "daemon/node_cgroups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "daemon/adopt.h"

namespace berth::daemon {
namespace {

constexpr os::Millis kLockPatience{2'000};

constexpr std::array kTiers = {QosClass::kGuaranteed, QosClass::kBurstable, QosClass::kBestEffort};

}  // namespace

NodeCgroups::NodeCgroups(cgroup::Tree& tree, const engine::Node& node, cgroup::Names names)
    : tree_(tree), node_(node), names_(std::move(names)) {}

Result<void> NodeCgroups::Prepare(const Ledger& ledger, const std::set<std::string>& known) {
  BERTH_RETURN_IF_ERROR(ReadSettings());
  auto made = tree_.Create(names_.Own());
  if (made) {
    own_group_ = true;
    BERTH_RETURN_IF_ERROR(TakeRoot());
    made = MakeTiers(ledger);
  }
  if (made) made = Discover([&](const std::string& uid) { return ledger.pods.contains(uid) || known.contains(uid); });
  // Callers know a second berthd by kBusy.
  if (!made && made.error().code == Code::kBusy) made.error().code = Code::kUnsupported;
  return made;
}

Result<void> NodeCgroups::TakeRoot() {
  const CgroupDirs own = tree_.Dirs(names_.Own());
  if (lock_ || own.dirs.empty()) return {};
  auto lock = os::LockFile::TakeDirectory(own.dirs.front(), kLockPatience);
  if (lock) {
    lock_ = *std::move(lock);
    return {};
  }
  if (lock.error().code == Code::kBusy)
    lock.error().message += ": another berthd uses this cgroup root; stop it, or give this one its own (--cgroup-root)";
  return std::unexpected(std::move(lock).error());
}

Result<void> NodeCgroups::MakeTiers(const Ledger& ledger) {
  if (!names_.per_qos()) return {};
  for (const QosClass qos : kTiers) BERTH_RETURN_IF_ERROR(tree_.Create(names_.Qos(qos)));
  return UpdateTiers(ledger);
}

Result<void> NodeCgroups::Discover(const std::function<bool(const std::string&)>& ours) {
  foreign_.clear();
  if (!names_.per_qos()) return DiscoverTier(QosClass::kGuaranteed, ours);
  for (const QosClass qos : kTiers) BERTH_RETURN_IF_ERROR(DiscoverTier(qos, ours));
  return {};
}

Result<void> NodeCgroups::DiscoverTier(QosClass qos, const std::function<bool(const std::string&)>& ours) {
  const std::string tier = names_.Qos(qos);
  BERTH_TRY(const std::vector<std::string> pods, tree_.Children(tier));
  for (const std::string& name : pods) {
    const std::optional<std::string> uid = names_.PodUid(name);
    if (!uid) continue;
    const std::string path = tier.empty() ? name : tier + "/" + name;
    if (!ours(*uid)) {
      foreign_.push_back(path);
      continue;
    }
    pods_.insert_or_assign(*uid, path);
    BERTH_TRY(const std::vector<std::string> containers, tree_.Children(path));
    for (const std::string& group : containers)
      if (const auto container = names_.ContainerName(*uid, group))
        containers_.insert_or_assign(fmt::format("{}/{}", path, group), ContainerGroup{*uid, *container});
  }
  return {};
}

CpuSet NodeCgroups::CpusOf(const ContainerGroup& group, const Ledger& ledger) const {
  if (const auto pod = ledger.pods.find(group.uid); pod != ledger.pods.end())
    if (const Placement* placement = FindPlacement(pod->second, group.container);
        placement != nullptr && placement->cpus && !placement->cpus->empty())
      return *placement->cpus;
  return SharedCpus(node_, ledger);
}

/// CPUs that are offline are left out: the kernel refuses them or takes them away. A group with no other is left alone.
Result<std::vector<std::pair<std::string, CpuSet>>> NodeCgroups::Wanted(const Ledger& ledger) const {
  BERTH_TRY(const std::optional<CpuSet> online, tree_.OnlineCpus());
  std::vector<std::pair<std::string, CpuSet>> out;
  const auto add = [&](const std::string& path, CpuSet cpus) {
    if (online) cpus &= *online;
    if (!cpus.empty()) out.emplace_back(path, std::move(cpus));
  };
  if (own_group_) add(names_.Own(), SharedCpus(node_, ledger));
  for (const auto& [path, group] : containers_) add(path, CpusOf(group, ledger));
  return out;
}

Result<int> NodeCgroups::ApplyCpus(const Ledger& ledger) {
  BERTH_TRY(const auto wanted, Wanted(ledger));
  return cgroup::ApplyCpus(tree_, wanted);
}

std::string NodeCgroups::PodPathOf(const Pod& pod) const {
  const auto it = pods_.find(pod.uid);
  return it != pods_.end() ? it->second : names_.Pod(QosOf(pod), pod.uid);
}

std::string NodeCgroups::ContainerPathOf(const Pod& pod, std::string_view container) const {
  return names_.Container(PodPathOf(pod), container);
}

Result<CgroupDirs> NodeCgroups::MakeContainer(const Pod& pod, const Container& container, const Ledger& ledger) {
  const ContainerGroup group{pod.uid, container.name};
  const CpuSet cpus = CpusOf(group, ledger);
  const std::string pod_path = PodPathOf(pod);
  BERTH_RETURN_IF_ERROR(tree_.Create(pod_path));
  pods_.insert_or_assign(pod.uid, pod_path);
  if (names_.per_qos()) BERTH_RETURN_IF_ERROR(tree_.Write(pod_path, PodValuesOf(pod, ledger, nullptr)));
  const std::string path = ContainerPathOf(pod, container.name);
  BERTH_RETURN_IF_ERROR(tree_.Create(path));
  containers_.insert_or_assign(path, group);
  BERTH_RETURN_IF_ERROR(tree_.Write(path, ContainerValuesOf(pod, container, ledger, nullptr)));
  // The kernel has the last word: on v2 a set outside the parent's is accepted and something else takes effect.
  BERTH_TRY(const CgroupValues now, tree_.Read(path));
  if (now.cpus && *now.cpus != cpus)
    return Fail(Code::kIo, fmt::format("cgroup {}: asked for CPUs {}, the kernel gives {}; look for a parent cgroup "
                                       "with fewer CPUs",
                                       path, FormatIds(cpus), FormatIds(*now.cpus)));
  return tree_.Dirs(path);
}

Result<std::vector<Repair>> NodeCgroups::RepairCpus(const Ledger& ledger) {
  std::vector<Repair> out;
  std::vector<std::pair<std::string, CpuSet>> differing;
  BERTH_TRY(const auto wanted, Wanted(ledger));
  for (const auto& [path, cpus] : wanted) {
    auto now = tree_.Read(path);
    if (!now) {
      if (now.error().code == Code::kNotFound) continue;  // its end is noticed elsewhere
      return std::unexpected(std::move(now).error());
    }
    if (!now->cpus || *now->cpus == cpus) continue;
    out.push_back({path, fmt::format("CPUs were {}, must be {}", FormatIds(*now->cpus), FormatIds(cpus))});
    differing.emplace_back(path, cpus);
  }
  if (differing.empty()) return out;
  BERTH_TRY([[maybe_unused]] const int writes, cgroup::ApplyCpus(tree_, differing));
  return out;
}

Result<void> NodeCgroups::KillContainer(const Pod& pod, std::string_view container, os::Millis patience) {
  return tree_.Kill(ContainerPathOf(pod, container), patience);
}

Result<void> NodeCgroups::KillPod(const Pod& pod) { return tree_.Kill(PodPathOf(pod), os::Millis(0)); }

Result<bool> NodeCgroups::RemovePod(const Pod& pod) {
  const std::string path = PodPathOf(pod);
  BERTH_TRY(const std::vector<int> pids, tree_.Pids(path));
  if (!pids.empty()) return false;
  BERTH_RETURN_IF_ERROR(tree_.Remove(path));
  std::erase_if(containers_, [&](const auto& entry) { return entry.second.uid == pod.uid; });
  pods_.erase(pod.uid);
  return true;
}

Result<void> NodeCgroups::RemoveAll() {
  own_group_ = false;
  if (names_.per_qos()) BERTH_RETURN_IF_ERROR(tree_.Remove(names_.Qos(QosClass::kGuaranteed)));
  return tree_.Remove(names_.Own());
}

}  // namespace berth::daemon
