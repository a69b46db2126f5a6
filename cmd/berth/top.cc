#include "berth/top.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "codec/views.h"
#include "model/machine.h"
#include "model/stats_summary.h"
#include "os/clock.h"
#include "view/size.h"
#include "view/table.h"

namespace berth::cli {
namespace {

using view::Align;

constexpr os::Millis kBetweenLooks{1'100};  // berthd reads at most once a second
constexpr os::Millis kRefresh{2'000};

std::string CoresOf(const GroupUsage& usage) {
  constexpr double kMilli = 1000;
  return usage.cores ? fmt::format("{:.0f}m", *usage.cores * kMilli) : "";
}

std::string WorkingSetOf(const GroupUsage& usage) {
  return usage.working_set ? view::FormatSize(*usage.working_set) : "";
}

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

void AddSum(view::Table& table, const std::string& what, const GroupUsage& usage) {
  table.AddRow({what, "", CoresOf(usage), WorkingSetOf(usage), "", ""});
}

/// Containers by what they use, then the sums of tiers and node.
std::string TableOf(const StatsSummary& stats, const PodList& pods, const Machine& machine, const Session& session) {
  view::Table table({{"POD", Align::kLeft, true},
                     {"CONTAINER", Align::kLeft, true},
                     {"CPU", Align::kRight},
                     {"MEMORY", Align::kRight},
                     {"THROTTLED", Align::kRight},
                     {"NODES"}});
  std::vector<std::pair<const PodStats*, const NamedUsage*>> rows;
  for (const PodStats& pod : stats.pods)
    for (const NamedUsage& container : pod.containers) rows.emplace_back(&pod, &container);
  std::ranges::sort(rows, {}, [](const auto& row) {
    return std::tuple(-row.second->usage.cores.value_or(0), row.first->namespace_, row.first->name, row.second->name);
  });
  for (const auto& [pod, container] : rows)
    table.AddRow({pod->namespace_ + "/" + pod->name, container->name, CoresOf(container->usage),
                  WorkingSetOf(container->usage), ThrottledOf(container->usage),
                  NumaNodesOf(pods, machine, *pod, container->name)});
  constexpr std::array kSums = {std::pair("guaranteed", "Guaranteed pods"), std::pair("burstable", "Burstable pods"),
                                std::pair("besteffort", "BestEffort pods"), std::pair("pods", "all pods"),
                                std::pair("kubelet", "berthd")};
  for (const auto& [name, shown] : kSums)
    for (const NamedUsage& group : stats.groups)
      if (group.name == name) AddSum(table, shown, group.usage);
  AddSum(table, "node " + stats.node.name, stats.node.usage);
  return table.Format(session.table());
}

/// With the CPU that is used: that takes two looks, when nobody looked lately.
Result<StatsSummary> LookTwice(const Session& session) {
  BERTH_TRY(StatsSummary stats, session.berthd().Stats());
  if (stats.node.usage.cores || !stats.node.usage.cpu) return stats;
  os::SleepFor(kBetweenLooks);
  return session.berthd().Stats();
}

Result<std::string> TextOf(const Session& session, const Machine& machine) {
  BERTH_TRY(const StatsSummary stats, LookTwice(session));
  BERTH_TRY(const PodList pods, session.berthd().Pods());
  return TableOf(stats, pods, machine, session);
}

}  // namespace

int RunTop(const TopOptions& options, const Session& session) {
  constexpr std::string_view kHomeAndClear = "\x1b[H\x1b[J";
  if (!session.for_people()) {
    const auto stats = LookTwice(session);
    return stats ? session.PrintData(codec::ToJson(*stats)) : session.Report(stats.error());
  }
  const auto machine = session.berthd().GetMachine();
  if (!machine) return session.Report(machine.error());
  const bool again = !options.once && session.around().terminal;
  for (;;) {
    const auto text = TextOf(session, *machine);
    if (!text) return session.Report(text.error());
    session.out() << (again ? kHomeAndClear : "") << *text << std::flush;
    if (!again) return kOk;
    os::SleepFor(kRefresh);
  }
}

}  // namespace berth::cli
