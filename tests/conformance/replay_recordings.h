// Replay of recorded cases: through the engine, compared with what was recorded.
#ifndef BERTH_TESTS_CONFORMANCE_REPLAY_RECORDINGS_H_
#define BERTH_TESTS_CONFORMANCE_REPLAY_RECORDINGS_H_

#include <ostream>
#include <string>
#include <vector>

#include "model/kubelet_version.h"

namespace berth::conformance {

struct ReplayOptions {
  std::vector<std::string> files;                          ///< JSON lines, plain or gzip; "-": standard input
  bool check = false;                                      ///< compare with `expect` instead of printing results
  KubeletVersion kubelet_version = KubeletVersion::k1_36;  ///< to decide as, where a case does not say which
  bool timings = false;                                    ///< add `ns`; with `check`, results are printed too
};

/// Prints one JSON result a line to `out`; with `check` the first difference of each failing case and "N passed,
/// N failed" as the last line. Malformed lines go to `err` with file, line and field, count as failed and are skipped.
/// Gives 0, or 1 when a case failed or was malformed or a file could not be read.
int RunReplay(const ReplayOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::conformance

#endif  // BERTH_TESTS_CONFORMANCE_REPLAY_RECORDINGS_H_
