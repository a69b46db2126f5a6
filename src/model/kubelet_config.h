// KubeletConfiguration (kubelet.config.k8s.io/v1beta1): the fields that bear on resources, with the kubelet's defaults.
//
// A plain value, made by config::ParseKubeletConfiguration (field types, file validation) and checked against a
// machine by allocator::Node::Make (what the kubelet finds out only at construction): rules/sources#settings.
#ifndef BERTH_MODEL_KUBELET_CONFIG_H_
#define BERTH_MODEL_KUBELET_CONFIG_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_set.h"
#include "base/quantity.h"
#include "model/kubelet_version.h"

namespace berth {

struct MemoryReservation {
  NumaId node{};
  ResourceList limits;
  friend bool operator==(const MemoryReservation&, const MemoryReservation&) = default;
};

struct KubeletConfiguration {
  using Options = std::map<std::string, std::string>;
  using Milliseconds = std::chrono::milliseconds;

  std::string cpu_manager_policy = "none";
  Options cpu_manager_policy_options;
  Milliseconds cpu_manager_reconcile_period{10'000};
  std::string memory_manager_policy = "None";
  std::vector<MemoryReservation> reserved_memory;
  std::string topology_manager_policy = "none";
  std::string topology_manager_scope = "container";
  Options topology_manager_policy_options;
  std::string reserved_system_cpus;  ///< list text, parsed and checked against the machine by allocator::Node::Make
  ResourceList system_reserved;
  ResourceList kube_reserved;
  std::string system_reserved_cgroup;
  std::string kube_reserved_cgroup;
  std::vector<std::string> enforce_node_allocatable{"pods"};
  std::map<std::string, std::string> qos_reserved;

  std::optional<std::map<std::string, std::string>>
      eviction_hard;  ///< nullopt: the defaults (rules/eviction#thresholds)
  std::map<std::string, std::string> eviction_soft;
  std::map<std::string, std::string> eviction_soft_grace_period;
  std::map<std::string, std::string> eviction_minimum_reclaim;
  Milliseconds eviction_pressure_transition_period{300'000};
  std::int32_t eviction_max_pod_grace_period = 0;
  bool merge_default_eviction_settings = false;
  bool kernel_memcg_notification = false;

  std::string cgroup_root;  ///< "" means "/"
  bool cgroups_per_qos = true;
  std::string cgroup_driver;  ///< "": the one this host needs
  std::string system_cgroups;
  std::string kubelet_cgroups;
  std::optional<bool> fail_cgroup_v1;  ///< nullopt: not said; Berth works on v1 (differences)
  std::optional<bool> single_process_oom_kill;
  bool cpu_cfs_quota = true;
  Milliseconds cpu_cfs_quota_period{100};
  std::int64_t pod_pids_limit = -1;
  std::int32_t max_pods = 110;
  std::int32_t pods_per_core = 0;
  std::int32_t oom_score_adj = -999;
  std::optional<double> memory_throttling_factor;  ///< nullopt: not said; KubeletRules::memory_throttling_factor
  std::string memory_reservation_policy = "None";
  std::optional<bool> fail_swap_on;  ///< nullopt: not said; swap is told of
  std::string swap_behavior;
  bool protect_kernel_defaults = false;
  bool local_storage_capacity_isolation = true;

  std::string static_pod_path;
  std::string static_pod_url;
  std::map<std::string, std::vector<std::string>> static_pod_url_header;
  Milliseconds file_check_frequency{20'000};
  Milliseconds http_check_frequency{20'000};
  Milliseconds sync_frequency{60'000};
  std::string container_runtime_endpoint = "unix:///run/containerd/containerd.sock";
  std::string image_service_endpoint;
  Milliseconds runtime_request_timeout{120'000};
  Milliseconds max_container_restart_period{300'000};  ///< crashLoopBackOff.maxContainerRestartPeriod
  std::string pod_logs_dir = "/var/log/pods";
  std::string container_log_max_size = "10Mi";
  std::int32_t container_log_max_files = 5;
  Milliseconds container_log_monitor_interval{10'000};
  Milliseconds shutdown_grace_period{0};
  Milliseconds shutdown_grace_period_critical_pods{0};
  std::vector<std::string> cluster_dns;
  std::string cluster_domain;
  std::string resolv_conf = "/etc/resolv.conf";     ///< of pods that use the node's; "": none
  std::vector<std::string> allowed_unsafe_sysctls;  ///< names, or beginnings that end in "*"
  bool seccomp_default = false;                     ///< who names no profile gets RuntimeDefault
  std::map<std::string, bool> feature_gates;

  friend bool operator==(const KubeletConfiguration&, const KubeletConfiguration&) = default;
};

/// In a kubelet of that version: what the gate is locked to, else its configured value, else what AllAlpha or AllBeta
/// say for its stage, else its default (rules/sources#gates). Unknown gates are false, those that were removed true.
bool FeatureEnabled(const KubeletConfiguration& config, std::string_view gate, KubeletVersion version);

struct FeatureGate {
  enum class Stage { kAlpha, kBeta, kStable };
  std::string_view name;
  Stage stage;
  bool on;      ///< default
  bool locked;  ///< cannot be set to anything but the default, or was removed
};

/// In that version; nullopt: not there yet, or neither changed since 1.36 nor a gate that bears on what Berth does.
std::optional<FeatureGate> FindFeatureGate(std::string_view name, KubeletVersion version);

/// Every gate a kubelet of that version takes, those without a meaning for Berth included; sorted.
std::vector<std::string_view> KnownFeatureGates(KubeletVersion version);

}  // namespace berth

#endif  // BERTH_MODEL_KUBELET_CONFIG_H_
