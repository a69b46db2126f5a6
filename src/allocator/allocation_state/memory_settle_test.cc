#include "allocator/allocation_state/memory_settle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "allocator/testing/bits.h"
#include "allocator/testing/random_node.h"

namespace berth::allocator {
namespace {

using testing::Bits;
using Bytes64 = std::vector<std::int64_t>;

std::int64_t SumOn(const Bytes64& amounts, const Mask& mask) {
  std::int64_t out = 0;
  mask.ForEach([&](std::size_t node) { out += amounts[node]; });
  return out;
}

std::int64_t HeldWithin(const std::vector<HeldMemory>& blocks, const Mask& mask) {
  std::int64_t out = 0;
  for (const HeldMemory& block : blocks) out += block.nodes.Within(mask) ? block.bytes : 0;
  return out;
}

/// Hall's condition: every set of nodes has what the blocks that lie within it alone need. So a further block finds on
/// `mask` what the tightest set around it has left.
std::int64_t LeftAround(const std::vector<HeldMemory>& blocks, const Bytes64& capacity, const Mask& mask) {
  std::int64_t out = SumOn(capacity, mask);
  for (std::uint64_t bits = 1; bits < (std::uint64_t{1} << capacity.size()); ++bits)
    if (const Mask around = Bits(bits); mask.Within(around))
      out = std::min(out, SumOn(capacity, around) - HeldWithin(blocks, around));
  return out;
}

TEST(SettledReserveTest, LeavesWhatIsInOrderAlone) {
  EXPECT_EQ(SettledReserve({{Bits(0b11), 5}, {Bits(0b11), 4}}, {7, 2, 0}, {10, 10, 10}), (Bytes64{7, 2, 0}));
}

TEST(SettledReserveTest, MovesABlockBackToItsOwnNode) {
  // A block on both nodes was given back, from the first one, where a block of 4 has to stay.
  EXPECT_EQ(SettledReserve({{Bits(0b001), 4}, {Bits(0b100), 3}}, {0, 4, 3}, {10, 10, 10}), (Bytes64{4, 0, 3}));
}

TEST(SettledReserveTest, GivesBackWhatNobodyHolds) {
  EXPECT_EQ(SettledReserve({{Bits(0b100), 3}}, {0, 4, 3}, {10, 10, 10}), (Bytes64{0, 0, 3}));
  EXPECT_EQ(SettledReserve({}, {1, 2}, {10, 10}), (Bytes64{0, 0}));
}

TEST(SettledReserveTest, MovesBlocksOutOfTheWayOfOthers) {
  EXPECT_EQ(SettledReserve({{Bits(0b11), 6}, {Bits(0b01), 6}}, {6, 6}, {6, 6}), (Bytes64{6, 6}));
}

TEST(MemoryRoomTest, ABlockOfSeveralNodesMakesRoom) {
  const MemoryRoom room({{Bits(0b11), 6}, {Bits(0b10), 2}}, {8, 8});
  EXPECT_EQ(room.On(Bits(0b01)), 8);
  EXPECT_EQ(room.On(Bits(0b10)), 6);
  EXPECT_EQ(room.On(Bits(0b11)), 8);
  EXPECT_EQ(MemoryRoom({}, {0, 0}).On(Bits(0b11)), 0);
}

/// As after memory went offline.
TEST(MemoryRoomTest, BlocksThatDoNotFitThemselvesLeaveWhatTheyCannotUse) {
  EXPECT_EQ(MemoryRoom({{Bits(0b01), 9}}, {4, 8}).On(Bits(0b11)), 8);
  EXPECT_EQ(MemoryRoom({{Bits(0b01), 9}}, {4, 8}).On(Bits(0b01)), 0);
  const Bytes64 nine(9, 2);
  EXPECT_EQ(MemoryRoom({{Bits(0b01), 9}}, nine).On(Bits(0b11)), 2);
  EXPECT_EQ(MemoryRoom({{Bits(0b01), 9}}, nine).On(Bits(0b01)), 0);
}

TEST(MemoryRoomTest, IsWhatTheTightestSetOfNodesAroundHasLeft) {
  constexpr std::uint64_t kSeed = 123443;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  testing::RandomNode random(kSeed);
  int moved = 0;
  for (int round = 0; round < testing::PropertySteps(300); ++round) {
    Bytes64 capacity(random.OneIn(20) ? 9 : 1 + random.Roll(4));  // all sets at once, and one by one
    for (std::int64_t& node : capacity) node = random.Roll(20);
    const unsigned sets = (1U << capacity.size()) - 1;
    std::vector<HeldMemory> blocks;
    for (int i = 0; i < 8; ++i) {
      const Mask mask = Bits(1 + random.Roll(sets));
      const std::int64_t room = MemoryRoom(blocks, capacity).On(mask);
      ASSERT_EQ(room, LeftAround(blocks, capacity, mask));
      const HeldMemory block{.nodes = mask, .bytes = std::min<std::int64_t>(room, 1 + random.Roll(12))};
      blocks.push_back(block);
      const Bytes64 used = SettledReserve(blocks, Bytes64(capacity.size()), capacity);
      ASSERT_EQ(SumOn(used, Bits(sets)), HeldWithin(blocks, Bits(sets)));  // all of them find their place
      moved += room > SumOn(capacity, mask) - SumOn(used, mask) ? 1 : 0;
    }
  }
  EXPECT_GT(moved, 5);
}

}  // namespace
}  // namespace berth::allocator
