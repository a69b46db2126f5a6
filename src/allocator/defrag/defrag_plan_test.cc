// Plans of moves that make room: small nodes by hand, and random ones beside every series of moves tried on numbers.
#include "allocator/defrag/defrag_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/defrag/move.h"
#include "allocator/testing/builders.h"
#include "allocator/testing/random_node.h"
#include "model/promises.h"

namespace berth::allocator {
namespace {

using testing::MakeContainer;
using testing::MakeMachine;
using testing::MakePod;
using testing::RandomNode;
using testing::Shape;

Pod OneContainer(const std::string& uid, const std::string& cpus, const std::string& memory) {
  return MakePod(uid, {MakeContainer("main", {{"cpu", cpus}, {"memory", memory}})});
}

/// Two nodes of four CPUs (0-3 and 4-7, CPU 0 reserved) and 4 GiB each.
Node TwoNodeBoard(const std::string& scope = "container") {
  KubeletConfiguration config = testing::StaticConfig("0");
  config.topology_manager_policy = "single-numa-node";
  config.topology_manager_scope = scope;
  testing::PinMemory(config, "512Mi");
  auto node = Node::Make(MakeMachine({.nodes_per_socket = 2, .cores_per_node = 4, .threads = 1, .node_memory = GiB(4)}),
                         config);
  BERTH_CHECK(node.has_value());
  return *node;
}

class DefragTest : public ::testing::Test {
 protected:
  void Admits(const Pod& pod) {
    const Decision decision = Decide(node_, ledger_, pod, inputs_, nullptr);
    ASSERT_TRUE(std::holds_alternative<Admit>(decision)) << pod.uid;
    Apply(ledger_, std::get<Admit>(decision).delta);
  }
  void Leaves(const std::string& uid) { Apply(ledger_, Release(node_, ledger_, uid, nullptr)); }
  void KeepsItsPromises() {
    std::set<std::string> pods;
    for (const auto& [uid, record] : ledger_.pods) pods.insert(uid);
    EXPECT_THAT(BrokenPromises(FactsOf(node_.machine(), node_.config(), node_.reserved_cpus(), inputs_.devices),
                               FactsOf(ledger_, pods)),
                ::testing::IsEmpty());
  }
  DefragPlan Plan(const std::vector<Pod>& pods, int moves = 3) {
    return PlanDefrag(node_, ledger_, pods, inputs_, {.moves = moves});
  }

