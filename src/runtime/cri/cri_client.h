// The Container Runtime Interface, v1, as calls on plain values. Nothing is decided or remembered here.
//
// All calls of a client share one connection. Errors of every call: as grpc::Client, with what was being done before
// the runtime's text. MayBeDone(code) tells those after which nobody knows whether it was done; kUnreachable and
// kOverloaded mean that it was not.
#ifndef BERTH_RUNTIME_CRI_CRI_CLIENT_H_
#define BERTH_RUNTIME_CRI_CRI_CLIENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "rpc/grpc/grpc_client.h"
#include "runtime/cri/cri_values.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::cri {

/// Longest message either way, as the kubelet has it.
inline constexpr std::size_t kLongestMessage = grpc::Limits().message;

struct Version {
  std::string name;     ///< "containerd"
  std::string version;  ///< of the runtime
  std::string api;      ///< "v1"
};

/// What not every version can do.
struct Features {
  std::set<std::string> recursive_read_only;  ///< handlers ("": the default one) that make all below a mount read-only
  bool strict_groups = false;                 ///< supplementalGroupsPolicy
  bool cni_reads_annotations = false;         ///< a plug-in of the pods' network is told the annotations of pods
  bool cni_limits_bandwidth = false;          ///< one is told the bandwidth that annotations of pods say
  std::optional<bool> cdi;                    ///< devices by CDI are given to containers; nullopt: it does not say
};

struct RuntimeStatus {
  std::vector<std::string> not_ready;  ///< "NetworkReady: cni plugin not initialized"; empty: nothing
  Features features;
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

/// Whoever waits for a call: as caller_fd and give_up_from of grpc::Patience.
struct Caller {
  int fd = -1;
  os::MonoTime counts_from{};
};

/// What is asked again and again has to be given up sooner than what is not.
inline constexpr os::Millis kLongestList{30'000};

/// Thread: any number at a time.
class Client {
 public:
  /// `socket`: path or "unix://" and a path. `cancel_fd` as in grpc::Patience, for all calls.
  explicit Client(std::string_view socket, const Timeouts& timeouts = {}, int cancel_fd = -1);

  const std::string& socket() const { return socket_; }
  /// Calls made so far, by their names in the interface.
  std::map<std::string, runtime::CallCount> Calls() const BERTH_EXCLUDES(mutex_);

  /// Looks at the socket and asks for the version: the first thing to do.
  /// Errors, each with the cure: kNotFound (no such socket), kInvalid (not a socket, or no container runtime behind
  /// it), kUnsupported (another version of the interface), kPermission, kUnreachable, kTimeout, kUncertain.
  Result<Version> Handshake() const;
  Result<RuntimeStatus> AskStatus() const;
  /// "systemd" or "cgroupfs"; nullopt: this runtime cannot be asked.
  Result<std::optional<std::string>> CgroupDriver() const;

  Result<std::string> RunSandbox(const SandboxSpec& spec) const;  ///< its id
  /// Those of its network, the first is the pod's IP; empty where it has that of the node.
  Result<std::vector<std::string>> Addresses(std::string_view sandbox) const;
  Result<void> StopSandbox(std::string_view id) const;    ///< gone: success
  Result<void> RemoveSandbox(std::string_view id) const;  ///< gone: success
  Result<std::vector<Sandbox>> Sandboxes(const Labels& labels, os::Millis patience = kLongestList) const;

  /// Its id.
  Result<std::string> Create(std::string_view sandbox, const ContainerSpec& spec, const SandboxSpec& of) const;
  Result<void> Start(std::string_view id) const;
  /// Asks it to end and kills it after `grace`. Answers when it has ended; gone: success.
  Result<void> Stop(std::string_view id, std::chrono::seconds grace) const;
  Result<void> Remove(std::string_view id) const;  ///< gone: success
  Result<std::vector<ContainerEntry>> Containers(const Labels& labels, os::Millis patience = kLongestList) const;
  Result<ContainerEntry> Status(std::string_view id, os::Millis patience = os::Millis::max()) const;
  Result<void> Update(std::string_view id, const Resources& resources) const;
  Result<void> ReopenLog(std::string_view id) const;
  /// Runs a command in a container; the runtime kills it after `limit`, and when the call is given up (`caller_fd` as
  /// in grpc::Patience). It is not given up in its first two seconds: a containerd that is left while it starts a
  /// command loses sight of it.
  Result<ExecResult> Exec(std::string_view id, const std::vector<std::string>& command, std::chrono::seconds limit,
                          int caller_fd = -1) const;
  /// Calls `changed` with the id of each container that started or ended, until the runtime ends it, the call is given
  /// up or `changed` returns false. Errors: kUnsupported for runtimes without events.
  Result<void> Events(const std::function<bool(const std::string& id)>& changed) const;

  Result<std::vector<Image>> Images() const;
  Result<std::optional<Image>> FindImage(std::string_view image) const;  ///< nullopt: not there
  /// Its reference. `as`: nullptr for what the runtime is configured to say.
  Result<std::string> Pull(std::string_view image, const SandboxSpec& of, const Credentials* as) const;

 private:
  template <class Answer, class Request>
  Result<Answer> Ask(std::string_view service, std::string_view method, const Request& request, os::Millis limit,
                     std::string_view doing, const Caller& caller = {}) const;
  void Count(std::string_view method, bool answered) const BERTH_EXCLUDES(mutex_);

  std::string socket_;
  Timeouts timeouts_;
  int cancel_fd_;
  mutable grpc::Client wire_;
  mutable Mutex mutex_;
  mutable std::map<std::string, runtime::CallCount, std::less<>> calls_ BERTH_GUARDED_BY(mutex_);
};

/// Path of a socket from an endpoint as KubeletConfiguration names it ("unix:///run/x.sock", "/run/x.sock").
/// Errors: kInvalid for anything else.
Result<std::string> SocketOf(std::string_view endpoint);

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_CRI_CLIENT_H_
