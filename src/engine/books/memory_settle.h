// Where the memory of the remaining blocks can sit after others were given back.
#ifndef BERTH_ENGINE_BOOKS_MEMORY_SETTLE_H_
#define BERTH_ENGINE_BOOKS_MEMORY_SETTLE_H_

#include <cstdint>
#include <vector>

#include "engine/topology/mask.h"

namespace berth::engine {

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

}  // namespace berth::engine

#endif  // BERTH_ENGINE_BOOKS_MEMORY_SETTLE_H_
