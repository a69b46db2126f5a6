#include "simulator/cluster/fleet.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "allocator/testing/builders.h"
#include "simulator/cluster/packed_pod.h"

namespace berth::cluster {
namespace {

using allocator::testing::MakeContainer;
using allocator::testing::MakeMachine;
using allocator::testing::PinMemory;
using allocator::testing::Q;
using allocator::testing::StaticConfig;

/// Two NUMA nodes with 8 CPUs each, of which CPU 0 is reserved.
NodeDescription TwoNodes() {
  NodeDescription out{.machine = MakeMachine({.sockets = 2, .cores_per_node = 4, .node_memory = GiB(16)}),
                      .config = StaticConfig("0"),
                      .options = {},
                      .devices = {}};
  PinMemory(out.config);
  out.config.topology_manager_policy = "single-numa-node";
  return out;
}

Pod PodOf(std::string uid, std::string cpu, std::string memory = "1Gi") {
  return allocator::testing::MakePod(std::move(uid), {MakeContainer("app", {{"cpu", cpu}, {"memory", memory}})});
}

struct FleetTest : ::testing::Test {
  void SetUp() override {
    for (const char* name : {"a", "b", "c"}) Add(name, TwoNodes());
  }
  NodeIndex Add(const std::string& name, NodeDescription description) {
    auto made = allocator::Node::Make(description.machine, description.config, description.options);
    BERTH_CHECK(made.has_value());
    auto node = fleet.Put(name, std::move(description), made->EmptyLedger());
    BERTH_CHECK(node.has_value());
    return *node;
  }
  std::string ReasonOf(const Pod& pod, NodeIndex node) {
    const Verdicts verdicts = fleet.Filter(pod, std::vector<NodeIndex>{node});
    return verdicts.nodes[0].admitted ? "admitted" : fleet.Reason(verdicts, verdicts.nodes[0]);
  }
  std::vector<bool> Admitted(const Pod& pod) {
    std::vector<bool> out;
    for (const Verdict& verdict : fleet.Filter(pod).nodes) out.push_back(verdict.admitted);
    return out;
  }
  /// The admitted node with the highest score.
  std::string Best(const Pod& pod, Preference preference) {
    const Verdicts verdicts = fleet.Filter(pod);
    std::string out;
    int best = -1;
    for (const Verdict& verdict : verdicts.nodes) {
      if (!verdict.admitted) continue;
      if (const int score = fleet.Score(verdicts, verdict, preference); score > best) {
        best = score;
        out = fleet.Name(verdict.node);
      }
    }
    return out;
  }

