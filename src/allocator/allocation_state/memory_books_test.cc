#include "allocator/allocation_state/memory_books.h"

#include <gtest/gtest.h>

#include <utility>

#include "allocator/node/engine_node.h"
#include "allocator/node/node_tables.h"
#include "allocator/testing/bits.h"
#include "allocator/testing/builders.h"

namespace berth::allocator {
namespace {

using testing::Bits;
using testing::MakeMachine;
using testing::PinMemory;
using testing::StaticConfig;

/// Books of four nodes that nobody uses.
struct MemoryBooksTest : ::testing::Test {
  static Node FourNodes() {
    KubeletConfiguration config = StaticConfig();
    PinMemory(config, "1Gi");
    auto made = Node::Make(MakeMachine({.sockets = 4, .cores_per_node = 4}), config, {.node_fit = false});
    BERTH_CHECK(made.has_value());
    return *std::move(made);
  }
  NodeSet ChangedNodes() const {
    NodeSet out;
    for (const auto& [id, state] : books.Changed()) out.Insert(id);
    return out;
  }

  const Node node = FourNodes();
  MemoryBooks books{node.tables().memory, node.tables().nodes, node.EmptyLedger().memory};
  const std::size_t memory = *node.tables().memory.Find("memory");
};

TEST_F(MemoryBooksTest, NodesThatWereBookedOrGivenBackAreChanged) {
  EXPECT_EQ(ChangedNodes(), NodeSet());
  books.Book(Bits(0b0110), memory, 4);
  EXPECT_EQ(ChangedNodes(), (NodeSet{NumaId{1}, NumaId{2}}));
}

TEST_F(MemoryBooksTest, NodesThatOnlySettlingMovedMemoryBetweenAreChangedToo) {
  books.Book(Bits(0b0011), memory, 4);  // on node 0
  const auto before = books.Changed();
  MemoryBooks again(node.tables().memory, node.tables().nodes, before);
  const auto held = [&](std::uint64_t nodes) { return HeldMemory{Bits(nodes), 4}; };
  again.Settle(memory, {held(0b0011)});
  EXPECT_TRUE(again.Changed().empty()) << "it is where it may be";
  again.Settle(memory, {held(0b0010)});  // the group is gone but for its second node
  const auto changed = again.Changed();
  ASSERT_EQ(changed.size(), 2U);
  EXPECT_EQ(changed.at(NumaId{0}).types.at("memory").reserved, Bytes{0});
  EXPECT_EQ(changed.at(NumaId{1}).types.at("memory").reserved, Bytes{4});
}

}  // namespace
}  // namespace berth::allocator
