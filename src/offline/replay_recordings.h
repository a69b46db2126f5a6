// `berth replay`: recorded cases through the engine, compared with what was recorded.
#ifndef BERTH_OFFLINE_REPLAY_RECORDINGS_H_
#define BERTH_OFFLINE_REPLAY_RECORDINGS_H_

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::offline {

struct ReplayOptions {
  std::vector<std::string> files;  ///< JSON lines, plain or gzip; "-": standard input
  bool check = false;              ///< compare with `expect` instead of printing results
  bool timings = false;            ///< add `ns`; with `check`, results are printed too
  /// Called after each case with how many are done, and with 0 before something is printed; may be empty.
  std::function<void(std::size_t done)> progress;
};

/// Prints one JSON result a line to `out`; with `check` the first difference of each failing case and "N passed,
/// N failed" as the last line. Malformed lines go to `err` with file, line and field, count as failed and are skipped.
/// Gives 0, or 1 when a case failed or was malformed or a file could not be read.
int RunReplay(const ReplayOptions& options, std::ostream& out, std::ostream& err);

/// Cases by how they went.
struct ReplayCounts {
  int passed = 0;
  int failed = 0;  ///< malformed ones too
};
/// Compares the cases of one file, and prints what RunReplay does with `check`, malformed lines too.
/// Errors: as LineReader, when the file could not be read to its end; what was read of it was compared and printed.
Result<ReplayCounts> CheckRecording(const std::string& file, std::ostream& out);

}  // namespace berth::offline

#endif  // BERTH_OFFLINE_REPLAY_RECORDINGS_H_
