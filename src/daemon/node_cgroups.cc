#include "daemon/node_cgroups.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cgroup/observe.h"
#include "daemon/adopt.h"
#include "state/takeover.h"

namespace berth::daemon {
namespace {

constexpr os::Millis kLockPatience{2'000};
constexpr int kLooks = 10;  // at groups a runtime is making
constexpr os::Millis kBetweenLooks{5};

/// A group without booked memory that keeps the nodes it had: of an init container that has ended, and of pods whose
/// booking may have been lost while they ran.
bool KeepsItsNodes(const ContainerGroup& group, const Ledger& ledger) {
  const auto pod = ledger.pods.find(group.uid);
  if (pod == ledger.pods.end()) return false;
  const Placement* placement = FindPlacement(pod->second, group.container);
  if (placement != nullptr && placement->memory) return false;
  if (pod->second.partial) return true;
  if (placement == nullptr) return false;
  return placement->kind == ContainerKind::kInit || pod->second.qos == QosClass::kGuaranteed;
}

}  // namespace

NodeCgroups::NodeCgroups(cgroup::Tree& tree, const engine::Node& node, cgroup::Names names)
    : tree_(tree), node_(node), names_(std::move(names)) {}

Result<void> NodeCgroups::Prepare(const Ledger& ledger, const std::set<std::string>& known) {
  BERTH_RETURN_IF_ERROR(ReadSettings());
  Result<void> made;
  for (const std::string& path : OwnGroups()) {
    if (made) made = tree_.Create(path);
    if (made) watch_(CpusetDir(path));
  }
  tree_.LetGo(names_.Own());  // berthd is in it
  if (made) {
    own_group_ = true;
    BERTH_RETURN_IF_ERROR(TakeRoot());
    made = MakeTiers(ledger);
  }
  if (made) made = Discover(ledger, known);
  return made;
}

Result<void> NodeCgroups::SetNode(const engine::Node& node) {
  node_ = node;
  return ReadSettings();
}

Result<void> NodeCgroups::TakeRoot() {
  const CgroupDirs root = tree_.Dirs("");
  if (lock_ || root.dirs.empty()) return {};
  auto lock = os::LockFile::TakeDirectory(root.dirs.front(), kLockPatience);
  if (lock) {
    lock_ = *std::move(lock);
    return {};
  }
  if (lock.error().code == Code::kInUse)
    lock.error().message += ": another berthd uses this cgroup root; stop it, or give this one its own (--cgroup-root)";
  return std::unexpected(std::move(lock).error());
}

Result<void> NodeCgroups::MakeTiers(const Ledger& ledger) {
  if (!names_.per_qos()) return {};
  for (const QosClass qos : names_.Tiers()) {
    BERTH_RETURN_IF_ERROR(tree_.Create(names_.Qos(qos)));
    watch_(CpusetDir(names_.Qos(qos)));
  }
  return UpdateTiers(ledger);
}

Result<void> NodeCgroups::Discover(const Ledger& ledger, const std::set<std::string>& known) {
  BERTH_TRY(const std::vector<cgroup::PodGroup> groups, cgroup::FindPodGroups(tree_, names_));
  for (const auto& [path, uid, qos] : groups) {
    const auto record = ledger.pods.find(uid);
    if (record == ledger.pods.end() && !known.contains(uid)) continue;
    pods_.insert_or_assign(uid, path);
    watch_(CpusetDir(path));
    const bool partial = record != ledger.pods.end() && record->second.partial;
    BERTH_RETURN_IF_ERROR(partial ? KnowPartial(path, record->second, ledger) : KnowContainers(path, uid, ledger));
  }
  return {};
}

/// Groups of pods taken over from elsewhere are called as their runtime called them.
Result<void> NodeCgroups::KnowPartial(const std::string& pod_path, const PodRecord& record, const Ledger& ledger) {
  if (runtime_makes_groups_ && ids_.contains(record.uid)) return FindRuntimeGroups(record.uid, ledger);
  BERTH_TRY(const std::vector<std::string> groups, tree_.Children(pod_path));
  for (const std::string& group : groups) {
    const std::string path = fmt::format("{}/{}", pod_path, group);
    const std::string name = names_.ContainerName(record.uid, group).value_or(group);
    const auto cpus = tree_.ReadCpus(path);
    const Placement* placement = state::PlacementOf(record, name, cpus ? *cpus : CpuSet());
    Know(path, {record.uid, placement == nullptr ? name : placement->container});
  }
  return {};
}

Result<void> NodeCgroups::KnowContainers(const std::string& pod_path, const std::string& uid, const Ledger& ledger) {
  if (runtime_makes_groups_) return FindRuntimeGroups(uid, ledger);
  BERTH_TRY(const std::vector<std::string> groups, tree_.Children(pod_path));
  for (const std::string& group : groups)
    if (auto container = names_.ContainerName(uid, group))
      Know(fmt::format("{}/{}", pod_path, group), {uid, *std::move(container)});
  return {};
}

void NodeCgroups::Know(const std::string& path, ContainerGroup group) {
  containers_.insert_or_assign(path, std::move(group));
  watch_(CpusetDir(path));
}

Result<std::vector<std::string>> NodeCgroups::FindForeign() {
  BERTH_TRY(const std::vector<cgroup::PodGroup> groups, cgroup::FindPodGroups(tree_, names_));
  std::erase_if(taken_over_, [&](const std::string& path) {
    if (std::ranges::binary_search(groups, path, {}, &cgroup::PodGroup::path)) return false;
    std::erase_if(containers_, [&](const auto& entry) { return entry.first.starts_with(path + "/"); });
    return true;
  });
  std::vector<std::string> out;
  for (const auto& [path, uid, qos] : groups) {
    const auto known = pods_.find(uid);
    if ((known == pods_.end() || known->second != path) && !taken_over_.contains(path)) out.push_back(path);
  }
  return out;
}

Result<void> NodeCgroups::TakeOver(const std::string& pod_path) {
  const std::optional<std::string> uid = names_.PodUid(pod_path.substr(pod_path.rfind('/') + 1));
  if (!uid) return {};
  BERTH_TRY(const std::vector<std::string> groups, tree_.Children(pod_path));
  for (const std::string& group : groups) Know(fmt::format("{}/{}", pod_path, group), {*uid, group});
  taken_over_.insert(pod_path);
  return {};
}

/// Where the kernel keeps the cpuset of a group; "" where there is no kernel.
std::string NodeCgroups::CpusetDir(std::string_view path) const {
  const std::vector<cgroup::ControllerMount>& mounts = tree_.layout().controllers;
  const auto cpuset = std::ranges::find(mounts, "cpuset", &cgroup::ControllerMount::controller);
  if (cpuset == mounts.end()) return "";
  for (std::string& dir : tree_.Dirs(path).dirs)
    if (dir == cpuset->mount || dir.starts_with(cpuset->mount + "/")) return std::move(dir);
  return "";
}

std::optional<std::string> NodeCgroups::GroupOf(std::string_view dir) const {
  const std::string root = CpusetDir("");
  if (root.empty() || !dir.starts_with(root)) return std::nullopt;
  dir.remove_prefix(root.size());
  if (dir.empty()) return "";
  return dir.front() == '/' ? std::optional(std::string(dir.substr(1))) : std::nullopt;
}

CpuSet NodeCgroups::CpusOf(const ContainerGroup& group, const Ledger& ledger) const {
  if (const auto pod = ledger.pods.find(group.uid); pod != ledger.pods.end())
    if (const Placement* placement = FindPlacement(pod->second, group.container);
        placement != nullptr && placement->cpus && !placement->cpus->empty())
      return *placement->cpus;
  return SharedCpus(node_, ledger);
}

/// CPUs that are offline are left out: the kernel refuses them or takes them away. A container that lost all of its own
/// runs in the shared pool: left alone, the kernel would let it onto every CPU of the group above.
CpuSet NodeCgroups::CpusNow(const ContainerGroup& group, const Ledger& ledger,
                            const std::optional<CpuSet>& online) const {
  CpuSet cpus = CpusOf(group, ledger);
  if (!online) return cpus;
  cpus &= *online;
  return cpus.empty() ? SharedCpus(node_, ledger) & *online : cpus;
}

std::optional<NodeSet> NodeCgroups::NodesOf(const ContainerGroup& group, const Ledger& ledger) const {
  const auto pod = ledger.pods.find(group.uid);
  if (pod == ledger.pods.end()) return std::nullopt;
  const Placement* placement = FindPlacement(pod->second, group.container);
  if (placement == nullptr) return std::nullopt;
  NodeSet nodes = MemoryNodes(*placement);
  return nodes.empty() ? std::nullopt : std::optional(std::move(nodes));
}

bool NodeCgroups::BelowTier(std::string_view path) const {
  return names_.per_qos() && (path.starts_with(names_.Qos(QosClass::kBurstable) + "/") ||
                              path.starts_with(names_.Qos(QosClass::kBestEffort) + "/"));
}

bool NodeCgroups::BelowPoolTier(std::string_view path) const {
  return tree_.layout().version == cgroup::Version::kV2 && BelowTier(path);
}

/// A group for which no CPU is online is left alone.
Result<NodeCgroups::WantedCpus> NodeCgroups::Wanted(const Ledger& ledger) const {
  BERTH_TRY(const std::optional<CpuSet> online, tree_.OnlineCpus());
  WantedCpus out;
  const auto add = [](WantedSets& to, const std::string& path, CpuSet cpus) {
    if (!cpus.empty()) to.emplace_back(path, std::move(cpus));
  };
  const CpuSet shared = CpusNow({}, ledger, online);
  struct Wish {
    const std::string& path;
    CpuSet cpus;
    bool inherits;
  };
  std::vector<Wish> wishes;
  bool at_tiers = true;
  for (const auto& [path, group] : containers_) {
    const Wish& w = wishes.emplace_back(path, CpusNow(group, ledger, online), BelowPoolTier(path));
    at_tiers = at_tiers && (!w.inherits || w.cpus == shared);
  }
  if (own_group_)
    for (const std::string& path : OwnGroups()) add(out.first, path, shared);
  for (const auto& [uid, path] : pods_)
    if (KeepsPodToItsCpus(path)) add(out.first, path, CpusOfPod(uid, ledger, online));
  for (Wish& w : wishes) add(at_tiers && w.inherits ? out.inherited : out.first, w.path, std::move(w.cpus));
  if (!at_tiers) return out;
  for (const QosClass qos : {QosClass::kBurstable, QosClass::kBestEffort})
    if (const std::string tier = names_.Qos(qos); BelowPoolTier(tier + "/")) add(out.first, tier, shared);
  return out;
}

Result<int> NodeCgroups::ApplyCpus(const Ledger& ledger) {
  for (int look = 1;; ++look) {
    BERTH_TRY(const WantedCpus wanted, Wanted(ledger));
    BERTH_RETURN_IF_ERROR(EndPartitions(ledger));
    auto writes = cgroup::ApplyCpus(tree_, wanted.first);
    if (writes) {
      BERTH_TRY(const int more, cgroup::ApplyCpus(tree_, wanted.inherited));
      BERTH_TRY([[maybe_unused]] const auto changed, SettlePartitions(ledger));
      ReturnStrays();
      return *writes + more;
    }
    if (writes.error().code != Code::kBusy || look == kLooks) return writes;
    // Somebody's group holds up the pod's it is in: the runtime may be making it, and then it is known soon.
    BERTH_TRY(const int narrowed, NarrowForeignGroups(ledger));
    if (!runtime_makes_groups_) {
      if (narrowed == 0) return writes;
      continue;
    }
    os::SleepFor(kBetweenLooks);
    for (const auto& [uid, path] : std::map(pods_)) BERTH_RETURN_IF_ERROR(FindRuntimeGroups(uid, ledger));
  }
}

/// A group that is gone needs no values: success.
Result<void> NodeCgroups::WriteUnlessGone(const std::string& path, const CgroupValues& values) {
  auto written = tree_.Write(path, values);
  if (!written && written.error().code != Code::kNotFound) return std::unexpected(std::move(written).error());
  return {};
}

/// Groups a runtime is making, or left half made, or somebody else's, also below containers: whatever they are, they
/// get nothing that the pod or container above does not have. Returns how many had more.
Result<int> NodeCgroups::NarrowForeignGroups(const Ledger& ledger) {
  BERTH_TRY(const std::optional<CpuSet> online, tree_.OnlineCpus());
  int narrowed = 0;
  for (const auto& [path, group] : containers_) narrowed += NarrowBelow(path, CpusNow(group, ledger, online));
  for (const auto& [uid, path] : pods_)
    if (KeepsPodToItsCpus(path)) narrowed += NarrowBelow(path, CpusOfPod(uid, ledger, online));
  return narrowed;
}

/// From the bottom: a group that is to have less must not be above one with more. What cannot be read or written is
/// left; the kernel says again who is in the way.
int NodeCgroups::NarrowBelow(const std::string& above, const CpuSet& most) {
  const auto groups = tree_.Children(above);
  if (!groups || most.empty()) return 0;
  int narrowed = 0;
  for (const std::string& group : *groups) {
    const std::string path = fmt::format("{}/{}", above, group);
    if (containers_.contains(path)) continue;
    narrowed += NarrowBelow(path, most);
    const auto now = tree_.ReadCpus(path);
    if (!now || now->IsSubsetOf(most)) continue;
    CgroupValues values;
    values.cpus = now->Intersects(most) ? *now & most : most;
    if (tree_.Write(path, values)) ++narrowed;
  }
  return narrowed;
}

std::string NodeCgroups::PodPathOf(const Pod& pod) const {
  const auto it = pods_.find(pod.uid);
  return it != pods_.end() ? it->second : names_.Pod(QosOf(pod), pod.uid);
}

std::string NodeCgroups::ContainerPathOf(const Pod& pod, std::string_view container) const {
  if (runtime_makes_groups_)
    for (const auto& [path, group] : containers_)
      if (group.uid == pod.uid && group.container == container) return path;
  return names_.Container(PodPathOf(pod), container);
}

Result<CgroupDirs> NodeCgroups::MakeContainer(const Pod& pod, const Container& container, const Ledger& ledger) {
  const ContainerGroup group{pod.uid, container.name};
  BERTH_RETURN_IF_ERROR(MakePodGroup(pod, ledger));
  const std::string path = ContainerPathOf(pod, container.name);
  auto dirs = MakeContainerGroup(path, group, pod, container, ledger);
  if (!dirs) tree_.LetGo(path);
  return dirs;
}

Result<CgroupDirs> NodeCgroups::MakeContainerGroup(const std::string& path, const ContainerGroup& group, const Pod& pod,
                                                   const Container& container, const Ledger& ledger) {
  BERTH_TRY(const std::optional<CpuSet> online, tree_.OnlineCpus());
  const CpuSet cpus = CpusNow(group, ledger, online);
  BERTH_RETURN_IF_ERROR(tree_.Create(path));
  Know(path, group);
  CgroupValues values = ContainerValuesOf(pod, container, ledger, nullptr);
  values.cpus = cpus;
  if (BelowPoolTier(path)) {  // one write to the class moves all that inherit its CPUs
    BERTH_TRY(const CpuSet inherited, tree_.ReadCpus(path));
    if (inherited == cpus) values.cpus.reset();
  }
  BERTH_RETURN_IF_ERROR(tree_.Write(path, values));
  // The kernel has the last word: on v2 a set outside the parent's is accepted and something else takes effect.
  BERTH_TRY(const CgroupValues now, tree_.Read(path));
  if (now.cpus && *now.cpus != cpus)
    return Fail(Code::kIo, fmt::format("cgroup {}: asked for CPUs {}, the kernel gives {}; look for a parent cgroup "
                                       "with fewer CPUs",
                                       path, FormatIds(cpus), FormatIds(*now.cpus)));
  BERTH_TRY([[maybe_unused]] const auto changed, SettlePartitions(ledger));
  return tree_.Dirs(path);
}

Result<void> NodeCgroups::MakePodGroup(const Pod& pod, const Ledger& ledger) {
  BERTH_TRY(const std::optional<CpuSet> online, tree_.OnlineCpus());
  const std::string path = PodPathOf(pod);
  const bool was_there = tree_.ReadCpus(path).has_value();
  BERTH_RETURN_IF_ERROR(tree_.Create(path));
  pods_.insert_or_assign(pod.uid, path);
  watch_(CpusetDir(path));
  CgroupValues values = names_.per_qos() ? PodValuesOf(pod, ledger, nullptr) : CgroupValues();
  // What is there has the CPUs of containers that run; ApplyCpus knows in which order they change.
  if (runtime_makes_groups_ || (KeepsPodToItsCpus(path) && !was_there))
    values.cpus = CpusOfPod(pod.uid, ledger, online);
  BERTH_TRY([[maybe_unused]] const int writes, tree_.Write(path, values));
  return {};
}

Result<std::string> NodeCgroups::MakePod(const Pod& pod, const Ledger& ledger) {
  BERTH_RETURN_IF_ERROR(MakePodGroup(pod, ledger));
  return names_.FromTop(PodPathOf(pod));
}

Result<CgroupValues> NodeCgroups::ValuesNow(const Pod& pod, const Container& container, const Ledger& ledger) {
  BERTH_TRY(const std::optional<CpuSet> online, tree_.OnlineCpus());
  CgroupValues values = ContainerValuesOf(pod, container, ledger, nullptr);
  values.cpus = CpusNow({pod.uid, container.name}, ledger, online);
  return cgroup::WithControllersOf(tree_.layout(), std::move(values));
}

Result<std::vector<runtime::ContainerCpus>> NodeCgroups::ContainerCpusNow(const Ledger& ledger) {
  BERTH_TRY(const std::optional<CpuSet> online, tree_.OnlineCpus());
  std::vector<runtime::ContainerCpus> out;
  for (const auto& [uid, pod] : ledger.pods)
    for (const Placement& placement : pod.placements)
      out.push_back({.pod_uid = uid,
                     .container = placement.container,
                     .cpus = CpusNow({uid, placement.container}, ledger, online)});
  return out;
}

/// Pods that may have CPUs of their own: when the last of a container's own CPUs goes offline, the kernel lets it onto
/// those of the group above at once, on v1 by moving its processes there. These must be nobody else's.
bool NodeCgroups::KeepsPodToItsCpus(std::string_view pod_path) const {
  return runtime_makes_groups_ || !BelowTier(pod_path);
}

/// What a pod's containers may use together; its sandbox is in the shared pool.
CpuSet NodeCgroups::CpusOfPod(const std::string& uid, const Ledger& ledger, const std::optional<CpuSet>& online) const {
  CpuSet cpus = CpusNow({}, ledger, online);
  if (const auto pod = ledger.pods.find(uid); pod != ledger.pods.end()) cpus |= ExclusiveCpus(pod->second);
  return online ? cpus & *online : cpus;
}

bool NodeCgroups::KnowId(const std::string& uid, const std::string& container, const std::string& id) {
  return ids_[uid].insert_or_assign(id, container).second;
}

Result<void> NodeCgroups::MoveToPool(const std::string& path, const Ledger& ledger) {
  BERTH_TRY(const std::optional<CpuSet> online, tree_.OnlineCpus());
  CgroupValues values;
  values.cpus = CpusNow({}, ledger, online);
  return WriteUnlessGone(path, values);
}

/// Runtimes call a container's group "<id>", "crio-<id>" or "cri-containerd-<id>.scope".
Result<void> NodeCgroups::FindRuntimeGroups(const std::string& uid, const Ledger& ledger) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return {};
  BERTH_TRY(const std::vector<std::string> groups, tree_.Children(pod->second));
  std::set<std::string> found;
  for (const std::string& group : groups) {
    std::string path = pod->second + "/" + group;
    const auto& ids = ids_[uid];
    const auto name = std::ranges::find_if(ids, [&](const auto& id) { return group.find(id.first) != group.npos; });
    if (name == ids.end()) continue;
    if (!containers_.contains(path)) {
      Know(path, {uid, name->second});
      if (name->second.empty()) BERTH_RETURN_IF_ERROR(MoveToPool(path, ledger));
    }
    found.insert(std::move(path));
  }
  std::erase_if(containers_, [&](const auto& c) { return c.second.uid == uid && !found.contains(c.first); });
  return {};
}

Result<void> NodeCgroups::FinishRuntimeGroup(const Pod& pod, const Container& container, std::string_view id,
                                             const Ledger& ledger) {
  const auto group = std::ranges::find_if(containers_, [&](const auto& entry) {
    return entry.second.uid == pod.uid && entry.first.find(id) != std::string::npos;
  });
  if (group == containers_.end()) return {};
  CgroupValues all = ContainerValuesOf(pod, container, ledger, nullptr);
  CgroupValues values;
  values.hugetlb = std::move(all.hugetlb);
  values.hugetlb_others = all.hugetlb_others;
  return WriteUnlessGone(group->first, values);
}

Result<std::map<std::string, std::string>> NodeCgroups::FindUnknownContainers(const Ledger& ledger) {
  std::map<std::string, std::string> out;
  if (!runtime_makes_groups_) return out;
  for (const auto& [uid, pod_path] : pods_) {
    BERTH_RETURN_IF_ERROR(FindRuntimeGroups(uid, ledger));
    BERTH_TRY(const std::vector<std::string> groups, tree_.Children(pod_path));
    for (const std::string& group : groups)
      if (std::string path = pod_path + "/" + group; !containers_.contains(path)) out.emplace(std::move(path), uid);
  }
  return out;
}

Result<std::vector<Repair>> NodeCgroups::RepairCpusets(const Ledger& ledger) {
  std::vector<Repair> out;
  BERTH_TRY(const WantedCpus wanted, Wanted(ledger));
  BERTH_TRY(const cgroup::Cpuset root, tree_.ReadCpuset(""));
  BERTH_RETURN_IF_ERROR(RepairSets(wanted.first, root.mems, ledger, out));
  BERTH_RETURN_IF_ERROR(RepairSets(wanted.inherited, root.mems, ledger, out));
  for (const auto& [path, count] : ReturnStrays())
    out.push_back(
        {path, fmt::format("{} of its processes {} in the cpuset above", count, count == 1 ? "was" : "were")});
  BERTH_TRY(const std::vector<std::string> partitions, SettlePartitions(ledger));
  for (const std::string& path : partitions)
    out.push_back({path, "it was no partition with CPUs of its own any more, must be " + partition_});
  return out;
}

Result<void> NodeCgroups::RepairSets(const WantedSets& wanted, const NodeSet& all_mems, const Ledger& ledger,
                                     std::vector<Repair>& out) {
  WantedSets cpus_differ;
  std::vector<std::pair<std::string, NodeSet>> mems_differ;
  for (const auto& [path, cpus] : wanted) {
    auto now = tree_.ReadCpuset(path);
    if (!now) {
      if (now.error().code == Code::kNotFound) continue;  // its end is noticed elsewhere
      return std::unexpected(std::move(now).error());
    }
    if (now->cpus != cpus) BERTH_RETURN_IF_ERROR(AddPartitioned(path, cpus, now->cpus));
    // On v1 a set is empty when all its CPUs went offline, and stays so when they are back.
    const bool to_be_filled = now->cpus.empty() && tree_.layout().version == cgroup::Version::kV1;
    if (now->cpus != cpus && (!now->cpus.empty() || to_be_filled)) {
      out.push_back({path, fmt::format("CPUs were {}, must be {}", now->cpus.empty() ? "none" : FormatIds(now->cpus),
                                       FormatIds(cpus))});
      cpus_differ.emplace_back(path, cpus);
    }
    const auto group = containers_.find(path);
    if (group != containers_.end() && KeepsItsNodes(group->second, ledger)) continue;
    const NodeSet mems =
        (group == containers_.end() ? std::nullopt : NodesOf(group->second, ledger)).value_or(all_mems);
    if (!now->mems.empty() && !mems.empty() && now->mems != mems) {
      out.push_back({path, fmt::format("memory nodes were {}, must be {}", FormatIds(now->mems), FormatIds(mems))});
      mems_differ.emplace_back(path, mems);
    }
  }
  if (!cpus_differ.empty()) {
    BERTH_TRY([[maybe_unused]] const int writes, cgroup::ApplyCpus(tree_, cpus_differ));
  }
  for (const auto& [path, mems] : mems_differ) {
    CgroupValues values;
    values.mems = mems;
    BERTH_RETURN_IF_ERROR(WriteUnlessGone(path, values));
  }
  return {};
}

/// v1; path -> how many processes. No reason to stop anything: where they are, they are among their pod's CPUs.
std::map<std::string, int> NodeCgroups::ReturnStrays() {
  std::map<std::string, int> out;
  stray_problems_.clear();
  if (tree_.layout().version != cgroup::Version::kV1) return out;
  std::vector<int> above;
  const auto add = [&](const std::string& path, std::vector<int>& to) {
    const auto pids = tree_.CpusetPids(path);
    if (pids) to.insert(to.end(), pids->begin(), pids->end());
  };
  if (names_.per_qos())
    for (const QosClass qos : names_.Tiers()) add(names_.Qos(qos), above);
  std::map<std::string, std::vector<int>> strays;  // by uid
  for (const auto& [uid, path] : pods_) {
    std::vector<int> pids = above;
    add(path, pids);
    if (!pids.empty()) strays.emplace(uid, std::move(pids));
  }
  for (const auto& [path, group] : containers_) {
    const auto pids = strays.find(group.uid);
    if (pids == strays.end()) continue;
    const auto returned = tree_.ReturnToCpuset(path, pids->second);
    if (!returned) stray_problems_.emplace(path, returned.error().message);
    if (returned && *returned > 0) out.emplace(path, *returned);
  }
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
  on_removed_(path);
  std::erase_if(containers_, [&](const auto& entry) { return entry.second.uid == pod.uid; });
  std::erase_if(partition_problems_, [&](const auto& entry) { return entry.first.starts_with(path + "/"); });
  pods_.erase(pod.uid);
  ids_.erase(pod.uid);
  return true;
}

Result<void> NodeCgroups::RemoveAll() {
  own_group_ = false;
  if (names_.per_qos()) BERTH_RETURN_IF_ERROR(tree_.Remove(names_.Qos(QosClass::kGuaranteed)));
  return names_.own_is_named() ? Result<void>() : tree_.Remove(names_.Own());
}

std::vector<std::string> NodeCgroups::OwnGroups() const {
  std::vector<std::string> out{names_.Own()};
  if (names_.Runtime() != names_.Own()) out.push_back(names_.Runtime());
  return out;
}

}  // namespace berth::daemon
