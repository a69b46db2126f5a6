// Recorded cases, decided once more and compared with what was recorded.
#ifndef BERTH_REPLAY_H_
#define BERTH_REPLAY_H_

#include <string>

#include "base/result.h"

namespace berth {

struct ReplayReport {
  int passed = 0;  ///< cases with the recorded answers
  int failed = 0;  ///< cases with others, and lines that are no case
  std::string
      text;  ///< lines for people, as `berth replay --check` prints them: a line for each case that failed, counts
};

/// Decides every case of a file of JSON lines, plain or gzip (docs/reference/replay.md has the schema).
/// Errors: kNotFound, kPermission, kIo, kCorrupt (damaged gzip data), kInvalid (a line of more than 64 MiB). A case
/// that differs is no error. Thread: any.
Result<ReplayReport> ReplayFile(const std::string& file);

}  // namespace berth

#endif  // BERTH_REPLAY_H_