  Node node_ = TwoNodeBoard();
  Ledger ledger_ = node_.EmptyLedger();
  Inputs inputs_;
};

TEST_F(DefragTest, OneMoveLetsAPodInThatFitsOnNoNodeAsItIs) {
  Admits(OneContainer("a", "2", "1Gi"));  // node 0
  Admits(OneContainer("b", "2", "1Gi"));  // node 1
  Admits(OneContainer("c", "1", "1Gi"));  // node 0
  Leaves("a");
  const Pod big = OneContainer("big", "4", "1Gi");
  const DefragPlan plan = Plan({big});
  ASSERT_EQ(plan.rooms.size(), 1U);
  ASSERT_EQ(plan.rooms[0].moves.size(), 1U);
  const Move& move = plan.rooms[0].moves[0];
  EXPECT_EQ(move.request, (MoveRequest{.uid = "b", .container = "main", .nodes = *NodeSet::Parse("0")}));
  EXPECT_EQ(move.containers[0].from.cpus, testing::Cpus("4-5"));
  EXPECT_EQ(move.containers[0].to.cpus, testing::Cpus("1-2"));
  EXPECT_EQ(move.bytes, GiB(1));
  EXPECT_EQ(plan.rooms[0].bytes, GiB(1));
  EXPECT_TRUE(plan.rooms[0].fewest);

  auto moved = PlanMove(node_, ledger_, move.request);
  ASSERT_TRUE(moved.has_value()) << moved.error().message;
  Apply(ledger_, moved->delta);
  KeepsItsPromises();
  Admits(big);
  KeepsItsPromises();
}

TEST_F(DefragTest, APodWithWishesOfItsOwnStaysWhereItIs) {
  Admits(OneContainer("a", "2", "1Gi"));
  const MoveRequest request{.uid = "a", .container = "main", .nodes = *NodeSet::Parse("1")};
  ASSERT_TRUE(PlanMove(node_, ledger_, request));
  ledger_.pods.at("a").rule = "some";
  const auto moved = PlanMove(node_, ledger_, request);
  ASSERT_FALSE(moved);
  EXPECT_THAT(moved.error().message, ::testing::HasSubstr("it has wishes of its own"));
  EXPECT_TRUE(MovableUnits(node_, ledger_).empty());
}

TEST_F(DefragTest, APodThatFitsNeedsNoMoves) {
  const DefragPlan plan = Plan({OneContainer("a", "2", "1Gi")});
  ASSERT_EQ(plan.rooms.size(), 1U);
  EXPECT_TRUE(plan.rooms[0].moves.empty());
}

TEST_F(DefragTest, APodThatIsTooLargeForTheEmptyNodeIsSaidToFitNever) {
  const DefragPlan plan = Plan({OneContainer("huge", "5", "1Gi")});
  EXPECT_TRUE(plan.rooms.empty());
  ASSERT_EQ(plan.without.size(), 1U);
  EXPECT_TRUE(plan.without[0].never);
  EXPECT_TRUE(plan.without[0].exhaustive);
}

TEST_F(DefragTest, WhatMovesCannotFreeIsNotPromised) {
  Admits(OneContainer("a", "3", "1Gi"));
  Admits(OneContainer("b", "3", "1Gi"));
  const DefragPlan plan = Plan({OneContainer("big", "4", "1Gi")});
  EXPECT_TRUE(plan.rooms.empty());
  ASSERT_EQ(plan.without.size(), 1U);
  EXPECT_FALSE(plan.without[0].never);
  EXPECT_TRUE(plan.without[0].exhaustive);
}

TEST_F(DefragTest, TheMoreImportantPodGetsTheMoves) {
  Admits(OneContainer("a", "2", "1Gi"));
  Admits(OneContainer("b", "2", "1Gi"));
  Admits(OneContainer("c", "1", "1Gi"));
  Leaves("a");
  Pod small = OneContainer("small", "3", "1Gi");
  Pod big = OneContainer("big", "4", "1Gi");
  big.priority = 10;
  const DefragPlan plan = Plan({small, big});
  ASSERT_EQ(plan.rooms.size(), 1U);
  EXPECT_EQ(plan.rooms[0].pod.uid, "big");
  ASSERT_EQ(plan.without.size(), 1U);
  EXPECT_EQ(plan.without[0].pod.uid, "small");
}

TEST_F(DefragTest, WithoutMovesNothingIsPlanned) {
  Admits(OneContainer("a", "2", "1Gi"));
  Admits(OneContainer("b", "2", "1Gi"));
  Admits(OneContainer("c", "1", "1Gi"));
  Leaves("a");
  EXPECT_TRUE(Plan({OneContainer("big", "4", "1Gi")}, 0).rooms.empty());
}

TEST_F(DefragTest, InScopePodAPodMovesWhole) {
  node_ = TwoNodeBoard("pod");
  ledger_ = node_.EmptyLedger();
  Admits(OneContainer("a", "2", "1Gi"));
  Admits(MakePod("b", {MakeContainer("x", {{"cpu", "1"}, {"memory", "512Mi"}}),
                       MakeContainer("y", {{"cpu", "1"}, {"memory", "512Mi"}})}));
  Leaves("a");
  const DefragPlan plan = Plan({OneContainer("big", "4", "1Gi")});
  ASSERT_EQ(plan.rooms.size(), 1U);
  ASSERT_EQ(plan.rooms[0].moves.size(), 1U);
  EXPECT_EQ(plan.rooms[0].moves[0].request.container, "");
  EXPECT_EQ(plan.rooms[0].moves[0].containers.size(), 2U);
  EXPECT_EQ(PlanMove(node_, ledger_, {"b", "x", *NodeSet::Parse("0")}).error().code, Code::kInvalid);
}

TEST_F(DefragTest, WhatHasDevicesStaysWhereItIs) {
  inputs_.devices["a.com/gpu"] = {{.id = "g0", .nodes = *NodeSet::Parse("1"), .healthy = true}};
  Admits(MakePod("a", {MakeContainer("main", {{"cpu", "2"}, {"memory", "1Gi"}, {"a.com/gpu", "1"}})}));
  EXPECT_TRUE(MovableUnits(node_, ledger_).empty());
  const auto moved = PlanMove(node_, ledger_, {"a", "main", *NodeSet::Parse("0")});
  ASSERT_FALSE(moved.has_value());
  EXPECT_THAT(moved.error().message, ::testing::HasSubstr("has devices"));
}

TEST_F(DefragTest, AMoveThatCannotBeIsRefusedWithTheReason) {
  Admits(OneContainer("a", "2", "1Gi"));
  Admits(OneContainer("b", "4", "1Gi"));
  const auto code = [&](const MoveRequest& request) { return PlanMove(node_, ledger_, request).error().code; };
  EXPECT_EQ(code({"nobody", "main", *NodeSet::Parse("0")}), Code::kNotFound);
  EXPECT_EQ(code({"a", "other", *NodeSet::Parse("0")}), Code::kNotFound);
  EXPECT_EQ(code({"a", "main", *NodeSet::Parse("7")}), Code::kInvalid);
  EXPECT_EQ(code({"a", "main", {}}), Code::kInvalid);
  EXPECT_EQ(code({"a", "main", *NodeSet::Parse("1")}), Code::kExhausted);
  EXPECT_EQ(code({"a", "main", *NodeSet::Parse("0")}), Code::kExhausted);
}

// ---- every series of moves, on numbers
// -------------------------------------------------------------------------------

struct Piece {
  std::size_t node = 0;
  int cpus = 0;
  std::int64_t memory = 0;
};

/// What a node with whole cores of one thread, where everything is on one NUMA node, comes to.
struct Numbers {
  std::vector<int> cpus;             // free, by node
  std::vector<std::int64_t> memory;  // likewise
  std::vector<Piece> pieces;

