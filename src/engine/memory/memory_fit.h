// Which sets of nodes may hold a memory request: rules/memory#hints.
#ifndef BERTH_ENGINE_MEMORY_MEMORY_FIT_H_
#define BERTH_ENGINE_MEMORY_MEMORY_FIT_H_

#include <optional>
#include <vector>

#include "engine/align/hints.h"
#include "engine/books/pod_books.h"
#include "engine/demand/demand.h"

namespace berth::engine {

/// The rules for one request on the books as they are. Holds references; not kept.
class MemoryFit {
 public:
  MemoryFit(const PodBooks& books, const std::vector<MemoryNeed>& needs);

  /// All sets that would do: sets in use and single nodes one by one, sets of several unused nodes as a family. Without
  /// names; "no preference" if there is none.
  HintList All() const;
  /// The best of them that holds all of `required`: preferred before not, then the narrowest.
  std::optional<MaskHint> Best(const Mask& required) const;
  /// Free memory of the set is enough, without what init containers left.
  static bool Free(const PodBooks& books, const std::vector<MemoryNeed>& needs, const Mask& mask);
  /// Nodes of the narrowest set that would do if nothing were taken; all nodes if none would.
  int narrowest() const { return narrowest_; }
  /// A set of several nodes that would tie in a node which is in use alone or in another group.
  static bool Violates(const PodBooks& books, const Mask& mask);
  /// False: a search among many different nodes ended at its limit (docs/design/alignment.md).
  bool exact() const { return exact_; }

 private:
  static bool Enough(const std::vector<Need>& needs, const Mask& mask);
  std::optional<Mask> Narrowest(const std::vector<Need>& needs, const Mask& allowed, const Mask& required,
                                int least) const;
  bool Admissible(const Mask& mask) const;
  bool FreeWithReuse(const Mask& mask) const;
  MaskHint ToHint(const Mask& mask) const { return {mask, false, mask.Count() == narrowest_}; }

  const PodBooks& books_;
  const std::vector<MemoryNeed>& needs_;
  std::vector<Need> allocatable_;
  std::vector<Need> free_;
  Mask all_;
  Mask unused_;                   // nodes without assignments
  std::vector<Mask> particular_;  // singles, groups and sets with something to reuse
  mutable bool exact_ = true;
  int narrowest_;
};

}  // namespace berth::engine

#endif  // BERTH_ENGINE_MEMORY_MEMORY_FIT_H_
