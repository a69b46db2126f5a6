#include "allocator/allocation_state/memory_books.h"

#include <algorithm>

namespace berth::allocator {
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
  for (std::size_t node = 0; node < layout_->nodes(); ++node) reserved.push_back(Table(node, type).reserved.v);
  const std::vector<std::int64_t> capacity = Capacity(type);
  const std::vector<std::int64_t> settled = SettledReserve(held, reserved, capacity);
  for (std::size_t node = 0; node < layout_->nodes(); ++node) {
    if (settled[node] == reserved[node]) continue;
    MemoryTable& table = tables_[layout_->Slot(node, type)];
    table.reserved = Bytes{settled[node]};
    table.free = Bytes{capacity[node] - settled[node]};
    changed_ |= Mask::Of(node);
  }
}

std::vector<std::int64_t> MemoryBooks::Capacity(std::size_t type) const {
  std::vector<std::int64_t> out;
  for (std::size_t node = 0; node < layout_->nodes(); ++node) {
    const MemoryTable& table = Table(node, type);
    out.push_back(table.reserved.v + table.free.v);
  }
  return out;
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

}  // namespace berth::allocator
