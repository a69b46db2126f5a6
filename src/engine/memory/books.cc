#include "engine/memory/books.h"

#include <algorithm>

namespace berth::engine {
namespace {

constexpr std::string_view kMemory = "memory";

Bytes ReservedOn(const Settings& settings, NumaId node, std::string_view type) {
  const auto types = settings.reserved_memory.find(node);
  if (types == settings.reserved_memory.end()) return {};
  const auto amount = types->second.find(type);
  return amount == types->second.end() ? Bytes{} : amount->second;
}

// The kubelet computes this unsigned and unchecked: a reservation above what the node has gives it about 2^64 bytes to
// hand out (W-M6). Here it gives none (docs/differences.md).
MemoryTable InitialTable(Bytes total, Bytes reserved, Bytes set_aside) {
  MemoryTable out;
  out.total = total;
  out.system_reserved = reserved;
  out.allocatable = std::max(Bytes{}, total - reserved - set_aside);
  out.free = out.allocatable;
  return out;
}

}  // namespace

MemoryLayout::MemoryLayout(const Machine& machine, const NodeIndex& nodes, const Settings& settings)
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

void MemoryLayout::SetHugePages(const NumaNode& node, std::size_t position, const Settings& settings, Bytes& pages) {
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

MemoryBooks::MemoryBooks(const MemoryLayout& layout, const NodeIndex& index,
                         const std::map<NumaId, MemoryNodeState>& state)
    : layout_(&layout), index_(&index), assignments_(layout.nodes()), cells_(layout.nodes()) {
  tables_.resize(layout.nodes() * layout.types().size());
  for (std::size_t node = 0; node < layout.nodes(); ++node) {
    cells_[node] = Mask::Of(node);
    const auto known = state.find(index.id(node));
    if (known == state.end()) continue;
    assignments_[node] = known->second.assignments;
    cells_[node] = index.ToMask(known->second.cells);
    for (const auto& [name, table] : known->second.types)
      if (const auto type = layout.Find(name)) tables_[layout.Slot(node, *type)] = table;
  }
}

void MemoryBooks::Book(Mask group, std::optional<std::size_t> type, std::int64_t bytes) {
  changed_ |= group;
  group.ForEach([&](std::size_t node) {
    ++assignments_[node];
    cells_[node] = group;
    if (!type) return;
    MemoryTable& table = tables_[layout_->Slot(node, *type)];
    const Bytes part{std::min(table.free.v, bytes)};
    table.reserved += part;
    table.free -= part;
    bytes -= part.v;
  });
}

void MemoryBooks::GiveBack(std::size_t node, std::size_t type, std::int64_t& bytes) {
  MemoryTable& table = tables_[layout_->Slot(node, type)];
  const Bytes part{std::min(table.reserved.v, bytes)};
  table.free += part;
  table.reserved -= part;
  bytes -= part.v;
}

void MemoryBooks::Release(Mask group, std::optional<std::size_t> type, std::int64_t bytes) {
  changed_ |= group;
  group.ForEach([&](std::size_t node) {
    if (--assignments_[node] <= 0) assignments_[node] = 0, cells_[node] = Mask::Of(node);
    if (type) GiveBack(node, *type, bytes);
  });
}

void MemoryBooks::Settle(std::size_t type, const std::vector<HeldMemory>& held) {
  std::vector<std::int64_t> reserved;
  std::vector<std::int64_t> capacity;
  for (std::size_t node = 0; node < layout_->nodes(); ++node) {
    const MemoryTable& table = Table(node, type);
    reserved.push_back(table.reserved.v);
    capacity.push_back(table.reserved.v + table.free.v);
  }
  const std::vector<std::int64_t> settled = SettledReserve(held, reserved, capacity);
  for (std::size_t node = 0; node < layout_->nodes(); ++node) {
    if (settled[node] == reserved[node]) continue;
    MemoryTable& table = tables_[layout_->Slot(node, type)];
    table.reserved = Bytes{settled[node]};
    table.free = Bytes{capacity[node] - settled[node]};
    changed_ |= Mask::Of(node);
  }
}

std::map<NumaId, MemoryNodeState> MemoryBooks::Changed() const {
  std::map<NumaId, MemoryNodeState> out;
  changed_.ForEach([&](std::size_t node) {
    MemoryNodeState& state = out[index_->id(node)];
    state.assignments = assignments_[node];
    state.cells = index_->ToNodes(cells_[node]);
    for (std::size_t type = 0; type < layout_->types().size(); ++type)
      if (const std::size_t slot = layout_->Slot(node, type); layout_->Has(slot))
        state.types.emplace(layout_->types()[type], tables_[slot]);
  });
  return out;
}

}  // namespace berth::engine
