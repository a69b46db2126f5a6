// The Container Runtime Interface, v1, as calls on plain values. Nothing is decided or remembered here.
//
// All calls of a client share one connection. Errors of every call: as wire::Client, with what was being done before
// the runtime's text. MayBeDone(code) tells those after which nobody knows whether it was done; kUnreachable and
// kOverloaded mean that it was not.
#ifndef BERTH_CRI_CLIENT_H_
#define BERTH_CRI_CLIENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/units.h"
#include "model/pod.h"
#include "os/clock.h"
#include "runtime/runtime.h"
#include "wire/client.h"

namespace berth::cri {

/// Longest message either way, as the kubelet has it.
inline constexpr std::size_t kLongestMessage = wire::Limits().message;

using Labels = std::map<std::string, std::string>;

/// LinuxContainerResources: 0 and "" mean "nothing said" when a container is made, and "as it is" in an update.
struct Resources {
  std::int64_t cpu_period_us = 0;
  std::int64_t cpu_quota_us = 0;  ///< -1: no limit
  std::int64_t cpu_shares = 0;
  std::int64_t memory_limit = 0;
  std::int64_t memory_swap_limit = 0;  ///< memory and swap together
  std::int64_t oom_score_adj = 0;
  std::string cpus;
  std::string mems;
  std::map<std::string, std::uint64_t> hugepages;  ///< "2MB" -> bytes
  std::map<std::string, std::string> unified;      ///< cgroup v2 files
  friend bool operator==(const Resources&, const Resources&) = default;
};

struct SandboxSpec {
  std::string name;
  std::string namespace_;
  std::string uid;
  std::uint32_t attempt = 0;
  std::string hostname;
  std::string log_directory;
  std::string cgroup_parent;
  Labels labels;
  Labels annotations;
  bool host_network = false;
  bool privileged = false;  ///< one of its containers is
};

struct Sandbox {
  std::string id;
  std::string uid;
  std::string pod;  ///< "namespace/name"
  std::uint32_t attempt = 0;
  bool ready = false;
  std::int64_t created_at_ns = 0;
};

struct Mount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;
  std::string propagation;  ///< as VolumeMount
};

struct ContainerSpec {
  std::string name;
  std::uint32_t attempt = 0;
  std::string image;       ///< as the runtime knows it
  std::string user_image;  ///< as the manifest says
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::string working_dir;
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<Mount> mounts;
  Labels labels;
  Labels annotations;
  std::string log_path;  ///< below the sandbox's log directory
  Resources resources;
  SecurityContext security;
  bool host_network = false;
};

struct ContainerEntry {
  enum class State { kCreated, kRunning, kExited, kUnknown };
  std::string id;
  std::string sandbox_id;
  std::string name;
  std::uint32_t attempt = 0;
  State state = State::kUnknown;
  Labels labels;
  // Only in an answer of Status:
  std::int64_t started_at_ns = 0;
  std::int64_t finished_at_ns = 0;
  std::int32_t exit_code = 0;
  std::string reason;
  std::string message;
  std::string log_path;
  int pid = 0;                         ///< 0: the runtime does not say
  std::optional<Resources> resources;  ///< as the runtime has them on record
};

struct Image {
  std::string id;
  std::vector<std::string> tags;
  std::vector<std::string> digests;
  std::uint64_t size = 0;
  std::optional<std::int64_t> uid;  ///< its containers run as this user if nothing else is said,
  std::string user;                 ///< or as this one, where the image has a name; else as root
};

struct Version {
  std::string name;     ///< "containerd"
  std::string version;  ///< of the runtime
  std::string api;      ///< "v1"
};

struct ExecResult {
  std::string out;
  std::string err;
  std::int32_t exit_code = 0;
};

