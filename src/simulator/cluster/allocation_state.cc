#include "simulator/cluster/allocation_state.h"

#include <algorithm>
#include <utility>

#include "allocator/node/node_tables.h"
#include "simulator/cluster/hash.h"

namespace berth::cluster {
namespace {

std::size_t HashOf(const Kind& kind, const Ledger& books) {
  Hash out;
  out.Add(kind.id);
  out.Add(books.shared);
  for (const auto& [id, node] : books.memory) {
    out.Add(Raw(id));
    out.Add(node.assignments);
    out.Add(node.cells);
    for (const auto& [type, table] : node.types) out.Add(table.free.v);
  }
  for (const auto& [uid, record] : books.pods) {
    const Placement& all = record.placements.front();
    if (all.cpus) out.Add(*all.cpus);
    for (const DeviceAssignment& given : all.devices) {
      out.Add(given.resource);
      for (const std::string& id : given.ids) out.Add(id);
    }
  }
  return out.value();
}

bool SameBooks(const Ledger& a, const Ledger& b) {
  return a.shared == b.shared && a.memory == b.memory && a.pods == b.pods;
}

int SpareCpus(const Kind& kind, const CpuSet& free) {
  if (!kind.whole_cores) return free.Count();
  int out = 0;
  for (const allocator::Unit& core : kind.node.tables().topology.units(allocator::Level::kCore))
    if (core.cpus.IsSubsetOf(free)) out += core.cpus.Count();
  return out;
}

}  // namespace

void AddHeld(const Kind& kind, const PodRecord& record, Held& held) {
  for (const Placement& placement : record.placements)
    for (const DeviceAssignment& given : placement.devices)
      held.devices[given.resource].insert(given.ids.begin(), given.ids.end());
  const CpuSet& apart = kind.node.apart_cpus();
  if (!apart.empty()) held.apart |= ExclusiveCpus(record) & apart;
}

Ledger BooksOf(CpuSet shared, std::map<NumaId, MemoryNodeState> memory, const Held& held) {
  Ledger out;
  out.shared = std::move(shared);
  out.memory = std::move(memory);
  if (held.devices.empty() && held.apart.empty()) return out;
  Placement& placement = out.pods["all that is held"].placements.emplace_back();
  if (!held.apart.empty()) placement.cpus = held.apart;
  for (const auto& [resource, ids] : held.devices)
    placement.devices.push_back({.resource = resource, .ids = {ids.begin(), ids.end()}, .answer = {}});
  return out;
}

CpuSet FreeCpus(const Kind& kind, const Ledger& books) {
  const CpuSet& apart = kind.node.apart_cpus();
  return apart.empty() ? books.shared : books.shared | (apart - ExclusiveCpus(books));
}

Spare SpareOf(const Kind& kind, const Ledger& books) {
  Spare out;
  const CpuSet free = FreeCpus(kind, books);
  out.available = (free - kind.node.reserved_cpus()).Count();
  out.zones.reserve(kind.zones.size());
  for (const Zone& zone : kind.zones) {
    ZoneSpare& spare = out.zones.emplace_back();
    spare.cpus = SpareCpus(kind, zone.cpus & free);
    if (const auto node = books.memory.find(zone.id); node != books.memory.end())
      if (const auto table = node->second.types.find("memory"); table != node->second.types.end())
        spare.memory = table->second.free.v;
  }
  return out;
}

Held State::Held() const {
  cluster::Held out;
  for (const auto& [uid, record] : books.pods) AddHeld(*kind, record, out);
  return out;
}

bool State::Holds(std::string_view resource) const {
  return std::ranges::any_of(books.pods, [&](const PodEntry& entry) {
    return std::ranges::any_of(entry.second.placements.front().devices,
                               [&](const DeviceAssignment& given) { return given.resource == resource; });
  });
}

StateRef States::Find(const KindRef& kind, Ledger books) {
  const std::size_t hash = HashOf(*kind, books);
  const auto [begin, end] = known_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry)
    if (entry->second->kind == kind && SameBooks(entry->second->books, books)) return entry->second;
  auto out = std::make_shared<State>();
  out->id = next_id_++;
  out->kind = kind;
  out->spare = SpareOf(*kind, books);
  out->books = std::move(books);
  known_.emplace(hash, out);
  return out;
}

void States::Leave(StateRef state) {
  constexpr long kHereAndKnown = 2;
  if (state == nullptr || state.use_count() > kHereAndKnown) return;
  const auto [begin, end] = known_.equal_range(HashOf(*state->kind, state->books));
  for (auto entry = begin; entry != end; ++entry) {
    if (entry->second != state) continue;
    known_.erase(entry);
    return;
  }
}

}  // namespace berth::cluster
