#include "allocator/node/memory_layout.h"

#include <algorithm>

#include "model/resources.h"

namespace berth::allocator {
namespace {

constexpr std::string_view kMemory = "memory";

Bytes ReservedOn(const NodeSettings& settings, NumaId node, std::string_view type) {
  const auto types = settings.reserved_memory.find(node);
  if (types == settings.reserved_memory.end()) return {};
  const auto amount = types->second.find(type);
  return amount == types->second.end() ? Bytes{} : amount->second;
}

// The kubelet computes this unsigned and unchecked: a reservation above what the node has gives it about 2^64 bytes to
// hand out. Here it gives none (docs/differences.md).
MemoryTable InitialTable(Bytes total, Bytes reserved, Bytes set_aside) {
  MemoryTable out;
  out.total = total;
  out.system_reserved = reserved;
  out.allocatable = std::max(Bytes{}, total - reserved - set_aside);
  out.free = out.allocatable;
  return out;
}

}  // namespace

MemoryLayout::MemoryLayout(const Machine& machine, const NodeIndex& nodes, const NodeSettings& settings)
    : nodes_(nodes.size()), types_{std::string(kMemory)} {
  for (const NumaNode& node : machine.nodes)
    for (const HugePages& pages : node.hugepages) types_.push_back(HugePagesName(pages.page_size));
  std::sort(types_.begin(), types_.end());
  types_.erase(std::unique(types_.begin(), types_.end()), types_.end());
  initial_.resize(nodes_ * types_.size());
  has_.resize(initial_.size());
  for (const NumaNode& node : machine.nodes) {
    const std::size_t position = *nodes.Find(node.id);
    Bytes pages{};
    SetHugePages(node, position, settings, pages);
    const std::size_t slot = Slot(position, *Find(kMemory));
    initial_[slot] = InitialTable(node.memory, ReservedOn(settings, node.id, kMemory), pages);
    has_[slot] = 1;
  }
}

void MemoryLayout::SetHugePages(const NumaNode& node, std::size_t position, const NodeSettings& settings,
                                Bytes& pages) {
  for (const HugePages& size : node.hugepages) {
    const std::string type = HugePagesName(size.page_size);
    const Bytes total{size.page_size.v * size.count};
    const std::size_t slot = Slot(position, *Find(type));
    initial_[slot] = InitialTable(total, ReservedOn(settings, node.id, type), {});
    has_[slot] = 1;
    pages += total;
  }
}

std::optional<std::size_t> MemoryLayout::Find(std::string_view type) const {
  const auto it = std::lower_bound(types_.begin(), types_.end(), type);
  if (it == types_.end() || *it != type) return std::nullopt;
  return static_cast<std::size_t>(it - types_.begin());
}

std::map<NumaId, MemoryNodeState> MemoryLayout::InitialState(const NodeIndex& nodes) const {
  std::map<NumaId, MemoryNodeState> out;
  for (std::size_t node = 0; node < nodes_; ++node) {
    MemoryNodeState& state = out[nodes.id(node)];
    state.cells = {nodes.id(node)};
    for (std::size_t type = 0; type < types_.size(); ++type)
      if (Has(Slot(node, type))) state.types.emplace(types_[type], initial_[Slot(node, type)]);
  }
  return out;
}

}  // namespace berth::allocator
