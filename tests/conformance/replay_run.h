// Recorded cases, run through the allocator.
#ifndef BERTH_TESTS_CONFORMANCE_REPLAY_RUN_H_
#define BERTH_TESTS_CONFORMANCE_REPLAY_RUN_H_

#include <optional>
#include <vector>

#include "api/codec/codec.h"
#include "conformance/recorded_node.h"
#include "conformance/replay_case.h"
#include "host/os/clock.h"
#include "model/promises.h"

namespace berth::conformance {

/// What a case came to.
struct ReplayResult {
  codec::Json json;                ///< `name`, then the fields of `expect` (docs/formats/recorded-cases.md)
  std::optional<NodeFacts> node;   ///< trace that started: what promises are checked against
  std::vector<StateFacts> states;  ///< trace: after each step
  std::vector<bool> leaked;        ///< trace: after each step, RecordedNode::HasLeakedDevices
};

/// Where the rules leave a trace open, the way the record went (recorded_node.h). Empty: Berth's own way.
struct TraceGuide {
  RecordedNode::Reserved reserved = RecordedNode::Reserved::kNever;
  std::vector<DeviceWishes> wishes;  ///< by step
  std::vector<bool> cpus_swept;      ///< by step; counts at restarts
};

/// Never fails: what the engine refuses is a result. `clock` adds `ns` to the steps of a trace, to a merge and (a list)
/// to takes; nullptr: no timings.
ReplayResult RunReplayCase(const ReplayCase& replay, const os::Clock* clock, const TraceGuide& guide = {});

/// A step of a trace on a node of Berth's own.
struct OwnStep {
  codec::Json answer;  ///< as a step of ReplayResult::json
  StateFacts state;    ///< after it
  /// No habit of the recorder has had an effect: the answer must be the recorded one. The books were the same before,
  /// and no device had leaked; the step is not a restart; the pod has one container or none that is given anything
  /// (between containers the recorder sweeps); and a recorder that knows nothing of the record comes to the same books.
  bool comparable = false;
};

/// The same trace by Decide and Release: no habits of the recorder, nothing left after a rejection. Empty when the
/// configuration is refused. `recorded`: the trace, run with the record's guide.
std::vector<OwnStep> RunOnOwnNode(const TraceCase& trace, const ReplayResult& recorded);

}  // namespace berth::conformance

#endif  // BERTH_TESTS_CONFORMANCE_REPLAY_RUN_H_
