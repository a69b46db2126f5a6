#include "node/ledger/adopt_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "allocator/allocation_state/memory_settle.h"

namespace berth::ledger {
namespace {

using Nodes = MemoryAdoption::Nodes;

std::int64_t ReservedOn(const Nodes& nodes, NumaId id, const std::string& type) {
  const auto node = nodes.find(id);
  if (node == nodes.end()) return 0;
  const auto table = node->second.types.find(type);
  return table == node->second.types.end() ? 0 : std::max<std::int64_t>(0, table->second.reserved.v);
}

std::int64_t RoomOn(const MemoryNodeState& node, const std::string& type) {
  const auto table = node.types.find(type);
  return table == node.types.end() ? 0 : table->second.allocatable.v;
}

/// Takes nodes that are gone out of a pod's blocks.
MemoryAdoption::Outcome Shrink(PodRecord& pod, const Nodes& empty) {
  NodeSet gone;
  for (Placement& placement : pod.placements) {
    if (!placement.memory) continue;
    for (MemoryBlock& block : *placement.memory) {
      NodeSet left;
      for (const NumaId node : block.nodes) (empty.contains(node) ? left : gone).Insert(node);
      if (left.empty()) return {false, fmt::format("NUMA nodes {} do not exist any more", FormatIds(block.nodes))};
      if (block.size.v < 0) return {false, fmt::format("what it holds of {} is no amount", block.type)};
      block.nodes = std::move(left);
    }
  }
  return {true, gone.empty() ? "" : fmt::format("NUMA nodes {} do not exist any more", FormatIds(gone))};
}

}  // namespace

std::map<NumaId, std::int64_t> MemoryAdoption::Seats(const std::string& type) const {
  std::vector<std::int64_t> reserved;
  std::vector<std::int64_t> room;
  std::map<NumaId, std::size_t> position;
  for (const auto& [id, node] : empty_) {
    position.emplace(id, room.size());
    room.push_back(RoomOn(node, type));
    reserved.push_back(std::min(ReservedOn(saved_, id, type), room.back()));
  }
  std::vector<allocator::HeldMemory> held;
  for (const MemoryBlock& block : blocks_) {
    if (block.type != type) continue;
    allocator::HeldMemory& one = held.emplace_back();
    one.bytes = block.size.v;
    for (const NumaId node : block.nodes) one.nodes.Add(position.find(node)->second);
  }
  const std::vector<std::int64_t> used = allocator::SettledReserve(held, reserved, room);
  std::map<NumaId, std::int64_t> out;
  for (const auto& [id, at] : position) out.emplace(id, used[at]);
  return out;
}

bool MemoryAdoption::Fits(const std::string& type) const {
  std::int64_t room = 0;
  for (const auto& [id, node] : empty_) room += RoomOn(node, type);
  std::int64_t wanted = 0;
  for (const MemoryBlock& block : blocks_) {
    if (block.type != type) continue;
    if (block.size.v > room - wanted) return false;
    wanted += block.size.v;
  }
  std::int64_t seated = 0;
  for (const auto& [id, bytes] : Seats(type)) seated += bytes;
  return seated == wanted;
}

void MemoryAdoption::Drop(PodRecord& pod) {
  for (Placement& placement : pod.placements) placement.memory.reset();
  pod.reusable.memory.clear();
}

MemoryAdoption::Outcome MemoryAdoption::Take(PodRecord& pod) {
  const std::size_t mark = Mark();
  Outcome out = Shrink(pod, empty_);
  std::set<std::string> types;
  for (const Placement& placement : pod.placements) {
    if (!out.kept || !placement.memory) continue;
    for (const MemoryBlock& block : *placement.memory) types.insert(block.type);
    blocks_.insert(blocks_.end(), placement.memory->begin(), placement.memory->end());
  }
  for (const std::string& type : types)
    if (out.kept && !Fits(type))
      out = {false, fmt::format("beside the pods admitted before it there is not enough {} on its nodes", type)};
  if (out.kept) return out;
  BackTo(mark);
  Drop(pod);
  return out;
}

Nodes MemoryAdoption::Counters() const {
  Nodes out = empty_;
  std::set<std::string> types;
  for (const MemoryBlock& block : blocks_) {
    types.insert(block.type);
    for (const NumaId node : block.nodes) {
      MemoryNodeState& state = out.find(node)->second;
      ++state.assignments;
      state.cells |= block.nodes;
    }
  }
  for (auto& [id, state] : out) {  // who was tied together stays so while nothing was given back
    const auto before = saved_.find(id);
    if (before == saved_.end() || before->second.assignments != state.assignments) continue;
    NodeSet cells;
    for (const NumaId node : before->second.cells)
      if (out.contains(node)) cells.Insert(node);
    if (cells.Contains(id)) state.cells = std::move(cells);
  }
  for (const std::string& type : types) {
    for (const auto& [id, bytes] : Seats(type)) {
      const auto table = out.find(id)->second.types.find(type);
      if (table == out.find(id)->second.types.end()) continue;
      table->second.reserved = Bytes{bytes};
      table->second.free = table->second.allocatable - table->second.reserved;
    }
  }
  return out;
}

}  // namespace berth::ledger
