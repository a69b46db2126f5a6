// Memory layout of a machine: types of memory on its NUMA nodes, and the allocatable amount of each for pods:
// rules/memory#counters.
#ifndef BERTH_ALLOCATOR_NODE_MEMORY_LAYOUT_H_
#define BERTH_ALLOCATOR_NODE_MEMORY_LAYOUT_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/node/node_settings.h"
#include "allocator/topology/mask.h"
#include "model/ledger.h"
#include "model/machine.h"

namespace berth::allocator {

/// Types and initial counters; made once. Nodes are positions in the node index.
class MemoryLayout {
 public:
  MemoryLayout() = default;
  MemoryLayout(const Machine& machine, const NodeIndex& nodes, const NodeSettings& settings);

  std::size_t nodes() const { return nodes_; }
  const std::vector<std::string>& types() const { return types_; }
  /// nullopt: no node has any.
  std::optional<std::size_t> Find(std::string_view type) const;
  std::size_t Slot(std::size_t node, std::size_t type) const { return node * types_.size() + type; }
  bool Has(std::size_t slot) const { return has_[slot] != 0; }
  const MemoryTable& Initial(std::size_t slot) const { return initial_[slot]; }
  std::map<NumaId, MemoryNodeState> InitialState(const NodeIndex& nodes) const;

 private:
  void SetHugePages(const NumaNode& node, std::size_t position, const NodeSettings& settings, Bytes& pages);

  std::size_t nodes_ = 0;
  std::vector<std::string> types_;  // ascending
  std::vector<MemoryTable> initial_;
  std::vector<char> has_;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_NODE_MEMORY_LAYOUT_H_
