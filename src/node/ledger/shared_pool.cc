#include "node/ledger/shared_pool.h"

namespace berth::ledger {

CpuSet Shareable(const allocator::Node& node, const CpuSet& free) { return free & node.pool_cpus(); }

CpuSet PoolOf(const allocator::Node& node, const Ledger& ledger, const Online& online) {
  if (ledger.shared.empty() || !online) return ledger.shared;
  CpuSet pool = Shareable(node, node.all_cpus() - TakenCpus(ledger)) & *online;
  return pool.empty() ? ledger.shared : pool;
}

CpuSet SharedCpus(const allocator::Node& node, const Ledger& ledger) {
  if (!ledger.shared.empty()) return ledger.shared;
  const CpuSet rest = node.all_cpus() - TakenCpus(ledger);
  return rest.empty() ? node.all_cpus() : rest;
}

CpuSet SharedNow(const allocator::Node& node, const Ledger& ledger, const Online& online) {
  CpuSet shared = SharedCpus(node, ledger);
  return online ? shared & *online : shared;
}

}  // namespace berth::ledger
