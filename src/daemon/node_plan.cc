// NodeCgroups: what the groups should hold, and putting it there.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cgroup/systemd.h"
#include "daemon/adopt.h"
#include "daemon/node_cgroups.h"
#include "os/host.h"

namespace berth::daemon {
namespace {

Bytes AllocatableMemory(const engine::Node& node) {
  const auto it = node.allocatable().find("memory");
  return {it == node.allocatable().end() ? 0 : it->second.Value()};
}

/// systemd before 253 writes it whenever something of a scope or of its neighbours changes, and has no property for it.
bool IsSystemdsDefault(cgroup::Driver driver, const ValueLine& line) {
  return driver == cgroup::Driver::kSystemd && line.file == "memory.oom.group" && line.found == "0";
}

int ListedCpus(const KubeletConfiguration& config) {
  if (config.reserved_system_cpus.empty()) return -1;
  const auto cpus = CpuSet::Parse(config.reserved_system_cpus);  // engine::Node::Make has refused what is no list
  return cpus ? static_cast<int>(cpus->Count()) : -1;
}

}  // namespace

Result<void> NodeCgroups::ReadSettings() {
  const KubeletConfiguration& config = node_.config();
  const bool v2 = tree_.layout().version == cgroup::Version::kV2;
  options_ = cgroup::OptionsOf(config, v2, AllocatableMemory(node_));
  options_.page = os::PageSize();
  BERTH_TRY(const auto pids, tree_.PidCapacity());
  BERTH_TRY(shares_, cgroup::SharesOfNode(config, node_.capacity(), pids, ListedCpus(config), v2));
  return {};
}

std::string NodeCgroups::LimitAllPods() {
  if (!names_.per_qos()) return "";
  const std::string all = names_.Qos(QosClass::kGuaranteed);
  CgroupValues values;
  values.memory_max = cgroup::NodeValues(shares_, Ledger()).memory_max;
  values = cgroup::WithControllersOf(tree_.layout(), values);
  if (!values.memory_max) return "";
  const auto used = tree_.MemoryUsage(all);
  std::string why = used ? "" : used.error().message;
  if (used && *used && **used > *values.memory_max) {
    why = fmt::format("the pods use more memory than the {} bytes that are not reserved", values.memory_max->v);
  } else if (used) {
    if (const auto written = tree_.Write(all, values); !written) why = written.error().message;
  }
  return why.empty() ? why : why + "; the memory limit of all pods stays as it was";
}

Result<void> NodeCgroups::UpdateTiers(const Ledger& ledger) {
  if (!names_.per_qos()) return {};
  for (const QosClass qos : names_.Tiers()) BERTH_RETURN_IF_ERROR(UpdateTier(qos, ledger));
  return {};
}

Result<void> NodeCgroups::UpdateTier(QosClass qos, const Ledger& ledger) {
  const std::string path = names_.Qos(qos);
  CgroupValues values;
  if (qos == QosClass::kGuaranteed) {
    values = cgroup::NodeValues(shares_, ledger);
    values.memory_max.reset();  // LimitAllPods
  } else {
    values = cgroup::TierValues(shares_, qos, ledger);
  }
  values = cgroup::WithControllersOf(tree_.layout(), std::move(values));
  if (values.memory_max) {  // v1 refuses a limit below the usage, v2 kills for it
    BERTH_TRY(const auto used, tree_.MemoryUsage(path));
    if (used && *used > *values.memory_max) values.memory_max = *used + options_.page;
  }
  BERTH_RETURN_IF_ERROR(tree_.Write(path, values));
  return {};
}

CgroupValues NodeCgroups::PodValuesOf(const Pod& pod, const Ledger& ledger, cgroup::Reasons* why) const {
  const auto record = ledger.pods.find(pod.uid);
  const bool exclusive = record != ledger.pods.end() && !ExclusiveCpus(record->second).empty();
  return cgroup::PodValues(pod, exclusive, options_, why);
}

CgroupValues NodeCgroups::ContainerValuesOf(const Pod& pod, const Container& container, const Ledger& ledger,
                                            cgroup::Reasons* why) const {
  bool exclusive = false;
  if (const auto record = ledger.pods.find(pod.uid); record != ledger.pods.end())
    if (const Placement* placement = FindPlacement(record->second, container.name); placement != nullptr)
      exclusive = placement->cpus.has_value();
  const ContainerGroup group{pod.uid, container.name};
  return cgroup::ContainerValues(pod, container, exclusive, CpusOf(group, ledger), NodesOf(group, ledger), options_,
                                 why);
}

void NodeCgroups::PlanTiers(const Ledger& ledger, std::vector<PlannedGroup>& out) const {
  if (!names_.per_qos()) return;
  PlannedGroup all{.path = names_.Qos(QosClass::kGuaranteed), .what = "all pods", .values = {}, .why = {}};
  all.values = cgroup::NodeValues(shares_, ledger, &all.why);
  out.push_back(std::move(all));
  for (const QosClass qos : {QosClass::kBurstable, QosClass::kBestEffort}) {
    PlannedGroup tier{.path = names_.Qos(qos), .what = fmt::format("{} pods", Name(qos)), .values = {}, .why = {}};
    tier.values = cgroup::TierValues(shares_, qos, ledger, &tier.why);
    out.push_back(std::move(tier));
  }
}

void NodeCgroups::PlanPod(const Pod& pod, const Ledger& ledger, std::vector<PlannedGroup>& out) const {
  const std::string path = PodPathOf(pod);
  PlannedGroup group{.path = path, .what = "pod " + FullName(pod), .values = {}, .why = {}};
  if (names_.per_qos()) group.values = PodValuesOf(pod, ledger, &group.why);
  if (KeepsPodToItsCpus(path)) {
    group.values.cpus = CpusOfPod(pod.uid, ledger, std::nullopt);
    group.why["cpus"] = "what its containers may use";
  }
  out.push_back(std::move(group));
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    const std::string below = ContainerPathOf(pod, container.name);
    if (!containers_.contains(below)) return;
    PlannedGroup made{.path = below,
                      .what = fmt::format("container {} of {}", container.name, FullName(pod)),
                      .values = {},
                      .why = {}};
    made.values = ContainerValuesOf(pod, container, ledger, &made.why);
    out.push_back(std::move(made));
  });
}

