// Launcher of containers as processes, each under a supervisor of its own; and their records. Internal to the
// component.
#ifndef BERTH_RUNTIME_PROCESS_LAUNCHER_H_
#define BERTH_RUNTIME_PROCESS_LAUNCHER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/fs.h"
#include "host/os/process.h"
#include "host/os/unique_fd.h"
#include "model/cgroup_values.h"
#include "runtime/process/process_spec.h"
#include "runtime/process/record.h"

namespace berth::runtime {

/// As in ProcessRuntimeOptions.
struct LauncherOptions {
  std::string run_dir;
  std::string shim_path;
  CgroupDirs shim_cgroup;
  os::Millis start_deadline;
  SeccompCompiler seccomp;
};

/// A container that was started, or could not be executed.
struct Launched {
  ShimState state;
  os::UniqueFd shim;
  os::UniqueFd main;  ///< not valid: it could not be executed
};

/// The process of a record, if it is still that very process; else a handle that is not valid. It is in one of
/// `cgroups` or below (empty: anywhere), or leads its session, as each container's process does for its life, wherever
/// it moved. Errors: it cannot be told (no descriptors left, no memory).
Result<os::UniqueFd> FindProcess(int pid, std::uint64_t start, const std::vector<std::string>& cgroups);

/// Thread: any, for different containers beside each other.
class Launcher {
 public:
  static constexpr std::string_view kContainers = "containers";  ///< folder of the records, below the run directory
  /// Longest time a supervisor that has something to end or to record may take.
  static constexpr os::Millis kSettleLimit{2'000};

  /// `fs` is the run directory.
  Launcher(LauncherOptions options, std::unique_ptr<os::Fs> fs) : options_(std::move(options)), fs_(std::move(fs)) {}

  /// Makes the record and starts the container; waits for its supervisor's answer, start_deadline at most. After an
  /// error nothing of it runs or is left. Errors: as Runtime::Start.
  Result<Launched> Launch(ShimRequest request);

  os::Fs& fs() { return *fs_; }
  static std::string DirOf(std::string_view id) { return std::string(kContainers) + "/" + std::string(id); }
  /// Errors of both: kCorrupt; as os::Fs::Read.
  Result<ShimRequest> ReadRequest(std::string_view id);
  Result<ShimState> ReadState(std::string_view id);
  /// Only in place of a supervisor that has ended.
  Result<void> WriteState(std::string_view id, const ShimState& state);
  Result<void> RemoveRecord(std::string_view id);
  /// The same for one whose end is recorded: its supervisor is about to go, or killed. Errors: kBusy: it does not die.
  Result<void> RemoveRecordOf(std::string_view id, const os::UniqueFd& shim);

 private:
  std::string PathOf(std::string_view id, std::string_view file) const {
    return options_.run_dir + "/" + DirOf(id) + "/" + std::string(file);
  }
  Result<void> Prepare(ShimRequest& request);
  Result<void> MakeRecord(const ShimRequest& request);
  Result<Launched> StartAndTalk(const ShimRequest& request, os::MonoTime deadline);
  Result<os::Process> StartShim(const std::string& id, int socket);
  Result<Launched> TalkToShim(const ShimRequest& request, os::Process& shim, int socket, os::MonoTime deadline);
  void StopShim(const std::string& id, os::Process& shim);

  const LauncherOptions options_;
  const std::unique_ptr<os::Fs> fs_;
};

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_PROCESS_LAUNCHER_H_
