#include "view/usage_table.h"

#include <gtest/gtest.h>

#include <cstdint>
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
  GroupUsage app_use = Using(1.4, 60);
  app_use.cpu_stall = Stall{.some_lately = 12.3};
  app_use.memory_stall = Stall{.some_lately = 3};
  app_use.numa = {{NumaId{0}, MiB(12)}, {NumaId{1}, MiB(48)}};
  stats.pods = {Stats("alone", Using(0.5, 30), {Named("app", Using(0.5, 29))}),
                Stats("web", web, {Named("side", Using(0.2, 8)), Named("app", app_use)})};
  auto view = std::make_shared<PodView>();
  view->uid = "uid-web";
  ContainerView& app = view->containers.emplace_back();
  app.name = "app";
  app.place.emplace().cpus = CpuSet{CpuId{2}, CpuId{3}};
  EXPECT_EQ(
      "POD            CONTAINER    CPU  MEMORY  THROTTLED  WAITING  REMOTE  NODES\n"
      "default/web    all        1600m  70 MiB        25%        -       -  -\n"
      "default/web    app        1400m  60 MiB          -    12/3%  12 MiB  1\n"
      "default/web    side        200m   8 MiB          -        -       -  -\n"
      "default/alone  app         500m  29 MiB          -        -       -  -\n",
      PodUsageTable(stats, {.pods = {view}, .shared = {}}, TwoNodes()));
  EXPECT_EQ(
      "ALL OF             CPU   MEMORY  THROTTLED  WAITING\n"
      "Guaranteed pods  2100m  100 MiB          -        -\n"
      "all pods         2100m  100 MiB          -        -\n"
      "berthd             10m    9 MiB          -        -\n"
      "node n1          2500m  900 MiB          -        -\n",
      SumUsageTable(stats));
}

TEST(UsageTableTest, APodWhoseOwnUseIsNotKnownStandsByThatOfItsContainers) {
  StatsSummary stats;
  stats.node = Named("n1", {});
  stats.pods = {Stats("a", Using(0.3, 1), {Named("app", Using(0.3, 1))}),
                Stats("b", std::nullopt, {Named("app", Using(0.2, 1)), Named("side", Using(0.2, 1))})};
  EXPECT_EQ(
      "POD        CONTAINER   CPU  MEMORY  THROTTLED  WAITING  REMOTE  NODES\n"
      "default/b  all           -       -          -        -       -  -\n"
      "default/b  app        200m   1 MiB          -        -       -  -\n"
      "default/b  side       200m   1 MiB          -        -       -  -\n"
      "default/a  app        300m   1 MiB          -        -       -  -\n",
      PodUsageTable(stats, {}, TwoNodes()));
}

TEST(UsageTableTest, PercentsOfRequestsAndLimitsStandBesideAPodAlone) {
  StatsSummary stats;
  stats.pods = {Stats("alone", Using(0.5, 30), {Named("app", Using(0.5, 30))}),
                Stats("two", Using(0.2, 90), {Named("app", Using(0.1, 40)), Named("side", Using(0.1, 50))})};
  PodList pods;
  for (const std::string name : {"alone", "two"}) {
    auto view = std::make_shared<PodView>();
    view->uid = "uid-" + name;
    view->requests = {{"cpu", *Quantity::Parse("2")}, {"memory", *Quantity::Parse("60Mi")}};
    view->limits = {{"cpu", *Quantity::Parse("5")}};
    if (name == "alone") view->limits.emplace("memory", *Quantity::Parse("120Mi"));
    pods.pods.push_back(std::move(view));
  }
  EXPECT_EQ(
      "POD            CONTAINER   CPU  MEMORY  THROTTLED  WAITING  REMOTE  NODES  CPU/REQ  CPU/LIM  MEM/REQ  MEM/LIM\n"
      "default/alone  app        500m  30 MiB          -        -       -  -          25%      10%      50%      25%\n"
      "default/two    all        200m  90 MiB          -        -       -  -          10%       4%     150%        -\n"
      "default/two    app        100m  40 MiB          -        -       -  -            -        -        -        -\n"
      "default/two    side       100m  50 MiB          -        -       -  -            -        -        -        -\n",
      PodUsageTable(stats, pods, TwoNodes(), {.shares = true}));
}

