#include "node/cgroup_manager/owned_groups.h"

#include <algorithm>
#include <utility>

#include "host/cgroup/observe.h"
#include "host/os/path.h"
#include "model/placement.h"
#include "node/cgroup_manager/discovery.h"
#include "node/cgroup_manager/pod_groups.h"
#include "node/cgroup_manager/runtime_groups.h"

namespace berth::cgroup_manager {
namespace {

bool IsNamedByBerth(const Site& site, const PodRecord& pod, const std::string& group) {
  const auto name = site.names().ContainerName(pod.uid, group);
  return name && FindPlacement(pod, *name) != nullptr;
}

/// Those without a container of ours (sandboxes) are left out.
void NameByIds(std::vector<RunningGroup>& groups, const std::vector<runtime::ContainerStatus>& statuses) {
  std::erase_if(groups, [&](RunningGroup& group) {
    const std::string name = os::FileNameOf(group.path);
    for (const runtime::ContainerStatus& status : statuses) {
      if (status.pod_uid != group.uid || name.find(status.id) == std::string::npos) continue;
      group.name = status.container;
      return false;
    }
    return true;
  });
}

/// Berth makes the groups of pods, a runtime those of containers.
class PodOwner : public Ownership {
 public:
  std::vector<QosClass> Tiers(const cgroup::Names& names) const override {
    return names.per_qos() ? names.Tiers() : std::vector<QosClass>();
  }
  std::vector<std::string> OwnGroups(const cgroup::Names& names) const override {
    std::vector<std::string> out{names.Own()};
    if (names.Runtime() != names.Own()) out.push_back(names.Runtime());
    return out;
  }
  const std::string* FindPod(const GroupTable& table, const std::string& uid) const override {
    const auto pod = table.pods().find(uid);
    return pod == table.pods().end() ? nullptr : &pod->second;
  }
  bool KeepsPodToItsCpus(const Site&, std::string_view) const override { return true; }
  bool SetsPodCpus(const Site&, std::string_view, bool) const override { return true; }
  Result<std::vector<std::string>> FindForeign(Discovery& discovery) const override { return discovery.FindForeign(); }

