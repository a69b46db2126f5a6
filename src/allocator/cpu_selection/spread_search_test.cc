#include "allocator/cpu_selection/spread_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace berth::allocator {
namespace {

constexpr std::int64_t kLastChoice = 64 * 64;  // what is begun is ended

/// Free CPUs so uneven that no bound tells early which choice is best.
SpreadRequest Uneven(std::size_t nodes, std::mt19937_64& rng) {
  SpreadRequest out;
  int sum = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    out.free.push_back(20 + static_cast<int>(rng() % 13));
    sum += out.free.back();
  }
  out.num = sum / 3 + static_cast<int>(rng() % nodes);
  return out;
}

void CanHold(const SpreadRequest& request, const SpreadChoice& choice, std::size_t k) {
  ASSERT_EQ(k, choice.nodes.size());
  EXPECT_EQ(k, std::set<std::size_t>(choice.nodes.begin(), choice.nodes.end()).size());
  int free = 0;
  for (const std::size_t node : choice.nodes) {
    ASSERT_LT(node, request.free.size());
    EXPECT_GE(request.free[node], request.num / static_cast<int>(k));
    free += request.free[node];
  }
  EXPECT_GE(free, request.num);
  for (const std::size_t node : choice.remainder)
    EXPECT_NE(choice.nodes.end(), std::ranges::find(choice.nodes, node)) << node;
}

TEST(SpreadSearchTest, StopsAfterItsStepsOnManyNodesWithAChoiceThatHolds) {
  std::mt19937_64 rng(3);
  int stopped = 0;
  for (int round = 0; round < 20; ++round) {
    const SpreadRequest request = Uneven(40, rng);
    constexpr std::size_t kNodes = 21;
    std::int64_t steps = 0;
    const SpreadChoice choice = BestSpread(request, kNodes, &steps);
    EXPECT_LE(steps, kMostSpreadSteps + kLastChoice);
    if (steps <= kMostSpreadSteps) continue;
    ++stopped;
    CanHold(request, choice, kNodes);
  }
  EXPECT_GT(stopped, 0) << "none of them came to the limit: this test shows nothing";
}

}  // namespace
}  // namespace berth::allocator
