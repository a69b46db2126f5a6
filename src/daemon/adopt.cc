#include "daemon/adopt.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace berth::daemon {
namespace {

bool KeepsCpuPool(const Ledger& empty) { return !empty.shared.empty(); }

bool CpusFit(const engine::Node& node, const Ledger& empty, const Ledger& saved) {
  if (saved.cpu_policy != empty.cpu_policy) return false;
  CpuSet taken;
  for (const auto& [uid, pod] : saved.pods) {
    const CpuSet cpus = ExclusiveCpus(pod);
    if (cpus.Intersects(taken)) return false;
    taken |= cpus;
  }
  if (!KeepsCpuPool(empty)) return taken.empty() && saved.shared.empty();
  if (saved.shared.empty() || saved.shared.Intersects(taken)) return false;
  return (saved.shared | taken) == node.all_cpus() && node.reserved_cpus().IsSubsetOf(saved.shared);
}

/// The same nodes with the same totals; what is booked on them may differ.
bool MemoryFits(const Ledger& empty, const Ledger& saved) {
  if (saved.memory_policy != empty.memory_policy || saved.memory.size() != empty.memory.size()) return false;
  return std::ranges::equal(saved.memory, empty.memory, [](const auto& a, const auto& b) {
    const auto same_table = [](const auto& x, const auto& y) {
      return x.first == y.first && x.second.total == y.second.total && x.second.allocatable == y.second.allocatable &&
             x.second.system_reserved == y.second.system_reserved;
    };
    return a.first == b.first && std::ranges::equal(a.second.types, b.second.types, same_table);
  });
}

std::vector<const PodRecord*> InOrderOfAdmission(const Ledger& ledger) {
  std::vector<const PodRecord*> out;
  for (const auto& [uid, pod] : ledger.pods) out.push_back(&pod);
  std::ranges::sort(out, {}, [](const PodRecord* pod) { return pod->sequence; });
  return out;
}

/// Why these CPUs cannot stay with their pod; empty: they can. `open`: free before this pod's turn, `free`: now.
std::string WhyNotKept(const CpuSet& cpus, const CpuSet& all, const CpuSet& open, const CpuSet& free) {
  if (!cpus.IsSubsetOf(all)) return fmt::format("CPUs {} do not exist any more", FormatIds(cpus - all));
  if (!cpus.IsSubsetOf(open)) return fmt::format("CPUs {} are held by another pod", FormatIds(cpus - open));
  if ((free - cpus).empty()) return "the shared pool would be empty";
  return "";
}

/// Drops exclusive CPUs that cannot be kept from one pod and takes the rest out of `free`.
void KeepCpus(PodRecord& pod, const CpuSet& all, CpuSet& free, std::vector<std::string>& notes) {
  const CpuSet before = free;  // containers of one pod may share: an init container's CPUs go on to the next
  for (Placement& placement : pod.placements) {
    if (!placement.cpus) continue;
    const std::string why = WhyNotKept(*placement.cpus, all, before, free);
    if (why.empty()) {
      free -= *placement.cpus;
      continue;
    }
    notes.push_back(fmt::format("{}/{} container {} loses its exclusive CPUs {} and moves to the shared pool: {}",
                                pod.namespace_, pod.name, placement.container, FormatIds(*placement.cpus), why));
    placement.cpus.reset();
  }
  pod.reusable.cpus &= before - free;
}

using Nodes = std::map<NumaId, MemoryNodeState>;

/// A node and a type of memory on which more is booked than there is now.
bool IsShort(const Nodes& now, const Nodes& booked, NumaId node, const std::string& type) {
  const auto state = booked.find(node);
  if (state == booked.end()) return true;
  const auto table = state->second.types.find(type);
  if (table == state->second.types.end()) return false;  // nobody had any: nothing is booked
  const auto here = now.find(node);
  if (here == now.end()) return true;
  const auto room = here->second.types.find(type);
  return table->second.reserved > (room == here->second.types.end() ? Bytes{0} : room->second.allocatable);
}

/// Gives back what a block holds, as a release does: from the lowest of its nodes that still has some.
void GiveBack(Nodes& booked, const MemoryBlock& block) {
  Bytes left = block.size;
  for (const NumaId node : block.nodes) {
    const auto state = booked.find(node);
    if (state == booked.end()) continue;
    if (--state->second.assignments <= 0) {
      state->second.assignments = 0;
      state->second.cells = {node};
    }
    const auto table = state->second.types.find(block.type);
    if (table == state->second.types.end()) continue;
    const Bytes part = std::min(table->second.reserved, left);
    table->second.reserved -= part;
    left -= part;
  }
}

bool HoldsShort(const PodRecord& pod, const Nodes& now, const Nodes& booked) {
  return std::ranges::any_of(pod.placements, [&](const Placement& placement) {
    return placement.memory && std::ranges::any_of(*placement.memory, [&](const MemoryBlock& block) {
             for (const NumaId node : block.nodes)
               if (!now.contains(node) || IsShort(now, booked, node, block.type)) return true;
             return false;
           });
  });
}

/// Moves the bookings of `saved` into the tables of `now`. Uids of pods whose bookings have no room go to `dropped`.
Nodes MoveBookings(const Nodes& now, const Ledger& saved, std::set<std::string>& dropped) {
  Nodes booked = saved.memory;
  std::vector<const PodRecord*> pods = InOrderOfAdmission(saved);
  std::ranges::reverse(pods);
  for (const PodRecord* pod : pods) {
    if (!HoldsShort(*pod, now, booked)) continue;
    dropped.insert(pod->uid);
    for (const Placement& placement : pod->placements)
      if (placement.memory)
        for (const MemoryBlock& block : *placement.memory) GiveBack(booked, block);
  }
  Nodes out = now;
  for (auto& [node, state] : out) {
    const auto before = booked.find(node);
    if (before == booked.end()) continue;
    state.assignments = before->second.assignments;
    state.cells = before->second.cells;
    for (auto& [type, table] : state.types) {
      const auto held = before->second.types.find(type);
      if (held == before->second.types.end()) continue;
      table.reserved = std::min(held->second.reserved, table.allocatable);
      table.free = table.allocatable - table.reserved;
    }
  }
  return out;
}

void DropMemory(PodRecord& pod, std::vector<std::string>& notes) {
  bool had = !pod.reusable.memory.empty();
  for (Placement& placement : pod.placements) had |= std::exchange(placement.memory, std::nullopt).has_value();
  pod.reusable.memory.clear();
  if (had)
    notes.push_back(fmt::format("{}/{} keeps its memory nodes while it runs, but they are not booked any more",
                                pod.namespace_, pod.name));
}

}  // namespace

