#include "telemetry/metrics/summary.h"

#include <algorithm>
#include <utility>

namespace berth::metrics {
namespace {

/// A kubelet calls its own group by its own name.
std::string KubeletsName(const std::string& group) { return group == "berthd" ? "kubelet" : group; }

std::optional<WallTime> StartOf(const PodView& pod, const std::string& container) {
  const auto it = std::ranges::find(pod.containers, container, &ContainerView::name);
  return it == pod.containers.end() || !it->last ? std::nullopt : ParseTime(it->last->started_at);
}

PodStats StatsOf(const PodUsage& pod) {
  PodStats out{.namespace_ = pod.pod->namespace_,
               .name = pod.pod->name,
               .uid = pod.pod->uid,
               .started_at = pod.pod->admitted_at,
               .usage = pod.usage,
               .containers = {}};
  for (const auto& [name, usage] : pod.containers)
    out.containers.push_back(
        {.name = name, .started_at = StartOf(*pod.pod, name), .usage = usage, .available = std::nullopt});
  return out;
}

}  // namespace

StatsSummary SummaryOf(const NodeUsage& usage) {
  StatsSummary out{.at = usage.at, .node = {}, .groups = {}, .pods = {}};
  out.node = {
      .name = usage.node_name, .started_at = usage.host.booted_at, .usage = usage.host.all, .available = std::nullopt};
  if (const auto& used = usage.host.all.working_set; used && usage.host.memory.v > 0)
    out.node.available = Bytes{std::max<std::int64_t>(0, (usage.host.memory - usage.host.huge_pages - *used).v)};
  for (const auto& [name, group] : usage.groups)
    out.groups.push_back(
        {.name = KubeletsName(name), .started_at = std::nullopt, .usage = group, .available = std::nullopt});
  for (const PodUsage& pod : usage.pods) out.pods.push_back(StatsOf(pod));
  out.numa = usage.host.nodes;
  out.cpus = usage.host.cpus;
  return out;
}

}  // namespace berth::metrics
