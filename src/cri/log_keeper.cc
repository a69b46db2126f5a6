#include "cri/log_keeper.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "os/append_file.h"

namespace berth::cri {

Result<LogStep> RotateLog(const std::string& path, std::uint64_t max_bytes, int files) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return LogStep::kReopen;
    return FailErrno("look at the log", path, errno);
  }
  if (!S_ISREG(info.st_mode) || static_cast<std::uint64_t>(info.st_size) <= max_bytes) return LogStep::kNothing;
  BERTH_RETURN_IF_ERROR(os::RotateFiles(path, files));
  return LogStep::kReopen;
}

Result<void> LogKeeper::CheckLog(std::string_view id, const std::string& path) const {
  BERTH_TRY(const LogStep step, RotateLog(path, shared_.options.log_max_bytes, shared_.options.log_max_files));
  if (step == LogStep::kNothing) return {};
  return shared_.client.ReopenLog(id);
}

void LogKeeper::Check() {
  std::vector<runtime::ContainerStatus> containers;
  {
    const MutexLock lock(shared_.mutex);
    containers = shared_.containers.List();
  }
  std::set<std::string> failed;
  std::set<std::string> told;
  for (const runtime::ContainerStatus& status : containers) {
    if (status.state != runtime::ContainerState::kRunning || status.log_path.empty()) continue;
    const auto done = CheckLog(status.id, status.log_path);
    if (done) continue;
    failed.insert(status.id);
    if (!failed_.contains(status.id)) continue;  // it may have ended just now
    if (!told_.contains(status.id)) shared_.WarnOf("log of container " + status.container, done.error());
    told.insert(status.id);
  }
  failed_ = std::move(failed);
  told_ = std::move(told);
}

}  // namespace berth::cri
