// Runs recorded cases through the engine.
#ifndef BERTH_CMD_BERTH_REPLAY_RUN_H_
#define BERTH_CMD_BERTH_REPLAY_RUN_H_

#include <optional>
#include <string>
#include <vector>

#include "codec/codec.h"
#include "os/clock.h"
#include "replay_case.h"
#include "replay_invariants.h"

namespace berth::cli {

/// What a case came to.
struct ReplayResult {
  codec::Json json;                 ///< the fields of `expect` (docs/reference/replay.md), behind `name`
  std::optional<NodeFacts> node;    ///< trace that started: what the invariants are checked against
  std::vector<StateFacts> states;   ///< trace: after each step
  std::vector<codec::Json> shapes;  ///< trace: devices per resource -> id -> "0", "0+1" or "any", for counting
};

struct ReplayRunOptions {
  const os::Clock* clock = nullptr;  ///< adds `ns` to steps (trace), takes (take) and the merge; nullptr: no timings
};

/// Never fails: what the engine refuses is a result.
ReplayResult RunReplayCase(const ReplayCase& replay, const ReplayRunOptions& options);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_REPLAY_RUN_H_
