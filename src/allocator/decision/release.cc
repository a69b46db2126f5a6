#include "allocator/decision/release.h"

#include <string>
#include <utility>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/cpu_manager/cpu_policy.h"
#include "allocator/cpu_manager/pools.h"
#include "allocator/decision/release_pod.h"
#include "allocator/memory_manager/memory_policy.h"
#include "allocator/node/node_tables.h"

namespace berth::allocator {
namespace {

/// CPUs of the pod that no other pod holds. They never overlap, but for ledgers adopted from elsewhere.
CpuSet OwnCpus(const Ledger& ledger, const PodRecord& record) {
  CpuSet out = ExclusiveCpus(record);
  if (out.empty()) return out;
  for (const auto& [uid, pod] : ledger.pods)
    if (uid != record.uid) out -= ExclusiveCpus(pod);
  return out;
}

}  // namespace

LedgerDelta ReleasePod(const Node& node, const Ledger& ledger, const PodRecord& record, const DecisionLog& log,
                       Missing missing) {
  const Inputs no_inputs;
  PodBooks books(node.tables(), ledger, no_inputs);
  const CpuSet before = books.shared;
  const CpuSet own = OwnCpus(ledger, record);
  if (node.tables().StaticCpus())
    for (const Placement& placement : record.placements) {
      Placement mine = placement;
      if (mine.cpus) *mine.cpus &= own;
      ReleaseCpus(books, PodRecord(), mine);
    }
  if (node.tables().StaticMemory())
    for (const Placement& placement : record.placements) ReleaseMemory(books, placement);
  if (node.tables().StaticMemory() && missing == Missing::kSettle) {
    PodRecord gone;
    gone.uid = record.uid;
    SettleMemory(books, gone);
  }
  const CpuSet back = books.shared - before;
  books.record.uid = record.uid;
  const auto settled = SettlePools(books, log);
  BERTH_CHECK(!settled);  // a pool only shrinks
  LedgerDelta out;
  out.removed = record.uid;
  out.shared = books.shared;
  out.memory = books.memory.Changed();
  out.pools = std::move(books.pools);
  if (log) {
    log.Add("release", "", "",
            FullName(record) + " is gone" +
                (back.empty() ? "" : "; CPUs " + FormatIds(back) + " return to the shared pool"));
  }
  return out;
}

LedgerDelta Release(const Node& node, const Ledger& ledger, std::string_view uid, Trace* trace) {
  const auto known = ledger.pods.find(uid);
  if (known == ledger.pods.end()) {
    LedgerDelta out;
    out.shared = ledger.shared;
    return out;
  }
  return ReleasePod(node, ledger, known->second, DecisionLog(trace));
}

LedgerDelta ContainerStarted(const Node& node, const Ledger& ledger, std::string_view uid, std::string_view container,
                             Trace* trace) {
  LedgerDelta out;
  out.shared = ledger.shared;
  const auto known = ledger.pods.find(uid);
  if (known == ledger.pods.end() || !node.tables().StaticMemory()) return out;
  PodRecord record = known->second;
  const Placement* const started = FindPlacement(record, container);
  if (started == nullptr) return out;
  const Inputs no_inputs;
  PodBooks books(node.tables(), ledger, no_inputs);
  bool changed = false;
  for (Placement& earlier : record.placements) {
    if (&earlier == started) break;
    if (earlier.kind != ContainerKind::kInit || !earlier.memory) continue;
    ReleaseMemory(books, earlier);
    earlier.memory.reset();
    changed = true;
  }
  if (!changed) return out;
  SettleMemory(books, record);
  if (trace != nullptr)
    trace->Add("release", std::string(container), "memory",
               "started; the init containers before it give their memory back");
  out.memory = books.memory.Changed();
  out.put = std::move(record);
  return out;
}

}  // namespace berth::allocator
