#include "view/usage_table.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace berth::view {
namespace {

GroupUsage Using(double cores, std::int64_t mib) {
  GroupUsage out;
  out.cores = cores;
  out.working_set = MiB(mib);
  return out;
}

PodStats Stats(const std::string& name, std::optional<GroupUsage> all, std::vector<NamedUsage> containers) {
  PodStats out;
  out.namespace_ = "default";
  out.name = name;
  out.uid = "uid-" + name;
  out.usage = all.value_or(GroupUsage());
  out.containers = std::move(containers);
  return out;
}

NamedUsage Named(const std::string& name, const GroupUsage& usage) {
  return {.name = name, .started_at = {}, .usage = usage, .available = {}};
}

/// Of two NUMA nodes with two CPUs each.
Machine TwoNodes() {
  Machine out;
  for (std::uint32_t id = 0; id < 2; ++id) {
    NumaNode& node = out.nodes.emplace_back();
    node.id = NumaId{id};
    node.cores.emplace_back().threads = {CpuId{2 * id}, CpuId{2 * id + 1}};
  }
  return out;
}

TEST(UsageTableTest, APodWithSeveralContainersHasItsSumBeforeThem) {
  StatsSummary stats;
  stats.node = Named("n1", Using(2.5, 900));
  stats.groups = {Named("kubelet", Using(0.01, 9)), Named("pods", Using(2.1, 100)),
                  Named("guaranteed", Using(2.1, 100))};
  GroupUsage web = Using(1.6, 70);
  web.throttling = Throttling{.periods = 4, .throttled = 1};
  stats.pods = {Stats("alone", Using(0.5, 30), {Named("app", Using(0.5, 29))}),
                Stats("web", web, {Named("side", Using(0.2, 8)), Named("app", Using(1.4, 60))})};
  auto view = std::make_shared<PodView>();
  view->uid = "uid-web";
  ContainerView& app = view->containers.emplace_back();
  app.name = "app";
  app.place.emplace().cpus = CpuSet{CpuId{2}, CpuId{3}};
  EXPECT_EQ(
      "POD              CONTAINER    CPU   MEMORY  THROTTLED  NODES\n"
      "default/web      all        1600m   70 MiB        25%  -\n"
      "default/web      app        1400m   60 MiB          -  1\n"
      "default/web      side        200m    8 MiB          -  -\n"
      "default/alone    app         500m   29 MiB          -  -\n"
      "Guaranteed pods  -          2100m  100 MiB          -  -\n"
      "all pods         -          2100m  100 MiB          -  -\n"
      "berthd           -            10m    9 MiB          -  -\n"
      "node n1          -          2500m  900 MiB          -  -\n",
      UsageTable(stats, {.pods = {view}, .shared = {}}, TwoNodes()));
}

TEST(UsageTableTest, APodWhoseOwnUseIsNotKnownStandsByThatOfItsContainers) {
  StatsSummary stats;
  stats.node = Named("n1", {});
  stats.pods = {Stats("a", Using(0.3, 1), {Named("app", Using(0.3, 1))}),
                Stats("b", std::nullopt, {Named("app", Using(0.2, 1)), Named("side", Using(0.2, 1))})};
  EXPECT_EQ(
      "POD        CONTAINER   CPU  MEMORY  THROTTLED  NODES\n"
      "default/b  all           -       -          -  -\n"
      "default/b  app        200m   1 MiB          -  -\n"
      "default/b  side       200m   1 MiB          -  -\n"
      "default/a  app        300m   1 MiB          -  -\n"
      "node n1    -             -       -          -  -\n",
      UsageTable(stats, {}, TwoNodes()));
}

}  // namespace
}  // namespace berth::view
