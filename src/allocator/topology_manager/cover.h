// The best set of nodes that meets several needs at once, without walking all sets.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_MANAGER_COVER_H_
#define BERTH_ALLOCATOR_TOPOLOGY_MANAGER_COVER_H_

#include <optional>
#include <vector>

#include "allocator/topology_manager/family.h"
#include "allocator/topology_manager/search.h"

namespace berth::allocator {

/// Sets that touch exactly `wanted` of some groups (sockets).
struct TouchRule {
  std::vector<Mask> groups;
  int wanted = 0;

  int Touched(const Mask& mask) const {
    int out = 0;
    for (const Mask& group : groups) out += group.Meets(mask) ? 1 : 0;
    return out;
  }
};

/// A search among the sets with must ⊆ set ⊆ allowed that meet all needs. Holds references.
///
/// Nodes are decided from the highest down and left out first, so that sets come up in ascending order. A branch is
/// left where the best remaining nodes of one need alone, or of all needs in proportion, would not be enough. Of
/// exchangeable nodes the lowest are taken.
class Cover {
 public:
  struct Request {
    std::vector<const Need*> needs;
    Mask allowed;
    Mask must;
    const TouchRule* touch = nullptr;
    const Distances* distances = nullptr;  ///< not null: the closest set, not the numerically smallest
  };

  Cover(const Request& request, Steps& steps);

  /// The best set of exactly `count` nodes; nullopt if there is none or the steps ran out before any was found.
  std::optional<Mask> Exactly(int count);
  /// The best one with the fewest nodes, at least `least`; nullopt as above.
  std::optional<Mask> Fewest(int least);
  /// A set that stays when nodes are left out, highest first, as long as the rest meets the needs and has at least
  /// `least` nodes. Does not look at `touch`. nullopt if not even all nodes meet them.
  std::optional<Mask> Shrunk(int least) const;

 private:
  std::optional<Mask> Single() const;
  bool Meets(const Mask& mask) const;
  void Prepare();
  bool Hopeless(std::size_t n, int left) const;
  bool Walk(std::size_t n, int left, Closest& closest);
  bool Leaf(const Mask& mask, Closest& closest) const;
  void Take(std::size_t position);
  void GiveBack(std::size_t position);
  bool SameKind(std::size_t a, std::size_t b) const;
  std::int64_t BestOf(std::size_t need, std::size_t n, int k) const {
    return best_[(need * (nodes_.size() + 1) + n) * (nodes_.size() + 1) + static_cast<std::size_t>(k)];
  }
  void FillBest();
  void FillRow(std::size_t row, const std::vector<std::int64_t>& values);

  const Request& request_;
  Steps& steps_;
  bool prepared_ = false;  // the tables below are filled
  std::vector<std::size_t> nodes_;
  std::vector<std::int64_t> best_;     // [need][n][k]: at most what k of the first n nodes have together
  std::vector<std::size_t> kinds_;     // by position
  std::vector<int> taken_;             // by kind
  std::vector<int> musts_;             // by n: of the first n nodes
  std::vector<std::int64_t> missing_;  // by need
  std::vector<std::int64_t> share_;    // by position: at most what a node adds to all needs in proportion; rounded up
  std::int64_t missing_share_ = 0;
  Mask mask_;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_MANAGER_COVER_H_
