#include "daemon/node_cgroups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "daemon/adopt.h"

namespace berth::daemon {
namespace {

constexpr std::string_view kPodPrefix = "pod";
constexpr os::Millis kLockPatience{2'000};

cgroup::ValueOptions OptionsOf(const KubeletConfiguration& config) {
  return {.cpu_cfs_quota = config.cpu_cfs_quota,
          .period = std::chrono::duration_cast<std::chrono::microseconds>(config.cpu_cfs_quota_period),
          .pod_pids_limit = config.pod_pids_limit};
}

std::int64_t Amount(const ResourceList& list, std::string_view resource, bool milli) {
  const auto it = list.find(resource);
  if (it == list.end()) return 0;
  return milli ? it->second.MilliValue() : it->second.Value();
}

/// Capacity less what is reserved for system and kubelet, never below zero (spec devices-cgroups 1.5).
std::int64_t ForPods(const engine::Node& node, std::string_view resource, bool milli) {
  const KubeletConfiguration& config = node.config();
  std::int64_t left = Amount(node.capacity(), resource, milli);
  if (std::ranges::find(config.enforce_node_allocatable, "pods") != config.enforce_node_allocatable.end())
    left -= Amount(config.system_reserved, resource, milli) + Amount(config.kube_reserved, resource, milli);
  return std::max<std::int64_t>(0, left);
}

constexpr std::array kTiers = {QosClass::kGuaranteed, QosClass::kBurstable, QosClass::kBestEffort};

}  // namespace

NodeCgroups::NodeCgroups(cgroup::Tree& tree, const engine::Node& node)
    : tree_(tree), node_(node), options_(OptionsOf(node.config())) {}

Result<void> NodeCgroups::Prepare(const Ledger& ledger, const std::set<std::string>& known) {
  auto made = tree_.Create(kOwnGroup);
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
  const CgroupDirs own = tree_.Dirs(kOwnGroup);
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
  for (const QosClass qos : kTiers) BERTH_RETURN_IF_ERROR(tree_.Create(cgroup::QosPath(qos)));
  CgroupValues values;
  values.shares = cgroup::SharesOf({ForPods(node_, "cpu", true)});
  BERTH_TRY([[maybe_unused]] const int all, tree_.Write(cgroup::QosPath(QosClass::kGuaranteed), values));
  return UpdateTiers(ledger);
}

std::string NodeCgroups::LimitAllPods() {
  const Bytes limit{ForPods(node_, "memory", false)};
  if (limit <= Bytes{0}) return "";
  const std::string all = cgroup::QosPath(QosClass::kGuaranteed);
  const auto used = tree_.MemoryUsage(all);
  std::string why = used ? "" : used.error().message;
  if (used && *used && **used > limit) {
    why = fmt::format("the pods use more memory than the {} bytes that are not reserved", limit.v);
  } else if (used) {
    CgroupValues values;
    values.memory_max = limit;
    if (const auto written = tree_.Write(all, values); !written) why = written.error().message;
  }
  return why.empty() ? why : why + "; the memory limit of all pods stays as it was";
}

Result<void> NodeCgroups::UpdateTiers(const Ledger& ledger) {
  std::int64_t burstable = 0;
  for (const auto& [uid, pod] : ledger.pods)
    if (pod.qos == QosClass::kBurstable) burstable += Amount(pod.requests, "cpu", true);
  CgroupValues values;
  values.shares = cgroup::SharesOf({burstable});
  BERTH_TRY([[maybe_unused]] const int a, tree_.Write(cgroup::QosPath(QosClass::kBurstable), values));
  values.shares = cgroup::SharesOf({0});
  BERTH_TRY([[maybe_unused]] const int b, tree_.Write(cgroup::QosPath(QosClass::kBestEffort), values));
  return {};
}

Result<void> NodeCgroups::Discover(const std::function<bool(const std::string&)>& ours) {
  foreign_.clear();
  for (const QosClass qos : kTiers) {
    BERTH_TRY(const std::vector<std::string> pods, tree_.Children(cgroup::QosPath(qos)));
    for (const std::string& name : pods) {
      if (!name.starts_with(kPodPrefix)) continue;
      const std::string uid = name.substr(kPodPrefix.size());
      const std::string path = cgroup::QosPath(qos) + "/" + name;
      if (!ours(uid)) {
        foreign_.push_back(path);
        continue;
      }
      pods_.insert_or_assign(uid, path);
      BERTH_TRY(const std::vector<std::string> containers, tree_.Children(path));
      for (const std::string& container : containers) {
        const std::string container_path = fmt::format("{}/{}", path, container);
        containers_.insert_or_assign(container_path, ContainerGroup{uid, container});
      }
    }
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
  if (own_group_) add(std::string(kOwnGroup), SharedCpus(node_, ledger));
  for (const auto& [path, group] : containers_) add(path, CpusOf(group, ledger));
  return out;
}

Result<int> NodeCgroups::ApplyCpus(const Ledger& ledger) {
  BERTH_TRY(const auto wanted, Wanted(ledger));
  return cgroup::ApplyCpus(tree_, wanted);
}

std::string NodeCgroups::PodPathOf(const Pod& pod) const {
  const auto it = pods_.find(pod.uid);
  return it != pods_.end() ? it->second : cgroup::PodPath(QosOf(pod), pod.uid);
}

std::string NodeCgroups::ContainerPathOf(const Pod& pod, std::string_view container) const {
  return fmt::format("{}/{}", PodPathOf(pod), container);
}

Result<CgroupDirs> NodeCgroups::MakeContainer(const Pod& pod, const Container& container, const Ledger& ledger) {
  const ContainerGroup group{pod.uid, container.name};
  const CpuSet cpus = CpusOf(group, ledger);
  std::optional<NodeSet> mems;
  bool pod_exclusive = false;
  bool exclusive = false;
  if (const auto record = ledger.pods.find(pod.uid); record != ledger.pods.end()) {
    pod_exclusive = !ExclusiveCpus(record->second).empty();
    if (const Placement* placement = FindPlacement(record->second, container.name); placement != nullptr) {
      exclusive = placement->cpus.has_value();
      if (NodeSet nodes = MemoryNodes(*placement); !nodes.empty()) mems = std::move(nodes);
    }
  }
  const std::string pod_path = PodPathOf(pod);
  BERTH_RETURN_IF_ERROR(tree_.Create(pod_path));
  pods_.insert_or_assign(pod.uid, pod_path);
  BERTH_TRY([[maybe_unused]] const int a, tree_.Write(pod_path, cgroup::PodValues(pod, pod_exclusive, options_)));
  const std::string path = ContainerPathOf(pod, container.name);
  BERTH_RETURN_IF_ERROR(tree_.Create(path));
  containers_.insert_or_assign(path, group);
  BERTH_TRY([[maybe_unused]] const int b,
            tree_.Write(path, cgroup::ContainerValues(pod, container, exclusive, cpus, mems, options_)));
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
  BERTH_RETURN_IF_ERROR(tree_.Remove(cgroup::QosPath(QosClass::kGuaranteed)));
  return tree_.Remove(kOwnGroup);
}

}  // namespace berth::daemon
