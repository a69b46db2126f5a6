// Comparison of what a case came to with what was recorded.
#ifndef BERTH_TESTS_CONFORMANCE_REPLAY_COMPARE_H_
#define BERTH_TESTS_CONFORMANCE_REPLAY_COMPARE_H_

#include <optional>
#include <string>

#include "api/codec/codec.h"
#include "conformance/replay_case.h"
#include "conformance/replay_run.h"

namespace berth::conformance {

struct Verdict {
  std::optional<std::string> difference;  ///< the first one: "<path>: expected …, got …"; nullopt: passed
  /// Trace: from this step on (0-based) the record itself refused its state or broke a promise, and only promises are
  /// asked for; `excuse` says which.
  std::optional<std::size_t> promises_only_from;
  std::string excuse;
  /// Trace: steps, and how many of them were compared on a node of Berth's own too (replay_run.h, OwnStep).
  std::size_t steps = 0;
  std::size_t compared_on_own_node = 0;
};

/// How to run `replay` so that it can be compared with `expect`: where the rules leave a choice open, as recorded.
TraceGuide GuideOf(const ReplayCase& replay, const codec::Json& expect);

/// Never fails: an `expect` that can't be read is a difference. Requires: `result` was run with `guide`, from GuideOf.
/// Checks the promises of every step of a trace too, on the recorder's books and on a node of Berth's own.
Verdict CheckReplay(const ReplayCase& replay, const TraceGuide& guide, const ReplayResult& result,
                    const codec::Json& expect);

}  // namespace berth::conformance

#endif  // BERTH_TESTS_CONFORMANCE_REPLAY_COMPARE_H_
