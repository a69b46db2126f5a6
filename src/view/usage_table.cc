#include "view/usage_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "view/size.h"

namespace berth::view {
namespace {

std::string CoresOf(const GroupUsage& usage) {
  constexpr double kMilli = 1000;
  return usage.cores ? fmt::format("{:.0f}m", *usage.cores * kMilli) : "";
}

std::string WorkingSetOf(const GroupUsage& usage) { return usage.working_set ? FormatSize(*usage.working_set) : ""; }

/// Part of the periods in which the quota was used up, since the start.
std::string ThrottledOf(const GroupUsage& usage) {
  constexpr double kPercent = 100;
  if (!usage.throttling || usage.throttling->periods == 0) return "";
  return fmt::format("{:.0f}%", kPercent * static_cast<double>(usage.throttling->throttled) /
                                    static_cast<double>(usage.throttling->periods));
}

/// NUMA nodes of the container's own CPUs and of its memory; "" for one in the shared pool.
std::string NumaNodesOf(const PodList& pods, const Machine& machine, const PodStats& pod,
                        const std::string& container) {
  NodeSet nodes;
  for (const auto& view : pods.pods)
    for (const ContainerView& of : view->containers) {
      if (view->uid != pod.uid || of.name != container || !of.place) continue;
      nodes |= of.place->memory_nodes;
      for (const NumaNode& numa : machine.nodes)
        if (of.place->cpus && of.place->cpus->Intersects(CpusOfNode(machine, numa.id))) nodes.Insert(numa.id);
    }
  return FormatIds(nodes);
}

void AddSum(Table& table, const std::string& what, const GroupUsage& usage) {
  table.AddRow({what, "", CoresOf(usage), WorkingSetOf(usage), "", ""});
}

/// The pod, by what it uses or what its containers do, if the pod's own is not known.
double CoresUsed(const PodStats& pod) {
  double containers = 0;
  for (const NamedUsage& container : pod.containers) containers += container.usage.cores.value_or(0);
  return pod.usage.cores.value_or(containers);
}

void AddPod(Table& table, const PodStats& pod, const PodList& pods, const Machine& machine) {
  const std::string name = pod.namespace_ + "/" + pod.name;
  if (pod.containers.size() > 1)
    table.AddRow({name, "all", CoresOf(pod.usage), WorkingSetOf(pod.usage), ThrottledOf(pod.usage), ""});
  std::vector<const NamedUsage*> containers;
  for (const NamedUsage& container : pod.containers) containers.push_back(&container);
  std::ranges::sort(containers, {}, [](const auto* container) {
    return std::tuple(-container->usage.cores.value_or(0), container->name);
  });
  for (const NamedUsage* container : containers)
    table.AddRow({name, container->name, CoresOf(container->usage), WorkingSetOf(container->usage),
                  ThrottledOf(container->usage), NumaNodesOf(pods, machine, pod, container->name)});
}

}  // namespace

std::string UsageTable(const StatsSummary& stats, const PodList& pods, const Machine& machine,
                       const TableOptions& options) {
  Table table({{"POD", Align::kLeft, true},
               {"CONTAINER", Align::kLeft, true},
               {"CPU", Align::kRight},
               {"MEMORY", Align::kRight},
               {"THROTTLED", Align::kRight},
               {"NODES"}});
  std::vector<const PodStats*> rows;
  for (const PodStats& pod : stats.pods) rows.push_back(&pod);
  std::ranges::sort(rows, {}, [](const auto* pod) { return std::tuple(-CoresUsed(*pod), pod->namespace_, pod->name); });
  for (const PodStats* pod : rows) AddPod(table, *pod, pods, machine);
  constexpr std::array kSums = {std::pair("guaranteed", "Guaranteed pods"), std::pair("burstable", "Burstable pods"),
                                std::pair("besteffort", "BestEffort pods"), std::pair("pods", "all pods"),
                                std::pair("kubelet", "berthd")};
  for (const auto& [name, shown] : kSums)
    for (const NamedUsage& group : stats.groups)
      if (group.name == name) AddSum(table, shown, group.usage);
  AddSum(table, "node " + stats.node.name, stats.node.usage);
  return table.Format(options);
}

}  // namespace berth::view
