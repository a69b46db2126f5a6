#include "engine/books/memory_settle.h"

#include <gtest/gtest.h>

#include "engine/testing/bits.h"

namespace berth::engine {
namespace {

using testing::Bits;
using Bytes64 = std::vector<std::int64_t>;

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

}  // namespace
}  // namespace berth::engine
