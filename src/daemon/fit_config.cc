#include "daemon/fit_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace berth::daemon {
namespace {

CpuSet Lowest(const CpuSet& cpus, std::size_t count) {
  CpuSet out;
  for (const CpuId cpu : cpus) {
    if (out.Count() >= static_cast<int>(count)) break;
    out.Insert(cpu);
  }
  return out;
}

void FitReservedCpus(KubeletConfiguration& config, const Machine& machine, std::vector<std::string>& notes) {
  const auto listed = CpuSet::Parse(config.reserved_system_cpus);
  if (!listed || listed->empty()) return;
  const CpuSet usable = UsableCpus(machine);
  const CpuSet gone = *listed - usable;
  if (gone.empty() || usable.Count() < 2) return;
  CpuSet kept = *listed & usable;
  if (kept.empty()) kept = Lowest(usable, static_cast<std::size_t>(listed->Count()));
  if (usable.IsSubsetOf(kept)) kept = Lowest(kept, static_cast<std::size_t>(usable.Count() - 1));
  config.reserved_system_cpus = FormatIds(kept);
  notes.push_back(
      fmt::format("reservedSystemCPUs: CPUs {} are not online on this machine; {} are reserved instead of {}",
                  FormatIds(gone), FormatIds(kept), FormatIds(*listed)));
}

void FitReservedMemory(KubeletConfiguration& config, const Machine& machine, std::vector<std::string>& notes) {
  const NodeSet nodes = NodeIds(machine);
  if (nodes.empty()) return;
  const NumaId lowest = *nodes.First();
  std::vector<MemoryReservation> out;
  ResourceList moved;
  for (MemoryReservation& entry : config.reserved_memory) {
    if (nodes.Contains(entry.node)) {
      out.push_back(std::move(entry));
      continue;
    }
    for (const auto& [type, amount] : entry.limits) {
      const auto [at, added] = moved.emplace(type, amount);
      if (!added) at->second += amount;
    }
    notes.push_back(fmt::format("reservedMemory: this machine has no NUMA node {}; its reservation is taken on node {}",
                                Raw(entry.node), Raw(lowest)));
  }
  if (!moved.empty()) {
    auto target = std::ranges::find(out, lowest, &MemoryReservation::node);
    if (target == out.end()) target = out.insert(out.begin(), {.node = lowest});
    for (const auto& [type, amount] : moved) {
      const auto [at, added] = target->limits.emplace(type, amount);
      if (!added) at->second += amount;
    }
  }
  config.reserved_memory = std::move(out);
}

}  // namespace

std::vector<std::string> FitToMachine(KubeletConfiguration& config, const Machine& machine) {
  std::vector<std::string> notes;
  FitReservedCpus(config, machine, notes);
  FitReservedMemory(config, machine, notes);
  return notes;
}

}  // namespace berth::daemon
