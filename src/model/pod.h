// v1.Pod as Berth uses it: the fields that bear on placement and on running it. API defaults are already applied.
#ifndef BERTH_MODEL_POD_H_
#define BERTH_MODEL_POD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/quantity.h"

namespace berth {

enum class QosClass { kGuaranteed, kBurstable, kBestEffort };
std::string_view Name(QosClass qos);  ///< "Guaranteed", ...

enum class RestartPolicy { kAlways, kOnFailure, kNever };
std::string_view Name(RestartPolicy policy);

/// v1.ResourceRequirements.
struct Resources {
  ResourceList requests;
  ResourceList limits;
  friend bool operator==(const Resources&, const Resources&) = default;
};

/// Documents whose keys a pod may take (model/document.h).
enum class DocumentKind { kConfigMap, kSecret };
std::string_view Name(DocumentKind kind);  ///< "ConfigMap", "Secret"

/// v1.ResourceFieldSelector: an amount of a container in whole divisors.
struct ResourceField {
  std::string container;  ///< "": the one whose variable it is
  std::string resource;   ///< "limits.cpu", "requests.hugepages-2Mi"
  Quantity divisor;       ///< not zero
  friend bool operator==(const ResourceField&, const ResourceField&) = default;
};

/// v1.ConfigMapKeySelector, v1.SecretKeySelector: a key of a document of the pod's namespace.
struct DocumentKey {
  DocumentKind kind = DocumentKind::kConfigMap;
  std::string name;
  std::string key;
  bool optional = false;
  friend bool operator==(const DocumentKey&, const DocumentKey&) = default;
};

/// An environment variable. Of what follows the value at most one is given, and then it counts instead.
struct EnvVar {
  std::string name;
  std::string value;       ///< $(VAR) references are not expanded yet
  std::string field_path;  ///< downward API: "metadata.name", "status.hostIP"
  std::optional<ResourceField> resource{};
  std::optional<DocumentKey> document{};
  friend bool operator==(const EnvVar&, const EnvVar&) = default;
};

/// v1.EnvFromSource: each key of a document is a variable.
struct EnvFrom {
  DocumentKind kind = DocumentKind::kConfigMap;
  std::string name;
  std::string prefix;
  bool optional = false;
  friend bool operator==(const EnvFrom&, const EnvFrom&) = default;
};

/// v1.SELinuxOptions.
struct SeLinuxOptions {
  std::string user;
  std::string role;
  std::string type;
  std::string level;
  friend bool operator==(const SeLinuxOptions&, const SeLinuxOptions&) = default;
};

/// v1.SecurityContext, of a container or of a pod (what a container does not say, its pod does).
struct SecurityContext {
  std::string app_armor;            ///< "", "RuntimeDefault", "Unconfined", "Localhost"
  std::string app_armor_localhost;  ///< name of a profile that the node has loaded, for "Localhost"
  std::optional<SeLinuxOptions> se_linux;
  std::string proc_mount;                                    ///< of a container: "", "Default", "Unmasked"
  std::vector<std::pair<std::string, std::string>> sysctls;  ///< of a pod: names and values
  std::optional<std::int64_t> run_as_user;
  std::optional<std::int64_t> run_as_group;
  std::optional<bool> run_as_non_root;
  std::optional<bool> privileged;
  std::optional<bool> read_only_root;
  std::optional<bool> allow_privilege_escalation;
  std::vector<std::string> add_capabilities;
  std::vector<std::string> drop_capabilities;
  std::string seccomp;            ///< "", "RuntimeDefault", "Unconfined", "Localhost"
  std::string seccomp_localhost;  ///< profile file, for "Localhost"
  // What follows only a pod has.
  std::optional<std::int64_t> fs_group;
  std::string fs_group_change_policy;  ///< "", "Always", "OnRootMismatch"
  std::vector<std::int64_t> supplemental_groups;
  std::string supplemental_groups_policy;  ///< "", "Merge", "Strict"
  friend bool operator==(const SecurityContext&, const SecurityContext&) = default;
};

/// A file of a volume: v1.KeyToPath, v1.DownwardAPIVolumeFile.
struct VolumeItem {
  std::string path;        ///< below the volume
  std::string key;         ///< of a document
  std::string field_path;  ///< of the downward API, or
  std::optional<ResourceField> resource{};
  std::optional<std::int32_t> mode{};
  friend bool operator==(const VolumeItem&, const VolumeItem&) = default;
};
/// What a volume's files are made of.
struct VolumeSource {
  std::optional<DocumentKind> document;  ///< nullopt: the downward API
  std::string name{};                    ///< of the document
  bool optional = false;                 ///< the document, or keys of it, may be missing
  std::vector<VolumeItem> items{};       ///< of a document: none stands for all its keys
  friend bool operator==(const VolumeSource&, const VolumeSource&) = default;
};

/// A directory or file a pod's containers may mount.
struct Volume {
  enum class Kind {
    kHostPath,  ///< of the host
    kEmptyDir,  ///< made for the pod and removed with it
    kFiles,     ///< configMap, secret, downwardAPI, projected: files made of `sources`
    kOther,     ///< a kind Berth cannot provide; `type` says which
  };
  std::string name;
  Kind kind = Kind::kEmptyDir;
  std::string host_path;
  std::string type;    ///< hostPath.type ("", "DirectoryOrCreate", ...); of kFiles and kOther: the source's name
  std::string medium;  ///< of emptyDir: "", "Memory", "HugePages", "HugePages-<size>"
  std::optional<Quantity> size_limit{};     ///< of emptyDir
  std::vector<VolumeSource> sources{};      ///< of kFiles; one but for projected
  std::optional<std::int32_t> file_mode{};  ///< of kFiles: of files that do not say otherwise; nullopt: 0644
  friend bool operator==(const Volume&, const Volume&) = default;
};

struct VolumeMount {
  std::string name;  ///< of the volume
  std::string mount_path;
  std::string sub_path;
  std::string sub_path_expr;  ///< the same with $(VAR) references to the container's environment
  bool read_only = false;
  std::string recursive_read_only;  ///< "", "Disabled", "IfPossible", "Enabled"
  std::string propagation;          ///< "", "None", "HostToContainer", "Bidirectional"
  friend bool operator==(const VolumeMount&, const VolumeMount&) = default;
};

/// v1.ContainerPort.
struct ContainerPort {
  std::string name;  ///< "": it has none
  std::int32_t port = 0;
  std::int32_t host_port = 0;  ///< 0: none
  std::string host_ip;
  std::string protocol = "TCP";  ///< "TCP", "UDP", "SCTP"
  friend bool operator==(const ContainerPort&, const ContainerPort&) = default;
};

/// A command in a container. v1.ExecAction.
struct ExecCheck {
  std::vector<std::string> command;
  friend bool operator==(const ExecCheck&, const ExecCheck&) = default;
};
/// v1.HTTPGetAction, of a probe or a hook.
struct HttpCheck {
  std::string host;  ///< "": the pod's address
  std::string port;  ///< a number, or the name of one of the container's ports
  std::string path = "/";
  bool https = false;
  std::vector<std::pair<std::string, std::string>> headers;
  friend bool operator==(const HttpCheck&, const HttpCheck&) = default;
};
/// v1.TCPSocketAction.
struct TcpCheck {
  std::string host;  ///< as HttpCheck has them
  std::string port;
  friend bool operator==(const TcpCheck&, const TcpCheck&) = default;
};
/// v1.GRPCAction.
struct GrpcCheck {
  std::int32_t port = 0;
  std::string service;
  friend bool operator==(const GrpcCheck&, const GrpcCheck&) = default;
};

/// v1.Probe.
struct Probe {
  std::variant<ExecCheck, HttpCheck, TcpCheck, GrpcCheck> check;
  std::int32_t initial_delay_s = 0;
  std::int32_t timeout_s = 1;
  std::int32_t period_s = 10;
  std::int32_t success_threshold = 1;
  std::int32_t failure_threshold = 3;
  std::optional<std::int64_t> termination_grace_s;  ///< instead of the pod's, where this probe ends the container
  friend bool operator==(const Probe&, const Probe&) = default;
};

/// v1.ContainerRestartRule with action Restart.
struct RestartRule {
  bool in = true;  ///< exit codes in the list; false: any other
  std::vector<std::int32_t> exit_codes;
  friend bool operator==(const RestartRule&, const RestartRule&) = default;
};

struct Container {
  std::string name;
  std::string image;
  std::string image_pull_policy;     ///< "Always", "IfNotPresent", "Never"; defaulted from the image tag
  std::vector<std::string> command;  ///< replaces the image's entry point
  std::vector<std::string> args;
  std::string working_dir;
  std::vector<EnvFrom> env_from;  ///< before `env`
  std::vector<EnvVar> env;
  Resources resources;
  /// Of its resizePolicy: resources ("cpu", "memory") that are changed by a restart of the container, in order of name;
  /// all others while it runs.
  std::vector<std::string> restart_to_resize{};
  bool restartable_init = false;                ///< init container with restartPolicy Always: a sidecar
  std::optional<RestartPolicy> restart_policy;  ///< its own, instead of the pod's; not of a sidecar
  std::vector<RestartRule> restart_rules;       ///< the first that fits its exit code restarts it, whatever the policy
  std::vector<ContainerPort> ports;
  std::optional<Probe> liveness;
  std::optional<Probe> readiness;
  std::optional<Probe> startup;
  std::vector<std::string> post_start_exec;
  std::optional<HttpCheck> post_start_http;  ///< instead of a command
  std::int64_t post_start_sleep_s = 0;       ///< likewise
  std::vector<std::string> pre_stop_exec;
  std::optional<HttpCheck> pre_stop_http;
  std::int64_t pre_stop_sleep_s = 0;
  std::string stop_signal;               ///< "SIGUSR1"; "": SIGTERM, or what the image says
  std::string termination_message_path;  ///< "": /dev/termination-log
  bool message_from_log = false;         ///< terminationMessagePolicy FallbackToLogsOnError
  std::vector<VolumeMount> mounts;
  SecurityContext security;
  bool stdin_open = false;
  bool stdin_once = false;
  bool tty = false;
  friend bool operator==(const Container&, const Container&) = default;
};

enum class ContainerKind { kInit, kSidecar, kApp };
std::string_view Name(ContainerKind kind);  ///< "init", "sidecar", "app"

/// v1.PodDNSConfig.
struct DnsConfig {
  std::vector<std::string> servers;
  std::vector<std::string> searches;
  std::vector<std::string> options;  ///< "name" or "name:value"
  friend bool operator==(const DnsConfig&, const DnsConfig&) = default;
};

/// v1.HostAlias: a line of the pod's /etc/hosts.
struct HostAlias {
  std::string ip;
  std::vector<std::string> hostnames;
  friend bool operator==(const HostAlias&, const HostAlias&) = default;
};

struct Pod {
  std::string name;
  std::string namespace_ = "default";
  std::string uid;  ///< identity in ledger and cgroups; letters, digits and '-' only once it was validated
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::string creation_timestamp;

