#include "berth/replay.h"

#include <sstream>
#include <utility>

#include "offline/replay_recordings.h"

namespace berth {

Result<ReplayReport> ReplayFile(const std::string& file) {
  std::ostringstream text;
  BERTH_TRY(const offline::ReplayCounts counts, offline::CheckRecording(file, text));
  return ReplayReport{.passed = counts.passed, .failed = counts.failed, .text = std::move(text).str()};
}

}  // namespace berth
