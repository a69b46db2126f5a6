#include "view/cpu_use.h"

#include <map>
#include <utility>

namespace berth::view {

std::string_view Name(CpuUse use) {
  switch (use) {
    case CpuUse::kOffline: return "offline";
    case CpuUse::kReserved: return "reserved";
    case CpuUse::kShared: return "shared";
    case CpuUse::kPool: return "pool";
    case CpuUse::kExclusive: return "exclusive";
    case CpuUse::kIdle: return "idle";
  }
  return "idle";
}

std::vector<CpuState> DescribeCpus(const Machine& machine, const Ledger& ledger, const CpuSet& reserved) {
  const CpuSet usable = UsableCpus(machine);
  const CpuSet shared = ledger.shared.empty() ? usable - TakenCpus(ledger) : ledger.shared;
  std::map<CpuId, std::vector<std::string>> holders;
  for (const PodEntry* entry : InOrderOfAdmission(ledger))
    for (const Placement& p : entry->second.placements)
      if (p.cpus)
        for (const CpuId cpu : *p.cpus) holders[cpu].push_back(FullName(entry->second) + "/" + p.container);
  const CpuSet exclusive = ExclusiveCpus(ledger);
  for (const auto& [name, pool] : ledger.pools)
    for (const CpuId cpu : HeldCpus(pool)) holders[cpu].push_back(PoolText(name));
  std::vector<CpuState> out;
  for (const CpuId cpu : machine.present | machine.online | usable) {
    CpuState state;
    state.cpu = cpu;
    state.isolated = machine.isolated.Contains(cpu);
    if (const auto it = holders.find(cpu); it != holders.end()) state.holders = it->second;
    if (!machine.online.Contains(cpu) && !usable.Contains(cpu))
      state.use = CpuUse::kOffline;
    else if (!state.holders.empty())
      state.use = exclusive.Contains(cpu) ? CpuUse::kExclusive : CpuUse::kPool;
    else if (reserved.Contains(cpu))
      state.use = CpuUse::kReserved;
    else if (shared.Contains(cpu))
      state.use = CpuUse::kShared;
    out.push_back(std::move(state));
  }
  return out;
}

}  // namespace berth::view
