// The shared pool: which CPUs run what has none for itself. Computed here and nowhere else; the engine's own books only
// say what a decision takes from it and gives back.
#ifndef BERTH_NODE_LEDGER_SHARED_POOL_H_
#define BERTH_NODE_LEDGER_SHARED_POOL_H_

#include <optional>

#include "allocator/engine.h"
#include "model/ledger.h"

namespace berth::ledger {

/// CPUs that are online; nullopt: not known.
using Online = std::optional<CpuSet>;

/// CPUs of `free` that belong to the pool of `node`: under strict reservation not the reserved ones. {} where the CPU
/// policy keeps no pool.
CpuSet Shareable(const allocator::Node& node, const CpuSet& free);

/// What Ledger::shared has to be: all online CPUs that no container has for itself and no named pool holds. As it is
/// when none would be left, where the CPU policy keeps no pool, and where the CPUs that are online are not known.
CpuSet PoolOf(const allocator::Node& node, const Ledger& ledger, const Online& online);

/// CPUs of everything without exclusive CPUs: the ledger's shared pool, or all CPUs no container has for itself where
/// the CPU policy keeps no pool. Never empty.
CpuSet SharedCpus(const allocator::Node& node, const Ledger& ledger);

/// Those of SharedCpus that are online: the kernel refuses the others, or takes them away. May be empty.
CpuSet SharedNow(const allocator::Node& node, const Ledger& ledger, const Online& online);

}  // namespace berth::ledger

#endif  // BERTH_NODE_LEDGER_SHARED_POOL_H_
