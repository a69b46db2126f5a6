// The interface of a container runtime. It decides nothing: where a container may run comes with the request.
//
// A Runtime is driven by the daemon's loop: calls return quickly, what happens later comes as events through Poll.
#ifndef BERTH_RUNTIME_LIFECYCLE_RUNTIME_H_
#define BERTH_RUNTIME_LIFECYCLE_RUNTIME_H_

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "model/cgroup_values.h"
#include "model/daemon_status.h"
#include "model/device.h"
#include "model/pod.h"
#include "runtime/lifecycle/env.h"

namespace berth::runtime {

/// A file or directory of the host inside a container.
struct BoundMount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;
  std::string propagation;          ///< as VolumeMount
  std::string recursive_read_only;  ///< likewise
  bool own_files = false;           ///< made for this pod: where SELinux is, they get the container's label
};

/// What a runtime that makes containers' cgroups itself has to know beside.
struct Place {
  std::string pod_group;  ///< the pod's group below each hierarchy; exists and has its final values
  CgroupValues values;    ///< of the container's group
  bool v2 = false;
  std::string hostname;
  std::string log_folder;  ///< of the pod; log_path is below it
  bool host_network = false;
  bool privileged_pod = false;     ///< one of its containers is
  CgroupValues sandbox_overhead;   ///< what the pod's sandbox is told: spec.overhead, and
  CgroupValues sandbox_resources;  ///< the sum of its containers
  std::vector<BoundMount> mounts;
  std::shared_ptr<const Pod> pod;  ///< as its manifest says it; containers have not got its defaults in it
  NodeFacts facts;  ///< `env` was resolved with; the runtime may know better what the pod's addresses are
};

/// What to start. The cgroup exists and has its final values before Start is called, unless the runtime makes it.
struct StartRequest {
  std::string pod_uid;
  std::string pod_namespace;
  std::string pod_name;
  Container container;  ///< command, args, working_dir; env already resolved into `env`
  std::vector<std::pair<std::string, std::string>> env;
  DeviceAnswer devices;  ///< of all its devices; their variables are in `env`, their mounts in `place.mounts` already
  int attempt = 0;       ///< restart count
  CgroupDirs cgroup;
  int oom_score_adj = 0;
  std::chrono::seconds grace{30};  ///< for its end, should somebody else end its sandbox
  std::string log_path;            ///< absolute; CRI log format; rotated by size
  std::uint64_t log_max_bytes = 10U << 20;
  int log_max_files = 5;
  ContainerKind kind = ContainerKind::kApp;  ///< for runtimes that only pretend: an init container has to end
  /// For runtimes that make groups below Place::pod_group themselves and name them after ids, `cgroup` is empty then;
  /// of others only `mounts` counts.
  Place place;
};

enum class ContainerState {
  kCreating,  ///< Start goes on in the background; Poll tells what became of it
  kRunning,
  kExited,
  kUnknown,     ///< ended, nobody knows how
  kNotStarted,  ///< what was kCreating came to nothing, by the node's fault: nothing of this attempt is left
};

/// To end a container in good order.
struct StopRequest {
  std::string id;
  std::chrono::seconds grace{0};   ///< until the caller kills what is left
  int signal = SIGTERM;            ///< that asks it to end
  bool signal_is_its_own = false;  ///< its manifest names it; else its image may name another
  bool asked_before = false;       ///< by an earlier berthd: a TERM that was sent is not sent again
};

/// What came of a command in a container.
struct ExecEnd {
  int exit_code = 0;
  std::string output;  ///< the first kMostExecOutput bytes of what it wrote
};
inline constexpr std::size_t kMostExecOutput = std::size_t{10} << 10;
/// A command ready to be run in a container, once. Waits until it has ended, `limit` at most, and until `cancel_fd` (a
/// socket) is closed at its other side (-1: none). Errors: kTimeout: it was killed; kCancelled; kNotFound: the
/// container has ended; else what kept it from being run. Thread: any but the loop's. Requires: the Runtime outlives
/// it.
using ExecJob = std::move_only_function<Result<ExecEnd>(os::Millis limit, int cancel_fd)>;

/// CPUs and memory nodes a container shall have, started or not.
struct ContainerCpus {
  std::string pod_uid;
  std::string container;
  CpuSet cpus;
  friend bool operator==(const ContainerCpus&, const ContainerCpus&) = default;
};

