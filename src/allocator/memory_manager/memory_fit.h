// NUMA node sets that may hold a memory request, as topology hints: rules/memory#hints.
#ifndef BERTH_ALLOCATOR_MEMORY_MANAGER_MEMORY_FIT_H_
#define BERTH_ALLOCATOR_MEMORY_MANAGER_MEMORY_FIT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/demand/demand.h"
#include "allocator/topology_manager/hints.h"

namespace berth::allocator {

/// What pods hold, `record` in place of the ledger's record of the same pod: by type in the layout's order, the blocks
/// of each set of nodes together.
std::vector<std::vector<HeldMemory>> AllHeldMemory(const PodBooks& books, const PodRecord& record);

/// What sets of nodes could hold more of one type: what is free, and where groups may overlap also what others can make
/// room for. Holds a reference to books that do not change meanwhile.
class TypeRoom {
 public:
  TypeRoom(const PodBooks& books, std::string_view type);

  /// 0 of a type that no node has.
  std::int64_t On(const Mask& mask) const;

 private:
  const PodBooks& books_;
  std::optional<std::size_t> type_;
  std::optional<MemoryRoom> beside_;  // where groups may overlap
};

/// The rules for one request on the books as they are. Holds references; not kept.
class MemoryFit {
 public:
  MemoryFit(const PodBooks& books, const std::vector<MemoryNeed>& needs);

  /// All sets that would do: sets in use and single nodes one by one, sets of several unused nodes as a family; where
  /// groups may overlap, sets of several nodes with enough free memory as a family, and others one by one. Without
  /// names; "no preference" if there is none.
  HintList All() const;
  /// The best of them that holds all of `required`: preferred before not, then the narrowest.
  std::optional<MaskHint> Best(const Mask& required) const;
  /// The room of the set is enough (TypeRoom), without what init containers left.
  static bool Free(const PodBooks& books, const std::vector<MemoryNeed>& needs, const Mask& mask);
  /// Nodes of the narrowest set that would do if nothing were taken; all nodes if none would.
  int narrowest() const { return narrowest_; }
  /// A set of several nodes that would tie in a node which is in use alone or in another group, where that may not be.
  static bool Violates(const PodBooks& books, const Mask& mask);
  /// False: a search among many different nodes ended at its limit (docs/design/alignment.md).
  bool exact() const { return exact_; }

 private:
  static bool Enough(const std::vector<Need>& needs, const Mask& mask);
  std::optional<Mask> Narrowest(const std::vector<Need>& needs, const Mask& allowed, const Mask& required,
                                int least) const;
  void AddParticular();
  HintFamily Several() const;
  bool Admissible(const Mask& mask) const;
  bool FreeWithReuse(const Mask& mask) const;
  MaskHint ToHint(const Mask& mask) const { return {mask, false, mask.Count() == narrowest_}; }

  const PodBooks& books_;
  const std::vector<MemoryNeed>& needs_;
  std::vector<Need> allocatable_;
  std::vector<Need> free_;
  Mask all_;
  Mask open_;                     // nodes of which any several make a set: unused ones, or all where groups may overlap
  std::vector<Mask> particular_;  // sets that are looked at one by one
  std::vector<MemoryRoom> rooms_;  // by need, where groups may overlap
  mutable bool exact_ = true;
  int narrowest_;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_MEMORY_MANAGER_MEMORY_FIT_H_
