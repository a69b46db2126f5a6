// Shared parts of the searches for sets of NUMA nodes: a bound on their steps, exchangeable nodes, distances.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_MANAGER_SEARCH_H_
#define BERTH_ALLOCATOR_TOPOLOGY_MANAGER_SEARCH_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "allocator/topology/mask.h"

namespace berth::allocator {

/// Nodes up to which every search ends with the exact answer, however many steps it takes.
inline constexpr std::size_t kExactNodes = 16;
/// Steps of one merge (or one choice of memory nodes) on more nodes.
inline constexpr std::int64_t kMostSteps = std::int64_t{1} << 14;

/// Counts steps and says when there have been too many.
class Steps {
 public:
  explicit Steps(std::int64_t most = kMostSteps) : most_(most) {}
  /// Enough for every search among at most kExactNodes nodes.
  static Steps For(const Mask& nodes) { return nodes.Count() <= static_cast<int>(kExactNodes) ? Unbounded() : Steps(); }
  static Steps Unbounded() { return Steps(std::numeric_limits<std::int64_t>::max()); }

  /// False: give up.
  bool Take() { return ++used_ <= most_; }
  bool Exceeded() const { return used_ > most_; }
  bool Bounded() const { return most_ < std::numeric_limits<std::int64_t>::max(); }
  std::int64_t used() const { return used_; }

 private:
  std::int64_t most_;
  std::int64_t used_ = 0;
};

/// Distances between nodes as sums of both directions. Among sets of equally many nodes the smaller sum is the smaller
/// average: dividing by the square of the count keeps the order, also in floating point.
class Distances {
 public:
  Distances() = default;
  /// By position; a missing row or entry counts as unknown, further than any that was reported.
  Distances(std::size_t nodes, const std::vector<std::vector<unsigned>>& rows) : nodes_(nodes), cells_(nodes * nodes) {
    for (std::size_t i = 0; i < nodes; ++i)
      for (std::size_t j = 0; j < nodes; ++j)
        cells_[i * nodes + j] = i < rows.size() && j < rows[i].size() ? rows[i][j] : kUnknown;
  }

  std::int64_t Self(std::size_t i) const { return cells_[i * nodes_ + i]; }
  /// There and back.
  std::int64_t Pair(std::size_t i, std::size_t j) const { return cells_[i * nodes_ + j] + cells_[j * nodes_ + i]; }
  /// What `node` adds to the sum of a set.
  std::int64_t Added(const Mask& mask, std::size_t node) const {
    std::int64_t out = Self(node);
    mask.ForEach([&](std::size_t other) { out += Pair(node, other); });
    return out;
  }
  std::int64_t Sum(const Mask& mask) const {
    std::int64_t out = 0;
    mask.ForEach([&](std::size_t i) { mask.ForEach([&](std::size_t j) { out += cells_[i * nodes_ + j]; }); });
    return out;
  }
  /// Exchanging the two changes no sum of a set within `within`.
  bool Exchangeable(std::size_t a, std::size_t b, const Mask& within) const {
    bool same = Self(a) == Self(b);
    within.ForEach([&](std::size_t i) { same = same && (i == a || i == b || Pair(a, i) == Pair(b, i)); });
    return same;
  }

 private:
  static constexpr std::int64_t kUnknown = 1 << 20;
  std::size_t nodes_ = 0;
  std::vector<std::int64_t> cells_;
};

/// The set with the smallest sum of distances among those a search offers in ascending order, or simply the first one.
class Closest {
 public:
  /// distances: nullptr: the first one is the best.
  Closest(const Distances* distances, const Mask& allowed) : distances_(distances) {
    if (distances == nullptr) return;
    self_ = pair_ = std::numeric_limits<std::int64_t>::max();
    allowed.ForEach([&](std::size_t i) {
      self_ = std::min(self_, distances->Self(i));
      allowed.ForEach([&](std::size_t j) {
        if (i != j) pair_ = std::min(pair_, distances->Pair(i, j));
      });
    });
  }

  /// No set of `mask` and `left` more nodes can be better than the best so far.
  bool Hopeless(const Mask& mask, int left) const {
    if (distances_ == nullptr || !found_) return false;
    const std::int64_t more = left;
    const std::int64_t pairs = more * mask.Count() + more * (more - 1) / 2;
    return distances_->Sum(mask) + more * self_ + (pairs == 0 ? 0 : pairs * pair_) >= sum_;
  }
  /// True: this is the best, the search may end.
  bool Offer(const Mask& mask) {
    const std::int64_t sum = distances_ == nullptr ? 0 : distances_->Sum(mask);
    if (found_ && sum >= sum_) return false;
    found_ = true;
    sum_ = sum;
    best_ = mask;
    return distances_ == nullptr;
  }
  bool found() const { return found_; }
  const Mask& best() const { return best_; }

 private:
  const Distances* distances_;
  std::int64_t self_ = 0;
  std::int64_t pair_ = 0;
  bool found_ = false;
  std::int64_t sum_ = 0;
  Mask best_;
};

/// For each item the first one that equal(a, b) says is exchangeable with it.
template <class Equal>
std::vector<std::size_t> KindsOf(std::size_t items, const Equal& equal) {
  std::vector<std::size_t> out;
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < items; ++i) {
    const auto kind = std::find_if(first.begin(), first.end(), [&](std::size_t other) { return equal(other, i); });
    out.push_back(kind == first.end() ? i : *kind);
    if (kind == first.end()) first.push_back(i);
  }
  return out;
}

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_MANAGER_SEARCH_H_
