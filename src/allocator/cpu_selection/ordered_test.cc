#include "allocator/cpu_selection/ordered.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "allocator/testing/builders.h"

namespace berth::allocator {
namespace {

using allocator::testing::Cpus;
using allocator::testing::MakeMachine;

CpuTopology OrderedTopology(const Machine& machine) {
  auto out = CpuTopology::Make(machine);
  BERTH_CHECK(out.has_value());
  return *std::move(out);
}

/// Two nodes of two L3 groups of two cores of two threads: groups 0-3, 4-7, 8-11, 12-15; cores of two neighbours.
CpuTopology OrderedSixteen() {
  return OrderedTopology(
      MakeMachine({.nodes_per_socket = 2, .adjacent = true, .hugepages = {}, .cores_per_uncore = 2, .offline = {}}));
}

std::string Take(const CpuTopology& topology, const char* free, int num, const TakeOrder& order) {
  const auto out = TakeOrdered(topology, Cpus(free), num, order);
  return out ? FormatIds(*out) : out.error().message;
}

TEST(OrderedTakeTest, PackTakesTheFullestThatHasEnoughAndSpreadTheEmptiest) {
  const CpuTopology t = OrderedSixteen();
  EXPECT_EQ(Take(t, "0-15", 2, {}), "0-1");
  EXPECT_EQ(Take(t, "0-15", 2, {.end = CpuEnd::kHigh}), "14-15");
  EXPECT_EQ(Take(t, "0-7,12-15", 2, {}), "12-13");
  EXPECT_EQ(Take(t, "2-7,8-15", 2, {.numa = Fill::kSpread}), "8-9");
  EXPECT_EQ(Take(t, "0-7,15", 2, {}), "0-1") << "the fullest node has too few";
}

TEST(OrderedTakeTest, WhatFitsNowhereTakesTheLargestWholeAndTheRestWhereItFits) {
  const CpuTopology t = OrderedSixteen();
  EXPECT_EQ(Take(t, "1-15", 9, {}), "1,8-15");
  EXPECT_EQ(Take(t, "0-15", 6, {.l3 = CachePlace::kPack}), "0-5");
  EXPECT_EQ(Take(t, "0-15", 17, {}), "not enough cpus available to satisfy request: requested=17, available=16");
}

TEST(OrderedTakeTest, StrictL3IsNeverAcrossUnlessTheRequestIsLargerThanAGroup) {
  const CpuTopology t = OrderedSixteen();
  const TakeOrder strict{.l3 = CachePlace::kStrict};
  EXPECT_EQ(Take(t, "2-5,13-15", 3, strict), "13-15") << "node 0 has more free CPUs, no group of it as many";
  EXPECT_EQ(Take(t, "2-5,14-15", 3, strict), "no L3 group has 3 of the free CPUs");
  EXPECT_EQ(Take(t, "2-5,14-15", 3, {.l3 = CachePlace::kPack}), "2-4");
  EXPECT_EQ(Take(t, "0-6", 5, strict), "0-3,6") << "larger than a group";
}

TEST(OrderedTakeTest, CoresAreTakenWholeOrOneThreadOfEach) {
  const CpuTopology t = OrderedSixteen();
  EXPECT_EQ(Take(t, "1-7", 3, {}), "1-3");
  EXPECT_EQ(Take(t, "0-7", 3, {.cores = Fill::kSpread}), "0,2,4");
  EXPECT_EQ(Take(t, "0-7", 5, {.cores = Fill::kSpread}), "0-2,4,6");
  EXPECT_EQ(Take(t, "0-7", 3, {.cores = Fill::kSpread, .end = CpuEnd::kHigh}), "3,5,7");
}

// ---- the same, slowly ----------------------------------------------------------------------------------------------

/// All that the rule says, by trying every order: the chosen list of units is the best of all lists by the rule's
/// words.
class SlowTaker {
 public:
  SlowTaker(const Machine& machine, const TakeOrder& order, int num) : order_(order) {
    const CpuTopology topology = OrderedTopology(machine);
    for (const Level level : {Level::kNuma, Level::kUncore, Level::kCore})
      for (const Unit& unit : topology.units(level)) units_[level].push_back(unit.cpus);
    int largest = 0;
    for (const CpuSet& group : units_[Level::kUncore]) largest = std::max(largest, group.Count());
    strict_ = order.l3 == CachePlace::kStrict && num <= largest;
  }

  std::optional<CpuSet> Take(const CpuSet& free, int need) const {
    if (!Enough(free, need)) return std::nullopt;
    return Within(Level::kNuma, order_.numa, free, need);
  }

 private:
  bool Enough(const CpuSet& free, int need) const {
    if (free.Count() < need) return false;
    if (!strict_) return true;
    for (const CpuSet& group : units_.at(Level::kUncore))
      if ((group & free).Count() >= need) return true;
    return false;
  }