  std::vector<Container> init_containers;  ///< in order; sidecars are among them
  std::vector<Container> containers;
  RestartPolicy restart_policy = RestartPolicy::kAlways;
  std::int64_t termination_grace_s = 30;
  std::optional<std::int64_t> active_deadline_s;
  std::vector<std::string> readiness_gates;  ///< types of conditions
  std::string os;                            ///< spec.os.name; "": not said
  ResourceList overhead;
  std::optional<Resources> resources;  ///< pod-level resources; present but empty counts (rules/sources#qos-class)
  std::string node_name;
  std::int32_t priority = 0;
  std::string priority_class;
  bool host_network = false;
  bool host_pid = false;
  bool host_ipc = false;
  std::optional<bool> host_users;
  bool share_process_namespace = false;
  std::string runtime_class;
  std::string hostname;  ///< "": the pod's name
  std::string subdomain;
  bool hostname_as_fqdn = false;
  std::string dns_policy;  ///< "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"; "": ClusterFirst
  DnsConfig dns;
  std::vector<HostAlias> host_aliases;
  std::vector<std::string> image_pull_secrets;  ///< names
  std::vector<Volume> volumes;
  SecurityContext security;  ///< of containers that do not say otherwise

  std::optional<QosClass> status_qos;  ///< status.qosClass, used verbatim when present
  std::string phase;                   ///< status.phase; "" if absent

