// Options that admit what a kubelet rejects, or align what it does not: each by hand, and beside a slow twin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/decision/decide.h"
#include "allocator/decision/release.h"
#include "allocator/explain/explain.h"
#include "allocator/testing/builders.h"
#include "allocator/testing/random_node.h"
#include "allocator/testing/slow_admission.h"
#include "model/promises.h"

namespace berth::allocator {
namespace {

using testing::Cpus;
using testing::MakeContainer;
using testing::MakeMachine;
using testing::MakePod;
using testing::RandomNode;
using testing::SlowAdmission;

bool TakesPlace(const Node& node, Ledger& ledger, const Pod& pod, const Inputs& inputs) {
  const Decision decision = Decide(node, ledger, pod, inputs, nullptr);
  const auto* const admit = std::get_if<Admit>(&decision);
  if (admit != nullptr) Apply(ledger, admit->delta);
  return admit != nullptr;
}

std::vector<std::string> Broken(const Node& node, const Ledger& ledger, const Inputs& inputs) {
  std::set<std::string> pods;
  for (const auto& [uid, record] : ledger.pods) pods.insert(uid);
  return BrokenPromises(FactsOf(node.machine(), node.config(), node.reserved_cpus(), inputs.devices),
                        FactsOf(ledger, pods));
}

/// nullopt: its other settings do not go with that.
std::optional<Node> With(const Node& node, const EngineOptions& options, const std::string& policy,
                         const std::string& scope) {
  KubeletConfiguration config = node.config();
  config.topology_manager_policy = policy;
  config.topology_manager_scope = scope;
  auto out = Node::Make(node.machine(), std::move(config), options);
  return out ? std::optional(*std::move(out)) : std::nullopt;
}

// ---- judgeByFreeMemory -------------------------------------------------------------------------------------------

Pod MemoryPod(const std::string& uid, std::int64_t mebibytes) {
  return MakePod(uid, {MakeContainer("main", {{"cpu", "500m"}, {"memory", std::to_string(mebibytes) + "Mi"}})});
}

Node UnequalNodes(bool by_free) {
  Machine machine = MakeMachine({.nodes_per_socket = 3, .cores_per_node = 2, .threads = 1, .node_memory = GiB(4)});
  machine.nodes[0].memory = GiB(9);
  testing::AddTotals(machine);
  KubeletConfiguration config = testing::StaticConfig("0");
  config.topology_manager_policy = "restricted";
  testing::PinMemory(config, "1Gi");
  auto node = Node::Make(machine, config, {.node_fit = false, .judge_by_free_memory = by_free});
  BERTH_CHECK(node.has_value());
  return *std::move(node);
}

TEST(FreeMemoryTest, ARequestThatNeedsTwoNodesTodayIsNotRefusedBecauseOneCouldHaveHeldIt) {
  for (const bool by_free : {false, true}) {
    const Node node = UnequalNodes(by_free);
    Ledger ledger = node.EmptyLedger();
    EXPECT_TRUE(TakesPlace(node, ledger, MemoryPod("a", 3 * 1024), {}));  // on node 0
    EXPECT_EQ(TakesPlace(node, ledger, MemoryPod("b", 6 * 1024), {}), by_free);
    EXPECT_THAT(Broken(node, ledger, {}), ::testing::IsEmpty());
  }
}

/// Whether some set of nodes may hold so much more (rules/memory#hints), tried one by one.
bool SomeSetHolds(const Ledger& ledger, std::int64_t bytes) {
  std::vector<const MemoryNodeState*> nodes;
  std::vector<NumaId> ids;
  for (const auto& [id, state] : ledger.memory) nodes.push_back(&state), ids.push_back(id);
  for (std::uint32_t set = 1; set < (1U << nodes.size()); ++set) {
    NodeSet members;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if ((set >> i & 1U) != 0) members.Insert(ids[i]);
    std::int64_t free = 0;
    bool allowed = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if ((set >> i & 1U) == 0) continue;
      free += nodes[i]->types.find("memory")->second.free.v;
      if (members.Count() == 1 && nodes[i]->cells.Count() > 1) allowed = false;
      if (members.Count() > 1 && nodes[i]->assignments > 0 && nodes[i]->cells != members) allowed = false;
    }
    if (allowed && free >= bytes) return true;
  }
  return false;
}

TEST(FreeMemoryTest, UnderRestrictedAPodOfMemoryIsAdmittedExactlyWhereSomeSetOfNodesMayHoldIt) {
  constexpr std::uint64_t kSeed = 128669;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomNode random(kSeed);
  const Node kubelets = UnequalNodes(false);
  const Node node = UnequalNodes(true);
  int more = 0;
  for (int round = 0; round < testing::PropertySteps(60); ++round) {
    Ledger ledger = node.EmptyLedger();
    for (int i = 0; i < 20; ++i) {
      const std::int64_t mebibytes = 256 * (1 + random.Roll(random.OneIn(3) ? 40 : 12));
      const Pod pod = MemoryPod("u" + std::to_string(i), mebibytes);
      const bool by_rule = std::holds_alternative<Admit>(Decide(kubelets, ledger, pod, {}, nullptr));
      const bool possible = SomeSetHolds(ledger, MiB(mebibytes).v);
      const bool admitted = TakesPlace(node, ledger, pod, {});
      EXPECT_EQ(admitted, possible);
      EXPECT_TRUE(admitted || !by_rule);
      more += admitted && !by_rule ? 1 : 0;
      ASSERT_THAT(Broken(node, ledger, {}), ::testing::IsEmpty());
      if (random.OneIn(3) && !ledger.pods.empty())
        Apply(ledger, Release(node, ledger, std::string(ledger.pods.begin()->first), nullptr));
    }
  }
  EXPECT_GT(more, 5);
}

// ---- memoryGroupsOverlap -----------------------------------------------------------------------------------------

/// Three nodes with 8, 4 and 4 GiB.
Node OverlappingNodes(bool overlap) {
  return *With(UnequalNodes(true), {.node_fit = false, .judge_by_free_memory = true, .memory_groups_overlap = overlap},
               "restricted", "container");
}

TEST(MemoryGroupsTest, MemoryOfTwoNodesAndOfOneDoNotStrandEachOther) {
  for (const bool overlap : {false, true}) {
    const Node node = OverlappingNodes(overlap);
    Ledger ledger = node.EmptyLedger();
    EXPECT_TRUE(TakesPlace(node, ledger, MemoryPod("one", 1024), {}));              // on node 0
    EXPECT_EQ(TakesPlace(node, ledger, MemoryPod("wide", 9 * 1024), {}), overlap);  // 15 GiB are free
    EXPECT_EQ(TakesPlace(node, ledger, MemoryPod("four", 4 * 1024), {}), true);
    EXPECT_THAT(Broken(node, ledger, {}), ::testing::IsEmpty());
  }
}

TEST(MemoryGroupsTest, ABlockOnSeveralNodesMakesRoomForOneOnASingleNode) {
  const Node node = OverlappingNodes(true);
  Ledger ledger = node.EmptyLedger();
  const auto reserved = [&](unsigned id) { return ledger.memory.at(NumaId{id}).types.at("memory").reserved; };
  ASSERT_TRUE(TakesPlace(node, ledger, MemoryPod("wide", 9 * 1024), {}));
  EXPECT_EQ(reserved(0), GiB(8));
  ASSERT_TRUE(TakesPlace(node, ledger, MemoryPod("one", 3 * 1024), {}));
  EXPECT_EQ(MemoryNodes(ledger.pods.at("one").placements[0]), NodeSet{NumaId{0}});
  EXPECT_EQ(reserved(0), GiB(8));
  EXPECT_EQ(reserved(1), GiB(4));
  Apply(ledger, Release(node, ledger, "wide", nullptr));
  EXPECT_EQ(reserved(0), GiB(3));
  EXPECT_EQ(reserved(1), GiB(0));
}

/// What a further block could have on `set`: the least that a set around it has left when what lies within that set
/// alone is taken off.
std::int64_t LeftFor(const Ledger& ledger, const NodeSet& set) {
  std::vector<NumaId> ids;
  for (const auto& [id, state] : ledger.memory) ids.push_back(id);
  std::int64_t least = INT64_MAX;
  for (std::uint32_t bits = 1; bits < (1U << ids.size()); ++bits) {
    NodeSet around;
    std::int64_t left = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if ((bits >> i & 1U) == 0) continue;
      around.Insert(ids[i]);
      left += ledger.memory.at(ids[i]).types.find("memory")->second.allocatable.v;
    }
    if (!set.IsSubsetOf(around)) continue;
    for (const auto& [uid, record] : ledger.pods)
      for (const Placement& placement : record.placements)
        for (const MemoryBlock& block : *placement.memory)
          if (block.nodes.IsSubsetOf(around)) left -= block.size.v;
    least = std::min(least, left);
  }
  return least;
}

