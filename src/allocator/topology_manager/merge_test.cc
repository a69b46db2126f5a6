#include "allocator/topology_manager/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "allocator/testing/merge_twin.h"
#include "allocator/testing/random_node.h"

namespace berth::allocator {
namespace {

NodeSet Nodes(std::string_view text) { return *NodeSet::Parse(text); }
TopologyHint Hint(std::string_view nodes, bool preferred) { return {Nodes(nodes), preferred}; }

/// Four nodes: 10 local, 11 inside {0,1} and {2,3}, 12 across.
MergeInput FourNodes(TopologyPolicy policy, std::vector<Hints> lists) {
  MergeInput out;
  out.nodes = Nodes("0-3");
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned j = 0; j < 4; ++j) out.distances[NumaId{i}].push_back(i == j ? 10 : i / 2 == j / 2 ? 11 : 12);
  out.policy = policy;
  out.lists = std::move(lists);
  return out;
}

MergeResult BestEffort(std::vector<Hints> lists) {
  return MergeHints(FourNodes(TopologyPolicy::kBestEffort, std::move(lists)));
}

// The twin walks tuples of masks; this hands it lists of node sets.
MergeResult TwinOf(const MergeInput& in) {
  const NodeIndex index(in.nodes);
  testing::MergeTwin::Case out;
  out.nodes = index.size();
  out.policy = in.policy;
  out.closest = in.prefer_closest;
  for (const auto& [node, row] : in.distances) out.distances.push_back(row);
  for (const Hints& hints : in.lists) {
    HintList& list = out.lists.emplace_back();
    if (!hints) continue;
    list.kind = HintList::Kind::kHints;
    for (const TopologyHint& hint : *hints)
      list.hints.push_back({hint.nodes ? index.ToMask(*hint.nodes) : Mask(), !hint.nodes, hint.preferred});
  }
  const auto [hint, admit] = testing::MergeTwin(out).Run();
  MergeResult result;
  if (!hint.any) result.hint.nodes = index.ToNodes(hint.mask);
  result.hint.preferred = hint.preferred;
  result.admit = admit;
  return result;
}

MergeInput RandomInput(std::mt19937_64& rng) {
  const auto roll = [&](unsigned n) { return static_cast<unsigned>(rng() % n); };
  MergeInput out;
  const unsigned nodes = 1 + roll(5);
  const unsigned stride = roll(4) == 0 ? 40 : 1;  // sparse ids, beyond 63 too
  for (unsigned i = 0; i < nodes; ++i) out.nodes.Insert(NumaId{i * stride});
  for (NumaId i : out.nodes)
    for (NumaId j : out.nodes) out.distances[i].push_back(i == j ? 10 : 11 + roll(3) * 5);
  out.policy =
      std::array{TopologyPolicy::kBestEffort, TopologyPolicy::kRestricted, TopologyPolicy::kSingleNumaNode}[roll(3)];
  out.prefer_closest = roll(2) == 0;
  for (unsigned lists = roll(5); lists > 0; --lists) {
    Hints& hints = out.lists.emplace_back();
    if (roll(6) == 0) continue;
    hints.emplace();
    for (unsigned count = roll(7); count > 0; --count) {
      TopologyHint& hint = hints->emplace_back();
      hint.preferred = roll(2) == 0;
      if (roll(12) == 0) continue;
      hint.nodes.emplace();
      while (hint.nodes->empty())
        for (NumaId node : out.nodes)
          if (roll(2) == 0) hint.nodes->Insert(node);
    }
  }
  return out;
}

TEST(MergeHintsTwinTest, EqualsTheWalkOverAllTuples) {
  const int rounds = testing::PropertySteps(20000);
  std::mt19937_64 rng(20240611);
  for (int round = 0; round < rounds; ++round) {
    const MergeInput input = RandomInput(rng);
    ASSERT_EQ(MergeHints(input), TwinOf(input)) << "seed 20240611, round " << round;
  }
}

TEST(MergeHintsTest, GivesAllNodesWhenNobodyHasAPreference) {
  const TopologyHint all = Hint("0-3", true);
  EXPECT_EQ(BestEffort({}).hint, all);
  EXPECT_EQ(BestEffort({std::nullopt, std::nullopt}).hint, all);
  const MergeResult single = MergeHints(FourNodes(TopologyPolicy::kSingleNumaNode, {std::nullopt}));
  EXPECT_EQ(single.hint, (TopologyHint{std::nullopt, true}));
  EXPECT_TRUE(single.admit);
}

TEST(MergeHintsTest, TreatsAnEmptyListAsImpossible) {
  using List = std::vector<TopologyHint>;
  EXPECT_EQ(BestEffort({List{}}).hint, Hint("0-3", false));
  EXPECT_EQ(BestEffort({List{}, List{Hint("1", true)}}).hint, Hint("1", false));
  EXPECT_FALSE(MergeHints(FourNodes(TopologyPolicy::kRestricted, {List{}})).admit);
  EXPECT_FALSE(MergeHints(FourNodes(TopologyPolicy::kSingleNumaNode, {List{}})).admit);
}

TEST(MergeHintsTest, FallsBackToAllNodesWhenNothingIsInCommon) {
  using List = std::vector<TopologyHint>;
  const std::vector<Hints> lists{List{Hint("0", true)}, List{Hint("1", true)}};
  EXPECT_EQ(BestEffort(lists).hint, Hint("0-3", false));
  EXPECT_FALSE(MergeHints(FourNodes(TopologyPolicy::kRestricted, lists)).admit);
  EXPECT_FALSE(MergeHints(FourNodes(TopologyPolicy::kSingleNumaNode, lists)).admit);
}

TEST(MergeHintsTest, PicksTheCountNearestToTheWidestMinimumWhenNothingIsPreferred) {
  using List = std::vector<TopologyHint>;
  EXPECT_EQ(BestEffort({List{Hint("0", true), Hint("0-1", false)}, List{Hint("1", true), Hint("0-1", false)}}).hint,
            Hint("0", false));
  EXPECT_EQ(
      BestEffort({List{Hint("0-1", false), Hint("2-3", false), Hint("0-3", false)},
                  List{Hint("0", false), Hint("1", false), Hint("0-1", false), Hint("2-3", false), Hint("0-3", false)}})
          .hint,
      Hint("0-1", false));
  EXPECT_EQ(BestEffort({List{Hint("0-2", true), Hint("0-3", false)},
                        List{Hint("0", true), Hint("3", true), Hint("0,3", false), Hint("0-1,3", false)}})
                .hint,
            Hint("0-1,3", false));
}

TEST(MergeHintsTest, NeverPrefersAResultOfDifferentMasks) {
  using List = std::vector<TopologyHint>;
  EXPECT_EQ(BestEffort({List{Hint("0-1", true)}, List{Hint("0", true), Hint("1", true)}}).hint, Hint("0", false));
}

TEST(MergeHintsTest, PrefersCloseNodesOnlyWhenAsked) {
  using List = std::vector<TopologyHint>;
  MergeInput input = FourNodes(TopologyPolicy::kRestricted,
                               {List{Hint("0,2", true), Hint("0,3", true), Hint("1,2", true), Hint("2-3", true)}});
  EXPECT_EQ(MergeHints(input).hint, Hint("0,2", true));
  input.prefer_closest = true;
  EXPECT_EQ(MergeHints(input).hint, Hint("2-3", true));
  input.lists = {List{Hint("2-3", true), Hint("0-1", true)}};
  EXPECT_EQ(MergeHints(input).hint, Hint("0-1", true));
}

TEST(MergeHintsTest, AdmitsAWideHintUnderRestrictedButNotUnderSingleNode) {
  using List = std::vector<TopologyHint>;
  const std::vector<Hints> lists{List{Hint("0-3", true)}};
  EXPECT_TRUE(MergeHints(FourNodes(TopologyPolicy::kRestricted, lists)).admit);
  const MergeResult single = MergeHints(FourNodes(TopologyPolicy::kSingleNumaNode, lists));
  EXPECT_EQ(single, (MergeResult{{std::nullopt, false}, false}));
}

TEST(MergeHintsTest, TakesTheOnlyNodeOfAMachineAsAnyNode) {
  MergeInput input;
  input.nodes = Nodes("0");
  input.policy = TopologyPolicy::kSingleNumaNode;
  input.lists = {std::vector<TopologyHint>{Hint("0", true)}};
  EXPECT_EQ(MergeHints(input), (MergeResult{{std::nullopt, true}, true}));
}

TEST(MergeHintsTest, HoldsNodeIdsAboveSixtyThree) {
  MergeInput input;
  input.nodes = Nodes("2,700");
  input.lists = {std::vector<TopologyHint>{Hint("700", true), Hint("2,700", false)}};
  EXPECT_EQ(MergeHints(input).hint, Hint("700", true));
}

}  // namespace
}  // namespace berth::allocator