Adoption Adopt(const engine::Node& node, const Ledger& saved) {
  const Ledger empty = node.EmptyLedger();
  const bool memory_fits = MemoryFits(empty, saved);
  if (memory_fits && CpusFit(node, empty, saved)) return {saved, {}};

  Adoption out{empty, {}};
  out.ledger.revision = saved.revision;
  out.ledger.next_sequence = saved.next_sequence;
  if (saved.cpu_policy != empty.cpu_policy)
    out.notes.push_back(fmt::format("CPU policy changed from {} to {}", saved.cpu_policy, empty.cpu_policy));
  if (saved.memory_policy != empty.memory_policy)
    out.notes.push_back(fmt::format("memory policy changed from {} to {}", saved.memory_policy, empty.memory_policy));
  const bool same_policy = saved.memory_policy == empty.memory_policy;
  std::set<std::string> dropped;  // uids of pods without memory bookings from now on
  if (same_policy) out.ledger.memory = MoveBookings(empty.memory, saved, dropped);

  CpuSet free = node.all_cpus();
  for (const PodRecord* record : InOrderOfAdmission(saved)) {
    PodRecord pod = *record;
    KeepCpus(pod, node.all_cpus(), free, out.notes);
    if (!same_policy || dropped.contains(pod.uid)) DropMemory(pod, out.notes);
    out.ledger.pods.insert_or_assign(pod.uid, std::move(pod));
  }
  if (KeepsCpuPool(empty)) out.ledger.shared = free;
  const CpuSet before = saved.shared.empty() ? node.all_cpus() : saved.shared;
  if (free != before)
    out.notes.push_back(fmt::format("the shared pool is now {} (was {})", FormatIds(free), FormatIds(before)));
  if (out.notes.empty()) out.notes.emplace_back("reserved CPUs or memory changed; all placements were kept");
  return out;
}

CpuSet SharedCpus(const engine::Node& node, const Ledger& ledger) {
  if (!ledger.shared.empty()) return ledger.shared;
  const CpuSet rest = node.all_cpus() - ExclusiveCpus(ledger);
  return rest.empty() ? node.all_cpus() : rest;
}

}  // namespace berth::daemon
