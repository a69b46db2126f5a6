#include "node/cgroup_manager/planner.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "host/cgroup/value_lines.h"
#include "model/placement.h"
namespace berth::cgroup_manager {

bool Planner::KeepsItsNodes(const ContainerGroup& group, const Ledger& ledger) {
  const auto pod = ledger.pods.find(group.uid);
  if (pod == ledger.pods.end()) return false;
  const Placement* placement = FindPlacement(pod->second, group.container);
  if (placement != nullptr && (placement->memory || !placement->nodes.empty())) return false;
  if (pod->second.partial) return true;
  if (placement == nullptr) return false;
  return placement->kind == ContainerKind::kInit || pod->second.qos == QosClass::kGuaranteed;
}

CpuSet Planner::CpusOf(const ContainerGroup& group, const Ledger& ledger) const {
  const auto pod = ledger.pods.find(group.uid);
  const Placement* const placement = pod == ledger.pods.end() ? nullptr : FindPlacement(pod->second, group.container);
  if (placement == nullptr) return ledger::SharedCpus(site_.node(), ledger);
  return berth::CpusOf(ledger, *placement, ledger::SharedCpus(site_.node(), ledger));
}

CpuSet Planner::CpusNow(const ContainerGroup& group, const Ledger& ledger, const Online& online) const {
  CpuSet cpus = CpusOf(group, ledger);
  if (!online) return cpus;
  cpus &= *online;
  return cpus.empty() ? SharedNow(ledger, online) : cpus;
}

CpuSet Planner::CpusOfPod(const std::string& uid, const Ledger& ledger, const Online& online) const {
  CpuSet cpus = CpusNow({}, ledger, online);
  if (const auto pod = ledger.pods.find(uid); pod != ledger.pods.end())
    cpus |= ExclusiveCpus(pod->second) | PooledCpus(ledger, pod->second);
  return online ? cpus & *online : cpus;
}

std::optional<NodeSet> Planner::NodesOf(const ContainerGroup& group, const Ledger& ledger) const {
  const auto pod = ledger.pods.find(group.uid);
  if (pod == ledger.pods.end()) return std::nullopt;
  const Placement* placement = FindPlacement(pod->second, group.container);
  if (placement == nullptr) return std::nullopt;
  NodeSet nodes = MemoryNodes(*placement);
  return nodes.empty() ? std::nullopt : std::optional(std::move(nodes));
}

CpuSet Planner::OwnCpusOf(QosClass qos, const Ledger& ledger) {
  CpuSet out;
  for (const auto& [uid, pod] : ledger.pods)
    if (pod.qos == qos) out |= ExclusiveCpus(pod) | PooledCpus(ledger, pod);
  return out;
}

WantedCpus Planner::Cpus(const Ledger& ledger, const Online& online) const {
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
  for (const auto& [path, group] : table_.containers()) {
    const Wish& w = wishes.emplace_back(path, CpusNow(group, ledger, online), site_.BelowPoolTier(path));
    out.may_inherit = out.may_inherit && (!w.inherits || w.cpus == shared);
  }
  // A class holds the pool and what its pods have for themselves or in named pools, before their groups are there. Then
  // nobody below it may inherit its CPUs.
  WantedSets tiers;
  for (const QosClass qos : {QosClass::kBurstable, QosClass::kBestEffort}) {
    const std::string tier = site_.names().Qos(qos);
    if (!site_.BelowPoolTier(tier + "/")) continue;
    CpuSet own = OwnCpusOf(qos, ledger);
    if (online) own &= *online;
    out.may_inherit = out.may_inherit && own.empty();
    tiers.emplace_back(tier, own | shared);
  }
  for (const std::string& path : site_.OwnGroups()) add(out.first, path, shared);
  for (const auto& [uid, path] : table_.pods())
    if (site_.KeepsPodToItsCpus(path)) add(out.first, path, CpusOfPod(uid, ledger, online));
  for (const Wish& w : wishes) add(out.may_inherit && w.inherits ? out.inherited : out.first, w.path, w.cpus);
  for (auto& [path, cpus] : tiers) add(out.first, path, std::move(cpus));
  return out;
}

CgroupValues Planner::OfPod(const Pod& pod, const Ledger& ledger, cgroup::Reasons* why) const {
  const auto record = ledger.pods.find(pod.uid);
  const bool exclusive = record != ledger.pods.end() && !ExclusiveCpus(record->second).empty();
  return cgroup::PodValues(pod, exclusive, site_.options(), why);
}

CgroupValues Planner::OfContainer(const Pod& pod, const Container& container, const Ledger& ledger,
                                  cgroup::Reasons* why) const {
  bool exclusive = false;
  bool mixed = false;
  bool on_nodes = false;
  std::string pool;
  if (const auto record = ledger.pods.find(pod.uid); record != ledger.pods.end())
    if (const Placement* placement = FindPlacement(record->second, container.name); placement != nullptr) {
      exclusive = placement->cpus.has_value();
      mixed = placement->mixed;
      on_nodes = !exclusive && !placement->nodes.empty();
      pool = placement->pool;
    }
  const ContainerGroup group{pod.uid, container.name};
  CgroupValues out = cgroup::ContainerValues(pod, container, exclusive, CpusOf(group, ledger), NodesOf(group, ledger),
                                             site_.options(), why);
  if (mixed && why != nullptr) (*why)["cpus"] = "CPUs of its own and the shared pool";
  if (!pool.empty() && why != nullptr) (*why)["cpus"] = fmt::format("CPU pool \"{}\"", pool);
  if (on_nodes && why != nullptr) (*why)["cpus"] = "the part of the shared pool on the NUMA nodes it asked for";
  return out;
}

void Planner::PlanTiers(const Ledger& ledger, std::vector<PlannedGroup>& out) const {
  for (const QosClass qos : site_.tiers()) {
    const bool all = qos == QosClass::kGuaranteed;
    PlannedGroup& tier = out.emplace_back();
    tier.path = site_.names().Qos(qos);
    tier.what = all ? "all pods" : fmt::format("{} pods", Name(qos));
    tier.values = all ? cgroup::NodeValues(site_.shares(), ledger, &tier.why)
                      : cgroup::TierValues(site_.shares(), qos, ledger, &tier.why);
  }
}

/// False: its group is not there, or not Berth's.
bool Planner::AddPod(const Pod& pod, const Ledger& ledger, std::vector<PlannedGroup>& out) const {
  const std::string* const path = site_.ownership().FindPod(table_, pod.uid);
  if (path == nullptr) return false;
  PlannedGroup group{.path = *path, .what = "pod " + FullName(pod), .values = {}, .why = {}};
  if (site_.names().per_qos()) group.values = OfPod(pod, ledger, &group.why);
  if (site_.KeepsPodToItsCpus(*path)) {
    group.values.cpus = CpusOfPod(pod.uid, ledger, std::nullopt);
    group.why["cpus"] = "what its containers may use";
  }
  out.push_back(std::move(group));
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    const std::string below = table_.ContainerPathOf(pod, container.name);
    if (!table_.containers().contains(below)) return;
    PlannedGroup made{.path = below,
                      .what = fmt::format("container {} of {}", container.name, FullName(pod)),
                      .values = {},
                      .why = {}};
    made.values = OfContainer(pod, container, ledger, &made.why);
    out.push_back(std::move(made));
  });
  return true;
}

