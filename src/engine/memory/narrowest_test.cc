#include "engine/memory/narrowest.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/testing/random_node.h"

namespace berth::engine {
namespace {

constexpr Mask kAll = ~Mask{0};

TEST(NarrowestEnoughTest, IsQuickOnManyNodesOfTwoKinds) {
  Amounts amounts;
  amounts.amounts.resize(2);
  for (int node = 0; node < kMaskNodes; ++node) {
    const bool rich_in_pages = node % 2 == 0;
    amounts.amounts[0].push_back(rich_in_pages ? 2 : 10);
    amounts.amounts[1].push_back(rich_in_pages ? 8 : 0);
  }
  for (std::int64_t part = 1; part < 10; ++part) {
    amounts.needs = {384 * part / 10, 256 * part / 10};
    std::int64_t steps = 0;
    const std::optional<Mask> mask = NarrowestEnough(amounts, kAll, 0, 1, &steps);
    ASSERT_TRUE(mask);
    EXPECT_TRUE(amounts.Enough(*mask));
    EXPECT_LT(steps, 64 * 33 * 33) << part;  // sizes of a set times numbers of each kind in it
  }
}

TEST(NarrowestEnoughTest, EndsOnManyDifferentNodesWithASetThatHoldsNothingNeedless) {
  std::mt19937_64 rng(11);
  Amounts amounts;
  amounts.amounts.resize(3);
  for (int node = 0; node < kMaskNodes; ++node) {
    const auto value = static_cast<std::int64_t>(rng() % 1000);
    const auto other = static_cast<std::int64_t>(rng() % 1000);
    amounts.amounts[0].push_back(value);
    amounts.amounts[1].push_back(1000 - value);
    amounts.amounts[2].push_back(other);
  }
  amounts.needs = {19001, 19007, 19003};
  std::int64_t steps = 0;
  const std::optional<Mask> mask = NarrowestEnough(amounts, kAll, 1, 1, &steps);
  ASSERT_TRUE(mask);
  EXPECT_LE(steps, kMostNarrowestSteps);
  EXPECT_TRUE(amounts.Enough(*mask));
  EXPECT_EQ(*mask & 1, 1U);
  if (steps < kMostNarrowestSteps) return;
  ForEachBit(*mask & ~Mask{1}, [&](std::size_t node) { EXPECT_FALSE(amounts.Enough(*mask & ~(Mask{1} << node))); });
}

TEST(NarrowestEnoughTwinTest, EqualsTheWalkOverAllMasks) {
  const int rounds = testing::PropertySteps(3000);
  std::mt19937_64 rng(12);
  const auto roll = [&](unsigned n) { return static_cast<unsigned>(rng() % n); };
  for (int round = 0; round < rounds; ++round) {
    const unsigned nodes = 1 + roll(8);
    Amounts amounts;
    amounts.amounts.resize(1 + roll(3));
    for (auto& row : amounts.amounts) {
      for (unsigned node = 0; node < nodes; ++node) row.push_back(roll(4));
      amounts.needs.push_back(roll(2 * nodes + 1));
    }
    const Mask allowed = rng() & LowBits(nodes);
    const Mask required = roll(2) == 0 ? 0 : rng() & rng() & allowed;
    const int min_nodes = 1 + static_cast<int>(roll(2));
    std::optional<Mask> best;
    for (Mask mask = 1; mask <= LowBits(nodes); ++mask)
      if ((mask & ~allowed) == 0 && (required & ~mask) == 0 && CountOf(mask) >= min_nodes && amounts.Enough(mask) &&
          (!best || Narrower(mask, *best)))
        best = mask;
    ASSERT_EQ(NarrowestEnough(amounts, allowed, required, min_nodes), best) << "seed 12, round " << round;
  }
}

}  // namespace
}  // namespace berth::engine
