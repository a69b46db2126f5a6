// Adoption of a ledger that was saved under other circumstances: made to fit the node as it is now. Berth never refuses
// its own state. The rules, for operators: docs/how-to/change-a-node.md.
#ifndef BERTH_NODE_LEDGER_ADOPT_H_
#define BERTH_NODE_LEDGER_ADOPT_H_

#include <string>
#include <vector>

#include "allocator/engine.h"
#include "model/ledger.h"

namespace berth::ledger {

/// One thing that changed or could not be kept.
struct AdoptionNote {
  std::string pod;   ///< "namespace/name"; "" for the node as a whole
  std::string text;  ///< a sentence with the reason
  friend bool operator==(const AdoptionNote&, const AdoptionNote&) = default;
};

struct Adoption {
  Ledger ledger;
  std::vector<AdoptionNote> notes;
};

/// Whether anything can still run that a ledger speaks of.
enum class Since { kSameBoot, kReboot };

/// Pure. A ledger that fits `node` (same policies, its pools add up to the node's CPUs and memory, no contradiction)
/// comes back as it is; `notes` then only names exclusive CPUs that became reserved. Otherwise every pod keeps its
/// place in the order of admission:
///  - exclusive CPUs are kept as far as they exist and nobody admitted earlier holds them, unless the shared pool would
///    be left without a CPU; also when they are reserved now, or the CPU policy is none now. The shared pool is the
///    rest;
///  - memory bookings are kept on the nodes that exist as long as there is room for all of them; where there is not,
///    pods admitted later lose theirs;
///  - a device that two pods hold, or two containers that run beside each other, stays with the first.
/// kReboot: nothing runs any more, so a pod that cannot keep everything loses its place and is decided anew.
/// The result always fits, and everything lost is in `notes`.
Adoption Adopt(const allocator::Node& node, const Ledger& saved, Since since = Since::kSameBoot);

}  // namespace berth::ledger

#endif  // BERTH_NODE_LEDGER_ADOPT_H_