  std::optional<std::string> HomeOf(const Site&, const GroupTable& table, const Pod& pod,
                                    std::string_view container) const override {
    const std::string* const found = table.FindContainer(table.PodPathOf(pod), pod.uid, container);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  CgroupValues ValuesOf(const Planner& planner, const ContainerGroup& group, const Ledger& ledger) const override {
    CgroupValues out;
    out.cpus = planner.CpusOf(group, ledger);
    return out;
  }
  Result<void> FindContainers(Discovery& discovery, const std::string& pod_path, const std::string& uid,
                              const PodRecord* partial, const Ledger& ledger) const override {
    return partial != nullptr && !discovery.KnowsIds(uid) ? discovery.KnowPartial(pod_path, *partial)
                                                          : discovery.KnowByIds(uid, ledger);
  }
  Result<bool> FindMore(RuntimeGroups& groups, const Ledger& ledger) const override { return groups.FindMore(ledger); }
  Result<std::map<std::string, std::string>> FindUnknown(RuntimeGroups& groups, const Ledger& ledger) const override {
    return groups.FindUnknown(ledger);
  }
  Result<std::vector<RunningGroup>> FindRunning(const Site& site,
                                                const std::vector<runtime::ContainerStatus>& statuses) const override {
    auto out = cgroup::ObserveRunning(site.tree(), site.names());
    if (out) NameByIds(*out, statuses);
    return out;
  }
  bool IsOfThisRuntime(const Site& site, const PodRecord& pod, const std::string& group) const override {
    return !IsNamedByBerth(site, pod, group);
  }
  std::string WhyLeftOutside() const override { return "left there: its container's runtime makes groups itself"; }

  Result<void> KillLeftovers(PodGroups&, const Pod&, std::string_view) const override { return {}; }
  Result<void> MakeFor(PodGroups& groups, const Pod& pod, const Container& container, const Ledger& ledger,
                       runtime::StartRequest& request) const override {
    BERTH_TRY(request.place.pod_group, groups.MakePod(pod, ledger));
    BERTH_TRY(request.place.values, groups.ValuesNow(pod, container, ledger));
    request.place.sandbox_overhead = groups.SandboxOverhead(pod);
    request.place.sandbox_resources = groups.SandboxResources(pod);
    return {};
  }
  Result<void> TakeStarted(RuntimeGroups& groups, const Pod& pod, const Container* container, std::string_view id,
                           const Ledger& ledger) const override {
    BERTH_RETURN_IF_ERROR(groups.Find(pod.uid, ledger));
    return container == nullptr ? Result<void>() : groups.Finish(pod, *container, id, ledger);
  }
  Result<void> TellCpus(PodGroups& groups, const Ledger& ledger, runtime::Runtime& runtime) const override {
    BERTH_TRY(const auto cpus, groups.CpusNow(ledger));
    runtime.SetCpus(cpus);
    return {};
  }
  bool runtime_writes() const override { return true; }
};

/// Berth makes those of containers, too.
class ContainerOwner final : public PodOwner {
 public:
  bool KeepsPodToItsCpus(const Site& site, std::string_view pod_path) const override {
    return !site.BelowTier(pod_path);
  }
  /// One that is there has the CPUs of containers that run; Cpusets::Apply knows in which order they change.
  bool SetsPodCpus(const Site& site, std::string_view pod_path, bool is_new) const override {
    return is_new && KeepsPodToItsCpus(site, pod_path);
  }
  std::optional<std::string> HomeOf(const Site& site, const GroupTable& table, const Pod& pod,
                                    std::string_view container) const override {
    return site.names().Container(table.PodPathOf(pod), container);
  }
  Result<void> FindContainers(Discovery& discovery, const std::string& pod_path, const std::string& uid,
                              const PodRecord* partial, const Ledger&) const override {
    return partial != nullptr ? discovery.KnowPartial(pod_path, *partial) : discovery.KnowByNames(pod_path, uid);
  }
  Result<bool> FindMore(RuntimeGroups&, const Ledger&) const override { return false; }
  Result<std::map<std::string, std::string>> FindUnknown(RuntimeGroups&, const Ledger&) const override {
    return std::map<std::string, std::string>();
  }
  Result<std::vector<RunningGroup>> FindRunning(const Site& site,
                                                const std::vector<runtime::ContainerStatus>&) const override {
    return cgroup::ObserveRunning(site.tree(), site.names());
  }
  bool IsOfThisRuntime(const Site& site, const PodRecord& pod, const std::string& group) const override {
    return IsNamedByBerth(site, pod, group);
  }
  std::string WhyLeftOutside() const override { return ""; }
  Result<void> KillLeftovers(PodGroups& groups, const Pod& pod, std::string_view container) const override {
    return groups.KillContainer(pod, container);
  }
  Result<void> MakeFor(PodGroups& groups, const Pod& pod, const Container& container, const Ledger& ledger,
                       runtime::StartRequest& request) const override {
    BERTH_TRY(request.cgroup, groups.MakeContainer(pod, container, ledger));
    return {};
  }
  Result<void> TakeStarted(RuntimeGroups&, const Pod&, const Container*, std::string_view,
                           const Ledger&) const override {
    return {};
  }
  Result<void> TellCpus(PodGroups&, const Ledger&, runtime::Runtime&) const override { return {}; }
  bool runtime_writes() const override { return false; }
};

/// A kubelet and its runtime make them all.
class CpusetOwner final : public PodOwner {
 public:
  std::vector<QosClass> Tiers(const cgroup::Names&) const override { return {}; }
  std::vector<std::string> OwnGroups(const cgroup::Names&) const override { return {}; }
  const std::string* FindPod(const GroupTable&, const std::string&) const override { return nullptr; }
  bool KeepsPodToItsCpus(const Site&, std::string_view) const override { return false; }
  Result<std::vector<std::string>> FindForeign(Discovery&) const override { return std::vector<std::string>(); }
  CgroupValues ValuesOf(const Planner& planner, const ContainerGroup& group, const Ledger& ledger) const override {
    CgroupValues out = PodOwner::ValuesOf(planner, group, ledger);
    out.mems = planner.NodesOf(group, ledger);
    return out;
  }
  Result<std::map<std::string, std::string>> FindUnknown(RuntimeGroups&, const Ledger&) const override {
    return std::map<std::string, std::string>();
  }
  /// The runtime says what there is when it is joined.
  Result<std::vector<RunningGroup>> FindRunning(const Site&,
                                                const std::vector<runtime::ContainerStatus>&) const override {
    return std::vector<RunningGroup>();
  }
  bool IsOfThisRuntime(const Site&, const PodRecord&, const std::string&) const override { return true; }
  Result<void> TakeStarted(RuntimeGroups& groups, const Pod& pod, const Container*, std::string_view,
                           const Ledger& ledger) const override {
    return groups.Find(pod.uid, ledger);
  }
};

}  // namespace

const Ownership& OwnsContainers() {
  static const ContainerOwner kOwner;
  return kOwner;
}

const Ownership& OwnsPods() {
  static const PodOwner kOwner;
  return kOwner;
}

const Ownership& OwnsCpusets() {
  static const CpusetOwner kOwner;
  return kOwner;
}

}  // namespace berth::cgroup_manager
