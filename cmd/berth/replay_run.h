// Runs recorded cases through the engine.
#ifndef BERTH_CMD_BERTH_REPLAY_RUN_H_
#define BERTH_CMD_BERTH_REPLAY_RUN_H_

#include <optional>
#include <vector>

#include "berth/replay_case.h"
#include "berth/replay_invariants.h"
#include "codec/codec.h"
#include "engine/recorded.h"
#include "os/clock.h"

namespace berth::cli {

/// What a case came to.
struct ReplayResult {
  codec::Json json;                ///< `name`, then the fields of `expect` (docs/reference/replay.md)
  std::optional<NodeFacts> node;   ///< trace that started: what promises are checked against
  std::vector<StateFacts> states;  ///< trace: after each step
};

/// Where the rules leave a trace open, the way the record went (engine/recorded.h). Empty: Berth's own way.
struct TraceGuide {
  engine::RecordedNode::Reserved reserved = engine::RecordedNode::Reserved::kNever;
  std::vector<engine::DeviceWishes> wishes;  ///< by step
  std::vector<bool> cpus_swept;              ///< by step; counts at restarts
};

/// Never fails: what the engine refuses is a result. `clock` adds `ns` to the steps of a trace, to a merge and (a list)
/// to takes; nullptr: no timings.
ReplayResult RunReplayCase(const ReplayCase& replay, const os::Clock* clock, const TraceGuide& guide = {});

/// The same trace on a node of Berth's own: no habits of the recorder, nothing left after a rejection. Gives the state
/// after each step; empty when the configuration is refused.
std::vector<StateFacts> RunOnOwnNode(const TraceCase& trace);

/// What a ledger says, as facts. `pods`: uids that may hold something.
StateFacts FactsOf(const Ledger& ledger, std::set<std::string> pods);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_REPLAY_RUN_H_
