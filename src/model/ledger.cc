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
  for (const auto& [name, pool] : delta.pools) {
    if (pool.cpus.empty())
      ledger.pools.erase(name);
    else
      ledger.pools.insert_or_assign(name, pool);
  }
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

std::string PoolText(std::string_view name) { return "CPU pool " + std::string(name); }

CpuSet HeldCpus(const CpuPool& pool) { return pool.cpus | pool.idle; }

CpuSet PooledCpus(const Ledger& ledger) {
  CpuSet out;
  for (const auto& [name, pool] : ledger.pools) out |= HeldCpus(pool);
  return out;
}

CpuSet TakenCpus(const Ledger& ledger) { return ExclusiveCpus(ledger) | PooledCpus(ledger); }

const CpuPool* FindPool(const Ledger& ledger, const Placement& placement) {
  const auto found = placement.pool.empty() ? ledger.pools.end() : ledger.pools.find(placement.pool);
  return found == ledger.pools.end() ? nullptr : &found->second;
}

CpuSet PooledCpus(const Ledger& ledger, const PodRecord& pod) {
  CpuSet out;
  for (const Placement& placement : pod.placements)
    if (const CpuPool* const pool = FindPool(ledger, placement); pool != nullptr) out |= pool->cpus;
  return out;
}

CpuSet CpusOf(const Ledger& ledger, const Placement& placement, const CpuSet& shared) {
  if (placement.cpus && !placement.cpus->empty()) return placement.mixed ? *placement.cpus | shared : *placement.cpus;
  if (const CpuPool* const pool = FindPool(ledger, placement); pool != nullptr) return pool->cpus;
  return PartOfPool(placement.node_cpus, shared);
}

std::string CpusText(const Placement& placement) {
  if (placement.cpus) return FormatIds(*placement.cpus) + (placement.mixed ? " + shared" : "");
  return placement.pool.empty() ? "shared" : PoolText(placement.pool);
}

std::string CpusText(const CpuPool& pool) {
  return FormatIds(pool.cpus) + (pool.idle.empty() ? "" : " (" + FormatIds(pool.idle) + " left idle)");
}

std::optional<std::int64_t> AskedOfPool(const PodRecord& pod, std::string_view pool) {
  std::int64_t init = 0;
  std::int64_t sidecars = 0;
  std::int64_t apps = 0;
  bool found = false;
  for (const Placement& placement : pod.placements) {
    if (placement.pool != pool) continue;
    found = true;
    if (placement.kind == ContainerKind::kSidecar) sidecars += placement.pool_request;
    if (placement.kind == ContainerKind::kInit) init = std::max(init, sidecars + placement.pool_request);
    if (placement.kind == ContainerKind::kApp) apps += placement.pool_request;
  }
  return found ? std::optional(std::max(init, apps + sidecars)) : std::nullopt;
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
  return out.empty() ? placement.nodes : out;
}

CpuSet PartOfPool(const CpuSet& node_cpus, const CpuSet& shared) {
  CpuSet part = shared & node_cpus;
  return part.empty() ? shared : part;
}

}  // namespace berth