TEST(UsageTableTest, ThrottlingIsThatSinceTheLookBefore) {
  const auto look = [](std::uint64_t periods, std::uint64_t throttled) {
    GroupUsage usage;
    usage.throttling = Throttling{.periods = periods, .throttled = throttled};
    StatsSummary out;
    out.pods = {Stats("web", usage, {Named("app", usage)})};
    return out;
  };
  const auto since = [](const StatsSummary& before, StatsSummary now) {
    CountThrottlingSince(before, now);
    EXPECT_EQ(now.pods[0].usage.throttling, now.pods[0].containers[0].usage.throttling);
    return now.pods[0].usage.throttling;
  };
  EXPECT_EQ(since(look(100, 90), look(110, 95)), (Throttling{.periods = 10, .throttled = 5}));
  EXPECT_EQ(since({}, look(110, 95)), std::nullopt) << "it is new";
  for (const auto& [before, now] : {std::pair(look(100, 90), look(3, 1)), std::pair(look(10, 9), look(12, 0)),
                                    std::pair(look(10, 1), look(12, 12))})
    EXPECT_EQ(since(before, now), std::nullopt) << "it began anew";
}

TEST(UsageTableTest, PodsCanBeSortedAndNarrowed) {
  StatsSummary stats;
  stats.pods = {Stats("a", Using(0.1, 9), {Named("app", Using(0.1, 9))}),
                Stats("b", Using(0.9, 5), {Named("app", Using(0.9, 5))}),
                Stats("c", Using(0.5, 7), {Named("proxy", Using(0.5, 7))})};
  const auto first_words = [&](const UsageOptions& options) {
    std::string out;
    const std::string table = PodUsageTable(stats, {}, TwoNodes(), options);
    for (std::size_t at = table.find('\n'); at + 1 < table.size(); at = table.find('\n', at + 1))
      out += table.substr(at + 1, table.find(' ', at) - at - 1) + " ";
    return out;
  };
  EXPECT_EQ(first_words({}), "default/b default/c default/a ");
  EXPECT_EQ(first_words({.order = UsageOrder::kMemory}), "default/a default/c default/b ");
  EXPECT_EQ(first_words({.order = UsageOrder::kName}), "default/a default/b default/c ");
  EXPECT_EQ(first_words({.filter = "prox"}), "default/c ") << "a container's name";
  EXPECT_EQ(first_words({.filter = "lt/a"}), "default/a ");
  EXPECT_EQ(first_words({.filter = "nobody"}), "");
}

TEST(UsageTableTest, NodesAndTheirCachesSayHowBusyTheyAre) {
  Machine machine = TwoNodes();
  machine.l3 = {{.id = CacheId{0}, .size = {}, .cpus = CpuSet{CpuId{0}}},
                {.id = CacheId{1}, .size = {}, .cpus = CpuSet{CpuId{1}}},
                {.id = CacheId{2}, .size = {}, .cpus = CpuSet{CpuId{2}, CpuId{3}}}};
  StatsSummary stats;
  EXPECT_EQ("", PlaceUsageTable(stats, machine));
  stats.cpus = {{CpuId{0}, {.time = {}, .used = 0.25}}, {CpuId{1}, {.time = {}, .used = 1}}, {CpuId{2}, {}}};
  stats.numa[NumaId{0}] = {.total = MiB(100), .free = MiB(40)};
  EXPECT_EQ(
      "PLACE     CPU  BUSY        MEMORY USED  CPUS\n"
      "node 0  1250m   62%  60 MiB of 100 MiB  0-1\n"
      "  L3 0   250m   25%                  -  0\n"
      "  L3 1  1000m  100%                  -  1\n"
      "node 1      -     -                  -  2-3\n",
      PlaceUsageTable(stats, machine));
}

}  // namespace
}  // namespace berth::view
