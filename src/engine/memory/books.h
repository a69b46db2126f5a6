// Memory of every type on every node, as one decision changes it: spec cpu-topology-memory 4.3, 4.6 (book), 4.8.
#ifndef BERTH_ENGINE_MEMORY_BOOKS_H_
#define BERTH_ENGINE_MEMORY_BOOKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/align/mask.h"
#include "engine/memory/settle.h"
#include "engine/settings.h"
#include "model/ledger.h"

namespace berth::engine {

/// Types and initial counters; made once. Nodes are positions in the node index.
class MemoryLayout {
 public:
  MemoryLayout() = default;
  MemoryLayout(const Machine& machine, const NodeIndex& nodes, const Settings& settings);

  std::size_t nodes() const { return nodes_; }
  const std::vector<std::string>& types() const { return types_; }
  /// nullopt: no node has any.
  std::optional<std::size_t> Find(std::string_view type) const;
  std::size_t Slot(std::size_t node, std::size_t type) const { return node * types_.size() + type; }
  bool Has(std::size_t slot) const { return has_[slot] != 0; }
  const MemoryTable& Initial(std::size_t slot) const { return initial_[slot]; }
  std::map<NumaId, MemoryNodeState> InitialState(const NodeIndex& nodes) const;

 private:
  void SetHugePages(const NumaNode& node, std::size_t position, const Settings& settings, Bytes& pages);

  std::size_t nodes_ = 0;
  std::vector<std::string> types_;  // ascending
  std::vector<MemoryTable> initial_;
  std::vector<char> has_;
};

/// A working copy of Ledger::memory.
class MemoryBooks {
 public:
  MemoryBooks(const MemoryLayout& layout, const NodeIndex& index, const std::map<NumaId, MemoryNodeState>& state);

  const MemoryLayout& layout() const { return *layout_; }
  const MemoryTable& Table(std::size_t node, std::size_t type) const { return tables_[layout_->Slot(node, type)]; }
  int Assignments(std::size_t node) const { return assignments_[node]; }
  Mask Cells(std::size_t node) const { return cells_[node]; }

  /// Books `bytes` of a type on a group, lowest node first, and ties the nodes together. A type of nullopt (no node has
  /// it) only counts the assignment.
  void Book(Mask group, std::optional<std::size_t> type, std::int64_t bytes);
  /// Gives back; inside a group it may come from another node than it was booked on (spec 4.8).
  void Release(Mask group, std::optional<std::size_t> type, std::int64_t bytes);
  /// Moves what is reserved of a type to where the blocks that are left can hold it, and gives back what none holds
  /// (after a group and a block on one of its nodes overlapped). Blocks that never overlapped move nothing.
  void Settle(std::size_t type, const std::vector<HeldMemory>& held);

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

}  // namespace berth::engine

#endif  // BERTH_ENGINE_MEMORY_BOOKS_H_
