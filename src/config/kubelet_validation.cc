#include "config/kubelet_validation.h"

#include <algorithm>
#include <set>

#include "base/suggest.h"
#include "base/text.h"
#include "model/gate_standing.h"
#include "model/kubelet_version.h"
#include "model/resources.h"

namespace berth::config {
namespace {

using manifest::Path;
using manifest::Report;
using manifest::UnsupportedValue;
using manifest::Words;

using std::chrono::milliseconds;

/// Gates that earlier kubelets knew, of features that became part of every kubelet. Sorted.
constexpr std::string_view kGraduatedGates[] = {"AppArmor",
                                                "CPUManager",
                                                "CRIContainerLogRotation",
                                                "DevicePlugins",
                                                "DownwardAPIHugePages",
                                                "EphemeralContainers",
                                                "ExpandedDNSConfig",
                                                "GRPCContainerProbe",
                                                "HugePageStorageMediumSize",
                                                "HugePages",
                                                "KubeletCredentialProviders",
                                                "KubeletPodResources",
                                                "KubeletPodResourcesGetAllocatable",
                                                "LocalStorageCapacityIsolation",
                                                "NodeLease",
                                                "PodPriority",
                                                "ProbeTerminationGracePeriod",
                                                "ProjectedServiceAccountToken",
                                                "RotateKubeletClientCertificate",
                                                "RunAsGroup",
                                                "RuntimeClass",
                                                "SeccompDefault",
                                                "SupportNodePidsLimit",
                                                "SupportPodPidsLimit",
                                                "Sysctls",
                                                "TopologyManager"};

std::string RemovedGate(KubeletVersion version) {
  return "Unsupported value: this feature gate was removed: the feature is always on in " + std::string(Name(version)) +
         "; take it out of the file";
}

/// Why a kubelet does not know it, or what it may be meant for.
std::string UnknownGate(std::string_view name, KubeletVersion version) {
  if (std::ranges::binary_search(kGraduatedGates, name)) return RemovedGate(version);
  const std::string_view nearest = Nearest(name, KnownFeatureGates(version));
  return "Unsupported value: unknown feature gate" +
         (nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?");
}

class Checker {
 public:
  Checker(const KubeletConfiguration& config, KubeletVersion version, Report& report)
      : c_(config), version_(version), report_(report) {}

  void Run() {
    CheckChoices();
    CheckNumbers();
    CheckDurations();
    CheckCgroups();
    CheckEnforcement();
    CheckReservedMemory();
    CheckPodLogsDir();
    CheckGates();
  }

 private:
  void Problem(std::string_view field, std::string text) {
    report_.Problem(Path{.parent = nullptr, .key = field}, std::move(text));
  }
  void Invalid(std::string_view field, std::string_view value, std::string_view why) {
    Problem(field, "Invalid value: " + std::string(value) + ": " + std::string(why));
  }
  void OneOf(std::string_view field, std::string_view value, Words words) {
    if (std::ranges::find(words, value) == words.end()) Problem(field, UnsupportedValue(value, words));
  }
  void Between(std::string_view field, std::int64_t value, std::int64_t min, std::int64_t max) {
    if (value < min || value > max)
      Invalid(field, std::to_string(value), "must be between " + std::to_string(min) + " and " + std::to_string(max));
  }
  void AtLeast(std::string_view field, std::int64_t value, std::int64_t min) {
    if (value < min) Invalid(field, std::to_string(value), "must be at least " + std::to_string(min));
  }
  static std::string Text(milliseconds value) { return std::to_string(value.count()) + "ms"; }

  void CheckChoices() {
    OneOf("topologyManagerPolicy", c_.topology_manager_policy,
          {"none", "best-effort", "restricted", "single-numa-node"});
    OneOf("topologyManagerScope", c_.topology_manager_scope, {"container", "pod"});
    OneOf("memorySwap.swapBehavior", c_.swap_behavior, {"", "NoSwap", "LimitedSwap"});
    OneOf("memoryReservationPolicy", c_.memory_reservation_policy, {"None", "TieredReservation"});
    if (c_.memory_reservation_policy == "TieredReservation" && !FeatureEnabled(c_, "MemoryQoS", version_))
      Problem("memoryReservationPolicy", "Forbidden: TieredReservation needs the feature gate MemoryQoS");
  }

  void CheckNumbers() {
    AtLeast("maxPods", c_.max_pods, 0);
    AtLeast("podsPerCore", c_.pods_per_core, 0);
    Between("oomScoreAdj", c_.oom_score_adj, -1000, 1000);
    if (c_.container_log_max_files <= 1)
      Invalid("containerLogMaxFiles", std::to_string(c_.container_log_max_files), "must be greater than 1");
    if (const auto& factor = c_.memory_throttling_factor; factor && !(*factor > 0 && *factor <= 1))
      Invalid("memoryThrottlingFactor", std::to_string(*factor), "must be greater than 0 and at most 1");
    const Result<Quantity> log_size = Quantity::Parse(c_.container_log_max_size);
    if (!log_size) {
      Problem("containerLogMaxSize", "Invalid value: " + log_size.error().message);
    } else if (log_size->Sign() <= 0) {
      Invalid("containerLogMaxSize", log_size->ToString(), "must be greater than 0");
    }
  }

  void CheckDurations() {
    if (c_.cpu_cfs_quota_period < milliseconds(1) || c_.cpu_cfs_quota_period > milliseconds(1000))
      Invalid("cpuCFSQuotaPeriod", Text(c_.cpu_cfs_quota_period), "must be between 1ms and 1s");
    if (c_.max_container_restart_period < milliseconds(1000) || c_.max_container_restart_period > milliseconds(300'000))
      Invalid("crashLoopBackOff.maxContainerRestartPeriod", Text(c_.max_container_restart_period),
              "must be between 1s and 300s");
    const auto zero_or_second = [&](std::string_view field, milliseconds value) {
      if (value != milliseconds(0) && value < milliseconds(1000))
        Invalid(field, Text(value), "must be 0 or at least 1s");
    };
    if (c_.container_log_monitor_interval < milliseconds(3000))
      Invalid("containerLogMonitorInterval", Text(c_.container_log_monitor_interval), "must be at least 3s");
    zero_or_second("shutdownGracePeriod", c_.shutdown_grace_period);
    zero_or_second("shutdownGracePeriodCriticalPods", c_.shutdown_grace_period_critical_pods);
    if (c_.shutdown_grace_period_critical_pods > c_.shutdown_grace_period)
      Invalid("shutdownGracePeriodCriticalPods", Text(c_.shutdown_grace_period_critical_pods),
              "must not exceed shutdownGracePeriod of " + Text(c_.shutdown_grace_period));
    const std::initializer_list<std::pair<std::string_view, milliseconds>> never_negative = {
        {"cpuManagerReconcilePeriod", c_.cpu_manager_reconcile_period},
        {"evictionPressureTransitionPeriod", c_.eviction_pressure_transition_period},
        {"fileCheckFrequency", c_.file_check_frequency},
        {"httpCheckFrequency", c_.http_check_frequency},
        {"runtimeRequestTimeout", c_.runtime_request_timeout},
        {"syncFrequency", c_.sync_frequency}};
    for (const auto& [field, value] : never_negative)
      if (value < milliseconds(0)) Invalid(field, Text(value), "must not be negative");
  }

  void CheckCgroups() {
    if (!c_.system_cgroups.empty() && c_.cgroup_root.empty())
      Problem("systemCgroups", "Forbidden: needs cgroupRoot to be set");
    if (c_.reserved_system_cpus.empty()) return;
    if (const Result<CpuSet> cpus = CpuSet::Parse(c_.reserved_system_cpus); !cpus)
      Problem("reservedSystemCPUs", "Invalid value: " + cpus.error().message);
    if (!c_.system_reserved_cgroup.empty() || !c_.kube_reserved_cgroup.empty())
      Problem("reservedSystemCPUs", "Forbidden: cannot be combined with systemReservedCgroup or kubeReservedCgroup");
  }

  void CheckEnforcement() {
    std::set<std::string_view> given;
    for (const std::string& value : c_.enforce_node_allocatable) {
      OneOf("enforceNodeAllocatable", value,
            {"pods", "system-reserved", "kube-reserved", "system-reserved-compressible", "kube-reserved-compressible",
             "none"});
      if (!given.insert(value).second)
        Problem("enforceNodeAllocatable", "Duplicate value: \"" + Printable(value, 60) + "\"");
    }
    const auto has = [&](std::string_view value) { return given.contains(value); };
    if (has("none") && given.size() > 1)
      Problem("enforceNodeAllocatable", "Forbidden: \"none\" excludes all other values");
    if (!c_.cgroups_per_qos && !given.empty() && !(has("none") && given.size() == 1))
      Problem("enforceNodeAllocatable", "Forbidden: any value but \"none\" needs cgroupsPerQOS");
    const auto check = [&](const std::string& name, std::string_view cgroup_field, const std::string& cgroup) {
      const std::string compressible = name + "-compressible";
      if (has(name) && has(compressible))
        Problem("enforceNodeAllocatable",
                "Forbidden: \"" + name + "\" and \"" + compressible + "\" exclude each other");
      if ((has(name) || has(compressible)) && cgroup.empty())
        Problem(cgroup_field, "Required value: enforceNodeAllocatable names " + name);
    };
    check("system-reserved", "systemReservedCgroup", c_.system_reserved_cgroup);
    check("kube-reserved", "kubeReservedCgroup", c_.kube_reserved_cgroup);
  }

  void CheckReservedMemory() {
    std::set<std::pair<std::uint32_t, std::string_view>> seen;
    const Path list{.parent = nullptr, .key = "reservedMemory"};
    for (std::size_t i = 0; i < c_.reserved_memory.size(); ++i) {
      const MemoryReservation& reservation = c_.reserved_memory[i];
      const Path item{.parent = &list, .key = {}, .index = static_cast<int>(i)};
      const Path limits{.parent = &item, .key = "limits"};
      for (const auto& [name, amount] : reservation.limits) {
        const Path path{.parent = &limits, .key = name, .index = -1, .entry = true};
        if (!IsMemoryType(name))
          report_.Problem(path, "Unsupported value: \"" + Printable(name, 60) + "\": only memory and hugepages-<size>");
        if (amount.Sign() <= 0)
          report_.Problem(path, "Invalid value: " + amount.ToString() + ": must be greater than 0");
        if (!seen.emplace(Raw(reservation.node), name).second)
          report_.Problem(path, "Duplicate value: " + Printable(name, 60) + " of NUMA node " +
                                    std::to_string(Raw(reservation.node)) + " is given more than once");
      }
    }
  }

  void CheckPodLogsDir() {
    const std::string& dir = c_.pod_logs_dir;
    const bool ascii = std::ranges::all_of(dir, [](char ch) { return ch > 0x20 && ch < 0x7f; });
    bool normal = dir.starts_with('/') && (dir.size() == 1 || !dir.ends_with('/'));
    for (const std::string_view part : Split(std::string_view(dir).substr(std::min<std::size_t>(1, dir.size())), '/'))
      normal = normal && part != "." && part != ".." && (!part.empty() || dir.size() == 1);
    if (!ascii || !normal)
      Invalid("podLogsDir", "\"" + Printable(dir, 80) + "\"",
              "must be an absolute, normalised path in ASCII, such as /var/log/pods");
  }

  void CheckGates() {
    const Path map{.parent = nullptr, .key = "featureGates"};
    for (const auto& [name, on] : c_.feature_gates) {
      const Path path{.parent = &map, .key = name, .index = -1, .entry = true};
      if (std::string problem = GateProblem(name, on); !problem.empty()) report_.Problem(path, std::move(problem));
    }
    if (FeatureEnabled(c_, "PodLevelResourceManagers", version_) && !FeatureEnabled(c_, "PodLevelResources", version_))
      report_.Problem(map, "Forbidden: PodLevelResourceManagers needs PodLevelResources");
  }

  /// "": the kubelet takes it.
  std::string GateProblem(std::string_view name, bool on) const {
    const GateStanding standing = StandingOf(name, version_);
    const std::string version(Name(version_));
    switch (standing.kind) {
      case GateStanding::Kind::kUnknown: return UnknownGate(name, version_);
      case GateStanding::Kind::kLater:
        return "Unsupported value: a kubelet knows this feature gate from " + std::string(Name(standing.since)) +
               " on, and Berth decides here as kubelet " + version +
               "; take it out of the file, or set kubeletVersion (offline: --kubelet-version)";
      case GateStanding::Kind::kFree: return "";
      case GateStanding::Kind::kLocked:
        if (on == standing.on) return "";
        return std::string("Forbidden: locked to ") + (standing.on ? "true" : "false") + " in " + version +
               "; remove it";
      case GateStanding::Kind::kRemoved: return RemovedGate(version_);
    }
    return "";
  }

  const KubeletConfiguration& c_;
  KubeletVersion version_;
  Report& report_;
};

}  // namespace

void CheckKubeletConfiguration(const KubeletConfiguration& config, KubeletVersion version, Report& report) {
  Checker(config, version, report).Run();
}

}  // namespace berth::config
