// Plain value types of the Container Runtime Interface (CRI), v1: sandboxes, containers, images.
#ifndef BERTH_RUNTIME_CRI_CRI_VALUES_H_
#define BERTH_RUNTIME_CRI_CRI_VALUES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/device.h"
#include "model/pod.h"

namespace berth::cri {

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

/// Whose namespaces a pod's processes are in, where that is not their container's or their pod's.
struct Namespaces {
  bool host_network = false;
  bool host_pid = false;
  bool host_ipc = false;
  bool shared_pid = false;  ///< one for all containers of the pod
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
  Namespaces namespaces;
  DnsConfig dns;
  std::vector<ContainerPort> ports;  ///< those with a port of the node
  Labels sysctls;
  std::string handler;       ///< of the runtime; "": its own choice
  SecurityContext security;  ///< the pod's
  bool privileged = false;   ///< one of its containers is
  Resources overhead;        ///< of the pod
  Resources resources;       ///< of its containers together
};

struct Sandbox {
  std::string id;
  std::string uid;
  std::string pod;  ///< "namespace/name"
  std::uint32_t attempt = 0;
  bool ready = false;
  std::int64_t created_at_ns = 0;
  Labels annotations;
};

struct Mount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;
  std::string propagation;  ///< as VolumeMount
  bool recursive_read_only = false;
  bool relabel = false;  ///< its files get the container's SELinux label
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
  std::vector<DeviceNode> devices;
  std::vector<std::string> cdi_devices;
  Labels labels;
  Labels annotations;
  std::string log_path;  ///< below the sandbox's log directory
  Resources resources;
  SecurityContext security;  ///< seccomp_localhost: a whole path
  Namespaces namespaces;
  bool stdin_open = false;
  bool stdin_once = false;
  bool tty = false;
};

/// What somebody tells a registry. Never for logs.
struct Credentials {
  std::string username;
  std::string password;
  std::string identity_token;
  std::string registry_token;
  friend bool operator==(const Credentials&, const Credentials&) = default;
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

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_CRI_VALUES_H_