/// What the group of a container holds since it was resized.
struct ContainerValues {
  std::string pod_uid;
  std::string container;
  CgroupValues values;
  bool v2 = false;
};

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
  std::string reason;      ///< of kNotStarted: "ErrImagePull", "CreateContainerError", ...
  std::string message;     ///< why it could not start, e.g. "exec /bin/nope: No such file or directory"
  std::string started_at;  ///< RFC 3339
  std::string finished_at;
  std::string log_path;               ///< as asked for in the StartRequest
  std::vector<std::string> warnings;  ///< what could not be done as asked though it runs (oom_score_adj, lost output)
  friend bool operator==(const ContainerStatus&, const ContainerStatus&) = default;
};

/// Something that happened in the background and people should know.
struct Notice {
  std::string reason = "RuntimeWarning";  ///< of the event
  std::string pod_uid;                    ///< "": it is about the node
  std::string message;                    ///< "": nothing to tell
  bool normal = false;                    ///< nothing is wrong (any more)
  bool try_again = false;                 ///< what stood in the way of the pod's starts is gone
  bool sandbox_ended = false;             ///< by somebody else: the pod's containers end for no fault of theirs
};

using berth::CallCount;

/// Exit code of a container whose program could not be executed at all, as containerd reports it.
inline constexpr int kStartErrorExitCode = 128;

class Runtime {
 public:
  virtual ~Runtime() = default;
  /// Containers have a root file system of their own, and pods a network, unless their manifests say otherwise.
  virtual bool isolates_pods() const { return false; }
  /// Starts a container; returns its status, kCreating while that goes on in the background. What the container itself
  /// got wrong (no such program, not executable, bad working directory) is no error but an exited container: exit_code
  /// kStartErrorExitCode and a message. What the node could not do is kNotStarted with a message, worth a retry.
  /// Errors: kInvalid (no command, bad name); nothing is left behind.
  virtual Result<ContainerStatus> Start(const StartRequest& request) = 0;
  /// Asks the container to end; returns at once. Gone: success.
  virtual Result<void> Stop(const StopRequest& request) {
    return request.asked_before ? Result<void>() : Signal(request.id, request.signal);
  }
  /// Sends `signal` to the container's main process, by a handle that cannot hit another process. Gone: success.
  virtual Result<void> Signal(std::string_view id, int signal) = 0;
  /// Kills the container's main process, whatever group it moved to. Nothing where the runtime itself sees to that.
  virtual void Kill(std::string_view) {}
  /// A command to be run in a running container. Errors: kNotFound: it does not run.
  virtual Result<ExecJob> PrepareExec(std::string_view, const std::vector<std::string>&) {
    return Fail(Code::kUnsupported, "this runtime runs no commands in containers");
  }
  /// All containers known, also those found again after a restart of the daemon.
  virtual Result<std::vector<ContainerStatus>> List() = 0;
  /// A descriptor that is readable when Poll has something to say; for the daemon's epoll.
  virtual int event_fd() const = 0;
  /// Containers whose state changed since the last call.
  virtual std::vector<ContainerStatus> Poll() = 0;
  /// Forgets an exited container (its record, not its logs). Unknown: success. Errors: kConflict while it is started or
  /// runs.
  virtual Result<void> Forget(std::string_view id) = 0;

  // For runtimes that keep more than containers; they answer at once, and make event_fd readable when there is more.

  /// The CPUs containers shall have; already so in the kernel for those that run. The runtime's record follows.
  virtual void SetCpus(const std::vector<ContainerCpus>&) {}
  /// The same for everything else of a container that was resized.
  virtual void SetValues(const ContainerValues&) {}
  /// Ends what the runtime itself keeps running for a pod without containers. False: under way, ask again.
  virtual Result<bool> StopPod(std::string_view) { return true; }
  /// Groups of such things by id -> uid of the pod; named as containers' groups are.
  virtual std::map<std::string, std::string> Sandboxes() { return {}; }
  /// Addresses the runtime gave a pod, the first is its podIP. Empty: none (yet), or it has those of the node.
  virtual std::vector<std::string> Addresses(std::string_view) { return {}; }
  /// Forgets a pod with all its containers.
  virtual void ForgetPod(std::string_view) {}
  /// Forgets all pods but these (uids).
  virtual void Retain(const std::set<std::string>&) {}
  /// Calls it made to whatever runs containers, by name, for people.
  virtual std::map<std::string, CallCount> Calls() const { return {}; }
  /// How long others waited for answers, by call, in seconds.
  virtual std::map<std::string, Histogram> AnswerTimes() const { return {}; }
  /// Why nothing can be started or ended now: the runtime does not answer. "": it does.
  virtual std::string Problem() { return ""; }
  /// What went wrong in the background since the last call.
  virtual std::vector<Notice> TakeNotices() { return {}; }
};

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_LIFECYCLE_RUNTIME_H_
