#include "model/kubelet_config.h"

#include <array>

namespace berth {
namespace {

struct Gate {
  std::string_view name;
  bool on;
};

/// Gates that change what Berth does, with the defaults of 1.36.
constexpr std::array<Gate, 32> kGates{{
    {"CPUManagerPolicyAlphaOptions", false},
    {"CPUManagerPolicyBetaOptions", true},
    {"CPUManagerPolicyOptions", true},
    {"CustomCPUCFSQuotaPeriod", true},
    {"DRAExtendedResource", true},
    {"DisableCPUQuotaWithExclusiveCPUs", true},
    {"DynamicResourceAllocation", true},
    {"EventedPLEG", false},
    {"GracefulNodeShutdown", true},
    {"InPlacePodLevelResourcesVerticalScaling", true},
    {"InPlacePodVerticalScaling", true},
    {"InPlacePodVerticalScalingExclusiveCPUs", false},
    {"InPlacePodVerticalScalingExclusiveMemory", false},
    {"InPlacePodVerticalScalingInitContainers", true},
    {"KubeletCgroupDriverFromCRI", true},
    {"KubeletCrashLoopBackOffMax", true},
    {"KubeletEnsureSecretPulledImages", true},
    {"KubeletPSI", true},
    {"KubeletPodResourcesDynamicResources", true},
    {"KubeletPodResourcesGet", true},
    {"KubeletPodResourcesListUseActivePods", true},
    {"KubeletSeparateDiskGC", true},
    {"MemoryQoS", false},
    {"NodeDeclaredFeatures", true},
    {"NodeSwap", true},
    {"PodLevelResourceManagers", false},
    {"PodLevelResources", true},
    {"PreventStaticPodAPIReferences", true},
    {"QOSReserved", false},
    {"ResourceHealthStatus", true},
    {"SidecarContainers", true},
    {"TopologyManagerPolicyOptions", true},
}};

}  // namespace

bool FeatureEnabled(const KubeletConfiguration& config, std::string_view gate) {
  for (const auto& [name, on] : config.feature_gates)
    if (name == gate) return on;
  for (const Gate& known : kGates)
    if (known.name == gate) return known.on;
  return false;
}

}  // namespace berth
