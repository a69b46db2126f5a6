#include "daemon/adopt.h"

#include <fmt/format.h>

#include <algorithm>

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
  if (memory_fits) out.ledger.memory = saved.memory;

  CpuSet free = node.all_cpus();
  for (const PodRecord* record : InOrderOfAdmission(saved)) {
    PodRecord pod = *record;
    KeepCpus(pod, node.all_cpus(), free, out.notes);
    if (!memory_fits) DropMemory(pod, out.notes);
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