  bool Fits(const Piece& piece, std::size_t node) const {
    return cpus[node] >= piece.cpus && memory[node] >= piece.memory;
  }
  bool FitsSomewhere(const Piece& piece) const {
    for (std::size_t node = 0; node < cpus.size(); ++node)
      if (Fits(piece, node)) return true;
    return false;
  }
  void Put(const Piece& piece, std::size_t node, int sign) {
    cpus[node] -= sign * piece.cpus;
    memory[node] -= sign * piece.memory;
  }
};

/// The fewest moves, of anything and any number of times, after which `pod` fits.
std::optional<int> FewestMoves(Numbers numbers, const Piece& pod, int most) {
  if (numbers.FitsSomewhere(pod)) return 0;
  if (most == 0) return std::nullopt;
  std::optional<int> best;
  for (std::size_t i = 0; i < numbers.pieces.size(); ++i) {
    for (std::size_t to = 0; to < numbers.cpus.size(); ++to) {
      const Piece piece = numbers.pieces[i];
      if (to == piece.node || !numbers.Fits(piece, to)) continue;
      Numbers next = numbers;
      next.Put(piece, piece.node, -1);
      next.Put(piece, to, 1);
      next.pieces[i].node = to;
      if (const auto rest = FewestMoves(std::move(next), pod, (best ? *best - 1 : most) - 1);
          rest && (!best || *rest + 1 < *best))
        best = *rest + 1;
      if (best == 1) return best;
    }
  }
  return best;
}

class NumbersTest : public ::testing::Test {
 protected:
  explicit NumbersTest() : random_(kSeed) {}

