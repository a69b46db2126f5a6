// Memory of every type on every node, as one decision changes it: rules/memory#counters and
// rules/memory#booking.
#ifndef BERTH_ALLOCATOR_ALLOCATION_STATE_MEMORY_BOOKS_H_
#define BERTH_ALLOCATOR_ALLOCATION_STATE_MEMORY_BOOKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "allocator/allocation_state/memory_settle.h"
#include "allocator/node/memory_layout.h"
#include "allocator/topology/mask.h"
#include "model/ledger.h"

namespace berth::allocator {

/// A working copy of Ledger::memory.
class MemoryBooks {
 public:
  MemoryBooks(const MemoryLayout& layout, const NodeIndex& index, const std::map<NumaId, MemoryNodeState>& state);

  const MemoryLayout& layout() const { return *layout_; }
  const MemoryTable& Table(std::size_t node, std::size_t type) const { return tables_[layout_->Slot(node, type)]; }
  int Assignments(std::size_t node) const { return assignments_[node]; }
  const Mask& Cells(std::size_t node) const { return cells_[node]; }

  /// Books `bytes` of a type on a group, lowest node first, and ties the nodes together. A type of nullopt (no node has
  /// it) only counts the assignment.
  void Book(Mask group, std::optional<std::size_t> type, std::int64_t bytes);
  /// Gives back; inside a group it may come from another node than it was booked on (rules/memory#release).
  void Release(Mask group, std::optional<std::size_t> type, std::int64_t bytes);
  /// Moves what is reserved of a type to where the blocks that are left can hold it, and gives back what none holds
  /// (after a group and a block on one of its nodes overlapped). Blocks that never overlapped move nothing.
  void Settle(std::size_t type, const std::vector<HeldMemory>& held);
  /// By node: what it has of a type, reserved or free.
  std::vector<std::int64_t> Capacity(std::size_t type) const;

  /// Nodes that differ from what the books were opened with.
  std::map<NumaId, MemoryNodeState> Changed() const;

 private:
  const MemoryLayout* layout_;
  const NodeIndex* index_;
  std::vector<MemoryTable> tables_;
  std::vector<int> assignments_;
  std::vector<Mask> cells_;
  Mask changed_;

  void GiveBack(std::size_t node, std::size_t type, std::int64_t& bytes);
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_ALLOCATION_STATE_MEMORY_BOOKS_H_