  Fleet fleet;
};

TEST_F(FleetTest, IsolatedCpusThatAreInNoPoolAreCountedWith) {
  NodeDescription description = TwoNodes();
  description.machine.isolated = CpusOfNode(description.machine, NumaId{1});
  description.options.own.isolated_apart = true;
  const NodeIndex node = Add("isolated", description);
  EXPECT_TRUE(fleet.Assume(PodOf("whole", "8"), node).admitted);
  EXPECT_EQ(ReasonOf(PodOf("another", "8"), node),
            "cpu: 8000m asked, 7000m of 15000m free in node allocatable (1000m short)");
  EXPECT_EQ(ReasonOf(PodOf("small", "7"), node), "admitted");
  fleet.Release("whole");
  EXPECT_EQ(ReasonOf(PodOf("another", "8"), node), "admitted");
}

TEST_F(FleetTest, EqualNodesAreKeptOnce) {
  EXPECT_EQ(fleet.size(), 3U);
  EXPECT_EQ(fleet.kinds(), 1U);
  EXPECT_EQ(fleet.states(), 1U);
  EXPECT_TRUE(fleet.Assume(PodOf("one", "2"), 0).admitted);
  EXPECT_EQ(fleet.states(), 2U);
  EXPECT_TRUE(fleet.Assume(PodOf("two", "2"), 1).admitted);
  EXPECT_EQ(fleet.states(), 2U) << "both gave the same CPUs";
  fleet.Release("one");
  fleet.Release("two");
  EXPECT_EQ(fleet.states(), 1U);
}

TEST_F(FleetTest, ReasonsSayWhatIsShortAndWhere) {
  EXPECT_TRUE(fleet.Assume(PodOf("one", "4"), 0).admitted);
  EXPECT_EQ(ReasonOf(PodOf("x", "7"), 0), "admitted") << "node 1 is free";
  EXPECT_TRUE(fleet.Assume(PodOf("two", "4"), 0).admitted);
  EXPECT_EQ(ReasonOf(PodOf("x", "7"), 0),
            "cpu: 7 CPUs asked, 3 CPUs of 7 CPUs free on node 0 (4 CPUs short); "
            "cpu: 7 CPUs asked, 4 CPUs of 8 CPUs free on node 1 (3 CPUs short)");
  EXPECT_EQ(ReasonOf(PodOf("x", "7"), 1), "admitted");
}

TEST_F(FleetTest, NodesThatAreFullAreRuledOutByTheirSums) {
  EXPECT_EQ(ReasonOf(PodOf("x", "17"), 0),
            "cpu: 17000m asked, 15000m of 15000m free in node allocatable (2000m short)");
  NodeDescription few = TwoNodes();
  few.config.max_pods = 1;
  const NodeIndex node = Add("few", few);
  EXPECT_TRUE(fleet.Assume(PodOf("one", "1"), node).admitted);
  EXPECT_EQ(ReasonOf(PodOf("x", "1"), node),
            "pods: 1 pod asked, 0 pods of 1 pod free in node allocatable (1 pod short)");
}

TEST_F(FleetTest, SumsAloneDoNotSeeWhatIsShortOnANumaNode) {
  for (const char* uid : {"one", "two"}) EXPECT_TRUE(fleet.Assume(PodOf(uid, "4"), 0).admitted);
  const Pod pod = PodOf("x", "7");
  const auto nodes = [&](NodeIndex from, std::size_t most, const std::function<bool(NodeIndex)>& also = {}) {
    std::vector<NodeIndex> out;
    for (const Verdict& verdict : fleet.FilterBySums(pod, from, most, also).verdicts.nodes) out.push_back(verdict.node);
    return out;
  };
  EXPECT_EQ(nodes(0, 3), (std::vector<NodeIndex>{0, 1, 2}));
  EXPECT_EQ(nodes(2, 2), (std::vector<NodeIndex>{2, 0}));
  EXPECT_EQ(nodes(1, 2, [](NodeIndex node) { return node != 2; }), (std::vector<NodeIndex>{1, 0}));
  EXPECT_FALSE(fleet.Assume(pod, 0).admitted);
  EXPECT_TRUE(fleet.Assume(PodOf("three", "1"), 0).admitted);
  EXPECT_EQ(nodes(0, 3), (std::vector<NodeIndex>{1, 2})) << "7 CPUs of 15 were left, now 6";
}

TEST_F(FleetTest, APodThatIsThereIsAdmittedAgain) {
  EXPECT_TRUE(fleet.Assume(PodOf("one", "7"), 0).admitted);
  EXPECT_TRUE(fleet.Assume(PodOf("two", "7"), 0).admitted);
  EXPECT_EQ(Admitted(PodOf("one", "7")), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(Admitted(PodOf("three", "7")), (std::vector<bool>{false, true, true}));
  EXPECT_TRUE(fleet.Holds("one", 0));
  EXPECT_FALSE(fleet.Holds("one", 1));
}

TEST_F(FleetTest, APodThatIsBookedOnSeveralNodesIsReleasedOnOneOrAll) {
  for (const NodeIndex node : {0U, 1U, 2U}) EXPECT_TRUE(fleet.Assume(PodOf("one", "8"), node).admitted);
  EXPECT_EQ(Admitted(PodOf("x", "8")), (std::vector<bool>{false, false, false}));
  fleet.Release("one", 1);
  EXPECT_EQ(Admitted(PodOf("x", "8")), (std::vector<bool>{false, true, false}));
  fleet.Release("one");
  EXPECT_EQ(Admitted(PodOf("x", "8")), (std::vector<bool>{true, true, true}));
}

TEST_F(FleetTest, ANodeThatIsGoneLeavesItsNumberToAnother) {
  EXPECT_TRUE(fleet.Assume(PodOf("one", "2"), 1).admitted);
  fleet.Remove(1);
  EXPECT_EQ(fleet.size(), 2U);
  EXPECT_EQ(fleet.Nodes(), (std::vector<NodeIndex>{0, 2}));
  EXPECT_FALSE(fleet.Find("b").has_value());
  EXPECT_EQ(Add("d", TwoNodes()), 1U);
  EXPECT_FALSE(fleet.Holds("one", 1));
}

TEST_F(FleetTest, ADescriptionThatIsWrongChangesNothing) {
  NodeDescription wrong = TwoNodes();
  wrong.config.reserved_system_cpus = "99";
  EXPECT_FALSE(fleet.Put("a", wrong, {}).has_value());
  NodeDescription devices = TwoNodes();
  devices.devices["a.com/gpu"] = {{.id = "g", .nodes = {NumaId{7}}}};
  EXPECT_FALSE(fleet.Put("z", devices, {}).has_value());
  EXPECT_EQ(fleet.size(), 3U);
  EXPECT_EQ(ReasonOf(PodOf("x", "2"), 0), "admitted");
}

TEST_F(FleetTest, WhereAMachineWasReadFromDoesNotMakeItAnother) {
  NodeDescription other = TwoNodes();
  other.machine.source = "elsewhere";
  other.machine.boot_id = "1";
  other.machine.this_host = true;
  Add("d", other);
  EXPECT_EQ(fleet.kinds(), 1U);
}

TEST_F(FleetTest, OtherSettingsOptionsOrDevicesMakeAnotherKind) {
  NodeDescription other = TwoNodes();
  other.config.topology_manager_scope = "pod";
  Add("scope", other);
  EXPECT_EQ(fleet.kinds(), 2U);
  other.options.whole_cores = true;
  Add("option", other);
  EXPECT_EQ(fleet.kinds(), 3U);
  other.devices["a.com/gpu"] = {{.id = "g", .nodes = {NumaId{0}}}};
  Add("device", other);
  EXPECT_EQ(fleet.kinds(), 4U);
  other.devices["a.com/gpu"].front().healthy = false;
  Add("health", other);
  EXPECT_EQ(fleet.kinds(), 5U);
  other.devices["a.com/gpu"].front() = {.id = "g", .nodes = {NumaId{1}}};
  Add("place", other);
  EXPECT_EQ(fleet.kinds(), 6U);
}

TEST_F(FleetTest, ATightNodeIsPreferredAndASpreadOneOtherwise) {
  EXPECT_TRUE(fleet.Assume(PodOf("one", "3"), 1).admitted);
  EXPECT_EQ(Best(PodOf("x", "4"), Preference::kTight), "b");
  EXPECT_EQ(Best(PodOf("x", "4"), Preference::kPacked), "b");
  EXPECT_EQ(Best(PodOf("x", "4"), Preference::kSpread), "a");
}

TEST_F(FleetTest, MoreShapesThanAreKeptAreAnsweredAllTheSame) {
  EXPECT_TRUE(fleet.Assume(PodOf("one", "3"), 1).admitted);
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < 2 * Answers::kMostShapes; ++i)
      EXPECT_EQ(Admitted(PodOf("x", "7", std::to_string(100 + i) + "Mi")), (std::vector<bool>{true, true, true}));
}

TEST(PackedPodTest, KeepsWhatDecisionsDependOn) {
  PodRecord record;
  record.uid = "0f8fad5b-d9cb-469f-a165-70867728950e";
  record.requests = {{"cpu", Q("2500m")}, {"hugepages-2Mi", Q("4Mi")}, {"a.com/gpu", Q("1")}};
  Placement& init = record.placements.emplace_back();
  init.container = "0";
  init.kind = ContainerKind::kInit;
  Placement& app = record.placements.emplace_back();
  app.container = "1";
  app.cpus = CpuSet{CpuId{2}, CpuId{63}, CpuId{64}, CpuId{300}};
  app.memory.emplace();
  app.memory->push_back({.nodes = {NumaId{0}, NumaId{1}}, .type = "memory", .size = GiB(3)});
  app.devices.push_back({.resource = "a.com/gpu", .ids = {"d0", "d1"}, .answer = {}});
  const std::string packed = Pack(record);
  EXPECT_EQ(UidOf(packed), record.uid);
  EXPECT_EQ(Unpack(packed), record);
  EXPECT_LT(packed.size(), 200U);
}

}  // namespace
}  // namespace berth::cluster
