// Reserved memory per NUMA node after blocks were released: places for the remaining blocks, each on its own nodes, and
// the memory that a set of nodes could still hold beside them.
#ifndef BERTH_ALLOCATOR_ALLOCATION_STATE_MEMORY_SETTLE_H_
#define BERTH_ALLOCATOR_ALLOCATION_STATE_MEMORY_SETTLE_H_

#include <cstdint>
#include <vector>

#include "allocator/topology/mask.h"

namespace berth::allocator {

/// Memory of one type that may sit on any of some nodes.
struct HeldMemory {
  Mask nodes;
  std::int64_t bytes = 0;
};

/// What each node has reserved once every block sits on its own nodes: as in `reserved` as far as that is possible, at
/// most `capacity`. A node that gives more than `reserved` or less is in a block's or a given back block's group,
/// because nothing else can have moved. By position; both lists have one entry per node.
std::vector<std::int64_t> SettledReserve(const std::vector<HeldMemory>& blocks,
                                         const std::vector<std::int64_t>& reserved,
                                         const std::vector<std::int64_t>& capacity);

/// How much more of a type a set of nodes could hold beside blocks that may move on their own nodes: never less than
/// what is free on it, and more where a block of several nodes can make room. The figure is exact: a further block of
/// so much on the set, and the others, all find their place.
class MemoryRoom {
 public:
  /// capacity: by position, one per node.
  MemoryRoom(std::vector<HeldMemory> blocks, std::vector<std::int64_t> capacity);

  /// Of nodes that are among the capacity's.
  std::int64_t On(const Mask& mask) const;

 private:
  std::vector<HeldMemory> blocks_;
  std::vector<std::int64_t> capacity_;
  mutable std::vector<std::int64_t> all_sets_;  // where nodes are few, once one was asked for
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_ALLOCATION_STATE_MEMORY_SETTLE_H_