/// Whether some set of nodes can hold so much more.
bool SomeSetHasLeft(const Ledger& ledger, std::int64_t bytes) {
  return LeftFor(ledger, NodeSet{NumaId{0}, NumaId{1}, NumaId{2}}) >= bytes;
}

TEST(MemoryGroupsTest, APodOfMemoryIsAdmittedExactlyWhereTheNodesHaveSoMuchLeftAndNoCapacityIsBroken) {
  constexpr std::uint64_t kSeed = 123443;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomNode random(kSeed);
  const Node kubelets = OverlappingNodes(false);
  const Node node = OverlappingNodes(true);
  int more = 0;
  for (int round = 0; round < testing::PropertySteps(60); ++round) {
    Ledger ledger = node.EmptyLedger();
    Ledger by_groups = kubelets.EmptyLedger();
    for (int i = 0; i < 20; ++i) {
      const std::int64_t mebibytes = 256 * (1 + random.Roll(random.OneIn(3) ? 40 : 12));
      const Pod pod = MemoryPod("u" + std::to_string(i), mebibytes);
      const bool by_rule = TakesPlace(kubelets, by_groups, pod, {});
      const bool possible = SomeSetHasLeft(ledger, MiB(mebibytes).v);
      const bool admitted = TakesPlace(node, ledger, pod, {});
      EXPECT_EQ(admitted, possible);
      more += admitted && !by_rule ? 1 : 0;
      if (!admitted && by_rule) Apply(by_groups, Release(kubelets, by_groups, pod.uid, nullptr));
      ASSERT_THAT(Broken(node, ledger, {}), ::testing::IsEmpty());
      for (const NodeSet& set : {NodeSet{NumaId{0}}, NodeSet{NumaId{1}}, NodeSet{NumaId{2}}})
        ASSERT_GE(LeftFor(ledger, set), 0);
      if (!random.OneIn(3) || ledger.pods.empty()) continue;
      const std::string gone(ledger.pods.begin()->first);
      Apply(ledger, Release(node, ledger, gone, nullptr));
      Apply(by_groups, Release(kubelets, by_groups, gone, nullptr));
    }
  }
  EXPECT_GT(more, 5);
}

