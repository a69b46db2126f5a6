#include "allocator/allocation_state/memory_settle.h"

#include <algorithm>
#include <utility>

namespace berth::allocator {
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
  /// Of a block: what found no place.
  std::int64_t missing(std::size_t block) const { return missing_[block]; }

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

/// Nodes up to which the room of all sets is worked out at once.
constexpr std::size_t kNodesOfAllSets = 8;

std::size_t NumberOf(const Mask& nodes) {
  std::size_t out = 0;
  nodes.ForEach([&](std::size_t node) { out |= std::size_t{1} << node; });
  return out;
}

/// By set of nodes, a bit each. A further block on a set finds as much as the tightest set around it has left beside
/// the blocks within: those are what cannot go elsewhere.
std::vector<std::int64_t> RoomOfAllSets(const std::vector<HeldMemory>& blocks,
                                        const std::vector<std::int64_t>& capacity) {
  const std::size_t sets = std::size_t{1} << capacity.size();
  std::vector<std::int64_t> within(sets);
  for (const HeldMemory& block : blocks) within[NumberOf(block.nodes)] += block.bytes;
  std::vector<std::int64_t> all(sets);  // capacity
  for (std::size_t node = 0; node < capacity.size(); ++node) {
    const std::size_t bit = std::size_t{1} << node;
    for (std::size_t set = bit; set < sets; ++set) {
      if ((set & bit) == 0) continue;
      within[set] += within[set ^ bit];
      all[set] += capacity[node];
    }
  }
  std::vector<std::int64_t> left(sets);
  for (std::size_t set = 0; set < sets; ++set) left[set] = all[set] - within[set];
  const std::int64_t short_of = *std::ranges::min_element(left);  // what the blocks themselves do not find; 0: nothing
  for (std::size_t bit = 1; bit < sets; bit *= 2)
    for (std::size_t set = 0; set < sets; ++set)
      if ((set & bit) == 0) left[set] = std::min(left[set], left[set | bit]);
  for (std::size_t set = 0; set < sets; ++set) left[set] = std::min(left[set] - short_of, all[set]);
  return left;
}

}  // namespace

std::vector<std::int64_t> SettledReserve(const std::vector<HeldMemory>& blocks,
                                         const std::vector<std::int64_t>& reserved,
                                         const std::vector<std::int64_t>& capacity) {
  Flow flow(blocks, reserved.size());
  flow.Place(reserved);
  flow.Place(capacity);
  return flow.used();
}

MemoryRoom::MemoryRoom(std::vector<HeldMemory> blocks, std::vector<std::int64_t> capacity)
    : blocks_(std::move(blocks)), capacity_(std::move(capacity)) {}

std::int64_t MemoryRoom::On(const Mask& mask) const {
  if (capacity_.size() <= kNodesOfAllSets) {
    if (all_sets_.empty()) all_sets_ = RoomOfAllSets(blocks_, capacity_);
    return all_sets_[NumberOf(mask)];
  }
  HeldMemory further{.nodes = mask, .bytes = 0};
  mask.ForEach([&](std::size_t node) { further.bytes += capacity_[node]; });
  std::vector<HeldMemory> blocks = blocks_;
  blocks.push_back(further);  // the last one: those that are there come first
  Flow flow(blocks, capacity_.size());
  flow.Place(capacity_);
  return further.bytes - flow.missing(blocks.size() - 1);
}

}  // namespace berth::allocator
