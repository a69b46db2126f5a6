// Makes a ledger that was saved under other circumstances fit the node as it is now. Berth never refuses its own state.
#ifndef BERTH_DAEMON_ADOPT_H_
#define BERTH_DAEMON_ADOPT_H_

#include <string>
#include <vector>

#include "engine/engine.h"
#include "model/ledger.h"

namespace berth::daemon {

struct Adoption {
  Ledger ledger;
  std::vector<std::string> notes;  ///< what changed and what could not be kept, a sentence each; empty: it fitted
};

/// Pure. A ledger that fits `node` (same policies, its pools add up to the node's CPUs and memory) comes back as it is.
/// Otherwise every pod keeps its place in the order of admission: exclusive CPUs are kept as long as they exist, meet
/// nobody else's and leave the shared pool a CPU; the shared pool is computed anew. Memory bookings are kept as long as
/// their nodes and types exist and have room; where they have not, the pods admitted last lose theirs. The result
/// always fits.
Adoption Adopt(const engine::Node& node, const Ledger& saved);

/// CPUs of everything without exclusive CPUs: the ledger's shared pool, or all CPUs no container has for itself where
/// the CPU policy keeps no pool. Never empty.
CpuSet SharedCpus(const engine::Node& node, const Ledger& ledger);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_ADOPT_H_