  CpuSet Next(Level level, const CpuSet& free, int need) const {
    if (level == Level::kNuma && order_.l3)
      return Within(Level::kUncore, *order_.l3 == CachePlace::kSpread ? Fill::kSpread : Fill::kPack, free, need);
    if (level == Level::kNuma || level == Level::kUncore)
      return order_.cores == Fill::kSpread ? OneByOne(free, need) : Within(Level::kCore, Fill::kPack, free, need);
    return Ends(free, need);
  }

  CpuSet Ends(const CpuSet& free, int need) const {
    std::vector<CpuId> all(free.begin(), free.end());
    if (order_.end == CpuEnd::kHigh) std::ranges::reverse(all);
    CpuSet out;
    for (int i = 0; i < need; ++i) out.Insert(all[static_cast<std::size_t>(i)]);
    return out;
  }

  /// Sorted as the rule says: the first that has enough, or else the first by size.
  CpuSet Within(Level level, Fill fill, const CpuSet& free, int need) const {
    if (need == 0) return {};
    struct Entry {
      bool enough;
      int count;
      int id;
      CpuSet cpus;
    };
    std::vector<Entry> all;
    int id = 0;
    for (const CpuSet& unit : units_.at(level)) {
      CpuSet part = unit & free;
      const bool enough = level == Level::kCore ? part.Count() >= need : Enough(part, need);
      if (!part.empty()) all.push_back({enough, part.Count(), order_.end == CpuEnd::kHigh ? -id : id, part});
      ++id;
    }
    const bool some = std::ranges::any_of(all, &Entry::enough);
    if (strict_ && level == Level::kNuma && !some) return Next(level, free, need);  // a group spans nodes
    std::ranges::sort(all, [&](const Entry& a, const Entry& b) {
      const int sign = some && fill == Fill::kPack ? 1 : -1;
      return std::tuple(!a.enough, sign * a.count, a.id) < std::tuple(!b.enough, sign * b.count, b.id);
    });
    const CpuSet& first = all.front().cpus;
    if (some) return Next(level, first, need);
    return first | Within(level, fill, free - first, need - first.Count());
  }

  CpuSet OneByOne(CpuSet free, int need) const {
    CpuSet out;
    for (; need > 0; --need) {
      std::vector<std::tuple<int, int, CpuSet>> cores;
      int id = 0;
      for (const CpuSet& core : units_.at(Level::kCore)) {
        cores.emplace_back(-(core & free).Count(), order_.end == CpuEnd::kHigh ? -id : id, core & free);
        ++id;
      }
      std::ranges::sort(cores, [](const auto& a, const auto& b) {
        return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
      });
      const CpuSet one = Ends(std::get<2>(cores.front()), 1);
      out |= one;
      free -= one;
    }
    return out;
  }

  TakeOrder order_;
  bool strict_ = false;
  std::map<Level, std::vector<CpuSet>> units_;
};

TEST(OrderedTakeTest, ItIsTheSlowObviousWayOnRandomMachines) {
  int strict_refusals = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
    const int threads = 1 + below(2);
    Machine machine = MakeMachine({.sockets = 1 + below(2),
                                   .nodes_per_socket = 1 + below(3),
                                   .cores_per_node = 1 + below(6),
                                   .threads = threads,
                                   .adjacent = below(2) == 0,
                                   .hugepages = {},
                                   .cores_per_uncore = 1 + below(4),
                                   .offline = {}});
    const CpuTopology topology = OrderedTopology(machine);
    for (int round = 0; round < 30; ++round) {
      CpuSet free;
      const int share = 1 + below(4);
      for (const CpuId cpu : topology.cpus())
        if (below(share) == 0) free.Insert(cpu);
      TakeOrder order{.numa = below(2) == 0 ? Fill::kPack : Fill::kSpread,
                      .l3 = {},
                      .cores = below(2) == 0 ? Fill::kPack : Fill::kSpread,
                      .end = below(2) == 0 ? CpuEnd::kLow : CpuEnd::kHigh};
      if (const int l3 = below(4); l3 < 3) order.l3 = static_cast<CachePlace>(l3);
      const int num = 1 + below(std::max(1, free.Count() + 1));
      const auto fast = TakeOrdered(topology, free, num, order);
      const auto slow = SlowTaker(machine, order, num).Take(free, num);
      ASSERT_EQ(fast.has_value(), slow.has_value()) << FormatIds(free) << " " << num;
      if (fast) {
        ASSERT_EQ(FormatIds(*fast), FormatIds(*slow)) << FormatIds(free) << " " << num;
        ASSERT_EQ(fast->Count(), num);
        ASSERT_TRUE(fast->IsSubsetOf(free));
      } else {
        strict_refusals += num <= free.Count() ? 1 : 0;
      }
      if (fast && order.l3 == CachePlace::kStrict && FitsOneL3(topology, num)) {
        int groups = 0;
        for (const Unit& group : topology.units(Level::kUncore)) groups += group.cpus.Intersects(*fast) ? 1 : 0;
        ASSERT_EQ(groups, 1);
      }
    }
  }
  EXPECT_GT(strict_refusals, 50);
}

}  // namespace
}  // namespace berth::allocator
