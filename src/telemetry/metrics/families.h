// Every metric there is: docs/reference/metrics.md lists the same. A new one is declared here and written in page.cc.
#ifndef BERTH_TELEMETRY_METRICS_FAMILIES_H_
#define BERTH_TELEMETRY_METRICS_FAMILIES_H_

#include <array>

#include "telemetry/metrics/exposition_format.h"

namespace berth::metrics {

// ---- a kubelet's names ---------------------------------------------------------------------------------------------

inline constexpr Family kCpuPinnings{"kubelet_cpu_manager_pinning_requests_total", Kind::kCounter,
                                     "Containers for which exclusive CPUs were to be taken."};
inline constexpr Family kCpuPinningErrors{"kubelet_cpu_manager_pinning_errors_total", Kind::kCounter,
                                          "Containers for which exclusive CPUs could not be taken."};
inline constexpr Family kSharedPool{"kubelet_cpu_manager_shared_pool_size_millicores", Kind::kGauge,
                                    "CPUs that could still be given to a container alone, in thousandths."};
inline constexpr Family kExclusiveCpus{"kubelet_cpu_manager_exclusive_cpu_allocation_count", Kind::kGauge,
                                       "CPUs that containers have for themselves."};
inline constexpr Family kExclusivePerNuma{"kubelet_cpu_manager_allocation_per_numa",
                                          Kind::kGauge,
                                          "CPUs of a NUMA node that containers have for themselves.",
                                          {"numa_node"}};
inline constexpr Family kMemoryPinnings{"kubelet_memory_manager_pinning_requests_total", Kind::kCounter,
                                        "Containers for which memory of NUMA nodes was to be booked."};
inline constexpr Family kMemoryPinningErrors{"kubelet_memory_manager_pinning_errors_total", Kind::kCounter,
                                             "Containers for which memory of NUMA nodes could not be booked."};
inline constexpr Family kAdmissions{"kubelet_topology_manager_admission_requests_total", Kind::kCounter,
                                    "Pods that were decided on."};
inline constexpr Family kAdmissionErrors{"kubelet_topology_manager_admission_errors_total", Kind::kCounter,
                                         "Pods that could not be aligned, or not be given what they asked for then."};
inline constexpr Family kAdmissionTime{"kubelet_topology_manager_admission_duration_ms", Kind::kHistogram,
                                       "Milliseconds that a decision about a pod took."};
inline constexpr Family kAligned{"kubelet_container_aligned_compute_resources_count",
                                 Kind::kCounter,
                                 "Allocations that are aligned as the settings guarantee it.",
                                 {"scope", "boundary"}};
inline constexpr Family kMisaligned{"kubelet_container_aligned_compute_resources_failure_count",
                                    Kind::kCounter,
                                    "Allocations that were refused because they could not be aligned so.",
                                    {"scope", "boundary"}};
inline constexpr Family kRejections{
    "kubelet_admission_rejections_total", Kind::kCounter, "Pods that were rejected.", {"reason"}};
inline constexpr Family kPluginRegistrations{
    "kubelet_device_plugin_registration_total", Kind::kCounter, "Registrations of device plug-ins.", {"resource_name"}};
inline constexpr Family kPluginAllocations{"kubelet_device_plugin_alloc_duration_seconds",
                                           Kind::kHistogram,
                                           "Seconds that a device plug-in took to answer Allocate.",
                                           {"resource_name"}};
inline constexpr Family kPodResourcesCalls{"kubelet_pod_resources_endpoint_requests_total",
                                           Kind::kCounter,
                                           "Calls of the pod resources API.",
                                           {"server_api_version"}};
inline constexpr Family kPodResourcesLists{
    "kubelet_pod_resources_endpoint_requests_list", Kind::kCounter, "Calls of List.", {"server_api_version"}};
inline constexpr Family kPodResourcesAllocatables{"kubelet_pod_resources_endpoint_requests_get_allocatable",
                                                  Kind::kCounter,
                                                  "Calls of GetAllocatableResources.",
                                                  {"server_api_version"}};
inline constexpr Family kPodResourcesGets{
    "kubelet_pod_resources_endpoint_requests_get", Kind::kCounter, "Calls of Get.", {"server_api_version"}};
inline constexpr Family kPodResourcesListErrors{
    "kubelet_pod_resources_endpoint_errors_list", Kind::kCounter, "Calls of List that failed.", {"server_api_version"}};
inline constexpr Family kPodResourcesAllocatableErrors{"kubelet_pod_resources_endpoint_errors_get_allocatable",
                                                       Kind::kCounter,
                                                       "Calls of GetAllocatableResources that failed.",
                                                       {"server_api_version"}};
inline constexpr Family kPodResourcesGetErrors{
    "kubelet_pod_resources_endpoint_errors_get", Kind::kCounter, "Calls of Get that failed.", {"server_api_version"}};
inline constexpr Family kCgroupVersion{"kubelet_cgroup_version", Kind::kGauge,
                                       "Version of the host's cgroups: 1 (also of a hybrid host) or 2."};
inline constexpr Family kNodeName{"kubelet_node_name", Kind::kGauge, "The node's name; always 1.", {"node"}};
inline constexpr Family kRunningPods{"kubelet_running_pods", Kind::kGauge, "Pods of which a container runs."};
inline constexpr Family kRunningContainers{
    "kubelet_running_containers", Kind::kGauge, "Containers by their state.", {"container_state"}};

// ---- a kubelet's names of what containers use: its /metrics/resource and /metrics/cadvisor
// ---------------------------

inline constexpr std::array<std::string_view, 3> kOfContainer = {"container", "namespace", "pod"};
inline constexpr std::array<std::string_view, 3> kOfPod = {"namespace", "pod"};

inline constexpr Family kContainerCpu{"container_cpu_usage_seconds_total", Kind::kCounter,
                                      "CPU time that a container has used.", kOfContainer};
inline constexpr Family kContainerWorkingSet{"container_memory_working_set_bytes", Kind::kGauge,
                                             "Memory of a container less its inactive file pages.", kOfContainer};
inline constexpr Family kContainerMemory{"container_memory_usage_bytes", Kind::kGauge,
                                         "Memory that is charged to a container.", kOfContainer};
inline constexpr Family kContainerRss{"container_memory_rss", Kind::kGauge, "Bytes of anonymous memory of a container.",
                                      kOfContainer};
inline constexpr Family kContainerSwap{"container_swap_usage_bytes", Kind::kGauge, "Swap that a container uses.",
                                       kOfContainer};
inline constexpr Family kContainerStart{"container_start_time_seconds", Kind::kGauge,
                                        "When a container was started, in seconds since 1970.", kOfContainer};
inline constexpr Family kContainerPeriods{"container_cpu_cfs_periods_total", Kind::kCounter,
                                          "Periods of its CPU quota in which a container ran.", kOfContainer};
inline constexpr Family kContainerThrottled{"container_cpu_cfs_throttled_periods_total", Kind::kCounter,
                                            "Such periods in which its quota was used up.", kOfContainer};
inline constexpr Family kContainerThrottledTime{"container_cpu_cfs_throttled_seconds_total", Kind::kCounter,
                                                "Time for which a container was held back by its CPU quota.",
                                                kOfContainer};
inline constexpr Family kCpuWaiting{"container_pressure_cpu_waiting_seconds_total", Kind::kCounter,
                                    "Time in which some processes of a container waited for a CPU.", kOfContainer};
inline constexpr Family kCpuStalled{"container_pressure_cpu_stalled_seconds_total", Kind::kCounter,
                                    "Time in which all processes of a container waited for a CPU.", kOfContainer};
inline constexpr Family kMemoryWaiting{"container_pressure_memory_waiting_seconds_total", Kind::kCounter,
                                       "Time in which some processes of a container waited for memory.", kOfContainer};
inline constexpr Family kMemoryStalled{"container_pressure_memory_stalled_seconds_total", Kind::kCounter,
                                       "Time in which all processes of a container waited for memory.", kOfContainer};
inline constexpr Family kIoWaiting{"container_pressure_io_waiting_seconds_total", Kind::kCounter,
                                   "Time in which some processes of a container waited for disks.", kOfContainer};
inline constexpr Family kIoStalled{"container_pressure_io_stalled_seconds_total", Kind::kCounter,
                                   "Time in which all processes of a container waited for disks.", kOfContainer};
inline constexpr Family kPodCpu{"pod_cpu_usage_seconds_total", Kind::kCounter, "CPU time that a pod has used.", kOfPod};
inline constexpr Family kPodWorkingSet{"pod_memory_working_set_bytes", Kind::kGauge,
                                       "Memory of a pod less its inactive file pages.", kOfPod};
inline constexpr Family kNodeCpu{"node_cpu_usage_seconds_total", Kind::kCounter, "CPU time that the node has used."};
inline constexpr Family kNodeWorkingSet{"node_memory_working_set_bytes", Kind::kGauge,
                                        "Memory of the node in use less inactive file pages."};
inline constexpr Family kScrapeError{"resource_scrape_error", Kind::kGauge,
                                     "1: what containers use could not be read; else 0."};

// ---- Berth's own ---------------------------------------------------------------------------------------------------

inline constexpr Family kBuild{"berth_build_info", Kind::kGauge, "The version of berthd; always 1.", {"version"}};
inline constexpr Family kKubeletRules{"berth_kubelet_rules_info",
                                      Kind::kGauge,
                                      "The version of the kubelet as which pods are decided; always 1.",
                                      {"version"}};
inline constexpr Family kDecisionTime{"berth_decision_duration_microseconds", Kind::kHistogram,
                                      "Microseconds that a decision about a pod took."};
inline constexpr Family kSaves{"berth_ledger_saves_total", Kind::kCounter,
                               "Times the ledger was to be made durable, those that failed included."};
inline constexpr Family kSaveFailures{"berth_ledger_save_failures_total", Kind::kCounter,
                                      "Times the ledger could not be made durable."};
inline constexpr Family kSaveTime{"berth_ledger_save_duration_seconds", Kind::kHistogram,
                                  "Time until the ledger was durable and the loop heard of it."};
inline constexpr Family kRevision{"berth_ledger_revision", Kind::kGauge, "Number of changes in the ledger."};
inline constexpr Family kPoolChanges{"berth_pool_changes_total", Kind::kCounter, "Changes of the shared pool."};
inline constexpr Family kPoolCpus{"berth_shared_pool_cpus", Kind::kGauge,
                                  "CPUs of everything without CPUs of its own, reserved ones included."};
inline constexpr Family kCgroupWrites{"berth_cgroup_writes_total", Kind::kCounter, "Values written to cgroup files."};
inline constexpr Family kRepairs{"berth_repairs_total", Kind::kCounter,
                                 "Groups whose values somebody else had changed and Berth put right."};
inline constexpr Family kEvents{"berth_events_total", Kind::kCounter, "Events, repetitions included.", {"reason"}};
inline constexpr Family kLoopTurns{"berth_loop_turn_duration_seconds", Kind::kHistogram,
                                   "How long the loop was away from what waits for it, turn by turn."};
inline constexpr Family kPods{"berth_pods", Kind::kGauge, "Pods by their phase.", {"phase"}};
inline constexpr Family kAnswerTime{"berth_nri_answer_duration_seconds",
                                    Kind::kHistogram,
                                    "Seconds that the container runtime waited for an answer.",
                                    {"call"}};
inline constexpr Family kRuntimeCalls{
    "berth_runtime_calls_total", Kind::kCounter, "Calls of the container runtime.", {"call"}};
inline constexpr Family kRuntimeFailures{"berth_runtime_call_failures_total",
                                         Kind::kCounter,
                                         "Calls of the container runtime that failed or went unanswered.",
                                         {"call"}};
inline constexpr Family kPublishWrites{
    "berth_publish_writes_total", Kind::kCounter, "Writes of what is published to a cluster.", {"object"}};
inline constexpr Family kPublishFailures{
    "berth_publish_failures_total", Kind::kCounter, "Such writes that failed, or were not possible.", {"object"}};
inline constexpr Family kPublishCurrent{
    "berth_publish_current", Kind::kGauge, "1 when the cluster has the newest, as far as is known.", {"object"}};
inline constexpr Family kContainerCpus{"berth_container_exclusive_cpus", Kind::kGauge,
                                       "CPUs that a container has for itself; 0: it runs in the shared pool.",
                                       kOfContainer};
inline constexpr Family kTierCpu{
    "berth_tier_cpu_usage_seconds_total",
    Kind::kCounter,
    "CPU time that a group of the tree has used: pods (all), burstable, besteffort, berthd.",
    {"tier"}};
inline constexpr Family kTierWorkingSet{"berth_tier_memory_working_set_bytes",
                                        Kind::kGauge,
                                        "Memory less inactive file pages: of pods (all) and by tier, and of berthd.",
                                        {"tier"}};
inline constexpr Family kNumaCpus{
    "berth_numa_cpus", Kind::kGauge, "CPUs of a NUMA node that are online.", {"numa_node"}};
inline constexpr Family kNumaFreeCpus{"berth_numa_free_exclusive_cpus",
                                      Kind::kGauge,
                                      "CPUs of a NUMA node that could still be given to a container alone.",
                                      {"numa_node"}};
inline constexpr Family kNumaMemory{"berth_numa_memory_bytes", Kind::kGauge, "Memory of a NUMA node.", {"numa_node"}};
inline constexpr Family kNumaFreeMemory{
    "berth_numa_memory_free_bytes", Kind::kGauge, "Memory of a NUMA node that nobody uses.", {"numa_node"}};
inline constexpr Family kNumaPinnable{"berth_numa_pinnable_memory_bytes",
                                      Kind::kGauge,
                                      "Memory of a NUMA node that can be booked for containers.",
                                      {"numa_node", "type"}};
inline constexpr Family kNumaPinnableFree{"berth_numa_pinnable_memory_free_bytes",
                                          Kind::kGauge,
                                          "Memory of a NUMA node that can be booked and is not.",
                                          {"numa_node", "type"}};
inline constexpr Family kProcessCpu{"process_cpu_seconds_total", Kind::kCounter, "CPU time that berthd has used."};
inline constexpr Family kProcessMemory{"process_resident_memory_bytes", Kind::kGauge, "Memory berthd has resident."};
inline constexpr Family kProcessStart{"process_start_time_seconds", Kind::kGauge,
                                      "When berthd was started, in seconds since 1970."};

/// In the order of the page.
inline constexpr std::array kFamilies = {&kCpuPinnings,
                                         &kCpuPinningErrors,
                                         &kSharedPool,
                                         &kExclusiveCpus,
                                         &kExclusivePerNuma,
                                         &kMemoryPinnings,
                                         &kMemoryPinningErrors,
                                         &kAdmissions,
                                         &kAdmissionErrors,
                                         &kAdmissionTime,
                                         &kAligned,
                                         &kMisaligned,
                                         &kRejections,
                                         &kPluginRegistrations,
                                         &kPluginAllocations,
                                         &kPodResourcesCalls,
                                         &kPodResourcesLists,
                                         &kPodResourcesAllocatables,
                                         &kPodResourcesGets,
                                         &kPodResourcesListErrors,
                                         &kPodResourcesAllocatableErrors,
                                         &kPodResourcesGetErrors,
                                         &kCgroupVersion,
                                         &kNodeName,
                                         &kRunningPods,
                                         &kRunningContainers,
                                         &kContainerCpu,
                                         &kContainerWorkingSet,
                                         &kContainerMemory,
                                         &kContainerRss,
                                         &kContainerSwap,
                                         &kContainerStart,
                                         &kContainerPeriods,
                                         &kContainerThrottled,
                                         &kContainerThrottledTime,
                                         &kCpuWaiting,
                                         &kCpuStalled,
                                         &kMemoryWaiting,
                                         &kMemoryStalled,
                                         &kIoWaiting,
                                         &kIoStalled,
                                         &kPodCpu,
                                         &kPodWorkingSet,
                                         &kNodeCpu,
                                         &kNodeWorkingSet,
                                         &kScrapeError,
                                         &kBuild,
                                         &kKubeletRules,
                                         &kDecisionTime,
                                         &kSaves,
                                         &kSaveFailures,
                                         &kSaveTime,
                                         &kRevision,
                                         &kPoolChanges,
                                         &kPoolCpus,
                                         &kCgroupWrites,
                                         &kRepairs,
                                         &kEvents,
                                         &kLoopTurns,
                                         &kPods,
                                         &kAnswerTime,
                                         &kRuntimeCalls,
                                         &kRuntimeFailures,
                                         &kPublishWrites,
                                         &kPublishFailures,
                                         &kPublishCurrent,
                                         &kContainerCpus,
                                         &kTierCpu,
                                         &kTierWorkingSet,
                                         &kNumaCpus,
                                         &kNumaFreeCpus,
                                         &kNumaMemory,
                                         &kNumaFreeMemory,
                                         &kNumaPinnable,
                                         &kNumaPinnableFree,
                                         &kProcessCpu,
                                         &kProcessMemory,
                                         &kProcessStart};

}  // namespace berth::metrics

#endif  // BERTH_TELEMETRY_METRICS_FAMILIES_H_