void Planner::PlanOwn(const Ledger& ledger, std::vector<PlannedGroup>& out) const {
  for (const std::string& path : site_.OwnGroups()) {
    PlannedGroup own{.path = path, .what = "berthd and supervisors", .values = {}, .why = {}};
    if (site_.names().Runtime() != site_.names().Own())
      own.what = path == site_.names().Own() ? "berthd" : "supervisors";
    own.values.cpus = ledger::SharedCpus(site_.node(), ledger);
    own.why["cpus"] = "the shared pool";
    out.push_back(std::move(own));
  }
}

std::vector<PlannedGroup> Planner::PlanPod(const Pod& pod, const Ledger& ledger) const {
  std::vector<PlannedGroup> out;
  AddPod(pod, ledger, out);
  for (PlannedGroup& group : out)
    group.values = cgroup::WithControllersOf(site_.tree().layout(), std::move(group.values));
  return out;
}

std::vector<PlannedGroup> Planner::Plan(const Ledger& ledger, const std::vector<const Pod*>& pods) const {
  std::vector<PlannedGroup> out;
  PlanTiers(ledger, out);
  std::set<std::string> known;
  for (const Pod* pod : pods)
    if (!known.contains(pod->uid) && AddPod(*pod, ledger, out)) known.insert(pod->uid);
  for (const auto& [path, group] : table_.containers()) {
    if (known.contains(group.uid)) continue;
    out.push_back({.path = path,
                   .what = "container " + group.container,
                   .values = site_.ownership().ValuesOf(*this, group, ledger),
                   .why = {}});
  }
  PlanOwn(ledger, out);
  for (PlannedGroup& group : out)
    group.values = cgroup::WithControllersOf(site_.tree().layout(), std::move(group.values));
  std::ranges::sort(out, {}, &PlannedGroup::path);
  return out;
}

cgroup::PartitionPlan Planner::Partitions(const std::string& kind, const Ledger& ledger, const Online& online) const {
  cgroup::PartitionPlan out{.kind = kind, .wanted = {}, .others = {}, .levels = {}};
  if (site_.names().per_qos()) out.levels.push_back(site_.names().Qos(QosClass::kGuaranteed));
  for (const auto& [uid, path] : table_.pods()) out.levels.push_back(path);
  for (const auto& [path, group] : table_.containers()) {
    const auto pod = ledger.pods.find(group.uid);
    const Placement* placement = pod == ledger.pods.end() ? nullptr : FindPlacement(pod->second, group.container);
    // A partition takes all CPUs of its group away from the others: nothing for a group with shared ones.
    const bool own = placement != nullptr && placement->cpus && !placement->cpus->empty() && !placement->mixed;
    if (own && kind != "none" && (!online || placement->cpus->Intersects(*online)))
      out.wanted.emplace(path, *placement->cpus);
    else
      out.others.push_back(path);
  }
  return out;
}

}  // namespace berth::cgroup_manager
