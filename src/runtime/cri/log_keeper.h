// Rotation of the logs of running containers: the runtime writes them, and opens them anew when it is told.
#ifndef BERTH_RUNTIME_CRI_LOG_KEEPER_H_
#define BERTH_RUNTIME_CRI_LOG_KEEPER_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/cri/shared.h"

namespace berth::cri {

enum class LogStep {
  kNothing,
  kReopen,  ///< renamed by now, or earlier by a berthd that was ended before it could say so
};

/// Renames the log when it is longer than `max_bytes`, as docs/formats/container-log.md says: `files` of them with the
/// current one. Errors: of renaming; the log goes on growing then.
Result<LogStep> RotateLog(const std::string& path, std::uint64_t max_bytes, int files);

/// A link <folder>/<pod>_<namespace>_<container>-<id>.log to a container's log, as the kubelet makes them for those who
/// collect logs. One that is there: success.
Result<void> LinkLog(const std::string& folder, const runtime::StartRequest& request, const std::string& id);
/// Removes links of the folder that lead to logs below `log_dir` that are gone.
void SweepLinks(const std::string& folder, const std::string& log_dir);

/// Thread: one at a time.
class LogKeeper {
 public:
  explicit LogKeeper(Shared& shared) : shared_(shared) {}
  /// Looks at the logs of all running containers. Blocks while the runtime is told.
  void Check();

 private:
  Result<void> CheckLog(std::string_view id, const std::string& path) const;

  Shared& shared_;
  std::set<std::string> failed_;  // ids; the second failure in a row is told
  std::set<std::string> told_;
};

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_LOG_KEEPER_H_
