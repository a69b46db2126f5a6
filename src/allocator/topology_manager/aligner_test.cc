#include "allocator/topology_manager/aligner.h"

#include <gtest/gtest.h>

#include <random>

#include "allocator/testing/merge_twin.h"
#include "allocator/testing/random_merge.h"
#include "allocator/testing/random_node.h"
#include "allocator/topology_manager/pack.h"

namespace berth::allocator {
namespace {

using testing::MergeTwin;
using testing::RandomMerge;

Merged MergeOf(const MergeTwin::Case& in) {
  return Aligner(in.nodes, in.policy, in.closest, in.distances).Merge(in.lists);
}

/// A family that asks for `amount` of what the nodes have.
HintList AtLeast(std::int64_t amount, std::vector<std::int64_t> on, int preferred_count) {
  HintList out;
  out.kind = HintList::Kind::kHints;
  out.family.emplace();
  out.family->family.universe = Mask::Low(on.size());
  out.family->family.needs.push_back({.amount = amount, .on = std::move(on)});
  out.family->preferred_count = preferred_count;
  return out;
}

TEST(AlignerTwinTest, EqualsTheWalkOverAllTuplesOfFamilies) {
  constexpr double kMostTuples = 40000;
  const int rounds = testing::PropertySteps(20000);
  std::mt19937_64 rng(20260301);
  auto roll = [&](unsigned n) { return static_cast<unsigned>(rng() % n); };
  RandomMerge random(roll);
  int walked = 0;
  for (int round = 0; walked < rounds; ++round) {
    const std::size_t nodes = 1 + roll(6);
    const MergeTwin::Case in = random.Make(nodes, nodes < 5 ? 4 : 3);
    MergeTwin twin(in);
    if (twin.Tuples() > kMostTuples) continue;
    ++walked;
    const Merged merged = MergeOf(in);
    ASSERT_EQ(std::pair(merged.hint, merged.admit), twin.Run()) << "seed 20260301, round " << round;
    ASSERT_TRUE(merged.exact) << "seed 20260301, round " << round;
  }
}

TEST(AlignerTest, AlignsSixtyFourNodesThatAllPrefer) {
  const std::vector<HintList> lists{AtLeast(40, std::vector<std::int64_t>(64, 16), 3),
                                    AtLeast(9, std::vector<std::int64_t>(64, 4), 3)};
  const Merged merged = Aligner(64, TopologyPolicy::kRestricted, false).Merge(lists);
  EXPECT_EQ(merged.hint, (MaskHint{Mask::Low(3), false, true}));
  EXPECT_TRUE(merged.exact);
}

TEST(AlignerTest, LeavesOnlyAsManyNodesAsTheWidestMinimum) {
  // Three nodes for the first, one for the second: what one keeps beyond the lowest three, the other leaves out.
  std::vector<std::int64_t> rising;
  for (std::int64_t i = 0; i < 200; ++i) rising.push_back(i);
  const std::vector<HintList> lists{AtLeast(3 * 150, rising, 2), AtLeast(100, rising, 1)};
  const Merged merged = Aligner(200, TopologyPolicy::kBestEffort, false).Merge(lists);
  EXPECT_EQ(merged.hint, (MaskHint{Mask::Low(3), false, false}));
  EXPECT_TRUE(merged.exact);
  EXPECT_LT(merged.steps, 1000);
}

// Two equal lists share the nodes that are to vanish. To be left with node 0 alone, what the others have must be split
// into two equal halves: the partition problem, with numbers as large as bytes.
TEST(AlignerTest, StandsInForASplitThatCannotBeFoundInTime) {
  constexpr std::size_t kNodes = 40;
  std::mt19937_64 rng(5);
  std::vector<std::int64_t> bytes(kNodes + 1);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kNodes; ++i)
    sum += bytes[i] = static_cast<std::int64_t>(rng() % (std::uint64_t{1} << 40));
  HintList memory = AtLeast(sum - (sum - bytes[0]) / 2, bytes, 1);
  memory.family->family.universe = Mask::Low(kNodes);
  memory.resources = {"memory", "hugepages-1Gi"};
  memory.hints.push_back({Mask::Of(kNodes), false, false});  // makes one node the widest minimum
  const Merged merged = Aligner(kNodes + 1, TopologyPolicy::kBestEffort, false).Merge({memory});
  EXPECT_FALSE(merged.exact);
  EXPECT_EQ(merged.hint.mask.Count(), 1);
  EXPECT_FALSE(merged.hint.preferred);

  // Sixty-four times the steps, far beyond the time a decision has, do not find it either.
  const Mask within = Mask::Low(kNodes);
  const std::vector<Family> bins(2, memory.family->family.Within(within));
  Steps steps(64 * kMostSteps);
  Pack pack(bins, within, nullptr, steps);
  EXPECT_FALSE(pack.Exactly(1));
  EXPECT_TRUE(steps.Exceeded());
}

TEST(AlignerTest, NeverGivesUpOnSixteenNodesAndEndsOnMore) {
  std::mt19937_64 rng(7);
  auto roll = [&](unsigned n) { return static_cast<unsigned>(rng() % n); };
  RandomMerge random(roll);
  for (int round = 0; round < 300; ++round) {
    const std::size_t nodes = 10 + roll(80);
    const MergeTwin::Case in = random.Make(nodes, 5);
    const Merged merged = MergeOf(in);
    if (nodes <= kExactNodes) {
      EXPECT_TRUE(merged.exact) << "seed 7, round " << round;
    } else {
      EXPECT_LE(merged.steps, 20 * kMostSteps) << "seed 7, round " << round;
    }
    EXPECT_EQ(merged.hint, MergeOf(in).hint) << "seed 7, round " << round;
  }
}

}  // namespace
}  // namespace berth::allocator