std::vector<PlannedGroup> NodeCgroups::Plan(const Ledger& ledger, const std::vector<const Pod*>& pods) const {
  std::vector<PlannedGroup> out;
  PlanTiers(ledger, out);
  std::set<std::string> known;
  for (const Pod* pod : pods) {
    if (!pods_.contains(pod->uid) || !known.insert(pod->uid).second) continue;
    PlanPod(*pod, ledger, out);
  }
  for (const auto& [path, group] : containers_) {
    if (known.contains(group.uid)) continue;
    PlannedGroup only_cpus{.path = path, .what = "container " + group.container, .values = {}, .why = {}};
    only_cpus.values.cpus = CpusOf(group, ledger);
    out.push_back(std::move(only_cpus));
  }
  for (const std::string& path : own_group_ ? OwnGroups() : std::vector<std::string>()) {
    PlannedGroup own{.path = path, .what = "berthd and supervisors", .values = {}, .why = {}};
    if (names_.Runtime() != names_.Own()) own.what = path == names_.Own() ? "berthd" : "supervisors";
    own.values.cpus = SharedCpus(node_, ledger);
    own.why["cpus"] = "the shared pool";
    out.push_back(std::move(own));
  }
  for (PlannedGroup& group : out) group.values = cgroup::WithControllersOf(tree_.layout(), std::move(group.values));
  std::ranges::sort(out, {}, &PlannedGroup::path);
  return out;
}

std::vector<GroupState> NodeCgroups::Inspect(const Ledger& ledger, const std::vector<const Pod*>& pods) const {
  std::vector<GroupState> out;
  for (PlannedGroup& plan : Plan(ledger, pods)) {
    GroupState state{.plan = std::move(plan), .values = {}, .problem = {}};
    auto found = tree_.Read(state.plan.path);
    if (found && found->cpus && state.plan.values.cpus)
      if (const auto added = AddPartitioned(state.plan.path, *state.plan.values.cpus, *found->cpus); !added)
        found = std::unexpected(added.error());
    if (!found && found.error().code == Code::kNotFound && containers_.contains(state.plan.path) &&
        names_.driver() == cgroup::Driver::kSystemd)
      continue;  // a scope ends with its last process
    if (found) {
      state.values = cgroup::Compare(state.plan.values, *found, tree_.layout(), state.plan.why, options_.page);
    } else {
      state.problem = found.error().message;
    }
    out.push_back(std::move(state));
  }
  return out;
}

Result<std::vector<Repair>> NodeCgroups::RepairValues(const Ledger& ledger, const std::vector<const Pod*>& pods,
                                                      const std::set<std::string>& only) {
  std::vector<Repair> out;
  Result<void> first;
  const auto keep = [&](auto& done) {
    if (!done && done.error().code != Code::kNotFound && first) first = std::unexpected(std::move(done).error());
  };
  auto tiers = UpdateTiers(ledger);
  keep(tiers);
  for (PlannedGroup& group : Plan(ledger, pods)) {
    const bool above_pods = std::ranges::none_of(pods, [&](const Pod* pod) {
      const auto path = pods_.find(pod->uid);
      return path != pods_.end() && group.path.starts_with(path->second);
    });
    if (above_pods || (!only.empty() && !only.contains(group.path))) continue;
    group.values.cpus.reset();
    group.values.mems.reset();
    auto before = tree_.Read(group.path);
    const bool rounded = before && before->cpu_max && group.values.cpu_max &&
                         cgroup::IsRoundedBySystemd(*group.values.cpu_max, *before->cpu_max);
    if (!rounded || names_.driver() != cgroup::Driver::kSystemd) group.values.cpu_max.reset();
    auto written = before ? tree_.Write(group.path, group.values) : Result<int>(std::unexpected(before.error()));
    keep(written);
    if (!written || *written == 0) continue;
    for (const ValueLine& line : cgroup::Compare(group.values, *before, tree_.layout(), group.why, options_.page))
      if (!line.Same() && !(rounded && line.file == "cpu.max") && !IsSystemdsDefault(names_.driver(), line))
        out.push_back({group.path, fmt::format("{} was {}, must be {}", line.file, line.found, line.wanted)});
  }
  if (!first) return std::unexpected(std::move(first).error());
  return out;
}

}  // namespace berth::daemon
