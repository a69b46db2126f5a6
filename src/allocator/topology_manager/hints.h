// Topology hints of resources: listed one by one, or described as a family of node sets.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_MANAGER_HINTS_H_
#define BERTH_ALLOCATOR_TOPOLOGY_MANAGER_HINTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "allocator/topology/mask.h"
#include "allocator/topology_manager/cover.h"
#include "allocator/topology_manager/family.h"
#include "model/placement.h"

namespace berth::allocator {

struct MaskHint {
  Mask mask;
  bool any = false;  ///< no mask: any node will do; mask is empty
  bool preferred = false;
  friend bool operator==(const MaskHint&, const MaskHint&) = default;
};
/// The same for people and records: with the numbers of the nodes.
TopologyHint ToHint(const NodeIndex& nodes, const MaskHint& hint);

/// All sets of a family as hints. Preferred are those with `preferred_count` nodes and those the rule names.
struct HintFamily {
  Family family;
  int preferred_count = 0;
  std::optional<TouchRule> preferred_touch;

  bool Contains(const Mask& mask) const { return family.Contains(mask); }
  /// Of a set it contains.
  bool Prefers(const Mask& mask) const {
    return mask.Count() == preferred_count ||
           (preferred_touch && preferred_touch->Touched(mask) == preferred_touch->wanted);
  }
};

/// What a provider says about a resource. Several resources that say the very same are one list here, but count as one
/// each in the merge.
struct HintList {
  enum class Kind { kNoPreference, kHints };  ///< kHints without any hint: impossible
  std::vector<std::string> resources;         ///< empty: one without a name
  Kind kind = Kind::kNoPreference;
  std::vector<MaskHint> hints;
  /// More hints; never an impossible family. At most one list of a merge has a family with a `preferred_touch`.
  std::optional<HintFamily> family;
  bool exact = true;  ///< false: the search for `preferred_count` ended at its limit

  std::size_t copies() const { return resources.empty() ? 1 : resources.size(); }
  bool Impossible() const { return kind == Kind::kHints && hints.empty() && !family; }
};

/// The hints of a list one by one, narrowest first, or some of them.
struct ListedHints {
  std::vector<MaskHint> hints;
  bool complete =
      true;  ///< false: the family has too many nodes to list its sets; the narrowest, lowest one stands for it
};
ListedHints ListHints(const HintList& list);
/// Of these only the preferred ones. None when `complete` is false.
ListedHints ListPreferredHints(const HintList& list);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_MANAGER_HINTS_H_
