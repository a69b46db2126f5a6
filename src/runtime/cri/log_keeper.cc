#include "runtime/cri/log_keeper.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "host/os/append_file.h"
#include "host/os/lock_file.h"

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

Result<void> LinkLog(const std::string& folder, const runtime::StartRequest& request, const std::string& id) {
  constexpr std::size_t kLongestName = 251;  // as the kubelet cuts it
  constexpr unsigned kPublic = 0755;
  BERTH_RETURN_IF_ERROR(os::MakeDirs(folder, kPublic));
  std::string name = request.pod_name + "_" + request.pod_namespace + "_" + request.container.name;
  name = name.substr(0, kLongestName - id.size() - 1) + "-" + id + ".log";
  if (::symlink(request.log_path.c_str(), (folder + "/" + name).c_str()) == 0 || errno == EEXIST) return {};
  return FailErrno("make the link", folder + "/" + name, errno);
}

void SweepLinks(const std::string& folder, const std::string& log_dir) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code wrong;
    const fs::path target = fs::read_symlink(entry->path(), wrong);
    if (wrong || !target.native().starts_with(log_dir + "/")) continue;
    if (!fs::exists(target, wrong) && !wrong) fs::remove(entry->path(), wrong);
  }
}

Result<void> LogKeeper::CheckLog(std::string_view id, const std::string& path) const {
  BERTH_TRY(const LogStep step, RotateLog(path, shared_.options.log_max_bytes, shared_.options.log_max_files));
  if (step == LogStep::kNothing) return {};
  return shared_.client.ReopenLog(id);
}

void LogKeeper::Check() {
  if (!shared_.options.log_links.empty()) SweepLinks(shared_.options.log_links, shared_.options.log_dir);
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
