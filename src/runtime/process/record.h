// The files daemon and supervisor share in <run_dir>/containers/<id>/: what to run (request) and how it goes (state).
//
// Text, one "key value" per line, repeated keys are lists, first line kind and version, last line a checksum of all
// before it (docs/design/process-runtime.md). Values escape backslash, newline and other control characters.
#ifndef BERTH_RUNTIME_PROCESS_RECORD_H_
#define BERTH_RUNTIME_PROCESS_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/os/identity.h"
#include "host/os/own_mounts.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::runtime {

inline constexpr std::string_view kRequestFile = "request";
inline constexpr std::string_view kStateFile = "state";

/// A StartRequest as the supervisor needs it. Written once, by the daemon.
struct ShimRequest {
  std::string id;
  std::string pod_uid;
  std::string pod_namespace;
  std::string pod_name;
  std::string container;
  int attempt = 0;
  std::vector<std::string> argv;  ///< command and args; not empty
  std::vector<std::string> env;   ///< "NAME=value"
  std::string working_dir;
  CgroupDirs cgroup;
  int oom_score_adj = 0;
  bool privileged = false;
  std::vector<std::string> added_capabilities;    ///< as securityContext.capabilities.add
  std::vector<std::string> dropped_capabilities;  ///< likewise
  std::optional<std::uint32_t> user;              ///< runAsUser
  std::optional<std::uint32_t> group;             ///< runAsGroup
  std::vector<std::uint32_t> groups;              ///< supplementalGroups and fsGroup
  bool only_those_groups = false;                 ///< none of the user's own on this host
  bool no_new_privileges = false;
  bool read_only_root = false;
  std::vector<os::Volume> volumes;
  std::string seccomp;                ///< type of profile: "", "RuntimeDefault", "Unconfined", "Localhost"
  std::string seccomp_profile;        ///< of type Localhost: its file
  os::SeccompProgram seccomp_filter;  ///< what they come to; empty: none
  std::string log_path;
  std::uint64_t log_max_bytes = 0;
  int log_max_files = 0;
  friend bool operator==(const ShimRequest&, const ShimRequest&) = default;
};

/// How far a container got. Only the supervisor writes it.
enum class ShimPhase {
  kReady,     ///< waits for kMessageGo; nothing was started
  kStarting,  ///< kMessageGo came
  kRunning,
  kExited,  ///< final; also a program that could not be executed
  kFailed,  ///< final; the node's fault, nothing runs, as if never asked
};
std::string_view Name(ShimPhase phase);

struct ShimState {
  ShimPhase phase = ShimPhase::kReady;
  std::string boot_id;
  int shim_pid = 0;
  std::uint64_t shim_start = 0;  ///< clock ticks since boot
  int pid = 0;                   ///< from kRunning on
  std::uint64_t start = 0;
  std::vector<std::string> cgroups;  ///< lines of /proc/PID/cgroup that are its own
  std::string started_at;
  std::string finished_at;
  int exit_code = 0;  ///< kExited
  std::optional<int> signal;
  bool oom_killed = false;
  std::string message;
  std::vector<std::string> warnings;
  friend bool operator==(const ShimState&, const ShimState&) = default;
};

std::string FormatRequest(const ShimRequest& request);
std::string FormatState(const ShimState& state);
/// Errors: kCorrupt naming what is wrong (checksum, version, a field).
Result<ShimRequest> ParseRequest(std::string_view text);
Result<ShimState> ParseState(std::string_view text);

/// Lines of /proc/PID/cgroup whose path is the end of one of `dirs`: the cgroups a container was put into.
std::vector<std::string> OwnCgroupLines(const std::vector<std::string>& lines, const std::vector<std::string>& dirs);

/// True when a process with cgroup `lines` is in (or below) one of the container's `own` cgroups, or there are none.
bool IsInCgroups(const std::vector<std::string>& lines, const std::vector<std::string>& own);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_PROCESS_RECORD_H_
