// States of the ledger's CPUs in the kernel: in force, or to be written, and the events that lead from one to another.
// Pure.
#ifndef BERTH_NODE_RECONCILER_POOL_STATE_H_
#define BERTH_NODE_RECONCILER_POOL_STATE_H_

#include <optional>
#include <string>
#include <variant>

#include "host/os/clock.h"

namespace berth::reconciler {

// ---- states ----

struct InForce {
  friend bool operator==(const InForce&, const InForce&) = default;
};
/// In force, but containers may have less than the ledger says: for one that is being saved.
struct InForceNarrowed {
  friend bool operator==(const InForceNarrowed&, const InForceNarrowed&) = default;
};
/// What was tried before it is in force.
struct PoolTries {
  int looks = 0;        ///< in a row, while a runtime was making a group
  std::string problem;  ///< of the last one that failed; "": none did
  friend bool operator==(const PoolTries&, const PoolTries&) = default;
};
/// To be written now.
struct PoolDue {
  PoolTries tries;
  friend bool operator==(const PoolDue&, const PoolDue&) = default;
};
/// Nothing is written before `until`.
struct PoolPostponed {
  PoolTries tries;
  os::MonoTime until{};
  friend bool operator==(const PoolPostponed&, const PoolPostponed&) = default;
};
using PoolState = std::variant<PoolDue, PoolPostponed, InForce, InForceNarrowed>;

inline bool IsInForce(const PoolState& state) {
  return std::holds_alternative<InForce>(state) || std::holds_alternative<InForceNarrowed>(state);
}
/// nullptr: it is in force.
const PoolTries* TriesOf(const PoolState& state);

// ---- events ----

namespace pool_event {

/// The kernel's cpusets may differ from the ledger. `until`: they are not written before it.
struct Change {
  std::optional<os::MonoTime> until{};
};
/// What held it up may be over.
struct Again {};
/// Containers are off what the ledger that is being saved takes from them.
struct Narrow {};
struct Applied {};
/// It cannot be tried now.
struct Postpone {
  os::MonoTime until{};
};
/// A runtime is making a group.
struct LookAgain {
  os::MonoTime until{};
};
struct Fail {
  os::MonoTime until{};
  std::string problem;
};

}  // namespace pool_event

using PoolEvent = std::variant<pool_event::Change, pool_event::Again, pool_event::Narrow, pool_event::Applied,
                               pool_event::Postpone, pool_event::LookAgain, pool_event::Fail>;

/// The state that follows. An event that means nothing in a state changes nothing. The test has a table of both.
PoolState Follow(PoolState state, PoolEvent event);

}  // namespace berth::reconciler

#endif  // BERTH_NODE_RECONCILER_POOL_STATE_H_