  friend bool operator==(const Pod&, const Pod&) = default;
};

/// Least priority of a critical pod (system-cluster-critical and above).
inline constexpr std::int32_t kCriticalPriority = 2'000'000'000;

/// The value of a priority class that every cluster has ("system-node-critical", "system-cluster-critical"); nullopt:
/// of another class only an API server knows it.
std::optional<std::int32_t> PriorityOfClass(std::string_view name);

/// What counts among pods: spec.priority; 0 or not given, that of the class, else 0.
std::int32_t PriorityOf(const Pod& pod);

/// "namespace/name".
std::string FullName(const Pod& pod);

/// QoS class: status.qosClass if present, else computed (rules/sources#qos-class).
QosClass QosOf(const Pod& pod);

/// Calls visit(container, kind) for init containers (sidecars included) in order, then app containers.
template <class Visit>
void ForEachContainer(const Pod& pod, Visit&& visit) {
  for (const Container& c : pod.init_containers)
    visit(c, c.restartable_init ? ContainerKind::kSidecar : ContainerKind::kInit);
  for (const Container& c : pod.containers) visit(c, ContainerKind::kApp);
}

/// What the whole pod asks for: apps + sidecars against the init walk, pod-level values, overhead
/// (rules/sources#pod-sums).
ResourceList PodRequests(const Pod& pod);
/// Same for limits; overhead only where there is a limit.
ResourceList PodLimits(const Pod& pod);
/// Whether the whole pod has a limit of `resource`: its own, or every container has one. App containers need their own;
/// a sidecar's can stand for an init container after it without one, as in the kubelet.
bool IsLimited(const Pod& pod, std::string_view resource);

}  // namespace berth

#endif  // BERTH_MODEL_POD_H_