struct Timeouts {
  os::Millis usual{120'000};  ///< runtimeRequestTimeout; sandboxes get twice as long
  os::Millis handshake{5'000};
  os::Millis pull{600'000};
};

/// Whoever waits for a call: as caller_fd and give_up_from of wire::Patience.
struct Caller {
  int fd = -1;
  os::MonoTime counts_from{};
};

/// Thread: any number at a time.
class Client {
 public:
  /// `socket`: path or "unix://" and a path. `cancel_fd` as in wire::Patience, for all calls.
  explicit Client(std::string_view socket, const Timeouts& timeouts = {}, int cancel_fd = -1);

  const std::string& socket() const { return socket_; }
  /// Calls made so far, by their names in the interface.
  std::map<std::string, runtime::CallCount> Calls() const BERTH_EXCLUDES(mutex_);

  /// Looks at the socket and asks for the version: the first thing to do.
  /// Errors, each with the cure: kNotFound (no such socket), kInvalid (not a socket, or no container runtime behind
  /// it), kUnsupported (another version of the interface), kPermission, kUnreachable, kTimeout, kUncertain.
  Result<Version> Handshake() const;
  /// What the runtime says is not ready ("NetworkReady: cni plugin not initialized"); empty: nothing.
  Result<std::vector<std::string>> NotReady() const;
  /// "systemd" or "cgroupfs"; nullopt: this runtime cannot be asked.
  Result<std::optional<std::string>> CgroupDriver() const;

  Result<std::string> RunSandbox(const SandboxSpec& spec) const;  ///< its id
  Result<void> StopSandbox(std::string_view id) const;            ///< gone: success
  Result<void> RemoveSandbox(std::string_view id) const;          ///< gone: success
  Result<std::vector<Sandbox>> Sandboxes(const Labels& labels) const;

  /// Its id.
  Result<std::string> Create(std::string_view sandbox, const ContainerSpec& spec, const SandboxSpec& of) const;
  Result<void> Start(std::string_view id) const;
  /// Asks it to end and kills it after `grace`. Answers when it has ended; gone: success.
  Result<void> Stop(std::string_view id, std::chrono::seconds grace) const;
  Result<void> Remove(std::string_view id) const;  ///< gone: success
  Result<std::vector<ContainerEntry>> Containers(const Labels& labels) const;
  Result<ContainerEntry> Status(std::string_view id) const;
  Result<void> Update(std::string_view id, const Resources& resources) const;
  Result<void> ReopenLog(std::string_view id) const;
  /// Runs a command in a container; the runtime kills it after `limit`, and when the call is given up (`caller_fd` as
  /// in wire::Patience). It is not given up in its first two seconds: a containerd that is left while it starts a
  /// command loses sight of it.
  Result<ExecResult> Exec(std::string_view id, const std::vector<std::string>& command, std::chrono::seconds limit,
                          int caller_fd = -1) const;
  /// Calls `changed` with the id of each container that started or ended, until the runtime ends it, the call is given
  /// up or `changed` returns false. Errors: kUnsupported for runtimes without events.
  Result<void> Events(const std::function<bool(const std::string& id)>& changed) const;

  Result<std::vector<Image>> Images() const;
  Result<std::optional<Image>> FindImage(std::string_view image) const;  ///< nullopt: not there
  Result<std::string> Pull(std::string_view image) const;                ///< its reference

 private:
  template <class Answer, class Request>
  Result<Answer> Ask(std::string_view service, std::string_view method, const Request& request, os::Millis limit,
                     std::string_view doing, const Caller& caller = {}) const;
  void Count(std::string_view method, bool answered) const BERTH_EXCLUDES(mutex_);

  std::string socket_;
  Timeouts timeouts_;
  int cancel_fd_;
  mutable wire::Client wire_;
  mutable Mutex mutex_;
  mutable std::map<std::string, runtime::CallCount, std::less<>> calls_ BERTH_GUARDED_BY(mutex_);
};

/// Path of a socket from an endpoint as KubeletConfiguration names it ("unix:///run/x.sock", "/run/x.sock").
/// Errors: kInvalid for anything else.
Result<std::string> SocketOf(std::string_view endpoint);

}  // namespace berth::cri

#endif  // BERTH_CRI_CLIENT_H_
