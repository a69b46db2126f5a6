// Which sets of nodes may hold a memory request: spec cpu-topology-memory 4.5 (calculate).
#ifndef BERTH_ENGINE_MEMORY_FIT_H_
#define BERTH_ENGINE_MEMORY_FIT_H_

#include <optional>
#include <vector>

#include "engine/books.h"
#include "engine/demand.h"
#include "engine/memory/narrowest.h"

namespace berth::engine {

/// The rules for one request on the books as they are. Holds references; not kept.
class MemoryFit {
 public:
  MemoryFit(const Books& books, const std::vector<MemoryNeed>& needs);

  /// All sets that would do.
  std::vector<MaskHint> All() const;
  /// The best of them that holds all of `required`: preferred before not, then the narrowest.
  std::optional<MaskHint> Best(Mask required) const;
  /// Free memory of the set is enough, without what init containers left.
  bool Free(Mask mask) const { return free_.Enough(mask); }
  /// Nodes of the narrowest set that would do if nothing were taken; all nodes if none would.
  int narrowest() const { return narrowest_; }
  /// A set of several nodes that would tie in a node which is in use alone or in another group.
  bool Violates(Mask mask) const;

 private:
  bool Admissible(Mask mask) const;
  bool FreeWithReuse(Mask mask) const;
  MaskHint ToHint(Mask mask) const { return {mask, false, CountOf(mask) == narrowest_}; }

  const Books& books_;
  const std::vector<MemoryNeed>& needs_;
  Amounts allocatable_;
  Amounts free_;
  Mask all_;
  Mask unused_ = 0;               // nodes without assignments
  std::vector<Mask> particular_;  // singles, groups and sets with something to reuse
  int narrowest_;
};

}  // namespace berth::engine

#endif  // BERTH_ENGINE_MEMORY_FIT_H_
