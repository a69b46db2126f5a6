#include "view/usage_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "view/size.h"

namespace berth::view {
namespace {

constexpr double kPercent = 100;

std::string CoresOf(const GroupUsage& usage) {
  constexpr double kMilli = 1000;
  return usage.cores ? fmt::format("{:.0f}m", *usage.cores * kMilli) : "";
}

std::string WorkingSetOf(const GroupUsage& usage) { return usage.working_set ? FormatSize(*usage.working_set) : ""; }

/// Part of the periods in which the quota was used up.
Cell ThrottledOf(const GroupUsage& usage) {
  if (!usage.throttling || usage.throttling->periods == 0) return "";
  const double part =
      kPercent * static_cast<double>(usage.throttling->throttled) / static_cast<double>(usage.throttling->periods);
  return {fmt::format("{:.0f}%", part), part >= 1 ? Style::kWarn : Style::kPlain};
}

/// Of the last ten seconds: the part in which some process waited for a CPU, and for memory.
Cell WaitingOf(const GroupUsage& usage) {
  constexpr double kMuch = 10;
  if (!usage.cpu_stall && !usage.memory_stall) return "";
  const double cpu = usage.cpu_stall ? usage.cpu_stall->some_lately : 0;
  const double memory = usage.memory_stall ? usage.memory_stall->some_lately : 0;
  return {fmt::format("{:.0f}/{:.0f}%", cpu, memory), std::max(cpu, memory) >= kMuch ? Style::kWarn : Style::kPlain};
}

/// nullptr: it is not known.
const PodView* ViewOf(const PodList& pods, const PodStats& pod) {
  const auto view = std::ranges::find(pods.pods, pod.uid, [](const auto& of) { return of->uid; });
  return view == pods.pods.end() ? nullptr : view->get();
}

const ContainerPlace* PlaceOf(const PodView* pod, const std::string& container) {
  if (pod == nullptr) return nullptr;
  for (const ContainerView& of : pod->containers)
    if (of.name == container && of.place) return &*of.place;
  return nullptr;
}

/// Percent of an amount in `list`. `used`: in its unit. `much`: from which percent on it is marked.
Cell ShareOf(const std::optional<double>& used, const ResourceList& list, const char* resource, double much) {
  const auto amount = list.find(resource);
  if (!used || amount == list.end() || amount->second.MilliValue() <= 0) return "";
  constexpr double kMilli = 1000;
  const double part = kPercent * kMilli * *used / static_cast<double>(amount->second.MilliValue());
  return {fmt::format("{:.0f}%", part), part > much ? Style::kWarn : Style::kPlain};
}

/// Percents of what a pod requests of CPU and memory, and of its limits. nullptr: there are none to show.
void AddShares(std::vector<Cell>& row, const GroupUsage& usage, const PodView* pod) {
  constexpr double kNearLimit = 90;
  std::optional<double> memory;
  if (usage.working_set) memory = static_cast<double>(usage.working_set->v);
  const ResourceList none;
  const ResourceList& requests = pod != nullptr ? pod->requests : none;
  const ResourceList& limits = pod != nullptr ? pod->limits : none;
  row.insert(row.end(),
             {ShareOf(usage.cores, requests, "cpu", kPercent), ShareOf(usage.cores, limits, "cpu", kNearLimit),
              ShareOf(memory, requests, "memory", kPercent), ShareOf(memory, limits, "memory", kNearLimit)});
}

/// NUMA nodes of its own CPUs and of its memory; empty for one in the shared pool.
NodeSet NumaNodesOf(const ContainerPlace* place, const Machine& machine) {
  NodeSet nodes;
  if (place == nullptr) return nodes;
  nodes = place->memory_nodes;
  for (const NumaNode& numa : machine.nodes)
    if (place->cpus && place->cpus->Intersects(CpusOfNode(machine, numa.id))) nodes.Insert(numa.id);
  return nodes;
}

/// Memory on other nodes than these. "": it is nowhere at home, or nobody counts.
Cell RemoteOf(const GroupUsage& usage, const NodeSet& nodes) {
  if (nodes.empty() || usage.numa.empty()) return "";
  Bytes remote;
  for (const auto& [node, bytes] : usage.numa)
    if (!nodes.Contains(node)) remote.v += bytes.v;
  return {FormatSize(remote), remote.v > 0 ? Style::kWarn : Style::kPlain};
}

/// The pod, by what it uses or what its containers do, if the pod's own is not known.
double CoresUsed(const PodStats& pod) {
  double containers = 0;
  for (const NamedUsage& container : pod.containers) containers += container.usage.cores.value_or(0);
  return pod.usage.cores.value_or(containers);
}

double MemoryUsed(const PodStats& pod) {
  std::int64_t containers = 0;
  for (const NamedUsage& container : pod.containers) containers += container.usage.working_set.value_or(Bytes{}).v;
  return static_cast<double>(pod.usage.working_set.value_or(Bytes{containers}).v);
}

double WeightOf(const GroupUsage& usage, UsageOrder order) {
  if (order == UsageOrder::kCpu) return usage.cores.value_or(0);
  return order == UsageOrder::kMemory ? static_cast<double>(usage.working_set.value_or(Bytes{}).v) : 0;
}
double WeightOf(const PodStats& pod, UsageOrder order) {
  if (order == UsageOrder::kCpu) return CoresUsed(pod);
  return order == UsageOrder::kMemory ? MemoryUsed(pod) : 0;
}

bool IsWanted(const PodStats& pod, const std::string& filter) {
  return (pod.namespace_ + "/" + pod.name).contains(filter) ||
         std::ranges::any_of(pod.containers, [&](const NamedUsage& of) { return of.name.contains(filter); });
}

void AddPod(Table& table, const PodStats& pod, const PodList& pods, const Machine& machine,
            const UsageOptions& options) {
  const std::string name = pod.namespace_ + "/" + pod.name;
  const PodView* const view = ViewOf(pods, pod);
  if (pod.containers.size() != 1) {
    std::vector<Cell> row{name,
                          pod.containers.empty() ? "" : "all",
                          CoresOf(pod.usage),
                          WorkingSetOf(pod.usage),
                          ThrottledOf(pod.usage),
                          WaitingOf(pod.usage),
                          "",
                          ""};
    if (options.shares) AddShares(row, pod.usage, view);
    table.AddRow(std::move(row));
  }
  std::vector<const NamedUsage*> containers;
  for (const NamedUsage& container : pod.containers) containers.push_back(&container);
  std::ranges::sort(containers, {}, [&](const auto* container) {
    return std::tuple(-WeightOf(container->usage, options.order), container->name);
  });
  for (const NamedUsage* container : containers) {
    const NodeSet nodes = NumaNodesOf(PlaceOf(view, container->name), machine);
    const GroupUsage& usage = container->usage;
    std::vector<Cell> row{name,
                          container->name,
                          CoresOf(usage),
                          WorkingSetOf(usage),
                          ThrottledOf(usage),
                          WaitingOf(usage),
                          RemoteOf(usage, nodes),
                          FormatIds(nodes)};
    if (options.shares) AddShares(row, usage, pod.containers.size() == 1 ? view : nullptr);
    table.AddRow(std::move(row));
  }
}

/// CPUs of a place and what they do.
struct Busy {
  CpuSet cpus;
  double used = 0;
  bool known = false;

