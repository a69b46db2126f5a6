// Runs containers. Decides nothing: where a container may run comes with the request.
//
// A Runtime is driven by the daemon's loop: calls return quickly, what happens later comes as events through Poll.
#ifndef BERTH_RUNTIME_RUNTIME_H_
#define BERTH_RUNTIME_RUNTIME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cgroup_values.h"
#include "model/pod.h"
#include "os/clock.h"

namespace berth::runtime {

/// What to start. The cgroup exists and has its final values before Start is called.
struct StartRequest {
  std::string pod_uid;
  std::string pod_namespace;
  std::string pod_name;
  Container container;  ///< command, args, working_dir; env already resolved into `env`
  std::vector<std::pair<std::string, std::string>> env;
  int attempt = 0;  ///< restart count
  CgroupDirs cgroup;
  int oom_score_adj = 0;
  std::string log_path;  ///< absolute; CRI log format; rotated by size
  std::uint64_t log_max_bytes = 10U << 20;
  int log_max_files = 5;
  ContainerKind kind = ContainerKind::kApp;  ///< for runtimes that only pretend: an init container has to end
};

enum class ContainerState { kRunning, kExited, kUnknown };

struct ContainerStatus {
  std::string id;  ///< unique over all attempts
  std::string pod_uid;
  std::string container;
  int attempt = 0;
  ContainerState state = ContainerState::kUnknown;
  int pid = 0;                   ///< for people and /proc only; never used to signal
  std::optional<int> exit_code;  ///< 128 + signal when killed by one; nullopt while running or unknown
  std::optional<int> signal;
  bool oom_killed = false;
  std::string message;     ///< why it could not start, e.g. "exec /bin/nope: No such file or directory"
  std::string started_at;  ///< RFC 3339
  std::string finished_at;
  std::string log_path;               ///< as asked for in the StartRequest
  std::vector<std::string> warnings;  ///< what could not be done as asked though it runs (oom_score_adj, lost output)
  friend bool operator==(const ContainerStatus&, const ContainerStatus&) = default;
};

/// Exit code of a container whose program could not be executed at all, as containerd reports it.
inline constexpr int kStartErrorExitCode = 128;

class Runtime {
 public:
  virtual ~Runtime() = default;
  /// Starts a container; returns its status. What the container itself got wrong (no such program, not executable, bad
  /// working directory) is no error but an exited container: exit_code kStartErrorExitCode and a message.
  /// Errors: kInvalid (no command, bad name), kNotFound (cgroup gone), kPermission, kExhausted, kIo...: the node's
  /// fault, worth a retry; nothing is left behind.
  virtual Result<ContainerStatus> Start(const StartRequest& request) = 0;
  /// Sends `signal` to the container's main process, by a handle that cannot hit another process. Gone: success.
  virtual Result<void> Signal(std::string_view id, int signal) = 0;
  /// All containers known, also those found again after a restart of the daemon.
  virtual Result<std::vector<ContainerStatus>> List() = 0;
  /// A descriptor that is readable when Poll has something to say; for the daemon's epoll.
  virtual int event_fd() const = 0;
  /// Containers whose state changed since the last call.
  virtual std::vector<ContainerStatus> Poll() = 0;
  /// Forgets an exited container (its record, not its logs). Unknown: success.
  virtual Result<void> Forget(std::string_view id) = 0;
};

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_RUNTIME_H_
