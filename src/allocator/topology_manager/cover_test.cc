#include "allocator/topology_manager/cover.h"

#include <gtest/gtest.h>

#include <random>

#include "allocator/testing/random_node.h"

namespace berth::allocator {
namespace {

bool Meets(const Cover::Request& request, const Mask& mask) {
  for (const Need* need : request.needs)
    if (need->Of(mask) < need->amount) return false;
  return mask.Within(request.allowed) && request.must.Within(mask) &&
         (request.touch == nullptr || request.touch->Touched(mask) == request.touch->wanted);
}

Cover::Request RequestFor(const std::vector<Need>& needs, std::size_t nodes) {
  Cover::Request out{.allowed = Mask::Low(nodes), .must = {}};
  for (const Need& need : needs) out.needs.push_back(&need);
  return out;
}

TEST(CoverTest, IsQuickOnManyNodesOfTwoKinds) {
  std::vector<Need> needs(2);
  for (int node = 0; node < 64; ++node) {
    const bool rich_in_pages = node % 2 == 0;
    needs[0].on.push_back(rich_in_pages ? 2 : 10);
    needs[1].on.push_back(rich_in_pages ? 8 : 0);
  }
  for (std::int64_t part = 1; part < 10; ++part) {
    needs[0].amount = 384 * part / 10;
    needs[1].amount = 256 * part / 10;
    const Cover::Request request = RequestFor(needs, 64);
    Steps steps = Steps::Unbounded();
    const std::optional<Mask> mask = Cover(request, steps).Fewest(1);
    ASSERT_TRUE(mask);
    EXPECT_TRUE(Meets(request, *mask));
    EXPECT_LT(steps.used(), kMostSteps) << part;
  }
}

TEST(CoverTest, ShrinksToASetThatHoldsNothingNeedless) {
  std::mt19937_64 rng(11);
  std::vector<Need> needs(3);
  for (int node = 0; node < 64; ++node) {
    const auto value = static_cast<std::int64_t>(rng() % 1000);
    needs[0].on.push_back(value);
    needs[1].on.push_back(1000 - value);
    needs[2].on.push_back(static_cast<std::int64_t>(rng() % 1000));
  }
  for (Need& need : needs) need.amount = 19003;
  Cover::Request request = RequestFor(needs, 64);
  request.must = Mask::Of(0);
  Steps steps;
  Cover cover(request, steps);
  const std::optional<Mask> best = cover.Fewest(1);
  EXPECT_LE(steps.used(), kMostSteps + 65);  // those on the way back count too
  EXPECT_EQ(steps.Exceeded(), !best);
  const std::optional<Mask> mask = cover.Shrunk(1);
  ASSERT_TRUE(mask);
  EXPECT_TRUE(Meets(request, *mask));
  mask->ForEach([&](std::size_t node) { EXPECT_FALSE(Meets(request, *mask - Mask::Of(node))) << node; });
}

TEST(CoverTwinTest, EqualsTheWalkOverAllMasks) {
  const int rounds = std::min(testing::PropertySteps(3000), 200'000);
  std::mt19937_64 rng(12);
  const auto roll = [&](unsigned n) { return static_cast<unsigned>(rng() % n); };
  for (int round = 0; round < rounds; ++round) {
    const unsigned nodes = 1 + roll(8);
    const auto some = [&] {
      Mask out;
      for (unsigned i = 0; i < nodes; ++i)
        if (roll(2) == 0) out.Add(i);
      return out;
    };
    std::vector<Need> needs(1 + roll(3));
    for (Need& need : needs) {
      for (unsigned node = 0; node < nodes; ++node) need.on.push_back(roll(4));
      if (roll(3) == 0) need.shared.push_back({some(), 1 + roll(3)});
      need.amount = roll(2 * nodes + 1);
    }
    Cover::Request request = RequestFor(needs, nodes);
    request.allowed = some();
    if (roll(2) == 0) request.must = some() & some() & request.allowed;
    const TouchRule touch{{some(), some()}, static_cast<int>(roll(3))};
    if (roll(4) == 0) request.touch = &touch;
    const int least = 1 + static_cast<int>(roll(2));
    std::optional<Mask> best;
    ForEachSubset(request.allowed, [&](const Mask& mask) {
      if (mask.Count() >= least && Meets(request, mask) && (!best || Narrower(mask, *best))) best = mask;
      return true;
    });
    Steps steps = Steps::Unbounded();
    ASSERT_EQ(Cover(request, steps).Fewest(least), best) << "seed 12, round " << round;
  }
}

}  // namespace
}  // namespace berth::allocator