  std::string Cores() const { return known ? fmt::format("{:.0f}m", used * 1000) : ""; }
  std::string Part() const {
    return known && !cpus.empty() ? fmt::format("{:.0f}%", kPercent * used / static_cast<double>(cpus.Count())) : "";
  }
};

Busy BusyOf(const CpuSet& cpus, const StatsSummary& stats) {
  Busy out{.cpus = cpus};
  for (const CpuId cpu : cpus) {
    const auto of = stats.cpus.find(cpu);
    if (of == stats.cpus.end() || !of->second.used) continue;
    out.used += *of->second.used;
    out.known = true;
  }
  return out;
}

void AddPlace(Table& table, const std::string& name, const Busy& busy, const NumaMemory* memory) {
  const bool told = memory != nullptr && memory->total.v > 0;
  table.AddRow({name, busy.Cores(), busy.Part(),
                told ? FormatSize(Bytes{memory->total.v - memory->free.v}) + " of " + FormatSize(memory->total) : "",
                busy.cpus.empty() ? "" : FormatIds(busy.cpus)});
}

/// `before`: null when it was not there.
void CountSince(const GroupUsage* before, GroupUsage& usage) {
  if (!usage.throttling) return;
  const Throttling now = *std::exchange(usage.throttling, std::nullopt);
  if (before == nullptr || !before->throttling) return;
  const Throttling& then = *before->throttling;
  // Another group of that name counts from nothing.
  if (then.periods > now.periods || then.throttled > now.throttled || then.time > now.time) return;
  if (now.throttled - then.throttled > now.periods - then.periods) return;
  usage.throttling = Throttling{
      .periods = now.periods - then.periods, .throttled = now.throttled - then.throttled, .time = now.time - then.time};
}

void CountSince(const std::vector<NamedUsage>& before, std::vector<NamedUsage>& groups) {
  for (NamedUsage& group : groups) {
    const auto then = std::ranges::find(before, group.name, &NamedUsage::name);
    CountSince(then == before.end() ? nullptr : &then->usage, group.usage);
  }
}

}  // namespace

void CountThrottlingSince(const StatsSummary& before, StatsSummary& stats) {
  CountSince(&before.node.usage, stats.node.usage);
  CountSince(before.groups, stats.groups);
  for (PodStats& pod : stats.pods) {
    const auto then = std::ranges::find(before.pods, pod.uid, &PodStats::uid);
    const bool known = then != before.pods.end();
    CountSince(known ? &then->usage : nullptr, pod.usage);
    CountSince(known ? then->containers : std::vector<NamedUsage>(), pod.containers);
  }
}

std::string PodUsageTable(const StatsSummary& stats, const PodList& pods, const Machine& machine,
                          const UsageOptions& options) {
  std::vector<Column> columns{{"POD", Align::kLeft, true},  {"CONTAINER", Align::kLeft, true},
                              {"CPU", Align::kRight},       {"MEMORY", Align::kRight},
                              {"THROTTLED", Align::kRight}, {"WAITING", Align::kRight},
                              {"REMOTE", Align::kRight},    {"NODES"}};
  if (options.shares)
    for (const char* const title : {"CPU/REQ", "CPU/LIM", "MEM/REQ", "MEM/LIM"})
      columns.push_back({title, Align::kRight});
  Table table(std::move(columns));
  std::vector<const PodStats*> rows;
  for (const PodStats& pod : stats.pods)
    if (IsWanted(pod, options.filter)) rows.push_back(&pod);
  std::ranges::sort(rows, {}, [&](const auto* pod) {
    return std::tuple(-WeightOf(*pod, options.order), pod->namespace_, pod->name);
  });
  for (const PodStats* pod : rows) AddPod(table, *pod, pods, machine, options);
  return table.Format(options.table);
}

std::string SumUsageTable(const StatsSummary& stats, const TableOptions& options) {
  Table table({{"ALL OF", Align::kLeft, true},
               {"CPU", Align::kRight},
               {"MEMORY", Align::kRight},
               {"THROTTLED", Align::kRight},
               {"WAITING", Align::kRight}});
  const auto add = [&](const std::string& what, const GroupUsage& usage) {
    table.AddRow({what, CoresOf(usage), WorkingSetOf(usage), ThrottledOf(usage), WaitingOf(usage)});
  };
  constexpr std::array kSums = {std::pair("guaranteed", "Guaranteed pods"), std::pair("burstable", "Burstable pods"),
                                std::pair("besteffort", "BestEffort pods"), std::pair("pods", "all pods"),
                                std::pair("kubelet", "berthd")};
  for (const auto& [name, shown] : kSums)
    for (const NamedUsage& group : stats.groups)
      if (group.name == name) add(shown, group.usage);
  add("node " + stats.node.name, stats.node.usage);
  return table.Format(options);
}

std::string PlaceUsageTable(const StatsSummary& stats, const Machine& machine, const TableOptions& options) {
  Table table({{"PLACE"},
               {"CPU", Align::kRight},
               {"BUSY", Align::kRight},
               {"MEMORY USED", Align::kRight},
               {"CPUS", Align::kLeft, true}});
  if (stats.cpus.empty() && stats.numa.empty()) return "";
  std::vector<const NumaNode*> nodes;
  for (const NumaNode& node : machine.nodes) nodes.push_back(&node);
  std::ranges::sort(nodes, {}, &NumaNode::id);
  for (const NumaNode* node : nodes) {
    const CpuSet cpus = CpusOfNode(machine, node->id);
    const auto memory = stats.numa.find(node->id);
    AddPlace(table, "node " + std::to_string(Raw(node->id)), BusyOf(cpus, stats),
             memory == stats.numa.end() ? nullptr : &memory->second);
    std::vector<const L3Group*> caches;
    for (const L3Group& group : machine.l3)
      if (group.cpus.Intersects(cpus)) caches.push_back(&group);
    if (caches.size() < 2) continue;
    for (const L3Group* group : caches)
      AddPlace(table, "  L3 " + std::to_string(Raw(group->id)), BusyOf(group->cpus & cpus, stats), nullptr);
  }
  return table.Format(options);
}

}  // namespace berth::view