// ---- podFallsBack
// ----------------------------------------------------------------------------------------------------

TEST(PodFallsBackTest, APodThatFitsOnNoNodeAsAWholeIsPlacedContainerByContainer) {
  const Machine machine = MakeMachine({.nodes_per_socket = 2, .cores_per_node = 4, .threads = 1});
  KubeletConfiguration config = testing::StaticConfig("0");
  config.topology_manager_policy = "single-numa-node";
  config.topology_manager_scope = "pod";
  const Pod pod = MakePod("p", {MakeContainer("x", {{"cpu", "3"}, {"memory", "64Mi"}}),
                                MakeContainer("y", {{"cpu", "4"}, {"memory", "64Mi"}})});
  const auto strict = Node::Make(machine, config);
  EXPECT_TRUE(std::holds_alternative<Reject>(Decide(*strict, strict->EmptyLedger(), pod, {}, nullptr)));
  const auto node = Node::Make(machine, config, {.pod_falls_back = true});
  Trace trace;
  const Decision decision = Decide(*node, node->EmptyLedger(), pod, {}, &trace);
  ASSERT_TRUE(std::holds_alternative<Admit>(decision));
  const auto& placements = std::get<Admit>(decision).delta.put->placements;
  EXPECT_EQ(placements[0].cpus, Cpus("1-3"));
  EXPECT_EQ(placements[1].cpus, Cpus("4-7"));
  EXPECT_THAT(trace.steps(), ::testing::Contains(::testing::Field(&TraceStep::stage, "fallback")));
}

