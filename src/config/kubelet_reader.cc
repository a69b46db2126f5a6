// KubeletConfiguration: text -> tree -> fields -> defaults -> rules.
#include "config/kubelet_reader.h"

#include "config/config_file.h"
#include "config/kubelet_validation.h"
#include "model/gate_standing.h"

namespace berth::config {
namespace {

using manifest::Document;
using manifest::Node;
using manifest::Object;
using manifest::Path;
using manifest::ReadJson;
using manifest::ReadString;
using manifest::Report;
using manifest::Warning;

using std::chrono::milliseconds;

constexpr TypeMeta kKubeletConfiguration{.api_version = "kubelet.config.k8s.io/v1beta1",
                                         .kind = "KubeletConfiguration"};

/// Fields of v1beta1 (1.36) that Berth accepts and does not use; those with a rule of their own are in kRanges.
constexpr std::string_view kUnused[] = {"address",
                                        "authentication",
                                        "authorization",
                                        "configMapAndSecretChangeDetectionStrategy",
                                        "contentType",
                                        "enableContentionProfiling",
                                        "enableControllerAttachDetach",
                                        "enableDebugFlagsHandler",
                                        "enableDebuggingHandlers",
                                        "enableProfilingHandler",
                                        "enableServer",
                                        "enableSystemLogHandler",
                                        "enableSystemLogQuery",
                                        "hairpinMode",
                                        "healthzBindAddress",
                                        "imageMaximumGCAge",
                                        "imageMinimumGCAge",
                                        "imagePullCredentialsVerificationPolicy",
                                        "iptablesDropBit",
                                        "iptablesMasqueradeBit",
                                        "logging",
                                        "makeIPTablesUtilChains",
                                        "nodeStatusMaxImages",
                                        "nodeStatusReportFrequency",
                                        "nodeStatusUpdateFrequency",
                                        "podCIDR",
                                        "preloadedImagesVerificationAllowlist",
                                        "providerID",
                                        "registerNode",
                                        "registerWithTaints",
                                        "rotateCertificates",
                                        "serializeImagePulls",
                                        "serverTLSBootstrap",
                                        "showHiddenMetricsForVersion",
                                        "shutdownGracePeriodByPodPriority",
                                        "streamingConnectionIdleTimeout",
                                        "tlsCertFile",
                                        "tlsCipherSuites",
                                        "tlsCurvePreferences",
                                        "tlsMinVersion",
                                        "tlsPrivateKeyFile",
                                        "tracing",
                                        "userNamespaces",
                                        "volumePluginDir",
                                        "volumeStatsAggPeriod"};

/// Numbers that Berth does not use and still checks, so that a file is refused by both or by none.
struct Range {
  std::string_view field;
  std::int64_t min;
  std::int64_t max;
};
constexpr std::int64_t kAnyInt32 = std::numeric_limits<std::int32_t>::max();
constexpr Range kRanges[] = {{"containerLogMaxWorkers", 1, kAnyInt32},
                             {"eventBurst", 0, kAnyInt32},
                             {"eventRecordQPS", 0, kAnyInt32},
                             {"healthzPort", 0, 65535},
                             {"imageGCHighThresholdPercent", 0, 100},
                             {"imageGCLowThresholdPercent", 0, 100},
                             {"kubeAPIBurst", 0, kAnyInt32},
                             {"kubeAPIQPS", 0, kAnyInt32},
                             {"maxOpenFiles", 0, std::numeric_limits<std::int64_t>::max()},
                             {"maxParallelImagePulls", 1, kAnyInt32},
                             {"nodeLeaseDurationSeconds", 1, kAnyInt32},
                             {"port", 1, 65535},
                             {"readOnlyPort", 0, 65535},
                             {"registryBurst", 0, kAnyInt32},
                             {"registryPullQPS", 0, kAnyInt32}};

/// Fields whose zero value stands for the default.
template <class T>
void ReadOrDefault(Object& object, std::string_view field, T& value) {
  const T standard = value;
  object.Read(field, value);
  if (value == T{}) value = standard;
}

void ReadManagers(Object& o, KubeletConfiguration& c) {
  ReadOrDefault(o, "cpuManagerPolicy", c.cpu_manager_policy);
  o.Read("cpuManagerPolicyOptions", c.cpu_manager_policy_options);
  ReadOrDefault(o, "cpuManagerReconcilePeriod", c.cpu_manager_reconcile_period);
  ReadOrDefault(o, "memoryManagerPolicy", c.memory_manager_policy);
  ReadOrDefault(o, "topologyManagerPolicy", c.topology_manager_policy);
  ReadOrDefault(o, "topologyManagerScope", c.topology_manager_scope);
  o.Read("topologyManagerPolicyOptions", c.topology_manager_policy_options);
  o.Read("featureGates", c.feature_gates);
}

void ReadReservedMemory(Object& o, KubeletConfiguration& c) {
  o.Each("reservedMemory", [&](const Node& node, const Path& path) {
    Object item(node, path, o.report());
    std::int32_t numa = 0;
    MemoryReservation reservation;
    item.Read("numaNode", numa);
    item.Read("limits", reservation.limits);
    item.Finish();
    if (numa < 0 || numa > static_cast<std::int32_t>(kMaxId))
      return o.report().Problem(item.PathOf("numaNode"), "Invalid value: " + std::to_string(numa) +
                                                             ": must be between 0 and " + std::to_string(kMaxId));
    reservation.node = NumaId{static_cast<std::uint32_t>(numa)};
    c.reserved_memory.push_back(std::move(reservation));
  });
}

/// A reservation map: amounts of known names, none negative.
void ReadReserved(Object& o, std::string_view field, ResourceList& out) {
  o.Read(field, out);
  const Path path = o.PathOf(field);
  for (const auto& [name, amount] : out) {
    const Path entry{.parent = &path, .key = name, .index = -1, .entry = true};
    if (name != "cpu" && name != "memory" && name != "ephemeral-storage" && name != "pid")
      o.report().Problem(
          entry, "Unsupported value: cannot reserve \"" + name + "\"; use cpu, memory, ephemeral-storage or pid");
    if (amount.Sign() < 0) o.report().Problem(entry, "Invalid value: " + amount.ToString() + ": must not be negative");
  }
}

void ReadReservations(Object& o, KubeletConfiguration& c) {
  o.Read("reservedSystemCPUs", c.reserved_system_cpus);
  ReadReserved(o, "systemReserved", c.system_reserved);
  ReadReserved(o, "kubeReserved", c.kube_reserved);
  o.Read("systemReservedCgroup", c.system_reserved_cgroup);
  o.Read("kubeReservedCgroup", c.kube_reserved_cgroup);
  o.Read("enforceNodeAllocatable", c.enforce_node_allocatable);
  o.Read("qosReserved", c.qos_reserved);
  ReadReservedMemory(o, c);
}

void ReadEviction(Object& o, KubeletConfiguration& c) {
  o.Read("evictionHard", c.eviction_hard);
  o.Read("evictionSoft", c.eviction_soft);
  o.Read("evictionSoftGracePeriod", c.eviction_soft_grace_period);
  o.Read("evictionMinimumReclaim", c.eviction_minimum_reclaim);
  ReadOrDefault(o, "evictionPressureTransitionPeriod", c.eviction_pressure_transition_period);
  o.Read("evictionMaxPodGracePeriod", c.eviction_max_pod_grace_period);
  o.Read("mergeDefaultEvictionSettings", c.merge_default_eviction_settings);
  o.Read("kernelMemcgNotification", c.kernel_memcg_notification);
}

void ReadCgroups(Object& o, KubeletConfiguration& c) {
  o.Read("cgroupRoot", c.cgroup_root);
  o.Read("cgroupsPerQOS", c.cgroups_per_qos);
  ReadOrDefault(o, "cgroupDriver", c.cgroup_driver);
  o.Read("systemCgroups", c.system_cgroups);
  o.Read("kubeletCgroups", c.kubelet_cgroups);
  o.Read("failCgroupV1", c.fail_cgroup_v1);
  o.Read("singleProcessOOMKill", c.single_process_oom_kill);
  o.Read("cpuCFSQuota", c.cpu_cfs_quota);
  ReadOrDefault(o, "cpuCFSQuotaPeriod", c.cpu_cfs_quota_period);
  o.Read("podPidsLimit", c.pod_pids_limit);
  if (c.pod_pids_limit < 0) c.pod_pids_limit = -1;
  ReadOrDefault(o, "maxPods", c.max_pods);
  o.Read("podsPerCore", c.pods_per_core);
  o.Read("oomScoreAdj", c.oom_score_adj);
  o.Read("memoryThrottlingFactor", c.memory_throttling_factor);
  ReadOrDefault(o, "memoryReservationPolicy", c.memory_reservation_policy);
  o.Read("failSwapOn", c.fail_swap_on);
  o.Within("memorySwap", [&](Object& swap) {
    swap.Read("swapBehavior", c.swap_behavior);
    swap.Finish();
  });
  o.Read("protectKernelDefaults", c.protect_kernel_defaults);
  o.Read("localStorageCapacityIsolation", c.local_storage_capacity_isolation);
}

void ReadSourcesAndRuntime(Object& o, KubeletConfiguration& c) {
  o.Read("staticPodPath", c.static_pod_path);
  o.Read("staticPodURL", c.static_pod_url);
  o.EachEntry("staticPodURLHeader", [&](const std::string& name, const Node& node, const Path& path) {
    if (node.kind != Node::Kind::kList) return o.report().Problem(path, "Invalid value: expected a list of strings");
    std::vector<std::string>& values = c.static_pod_url_header[name];
    for (std::size_t i = 0; i < node.items.size(); ++i)
      ReadString(node.items[i], Path{.parent = &path, .key = {}, .index = static_cast<int>(i)}, o.report(),
                 values.emplace_back());
  });
  ReadOrDefault(o, "fileCheckFrequency", c.file_check_frequency);
  ReadOrDefault(o, "httpCheckFrequency", c.http_check_frequency);
  ReadOrDefault(o, "syncFrequency", c.sync_frequency);
  ReadOrDefault(o, "containerRuntimeEndpoint", c.container_runtime_endpoint);
  o.Read("imageServiceEndpoint", c.image_service_endpoint);
  ReadOrDefault(o, "runtimeRequestTimeout", c.runtime_request_timeout);
  o.Within("crashLoopBackOff", [&](Object& back_off) {
    back_off.Read("maxContainerRestartPeriod", c.max_container_restart_period);
    back_off.Finish();
  });
  ReadOrDefault(o, "podLogsDir", c.pod_logs_dir);
  ReadOrDefault(o, "containerLogMaxSize", c.container_log_max_size);
  o.Read("containerLogMaxFiles", c.container_log_max_files);
  ReadOrDefault(o, "containerLogMonitorInterval", c.container_log_monitor_interval);
  o.Read("clusterDNS", c.cluster_dns);
  o.Read("clusterDomain", c.cluster_domain);
  o.Read("resolvConf", c.resolv_conf);
  o.Read("allowedUnsafeSysctls", c.allowed_unsafe_sysctls);
  o.Read("seccompDefault", c.seccomp_default);
  o.Read("shutdownGracePeriod", c.shutdown_grace_period);
  o.Read("shutdownGracePeriodCriticalPods", c.shutdown_grace_period_critical_pods);
}

/// Fields that bear on resources in a kubelet and on nothing here. Left at what a kubelet does by default they say
/// nothing.
void WarnOfNoEffect(Object& o, const KubeletConfiguration& c) {
  const KubeletConfiguration standard;
  const auto warn = [&](std::string_view field, bool said, std::string_view why) {
    if (said) o.report().Warn(o.PathOf(field), "has no effect: " + std::string(why));
  };
  warn("kernelMemcgNotification", c.kernel_memcg_notification,
       "Berth hears of memory that runs short from the kernel's pressure figures");
  warn("syncFrequency", c.sync_frequency != standard.sync_frequency,
       "Berth works on a pod when something about it happens, and compares all with the kernel every reconcilePeriod");
  warn("shutdownGracePeriod", c.shutdown_grace_period != standard.shutdown_grace_period,
       "set stopContainersOnExit in Berth's settings, and TimeoutStopSec in its unit: pods then end with their own "
       "grace periods when the node shuts down");
  warn("memorySwap.swapBehavior", c.swap_behavior == "LimitedSwap", "a container with a memory limit gets no swap");
  warn("imageServiceEndpoint",
       !c.image_service_endpoint.empty() && c.image_service_endpoint != c.container_runtime_endpoint,
       "images are asked for at containerRuntimeEndpoint");
}

/// A field that came with its gate. Beside a kubelet it is the kubelet's, which makes the sandboxes.
void CheckDefaultPodSysctls(Object& o, const KubeletConfiguration& c, KubeletVersion version) {
  constexpr std::string_view kGate = "DefaultPodSysctls";
  if (StandingOf(kGate, version).kind == GateStanding::Kind::kLater) return;
  constexpr std::string_view kField = "defaultPodSysctls";
  std::map<std::string, std::string> sysctls;
  o.Read(kField, sysctls);
  if (sysctls.empty()) return;
  if (!FeatureEnabled(c, kGate, version))
    o.report().Problem(o.PathOf(kField), "Forbidden: needs the feature gate " + std::string(kGate));
  else
    o.report().Warn(o.PathOf(kField), "has no effect: give the pods that need them spec.securityContext.sysctls");
}

void CheckUnusedFields(Object& o) {
  for (const Range& range : kRanges) {
    std::int64_t value = range.min;
    o.Read(range.field, value);
    if (value < range.min || value > range.max)
      o.report().Problem(o.PathOf(range.field), "Invalid value: " + std::to_string(value) + ": must be between " +
                                                    std::to_string(range.min) + " and " + std::to_string(range.max));
  }
  bool run_once = false;
  o.Read("runOnce", run_once);
  if (run_once) o.report().Problem(o.PathOf("runOnce"), "Invalid value: true: no longer supported; remove it");
}

/// Flags of the kubelet whose field has another name; the others are found by their likeness.
constexpr std::pair<std::string_view, std::string_view> kFlags[] = {{"manifest-url", "staticPodURL"},
                                                                    {"manifest-url-header", "staticPodURLHeader"},
                                                                    {"pod-manifest-path", "staticPodPath"},
                                                                    {"pod-max-pids", "podPidsLimit"},
                                                                    {"reserved-cpus", "reservedSystemCPUs"}};

void WarnOfFlags(Object& o, const Node& root) {
  for (const auto& [flag, field] : kFlags)
    if (Find(root, flag) != nullptr && o.Take(flag) != nullptr)  // what is taken may be suggested
      o.report().Warn(o.PathOf(flag), "unknown field, ignored; the kubelet's flag --" + std::string(flag) +
                                          " is the field \"" + std::string(field) + "\"");
}

struct Origin {
  std::string_view file;   // in messages
  bool whole_file = true;  // apiVersion and kind are required, relative paths resolved
  KubeletVersion version = KubeletVersion::k1_36;
};

Result<void> ReadKubeletFields(const Document& document, const Origin& origin, ParsedKubeletConfiguration& out) {
  Report report;
  const Path top;
  Object object(document.root, top, report);
  CheckTypeMeta(object, kKubeletConfiguration, origin.whole_file);
  KubeletConfiguration& config = out.config;
  ReadManagers(object, config);
  ReadReservations(object, config);
  ReadEviction(object, config);
  ReadCgroups(object, config);
  ReadSourcesAndRuntime(object, config);
  CheckUnusedFields(object);
  CheckDefaultPodSysctls(object, config, origin.version);
  WarnOfNoEffect(object, config);
  WarnOfFlags(object, document.root);
  object.Finish(kUnused);
  if (origin.whole_file) {
    config.static_pod_path = ResolveBeside(origin.file, config.static_pod_path);
    config.pod_logs_dir = ResolveBeside(origin.file, config.pod_logs_dir);
  }
  CheckKubeletConfiguration(config, origin.version, report);
  const std::vector<Warning> warnings = WarningsOf(report, document, origin.file);
  out.warnings.insert(out.warnings.end(), warnings.begin(), warnings.end());
  return ErrorOf(report, origin.file);
}

}  // namespace

Result<void> ReadKubeletConfiguration(std::string_view text, std::string_view file, KubeletVersion version,
                                      ParsedKubeletConfiguration& out) {
  BERTH_TRY(const Document document, ReadDocumentOfKind(text, file, kKubeletConfiguration.kind, out.warnings));
  return ReadKubeletFields(document, {.file = file, .whole_file = true, .version = version}, out);
}

Result<ParsedKubeletConfiguration> ParseKubeletConfiguration(std::string_view text, std::string_view file,
                                                             KubeletVersion version) {
  ParsedKubeletConfiguration out;
  BERTH_RETURN_IF_ERROR(ReadKubeletConfiguration(text, file, version, out));
  return out;
}

Result<ParsedKubeletConfiguration> ParseKubeletConfigurationFields(std::string_view json, std::string_view where,
                                                                   KubeletVersion version) {
  Result<Document> document = ReadJson(json);
  if (!document) return Wrap(std::move(document).error(), where);
  ParsedKubeletConfiguration out;
  BERTH_RETURN_IF_ERROR(ReadKubeletFields(*document, {.file = where, .whole_file = false, .version = version}, out));
  return out;
}

}  // namespace berth::config
