// BerthConfiguration files: settings of Berth itself, their defaults, and reading them.
#ifndef BERTH_CONFIG_BERTH_CONFIG_H_
#define BERTH_CONFIG_BERTH_CONFIG_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "manifest/warning.h"
#include "model/kubelet_version.h"
#include "model/local_devices.h"
#include "model/own_rules.h"

namespace berth::config {

/// What a cluster is told of the node: docs/how-to/publish-a-node.md.
struct PublishSettings {
  std::string kubeconfig;  ///< resolved; "": the service account of the pod berthd is in
  bool topology = true;    ///< NodeResourceTopology
  bool state = true;       ///< NodeState
  friend bool operator==(const PublishSettings&, const PublishSettings&) = default;
};

/// Pods that would fit on the empty node wait instead of being rejected: docs/how-to/make-room.md.
struct WaitingSettings {
  std::int32_t max = 100;       ///< pods that wait; more are rejected
  std::int32_t overtakes = 16;  ///< pods admitted past the first one before its claim holds
  friend bool operator==(const WaitingSettings&, const WaitingSettings&) = default;
};

/// Where the specs of a kubelet's pods are asked for: docs/how-to/nri.md.
struct PodSpecsSettings {
  std::string kubeconfig;  ///< as above
  friend bool operator==(const PodSpecsSettings&, const PodSpecsSettings&) = default;
};

/// The live page: docs/how-to/web.md.
struct WebSettings {
  std::string address = "9960";  ///< as metrics_address, or the path of a unix socket
  std::string certificate;       ///< PEM files, resolved; both or none
  std::string key;
  std::string token_file;  ///< resolved; "": nobody is asked for a token
  bool allow_changes = false;
  friend bool operator==(const WebSettings&, const WebSettings&) = default;
};

/// Berth's own settings (berth.dev/v1alpha1, kind BerthConfiguration), same style as the kubelet's.
struct BerthConfiguration {
  std::string kubelet_config;  ///< path of a KubeletConfiguration, already resolved; "" for defaults
  std::string state_dir = "/var/lib/berth";
  std::string seccomp_dir = "/var/lib/kubelet/seccomp";  ///< of profiles of type Localhost
  /// Where device plug-ins register. "": nowhere; nullopt: DevicePluginDir.
  std::optional<std::string> device_plugin_dir;
  std::vector<LocalDeviceRule> local_devices;  ///< devices that need no plug-in; each resource may be in several
  std::string run_dir = "/run/berth";          ///< shims, sockets
  std::string socket;                          ///< "": berth.sock in run_dir
  std::string socket_group;                    ///< group of the socket; "" for root's
  std::string pod_resources_socket;            ///< of the pod resources API; "": it is not served
  std::string metrics_address;                 ///< "10.0.0.1:9950", "[::1]:9950" or "9950": metrics over TCP; "": none
  std::optional<PublishSettings> publish;      ///< nullopt: nothing is
  std::optional<WebSettings> web;              ///< nullopt: there is no live page
  std::string log_dir;    ///< of pods/ and containers/; "": the kubelet's podLogsDir and /var/log/containers
  std::string node_name;  ///< "" for the host name
  std::vector<std::string> node_ips;  ///< one of each family at most; empty: those of the default routes' interfaces
  std::map<std::string, std::string> runtime_classes;  ///< runtimeClassName -> handler of the container runtime
  /// "process"; "cri": the kubelet's containerRuntimeEndpoint; "nri": beside a kubelet, which runs the pods.
  std::string runtime = "process";
  bool names_runtime = false;                        ///< it was said, and is not only the default
  std::string nri_socket = "/var/run/nri/nri.sock";  ///< of the container runtime, with runtime "nri"
  std::string nri_index = "50";                      ///< two digits: plug-ins are asked in their order
  std::string nri_unplaced = "refuse";               ///< who cannot have CPUs of his own: refuse, share
  std::string nri_contested = "keep";                ///< a kubelet places containers too: keep, stepAside
  std::string kubelet_dir = "/var/lib/kubelet";      ///< with "nri": its state files are looked at; "": not
  std::optional<PodSpecsSettings> pod_specs;         ///< with "nri"; nullopt: what the runtime shows has to do
  std::string log_level = "info";                    ///< debug, info, warning, error
  std::optional<KubeletVersion> kubelet_version;     ///< whose decisions are made; nullopt: the node tells
  bool node_fit = true;                              ///< also reject what exceeds node allocatable
  bool whole_cores = true;                           ///< full-pcpus-only never gives a part of a core
  bool close_devices = false;                        ///< devices that lie close together, among equal choices
  bool judge_by_free_memory = false;                 ///< how few nodes memory needs, by what is free
  bool memory_groups_overlap = false;                ///< memory of several nodes and of one may share nodes
  bool pod_falls_back = false;                       ///< scope pod: container by container where the whole fits nowhere
  bool keep_rest_aligned = false;                    ///< best-effort: who has nodes in common keeps them
  bool look_ahead = false;                   ///< container by container: other nodes where the first choice rejects
  std::optional<WaitingSettings> waiting;    ///< nullopt: pods that do not fit are rejected
  std::string preemption = "none";           ///< who may have others evicted for it: none, critical
  bool eviction_ignores_page_cache = false;  ///< memory is judged without file pages used lately, too
  OwnRules own;                              ///< cpuOptions, isolatedCpus, podPolicies
  bool stop_containers_on_exit = false;
  std::optional<std::chrono::milliseconds> reconcile_period;  ///< nullopt: cpuManagerReconcilePeriod
  std::int32_t max_events = 10'000;
  std::string cpu_partition = "none";    ///< of containers with exclusive CPUs: none, root, isolated
  std::string runtime_cgroups;           ///< group of the container runtime; "" for Berth's own
  std::string unknown_pods = "report";   ///< cgroups of pods that Berth did not make: report, adopt
  std::string manifest_owners = "root";  ///< who may be able to change manifests in the pod folder: root, any
  /// Pods with fields that are not carried out and would be something else without them: refuse, warn.
  std::string unsupported_fields = "refuse";
  friend bool operator==(const BerthConfiguration&, const BerthConfiguration&) = default;
};
/// Where something is served over TCP.
struct TcpAddress {
  std::string address;  ///< IPv4 or IPv6
  std::uint16_t port = 0;
  friend bool operator==(const TcpAddress&, const TcpAddress&) = default;
};
/// A port alone is on 127.0.0.1. nullopt: it is no address with a port, nor a port.
std::optional<TcpAddress> ParseTcpAddress(std::string_view text);
/// Only programs of this host can connect.
bool IsLoopback(const TcpAddress& address);

/// The folder for device plug-ins; "": none. Not set, it is the kubelet's where the state is in its own default folder:
/// what is tried out beside a node does not take the node's plug-ins.
std::string DevicePluginDir(const BerthConfiguration& config);
struct ParsedBerthConfiguration {
  BerthConfiguration config;
  std::vector<manifest::Warning> warnings;
};
/// Exactly one document with apiVersion and kind. A relative kubeletConfig, kubeconfig or file of web is resolved
/// against the folder of `file`; the other paths must be absolute. Errors: kInvalid with all problems found, one a
/// line; unknown and duplicate fields are warnings.
Result<ParsedBerthConfiguration> ParseBerthConfiguration(std::string_view text, std::string_view file);
/// The same; with problems `out` has what could be read, for further checks.
Result<void> ReadBerthConfiguration(std::string_view text, std::string_view file, ParsedBerthConfiguration& out);

}  // namespace berth::config

#endif  // BERTH_CONFIG_BERTH_CONFIG_H_
