// The nearest request, against trying every smaller one.
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "allocator/explain/explain.h"
#include "allocator/testing/builders.h"
#include "allocator/testing/random_node.h"

namespace berth::allocator {
namespace {

using testing::Cpus;
using testing::MakeContainer;
using testing::MakeMachine;
using testing::MakePod;
using testing::PinMemory;
using testing::Q;
using testing::Shape;
using testing::StaticConfig;

Container App(std::string name, std::string cpu, std::string memory = "64Mi") {
  return MakeContainer(std::move(name), {{"cpu", std::move(cpu)}, {"memory", std::move(memory)}});
}

Node NodeOf(const Shape& shape, const KubeletConfiguration& config, const EngineOptions& options = {}) {
  auto node = Node::Make(MakeMachine(shape), config, options);
  BERTH_CHECK(node.has_value());
  return *std::move(node);
}

bool Admits(const Node& node, const Ledger& ledger, const Pod& pod) {
  return std::holds_alternative<Admit>(Decide(node, ledger, pod, {}, nullptr));
}

Pod WithAmount(Pod pod, std::size_t container, const std::string& resource, const Quantity& amount) {
  Resources& resources = pod.containers[container].resources;
  resources.requests[resource] = amount;
  resources.limits[resource] = amount;
  return pod;
}

TEST(FindNearestTest, OffersWholeCoresWhereOnlyWholeCoresAreGiven) {
  KubeletConfiguration config = StaticConfig("0,4");
  config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  const Node node = NodeOf({.cores_per_node = 4}, config);
  Ledger ledger = node.EmptyLedger();
  Apply(ledger, std::get<Admit>(Decide(node, ledger, MakePod("before", {App("c", "2")}), {}, nullptr)).delta);
  const Pod pod = MakePod("a", {App("a", "8"), App("b", "8")});
  const Explanation e = Explain(node, ledger, pod, {});
  ASSERT_TRUE(e.nearest);
  ASSERT_EQ(e.nearest->changes.size(), 2U);
  for (const RequestChange& change : e.nearest->changes) EXPECT_EQ(change.to, Q("2")) << change.container;
}

TEST(FindNearestTest, CountsFromTheRequestWhereTheLimitIsHigher) {
  const Node node = NodeOf({.cores_per_node = 4}, StaticConfig());
  Container app = App("a", "100");
  app.resources.limits["cpu"] = Q("200");
  const Explanation e = Explain(node, node.EmptyLedger(), MakePod("a", {app}), {});
  ASSERT_TRUE(e.nearest);
  ASSERT_EQ(e.nearest->changes.size(), 1U);
  EXPECT_EQ(e.nearest->changes[0].from, Q("100"));
}

TEST(FindNearestTest, OffersTheNextWholeCoreWhereThatIsNearer) {
  KubeletConfiguration config = StaticConfig("0,8");
  config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  const Node node = NodeOf({.cores_per_node = 8, .threads = 2}, config);
  const Explanation e = Explain(node, node.EmptyLedger(), MakePod("a", {App("a", "3")}), {});
  ASSERT_TRUE(e.nearest);
  EXPECT_EQ(e.nearest->changes[0].to, Q("4"));  // 2 and 4 are equally near, and 4 is enough
  const Explanation both = Explain(node, node.EmptyLedger(), MakePod("b", {App("a", "3"), App("b", "7")}), {});
  ASSERT_TRUE(both.nearest);
  ASSERT_EQ(both.nearest->changes.size(), 2U);
  EXPECT_EQ(both.nearest->changes[0].to, Q("4"));
  EXPECT_EQ(both.nearest->changes[1].to, Q("8"));
}

TEST(FindNearestTest, CountsTheOtherContainersOfThePod) {
  KubeletConfiguration config = StaticConfig();
  PinMemory(config, "1Gi");
  config.topology_manager_policy = "single-numa-node";
  config.topology_manager_scope = "pod";
  Shape shape{.sockets = 2, .cores_per_node = 8};
  shape.node_memory = GiB(10);
  const Node node = NodeOf(shape, config);
  const Pod pod = MakePod("a", {App("a", "1", "6Gi"), App("b", "1", "6Gi")});
  const Explanation e = Explain(node, node.EmptyLedger(), pod, {});
  ASSERT_TRUE(e.nearest);
  ASSERT_EQ(e.nearest->changes.size(), 1U);
  EXPECT_EQ(e.nearest->changes[0].to, Q("4Gi"));
  EXPECT_TRUE(e.nearest_exhaustive);
}

TEST(FindNearestTest, SkipsNoCountOfAWideRequest) {
  const Node node = NodeOf({.cores_per_node = 300, .threads = 1}, StaticConfig());
  Ledger ledger = node.EmptyLedger();
  Apply(ledger, std::get<Admit>(Decide(node, ledger, MakePod("before", {App("c", "82")}), {}, nullptr)).delta);
  const Explanation e = Explain(node, ledger, MakePod("a", {App("a", "298")}), {});
  ASSERT_TRUE(e.nearest);
  // 300 without 1 reserved and 82 taken; the shared pool keeps the reserved one.
  EXPECT_EQ(e.nearest->changes[0].to, Q("217"));
}

TEST(FindNearestTest, SurvivesHugeAmounts) {
  const Node node = NodeOf({.cores_per_node = 4}, StaticConfig());
  for (const char* cpu : {"9223372036854775807", "9223372036854775", "1000000000"}) {
    const Pod pod = MakePod("a", {App("a", cpu, "7Ei")});
    const Explanation e = Explain(node, node.EmptyLedger(), pod, {});
    ASSERT_TRUE(std::holds_alternative<Reject>(e.decision));
    EXPECT_TRUE(!e.nearest || Admits(node, node.EmptyLedger(), e.nearest->pod)) << cpu;
  }
}

TEST(FindNearestTest, SaysSoWhenEverySmallerRequestWasTriedInVain) {
  KubeletConfiguration config = StaticConfig("0");
  config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  const Node node = NodeOf({.cores_per_node = 2}, config);
  Ledger ledger = node.EmptyLedger();
  Apply(ledger, std::get<Admit>(Decide(node, ledger, MakePod("before", {App("c", "2")}), {}, nullptr)).delta);
  const Explanation e = Explain(node, ledger, MakePod("a", {App("a", "4", "2Mi")}), {});
  EXPECT_FALSE(e.nearest);
  EXPECT_TRUE(e.nearest_exhaustive);
}

TEST(FindNearestTest, OffersExactlyWhatTheOtherPodsLeaveOfAllocatable) {
  const Node node = NodeOf({.cores_per_node = 4}, StaticConfig("0"));  // seven CPUs
  Ledger ledger = node.EmptyLedger();
  Container shares = App("c", "1500m");
  Apply(ledger, std::get<Admit>(Decide(node, ledger, MakePod("before", {shares}), {}, nullptr)).delta);
  const Explanation e = Explain(node, ledger, MakePod("a", {App("a", "6500m")}), {});
  ASSERT_TRUE(e.nearest);
  ASSERT_EQ(e.nearest->changes.size(), 1U);
  EXPECT_EQ(e.nearest->changes[0].to, Q("5500m"));
  ASSERT_EQ(e.holders.size(), 1U);
  EXPECT_EQ(e.holders[0].resource, "cpu");
  EXPECT_EQ(e.holders[0].amount, 1500);
  EXPECT_EQ(e.holders[0].uid, "before");
  EXPECT_EQ(e.holders[0].pod, "default/pod-before");
}

TEST(FindNearestTest, OffersTheLittleThatIsThereHoweverMuchIsAsked) {
  const Node node = NodeOf({.cores_per_node = 4, .node_memory = GiB(10)}, StaticConfig());
  const Explanation e = Explain(node, node.EmptyLedger(), MakePod("a", {App("a", "1", "7Ei")}), {});
  ASSERT_TRUE(e.nearest);
  ASSERT_EQ(e.nearest->changes.size(), 1U);
  EXPECT_EQ(e.nearest->changes[0].to, Q("10Gi"));
}

TEST(FindNearestTest, ChangesTheContainerThatLosesTheSmallerPart) {
  const Node node = NodeOf({.cores_per_node = 6}, StaticConfig("0"));  // eleven CPUs
  for (const bool swapped : {false, true}) {
    std::vector<Container> both = {App("small", "4"), App("large", "8")};
    if (swapped) std::swap(both[0], both[1]);
    const Explanation e = Explain(node, node.EmptyLedger(), MakePod("a", both), {});
    ASSERT_TRUE(e.nearest);
    ASSERT_EQ(e.nearest->changes.size(), 1U);
    EXPECT_EQ(e.nearest->changes[0].container, "large");
    EXPECT_EQ(e.nearest->changes[0].to, Q("7"));
  }
}

TEST(FindNearestTest, AnAmountThatIsOnlyALimitIsChangedThere) {
  const Node node = NodeOf({.cores_per_node = 4}, StaticConfig());
  Inputs inputs;
  for (const char* id : {"g0", "g1"}) inputs.devices["v.example/gpu"].push_back({.id = id, .nodes = {NumaId{0}}});
  Container app = App("a", "1");
  app.resources.limits["v.example/gpu"] = Q("3");
  const Explanation e = Explain(node, node.EmptyLedger(), MakePod("a", {app}), inputs);
  ASSERT_TRUE(e.nearest);
  EXPECT_EQ(e.nearest->changes, (std::vector<RequestChange>{{"a", "v.example/gpu", Q("3"), Q("2")}}));
}

/// Hardly anything is to be looked at there: no set of nodes serves 17 CPUs in whole cores.
TEST(FindNearestTest, FindsAsMuchWhereTheNodeLooksAhead) {
  KubeletConfiguration config = StaticConfig("0");
  config.topology_manager_policy = "restricted";
  config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  const Shape shape{.sockets = 2, .nodes_per_socket = 4, .cores_per_node = 8};
  const Pod pod = MakePod("a", {App("c0", "17"), App("c1", "17"), App("c2", "17"), App("c3", "100")});
  for (const bool look_ahead : {false, true}) {
    const Node node = NodeOf(shape, config, {.look_ahead = look_ahead});
    const Explanation e = Explain(node, node.EmptyLedger(), pod, {});
    ASSERT_TRUE(e.nearest) << look_ahead;
    EXPECT_EQ(e.nearest->changes, (std::vector<RequestChange>{{"c0", "cpu", Q("17"), Q("16")},
                                                              {"c1", "cpu", Q("17"), Q("16")},
                                                              {"c2", "cpu", Q("17"), Q("16")},
                                                              {"c3", "cpu", Q("100"), Q("78")}}))
        << look_ahead;
  }
}

/// Ids are a plug-in's own: two resources may use the same.
TEST(HoldersTest, WhoHasDevicesOfAnotherResourceIsNoneNorWhoHasSuchAsAreGone) {
  const Node node = NodeOf({.cores_per_node = 4}, StaticConfig());
  Inputs inputs;
  inputs.devices["v.example/gpu"] = {{.id = "0", .nodes = {NumaId{0}}}};
  inputs.devices["v.example/nic"] = {{.id = "0", .nodes = {NumaId{0}}}};
  const auto wanting = [](const std::string& uid, const std::string& resource, const std::string& amount) {
    return MakePod(uid, {MakeContainer("c", {{"cpu", "1"}, {"memory", "64Mi"}, {resource, amount}})});
  };
  Ledger ledger = node.EmptyLedger();
  for (const char* resource : {"v.example/gpu", "v.example/nic"})
    Apply(ledger, std::get<Admit>(Decide(node, ledger, wanting(resource, resource, "1"), inputs, nullptr)).delta);
  const Explanation e = Explain(node, ledger, wanting("a", "v.example/gpu", "1"), inputs);
  ASSERT_EQ(e.holders.size(), 1U);
  EXPECT_EQ(e.holders[0].uid, "v.example/gpu");
  EXPECT_EQ(e.holders[0].resource, "v.example/gpu");
  inputs.devices.erase("v.example/gpu");
  EXPECT_TRUE(Explain(node, ledger, wanting("a", "v.example/gpu", "1"), inputs).holders.empty());
}

/// Any pod of one or two containers with whole cores at most as many as asked is admitted.
bool AnySmallerIsAdmitted(const Node& node, const Ledger& ledger, const Pod& pod, int step) {
  const auto most = [&](std::size_t i) { return pod.containers[i].resources.requests.find("cpu")->second.Value(); };
  for (std::int64_t a = most(0); a > 0; --a) {
    for (std::int64_t b = most(1); b > 0; --b) {
      if ((a % step != 0 && a != most(0)) || (b % step != 0 && b != most(1))) continue;
      const Pod smaller =
          WithAmount(WithAmount(pod, 0, "cpu", Quantity::FromUnits(a)), 1, "cpu", Quantity::FromUnits(b));
      if (Admits(node, ledger, smaller)) return true;
    }
  }
  return false;
}

TEST(FindNearestPropertyTest, FindsSomethingWhereverTryingEverythingDoes) {
  std::mt19937_64 rng(4711);
  const auto roll = [&](unsigned n) { return static_cast<unsigned>(rng() % n); };
  int found = 0;
  for (int round = 0; round < 300; ++round) {
    Shape shape{.sockets = 1 + static_cast<int>(roll(2)), .cores_per_node = 2 + static_cast<int>(roll(3))};
    KubeletConfiguration config = StaticConfig();
    const bool whole_cores = roll(2) == 0;
    if (whole_cores) config.cpu_manager_policy_options["full-pcpus-only"] = "true";
    config.topology_manager_policy = std::array{"none", "restricted", "single-numa-node"}[roll(3)];
    config.topology_manager_scope = roll(2) == 0 ? "pod" : "container";
    const Node node = NodeOf(shape, config);
    Ledger ledger = node.EmptyLedger();
    for (unsigned i = roll(3); i > 0; --i) {
      const Decision before =
          Decide(node, ledger, MakePod("b" + std::to_string(i), {App("c", std::to_string(2 * (1 + roll(3))))}), {}, {});
      if (const auto* admit = std::get_if<Admit>(&before)) Apply(ledger, admit->delta);
    }
    const Pod pod = MakePod("a", {App("a", std::to_string(2 + roll(10))), App("b", std::to_string(2 + roll(10)))});
    if (Admits(node, ledger, pod)) continue;
    const Explanation e = Explain(node, ledger, pod, {});
    const bool any = AnySmallerIsAdmitted(node, ledger, pod, whole_cores ? 2 : 1);
    ASSERT_TRUE(!any || e.nearest) << "seed 4711, round " << round;
    if (!e.nearest) continue;
    ++found;
    const RequestChange& last = e.nearest->changes.back();
    const std::size_t container = last.container == "a" ? 0 : 1;
    const Quantity more = last.to + Quantity::FromUnits(whole_cores ? 2 : 1);
    if (last.resource != "cpu" || last.to > last.from || more > last.from || e.nearest->changes.size() > 1) continue;
    EXPECT_FALSE(Admits(node, ledger, WithAmount(e.nearest->pod, container, "cpu", more)))
        << "seed 4711, round " << round << ": " << more.ToString() << " is nearer";
  }
  EXPECT_GT(found, 30);
}

}  // namespace
}  // namespace berth::allocator