TEST(PodFallsBackTest, APodIsAdmittedExactlyWhereScopePodOrScopeContainerAdmitsIt) {
  constexpr std::uint64_t kSeed = 114797;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomNode random(kSeed);
  int more = 0;
  for (int round = 0; round < testing::PropertySteps(150); ++round) {
    const auto drawn = random.MakeRegularNode();
    if (!drawn) continue;
    const std::string policy = random.OneIn(2) ? "restricted" : "single-numa-node";
    const auto whole = With(*drawn, {}, policy, "pod");
    const auto single = With(*drawn, {}, policy, "container");
    const auto node = With(*drawn, {.pod_falls_back = true}, policy, "pod");
    if (!whole || !single || !node) continue;
    const Inputs inputs = random.MakeInputs(*node);
    Ledger ledger = node->EmptyLedger();
    for (int i = 0; i < 8; ++i) {
      const Pod pod = random.MakePod();
      const Decision by_rule = Decide(*whole, ledger, pod, inputs, nullptr);
      const Decision one_by_one = Decide(*single, ledger, pod, inputs, nullptr);
      const Decision decision = Decide(*node, ledger, pod, inputs, nullptr);
      const bool admits = std::holds_alternative<Admit>(by_rule);
      EXPECT_EQ(std::holds_alternative<Admit>(decision), admits || std::holds_alternative<Admit>(one_by_one));
      EXPECT_TRUE(decision == by_rule || (!admits && decision == one_by_one));
      more += decision == by_rule ? 0 : 1;
      if (const auto* const admit = std::get_if<Admit>(&decision)) Apply(ledger, admit->delta);
      ASSERT_THAT(Broken(*node, ledger, inputs), ::testing::IsEmpty());
    }
  }
  EXPECT_GT(more, 5);
}

// ---- lookAhead
// ----------------------------------------------------------------------------------------------------------

/// Two nodes, two free CPUs on the first and four on the second; a small init container before one that needs four.
struct SmallInitFirst {
  Machine machine = MakeMachine({.nodes_per_socket = 2, .cores_per_node = 4, .threads = 1});
  KubeletConfiguration config = testing::StaticConfig("0");
  Pod first = MakePod("f", {MakeContainer("main", {{"cpu", "1"}, {"memory", "64Mi"}})});
  Pod pod = MakePod("p", {MakeContainer("main", {{"cpu", "4"}, {"memory", "64Mi"}})});

  explicit SmallInitFirst(const std::string& policy) {
    config.topology_manager_policy = policy;
    pod.init_containers.push_back(MakeContainer("small", {{"cpu", "1"}, {"memory", "64Mi"}}));
  }
};

TEST(LookAheadTest, AnInitContainerGoesWhereThePodsOtherContainersHaveRoom) {
  for (const char* policy : {"restricted", "single-numa-node"}) {
    const SmallInitFirst given(policy);
    const auto kubelets = Node::Make(given.machine, given.config);
    Ledger ledger = kubelets->EmptyLedger();
    ASSERT_TRUE(TakesPlace(*kubelets, ledger, given.first, {}));
    const Decision decision = Decide(*kubelets, ledger, given.pod, {}, nullptr);
    ASSERT_TRUE(std::holds_alternative<Reject>(decision));
    EXPECT_EQ(std::get<Reject>(decision).reason, "TopologyAffinityError");
    const auto node = Node::Make(given.machine, given.config, {.look_ahead = true});
    Trace trace;
    const Decision ahead = Decide(*node, ledger, given.pod, {}, &trace);
    ASSERT_TRUE(std::holds_alternative<Admit>(ahead));
    const auto& placements = std::get<Admit>(ahead).delta.put->placements;
    EXPECT_EQ(placements[0].cpus, Cpus("4"));
    EXPECT_EQ(placements[1].cpus, Cpus("4-7"));
    EXPECT_THAT(trace.steps(), ::testing::Contains(::testing::Field(&TraceStep::stage, "lookahead")));
  }
}

TEST(LookAheadTest, AnExplanationNamesTheSettingsThatWouldAdmitThePod) {
  const SmallInitFirst given("restricted");
  const auto node = Node::Make(given.machine, given.config);
  Ledger ledger = node->EmptyLedger();
  ASSERT_TRUE(TakesPlace(*node, ledger, given.first, {}));
  EXPECT_THAT(Explain(*node, ledger, given.pod, {}).settings,
              ::testing::ElementsAre("topologyManagerScope: pod", "lookAhead: true"));
}