  static constexpr std::uint64_t kSeed = 20261125;
  int Roll(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  Node Draw() {
    KubeletConfiguration config = testing::StaticConfig("0");
    config.topology_manager_policy = "single-numa-node";
    testing::PinMemory(config, "512Mi");
    auto node = Node::Make(
        MakeMachine(
            {.nodes_per_socket = 2 + Roll(2), .cores_per_node = 3 + Roll(3), .threads = 1, .node_memory = GiB(4)}),
        config);
    BERTH_CHECK(node.has_value());
    return *node;
  }

  static Numbers NumbersOf(const Node& node, const Ledger& ledger) {
    Numbers out;
    for (const NumaNode& numa : node.machine().nodes) {
      out.cpus.push_back((CpusOfNode(node.machine(), numa.id) & (ledger.shared - node.reserved_cpus())).Count());
      out.memory.push_back(ledger.memory.find(numa.id)->second.types.find("memory")->second.free.v);
    }
    for (const PodEntry* const entry : InOrderOfAdmission(ledger)) {
      const Placement& placement = entry->second.placements[0];
      Piece& piece = out.pieces.emplace_back();
      piece.node = static_cast<std::size_t>(*MemoryNodes(placement).First());
      if (placement.cpus) piece.cpus = placement.cpus->Count();
      piece.memory = (*placement.memory)[0].size.v;
    }
    return out;
  }

  std::mt19937_64 random_;
};

TEST_F(NumbersTest, TheSearchFindsWhatEverySeriesOfMovesOnNumbersFinds) {
  constexpr int kMoves = 3;
  const int most = testing::PropertySteps(150);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  int refused = 0;
  int curable = 0;
  int cured = 0;
  int moves = 0;
  int fewest = 0;
  while (refused < most) {
    const Node node = Draw();
    const Inputs inputs;
    Ledger ledger = node.EmptyLedger();
    for (int i = 0; i < 60 && refused < most; ++i) {
      if (Roll(3) == 0 && !ledger.pods.empty()) {
        const auto gone = std::next(ledger.pods.begin(), Roll(static_cast<int>(ledger.pods.size())));
        Apply(ledger, Release(node, ledger, std::string(gone->first), nullptr));
      }
      const Piece piece{.node = 0, .cpus = 1 + Roll(Roll(3) == 0 ? 5 : 2), .memory = MiB(256).v * (1 + Roll(4))};
      const Pod pod = OneContainer("u" + std::to_string(i), std::to_string(piece.cpus), std::to_string(piece.memory));
      const Decision decision = Decide(node, ledger, pod, inputs, nullptr);
      if (const auto* const admit = std::get_if<Admit>(&decision)) {
        Apply(ledger, admit->delta);
        continue;
      }
      ++refused;
      const std::optional<int> optimum = FewestMoves(NumbersOf(node, ledger), piece, kMoves);
      const DefragPlan plan = PlanDefrag(node, ledger, {pod}, inputs, {.moves = kMoves, .tries = 1'000'000});
      curable += optimum ? 1 : 0;
      if (plan.rooms.empty()) continue;
      ASSERT_TRUE(optimum.has_value()) << "a plan where there is none on numbers";
      ++cured;
      moves += static_cast<int>(plan.rooms[0].moves.size());
      fewest += *optimum;
      Ledger after = ledger;
      std::set<std::string> pods;
      for (const auto& [uid, record] : ledger.pods) pods.insert(uid);
      for (const Move& move : plan.rooms[0].moves) {
        const auto moved = PlanMove(node, after, move.request);
        ASSERT_TRUE(moved.has_value()) << moved.error().message;
        EXPECT_EQ(moved->move, move);
        Apply(after, moved->delta);
        ASSERT_THAT(
            BrokenPromises(FactsOf(node.machine(), node.config(), node.reserved_cpus(), {}), FactsOf(after, pods)),
            ::testing::IsEmpty());
      }
      EXPECT_TRUE(std::holds_alternative<Admit>(Decide(node, after, pod, inputs, nullptr)));
    }
  }
  RecordProperty("refused", refused);
  RecordProperty("curable", curable);
  RecordProperty("cured", cured);
  std::printf("%d refusals, %d curable by at most %d moves, %d cured (with %d moves, %d at least)\n", refused, curable,
              kMoves, cured, moves, fewest);
  EXPECT_GT(curable, most / 20);
  EXPECT_GE(cured * 100, curable * 99);
}

// ---- nodes of any kind
// ------------------------------------------------------------------------------------------------

TEST(DefragPropertyTest, EveryMoveOnAnyNodeKeepsThePromisesAndTheSizeOfWhatIsMoved) {
  constexpr std::uint64_t kSeed = 77;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomNode random(kSeed);
  int moved = 0;
  const int rounds = std::min(testing::PropertySteps(40), 50'000);
  for (int round = 0; round < rounds; ++round) {
    const auto node = random.MakeRegularNode();
    if (!node) continue;
    const Inputs inputs = random.MakeInputs(*node);
    Ledger ledger = node->EmptyLedger();
    std::set<std::string> pods;
    for (int i = 0; i < 12; ++i) {
      const Pod pod = random.MakePod();
      const Decision decision = Decide(*node, ledger, pod, inputs, nullptr);
      if (const auto* const admit = std::get_if<Admit>(&decision)) Apply(ledger, admit->delta), pods.insert(pod.uid);
      const std::vector<MoveUnit> units = MovableUnits(*node, ledger);
      if (units.empty()) continue;
      const MoveUnit& unit = units[random.Roll(static_cast<unsigned>(units.size()))];
      const NodeSet target{NumaId{random.Roll(static_cast<unsigned>(node->machine().nodes.size()))}};
      const Ledger before = ledger;
      const auto move = PlanMove(*node, ledger, {unit.uid, unit.container, target});
      if (!move) continue;
      ++moved;
      Apply(ledger, move->delta);
      for (const MovedContainer& container : move->move.containers) {
        EXPECT_EQ(container.from.cpus.has_value(), container.to.cpus.has_value());
        if (container.from.cpus) {
          EXPECT_EQ(container.from.cpus->Count(), container.to.cpus->Count());
        }
        EXPECT_EQ(container.from.memory.has_value(), container.to.memory.has_value());
      }
      ASSERT_THAT(BrokenPromises(FactsOf(node->machine(), node->config(), node->reserved_cpus(), inputs.devices),
                                 FactsOf(ledger, pods)),
                  ::testing::IsEmpty());
    }
    for (const std::string& uid : pods) Apply(ledger, Release(*node, ledger, uid, nullptr));
    const Ledger empty = node->EmptyLedger();
    EXPECT_EQ(ledger.shared, empty.shared);
    EXPECT_EQ(ledger.memory, empty.memory);
  }
  EXPECT_GT(moved, 20);
}

}  // namespace
}  // namespace berth::allocator
