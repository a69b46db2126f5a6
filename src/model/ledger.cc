#include "model/ledger.h"

#include <algorithm>

namespace berth {

void Apply(Ledger& ledger, const LedgerDelta& delta) {
  if (delta.removed) ledger.pods.erase(*delta.removed);
  if (delta.put) {
    ledger.next_sequence = std::max(ledger.next_sequence, delta.put->sequence + 1);
    ledger.pods.insert_or_assign(delta.put->uid, *delta.put);
  }
  ledger.shared = delta.shared;
  for (const auto& [node, state] : delta.memory) ledger.memory.insert_or_assign(node, state);
  ++ledger.revision;
}

CpuSet ExclusiveCpus(const PodRecord& pod) {
  CpuSet out;
  for (const Placement& p : pod.placements)
    if (p.cpus) out |= *p.cpus;
  return out;
}

CpuSet ExclusiveCpus(const Ledger& ledger) {
  CpuSet out;
  for (const auto& [uid, pod] : ledger.pods) out |= ExclusiveCpus(pod);
  return out;
}

std::string FullName(const PodRecord& pod) { return pod.namespace_ + "/" + pod.name; }

const PodRecord* FindPod(const Ledger& ledger, std::string_view full_name) {
  for (const auto& [uid, pod] : ledger.pods)
    if (FullName(pod) == full_name) return &pod;
  return nullptr;
}

std::vector<const PodEntry*> InOrderOfAdmission(const Ledger& ledger) {
  std::vector<const PodEntry*> out;
  for (const PodEntry& entry : ledger.pods) out.push_back(&entry);
  std::ranges::stable_sort(out, {}, [](const PodEntry* entry) { return entry->second.sequence; });
  return out;
}

const Placement* FindPlacement(const PodRecord& pod, std::string_view container) {
  for (const Placement& p : pod.placements)
    if (p.container == container) return &p;
  return nullptr;
}

NodeSet MemoryNodes(const Placement& placement) {
  NodeSet out;
  if (placement.memory)
    for (const MemoryBlock& block : *placement.memory) out |= block.nodes;
  return out;
}

}  // namespace berth
