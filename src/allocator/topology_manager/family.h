// The sets of nodes that are enough for a request, described instead of listed: docs/design/alignment.md.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_MANAGER_FAMILY_H_
#define BERTH_ALLOCATOR_TOPOLOGY_MANAGER_FAMILY_H_

#include <cstdint>
#include <vector>

#include "allocator/topology/mask.h"

namespace berth::allocator {

/// Something that counts once for a set with any of these nodes: devices that sit on several.
struct Shared {
  Mask nodes;
  std::int64_t amount = 0;
};

/// At least `amount`, summed over the nodes of a set and over what is shared by some of them.
struct Need {
  std::int64_t amount = 0;
  std::vector<std::int64_t> on;  ///< by node, >= 0
  std::vector<Shared> shared;

  /// What the set has.
  std::int64_t Of(const Mask& mask) const;
  /// No set has more of it for having this node than this.
  std::int64_t AtMost(std::size_t node) const;
};

/// All non-empty sets with must ⊆ set ⊆ universe that meet every need. With a set every wider one within the universe
/// belongs to it.
struct Family {
  Mask universe;
  Mask must;
  std::vector<Need> needs;

  bool Contains(const Mask& mask) const;
  /// No set belongs to it.
  bool Impossible() const { return !Contains(universe); }
  /// The sets of `inside` that belong to the family together with all other nodes of the universe. An empty set may be
  /// one of them, though it does not count as contained.
  Family Within(const Mask& inside) const;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_MANAGER_FAMILY_H_
