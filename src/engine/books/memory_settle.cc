#include "engine/books/memory_settle.h"

#include <algorithm>

namespace berth::engine {
namespace {

/// A flow of blocks onto nodes, made by augmenting paths.
class Flow {
 public:
  Flow(const std::vector<HeldMemory>& blocks, std::size_t nodes)
      : blocks_(blocks), used_(nodes), parts_(blocks.size(), std::vector<std::int64_t>(nodes)) {
    for (const HeldMemory& block : blocks) missing_.push_back(block.bytes);
  }

  /// Places what is not placed yet, as far as the rooms allow.
  void Place(const std::vector<std::int64_t>& room) {
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      while (missing_[block] > 0) {
        Mask seen;
        const std::int64_t placed = Push(block, missing_[block], room, seen);
        if (placed == 0) break;
        missing_[block] -= placed;
      }
    }
  }

  const std::vector<std::int64_t>& used() const { return used_; }

 private:
  /// Finds room for up to `want` of a block, moving others out of the way. Returns how much it found.
  std::int64_t Push(std::size_t block, std::int64_t want, const std::vector<std::int64_t>& room, Mask& seen) {
    for (Mask left = blocks_[block].nodes - seen; !left.empty(); left = blocks_[block].nodes - seen) {
      const std::size_t node = left.First();
      seen.Add(node);
      std::int64_t found = std::min(want, room[node] - used_[node]);
      if (found > 0) {
        used_[node] += found;
      } else {
        found = Displace(block, node, want, room, seen);
      }
      if (found > 0) {
        parts_[block][node] += found;
        return found;
      }
    }
    return 0;
  }

  std::int64_t Displace(std::size_t block, std::size_t node, std::int64_t want, const std::vector<std::int64_t>& room,
                        Mask& seen) {
    for (std::size_t other = 0; other < blocks_.size(); ++other) {
      if (other == block || parts_[other][node] == 0) continue;
      const std::int64_t moved = Push(other, std::min(want, parts_[other][node]), room, seen);
      if (moved == 0) continue;
      parts_[other][node] -= moved;
      return moved;
    }
    return 0;
  }

  const std::vector<HeldMemory>& blocks_;
  std::vector<std::int64_t> used_;                // by node
  std::vector<std::vector<std::int64_t>> parts_;  // [block][node]
  std::vector<std::int64_t> missing_;             // by block
};

}  // namespace

std::vector<std::int64_t> SettledReserve(const std::vector<HeldMemory>& blocks,
                                         const std::vector<std::int64_t>& reserved,
                                         const std::vector<std::int64_t>& capacity) {
  Flow flow(blocks, reserved.size());
  flow.Place(reserved);
  flow.Place(capacity);
  return flow.used();
}

}  // namespace berth::engine