TEST(LookAheadTest, APodIsAdmittedExactlyWhereSomeChoiceOfPreferredNodesHoldsAllItsContainers) {
  constexpr std::uint64_t kSeed = 123816;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomNode random(kSeed);
  int more = 0;
  for (int round = 0; round < testing::PropertySteps(300); ++round) {
    const auto drawn = random.MakeRegularNode();
    if (!drawn) continue;
    const std::string policy = random.OneIn(2) ? "restricted" : "single-numa-node";
    const auto kubelets = With(*drawn, {.node_fit = false}, policy, "container");
    const auto node = With(*drawn, {.node_fit = false, .look_ahead = true}, policy, "container");
    if (!kubelets || !node) continue;
    const Inputs inputs = random.MakeInputs(*node);
    Ledger ledger = node->EmptyLedger();
    for (int i = 0; i < 8; ++i) {
      const Pod pod = random.MakePod();
      const Decision by_rule = Decide(*kubelets, ledger, pod, inputs, nullptr);
      const Decision decision = Decide(*node, ledger, pod, inputs, nullptr);
      const auto* const reject = std::get_if<Reject>(&decision);
      const bool last_cpu = reject != nullptr && reject->message.contains("no CPU for the shared pool");
      if (!last_cpu) {
        EXPECT_EQ(reject == nullptr, SlowAdmission(*node, ledger, pod, inputs).SomeChoiceFits());
      }
      EXPECT_TRUE(decision == by_rule || (reject == nullptr && std::holds_alternative<Reject>(by_rule)));
      more += decision == by_rule ? 0 : 1;
      if (const auto* const admit = std::get_if<Admit>(&decision)) Apply(ledger, admit->delta);
      ASSERT_THAT(Broken(*node, ledger, inputs), ::testing::IsEmpty());
    }
  }
  EXPECT_GT(more, 5);
}

// ---- keepRestAligned
// ---------------------------------------------------------------------------------------------------

TEST(KeepRestAlignedTest, ARemoteDeviceLeavesTheOtherResourcesWhereTheyBelongTogether) {
  const Machine machine = MakeMachine({.nodes_per_socket = 2, .cores_per_node = 4, .threads = 1});
  KubeletConfiguration config = testing::StaticConfig("0");
  config.topology_manager_policy = "best-effort";
  testing::PinMemory(config, "512Mi");
  Inputs inputs;
  inputs.devices["a.com/gpu"] = {{.id = "g0", .nodes = {NumaId{1}}, .healthy = true}};
  inputs.devices["b.com/nic"] = {{.id = "n0", .nodes = {NumaId{0}}, .healthy = true}};
  const Pod first = MakePod("f", {MakeContainer("main", {{"cpu", "2"}, {"memory", "64Mi"}})});
  const Pod pod =
      MakePod("p", {MakeContainer("main", {{"cpu", "3"}, {"memory", "64Mi"}, {"a.com/gpu", "1"}, {"b.com/nic", "1"}})});
  const auto node = Node::Make(machine, config, {.keep_rest_aligned = true});
  Ledger ledger = node->EmptyLedger();
  ASSERT_TRUE(TakesPlace(*node, ledger, first, inputs));  // leaves one CPU on node 0
  ASSERT_TRUE(TakesPlace(*node, ledger, pod, inputs));
  const Placement& placement = ledger.pods.find("p")->second.placements[0];
  EXPECT_TRUE(placement.cpus->IsSubsetOf(Cpus("4-7")));
  EXPECT_EQ(MemoryNodes(placement), NodeSet{NumaId{1}});
  EXPECT_EQ(placement.hint, (TopologyHint{.nodes = NodeSet{NumaId{1}}, .preferred = false}));
  EXPECT_EQ(placement.devices.size(), 2U);
}

TEST(KeepRestAlignedTest, AsManyPodsAreAdmittedAndNoneWhoseResourcesHaveANodeInCommonIsPlacedOtherwise) {
  constexpr std::uint64_t kSeed = 106270;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomNode random(kSeed);
  int other = 0;
  for (int round = 0; round < testing::PropertySteps(150); ++round) {
    const auto drawn = random.MakeRegularNode();
    if (!drawn) continue;
    const auto kubelets = With(*drawn, {}, "best-effort", "container");
    const auto node = With(*drawn, {.keep_rest_aligned = true}, "best-effort", "container");
    if (!kubelets || !node) continue;
    const Inputs inputs = random.MakeInputs(*node);
    Ledger ledger = node->EmptyLedger();
    for (int i = 0; i < 8; ++i) {
      const Pod pod = random.MakePod();
      Trace trace;
      const Decision by_rule = Decide(*kubelets, ledger, pod, inputs, nullptr);
      const Decision decision = Decide(*node, ledger, pod, inputs, &trace);
      bool kept = false;
      for (const TraceStep& step : trace.steps())
        kept = kept || step.text.find("these keep the nodes") != std::string::npos;
      EXPECT_TRUE(kept || decision == by_rule);
      other += decision == by_rule ? 0 : 1;
      if (const auto* const admit = std::get_if<Admit>(&decision)) Apply(ledger, admit->delta);
      ASSERT_THAT(Broken(*node, ledger, inputs), ::testing::IsEmpty());
    }
  }
  EXPECT_GT(other, 5);
}

}  // namespace
}  // namespace berth::allocator
