// The feature gates of Kubernetes 1.36, and what became of them in later versions, as far as Berth knows them.
#include <algorithm>
#include <array>

#include "model/gate_standing.h"
#include "model/kubelet_config.h"
#include "model/kubelet_version.h"

namespace berth {
namespace {

using Stage = FeatureGate::Stage;

/// Gates that change what Berth does: stage, default, locked to the default. Sorted.
constexpr auto kGates = std::to_array<FeatureGate>({
    {"CPUManagerPolicyAlphaOptions", Stage::kAlpha, false, false},
    {"CPUManagerPolicyBetaOptions", Stage::kBeta, true, false},
    {"CPUManagerPolicyOptions", Stage::kStable, true, true},
    {"ContainerRestartRules", Stage::kBeta, true, false},
    {"CustomCPUCFSQuotaPeriod", Stage::kStable, true, false},
    {"DRAExtendedResource", Stage::kBeta, true, false},
    {"DisableCPUQuotaWithExclusiveCPUs", Stage::kBeta, true, false},
    {"DynamicResourceAllocation", Stage::kStable, true, false},
    {"EventedPLEG", Stage::kAlpha, false, false},
    {"GracefulNodeShutdown", Stage::kBeta, true, false},
    {"InPlacePodLevelResourcesVerticalScaling", Stage::kBeta, true, false},
    {"InPlacePodVerticalScaling", Stage::kStable, true, true},
    {"InPlacePodVerticalScalingExclusiveCPUs", Stage::kAlpha, false, false},
    {"InPlacePodVerticalScalingExclusiveMemory", Stage::kAlpha, false, false},
    {"InPlacePodVerticalScalingInitContainers", Stage::kBeta, true, false},
    {"KubeletCgroupDriverFromCRI", Stage::kStable, true, false},
    {"KubeletCrashLoopBackOffMax", Stage::kBeta, true, false},
    {"KubeletEnsureSecretPulledImages", Stage::kBeta, true, false},
    {"KubeletPSI", Stage::kStable, true, false},
    {"KubeletPodResourcesDynamicResources", Stage::kStable, true, false},
    {"KubeletPodResourcesGet", Stage::kStable, true, false},
    {"KubeletPodResourcesListUseActivePods", Stage::kBeta, true, false},
    {"KubeletSeparateDiskGC", Stage::kBeta, true, false},
    {"MemoryQoS", Stage::kAlpha, false, false},
    {"NodeDeclaredFeatures", Stage::kBeta, true, false},
    {"NodeSwap", Stage::kStable, true, true},
    {"PodLevelResourceManagers", Stage::kAlpha, false, false},
    {"PodLevelResources", Stage::kBeta, true, false},
    {"PreventStaticPodAPIReferences", Stage::kBeta, true, false},
    {"QOSReserved", Stage::kAlpha, false, false},
    {"ResourceHealthStatus", Stage::kBeta, true, false},
    {"SidecarContainers", Stage::kStable, true, true},
    {"TopologyManagerPolicyAlphaOptions", Stage::kAlpha, false, false},
    {"TopologyManagerPolicyBetaOptions", Stage::kBeta, true, false},
    {"TopologyManagerPolicyOptions", Stage::kStable, true, true},
});

/// All gates a kubelet accepts, so that a configuration written for one is not refused. Sorted.
constexpr auto kKnown = std::to_array<std::string_view>({
    "APIResponseCompression",
    "APIServerIdentity",
    "APIServerTracing",
    "APIServingWithRoutine",
    "AggregatedDiscoveryRemoveBetaType",
    "AllAlpha",
    "AllBeta",
    "AllowDNSOnlyNodeCSR",
    "AllowInsecureKubeletCertificateSigningRequests",
    "AllowOverwriteTerminationGracePeriodSeconds",
    "AllowParsingUserUIDFromCertAuth",
    "AllowServiceLBStatusOnNonLB",
    "AllowUnsafeMalformedObjectDeletion",
    "AnonymousAuthConfigurableEndpoints",
    "AnyVolumeDataSource",
    "AuthorizeNodeWithSelectors",
    "AuthorizePodWebsocketUpgradeCreatePermission",
    "AuthorizeWithSelectors",
    "BtreeWatchCache",
    "CBORServingAndStorage",
    "CPUCFSQuotaPeriod",
    "CPUManagerPolicyAlphaOptions",
    "CPUManagerPolicyBetaOptions",
    "CPUManagerPolicyOptions",
    "CRDObservedGenerationTracking",
    "CRDValidationRatcheting",
    "CSIMigrationPortworx",
    "CSIServiceAccountTokenSecrets",
    "CSIVolumeHealth",
    "ChangeContainerStatusOnKubeletRestart",
    "ClearingNominatedNodeNameAfterBinding",
    "CloudControllerManagerWatchBasedRoutesReconciliation",
    "CloudControllerManagerWebhook",
    "ClusterTrustBundle",
    "ClusterTrustBundleProjection",
    "ComponentFlagz",
    "ComponentSLIs",
    "ComponentStatusz",
    "ConcurrentWatchObjectDecode",
    "ConsistentListFromCache",
    "ConstrainedImpersonation",
    "ContainerCheckpoint",
    "ContainerRestartRules",
    "ContainerStopSignals",
    "ContextualLogging",
    "CoordinatedLeaderElection",
    "CronJobsScheduledAnnotation",
    "CrossNamespaceVolumeDataSource",
    "CustomCPUCFSQuotaPeriod",
    "CustomResourceFieldSelectors",
    "DRAAdminAccess",
    "DRAConsumableCapacity",
    "DRADeviceBindingConditions",
    "DRADeviceTaintRules",
    "DRADeviceTaints",
    "DRAExtendedResource",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
    "DRAResourceClaimDeviceStatus",
    "DRASchedulerFilterTimeout",
    "DeclarativeValidation",
    "DeclarativeValidationTakeover",
    "DeploymentReplicaSetTerminatingReplicas",
    "DetectCacheInconsistency",
    "DevicePluginCDIDevices",
    "DisableAllocatorDualWrite",
    "DisableCPUQuotaWithExclusiveCPUs",
    "DisableNodeKubeProxyVersion",
    "DynamicResourceAllocation",
    "EnvFiles",
    "EventedPLEG",
    "ExecProbeTimeout",
    "ExternalServiceAccountTokenSigner",
    "GangScheduling",
    "GenericWorkload",
    "GitRepoVolumeDriver",
    "GracefulNodeShutdown",
    "GracefulNodeShutdownBasedOnPodPriority",
    "HPAConfigurableTolerance",
    "HPAScaleToZero",
    "HonorPVReclaimPolicy",
    "HostnameOverride",
    "ImageMaximumGCAge",
    "ImageVolume",
    "ImageVolumeWithDigest",
    "InOrderInformers",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScaling",
    "InPlacePodVerticalScalingAllocatedStatus",
    "InPlacePodVerticalScalingExclusiveCPUs",
    "InPlacePodVerticalScalingExclusiveMemory",
    "InPlacePodVerticalScalingInitContainers",
    "InTreePluginPortworxUnregister",
    "InformerResourceVersion",
    "JobBackoffLimitPerIndex",
    "JobManagedBy",
    "JobPodReplacementPolicy",
    "JobSuccessPolicy",
    "KMSv1",
    "KubeletCgroupDriverFromCRI",
    "KubeletCrashLoopBackOffMax",
    "KubeletEnsureSecretPulledImages",
    "KubeletFineGrainedAuthz",
    "KubeletInUserNamespace",
    "KubeletPSI",
    "KubeletPodResourcesDynamicResources",
    "KubeletPodResourcesGet",
    "KubeletPodResourcesListUseActivePods",
    "KubeletRegistrationGetOnExistsOnly",
    "KubeletSeparateDiskGC",
    "KubeletServiceAccountTokenForCredentialProviders",
    "KubeletTracing",
    "LegacySidecarContainers",
    "ListFromCacheSnapshot",
    "LoadBalancerIPMode",
    "LocalStorageCapacityIsolationFSQuotaMonitoring",
    "LogarithmicScaleDown",
    "LoggingAlphaOptions",
    "LoggingBetaOptions",
    "MatchLabelKeysInPodAffinity",
    "MatchLabelKeysInPodTopologySpread",
    "MatchLabelKeysInPodTopologySpreadSelectorMerge",
    "MaxUnavailableStatefulSet",
    "MemoryManager",
    "MemoryQoS",
    "MultiCIDRServiceAllocator",
    "MutableCSINodeAllocatableCount",
    "MutablePVNodeAffinity",
    "MutablePodResourcesForSuspendedJobs",
    "MutableSchedulingDirectivesForSuspendedJobs",
    "MutatingAdmissionPolicy",
    "NFTablesProxyMode",
    "NodeDeclaredFeatures",
    "NodeInclusionPolicyInPodTopologySpread",
    "NodeLogQuery",
    "NodeSwap",
    "NominatedNodeNameForExpectation",
    "OpenAPIEnums",
    "OpportunisticBatching",
    "OrderedNamespaceDeletion",
    "PersistentVolumeClaimUnusedSinceTime",
    "PodAndContainerStatsFromCRI",
    "PodCertificateRequest",
    "PodDeletionCost",
    "PodIndexLabel",
    "PodLevelResourceManagers",
    "PodLevelResources",
    "PodLifecycleSleepAction",
    "PodLifecycleSleepActionAllowZero",
    "PodLogsQuerySplitStreams",
    "PodObservedGenerationTracking",
    "PodReadyToStartContainersCondition",
    "PodSchedulingReadiness",
    "PodTopologyLabelsAdmission",
    "PortForwardWebsockets",
    "PreferSameTrafficDistribution",
    "PreventStaticPodAPIReferences",
    "ProcMountType",
    "QOSReserved",
    "RecoverVolumeExpansionFailure",
    "RecursiveReadOnlyMounts",
    "ReduceDefaultCrashLoopBackOffDecay",
    "RelaxedDNSSearchValidation",
    "RelaxedEnvironmentVariableValidation",
    "RelaxedServiceNameValidation",
    "ReloadKubeletClientCAFile",
    "ReloadKubeletServerCertificateFile",
    "RemoteRequestHeaderUID",
    "ResilientWatchCacheInitialization",
    "ResourceHealthStatus",
    "RestartAllContainersOnContainerExits",
    "RetryGenerateName",
    "RotateKubeletServerCertificate",
    "RuntimeClassInImageCriAPI",
    "SELinuxChangePolicy",
    "SELinuxMount",
    "SELinuxMountReadWriteOncePod",
    "SchedulerAsyncAPICalls",
    "SchedulerAsyncPreemption",
    "SchedulerPopFromBackoffQ",
    "SchedulerQueueingHints",
    "SeparateCacheWatchRPC",
    "SeparateTaintEvictionController",
    "ServiceAccountNodeAudienceRestriction",
    "ServiceAccountTokenJTI",
    "ServiceAccountTokenNodeBinding",
    "ServiceAccountTokenNodeBindingValidation",
    "ServiceAccountTokenPodNodeInfo",
    "ServiceTrafficDistribution",
    "SidecarContainers",
    "SizeBasedListCostEstimate",
    "SizeMemoryBackedVolumes",
    "StaleControllerConsistencyDaemonSet",
    "StaleControllerConsistencyJob",
    "StaleControllerConsistencyReplicaSet",
    "StaleControllerConsistencyStatefulSet",
    "StatefulSetAutoDeletePVC",
    "StorageCapacityScoring",
    "StorageNamespaceIndex",
    "StorageVersionAPI",
    "StorageVersionHash",
    "StorageVersionMigrator",
    "StreamingCollectionEncodingToJSON",
    "StreamingCollectionEncodingToProtobuf",
    "StrictCostEnforcementForVAP",
    "StrictCostEnforcementForWebhooks",
    "StrictIPCIDRValidation",
    "StructuredAuthenticationConfiguration",
    "StructuredAuthenticationConfigurationEgressSelector",
    "StructuredAuthenticationConfigurationJWKSMetrics",
    "StructuredAuthorizationConfiguration",
    "SupplementalGroupsPolicy",
    "SystemdWatchdog",
    "TaintTolerationComparisonOperators",
    "TokenRequestServiceAccountUIDValidation",
    "TopologyAwareHints",
    "TopologyManagerPolicyAlphaOptions",
    "TopologyManagerPolicyBetaOptions",
    "TopologyManagerPolicyOptions",
    "TranslateStreamCloseWebsocketRequests",
    "UnauthenticatedHTTP2DOSMitigation",
    "UnknownVersionInteroperabilityProxy",
    "UnlockWhileProcessingFIFO",
    "UserNamespacesHostNetworkSupport",
    "UserNamespacesPodSecurityStandards",
    "UserNamespacesSupport",
    "VolumeAttributesClass",
    "VolumeLimitScaling",
    "WatchCacheInitializationPostStartHook",
    "WatchFromStorageWithoutResourceVersion",
    "WatchList",
    "WatchListClient",
    "WinDSR",
    "WinOverlay",
    "WindowsCPUAndMemoryAffinity",
    "WindowsGracefulNodeShutdown",
    "WindowsHostNetwork",
    "WorkloadAwarePreemption",
});

struct GateChange {
  std::string_view name;
  KubeletVersion since;
  GateStanding::Kind kind;
};

/// What came after 1.36, of a gate the oldest first. None is locked to off.
constexpr auto kChanges = std::to_array<GateChange>({
    {"DRADeviceCompatibilityGroups", KubeletVersion::k1_37, GateStanding::Kind::kFree},
    {"DRAExtendedResource", KubeletVersion::k1_37, GateStanding::Kind::kLocked},
    {"DRANodeAllocatableResources", KubeletVersion::k1_37, GateStanding::Kind::kFree},
    {"DRAOptionalNodeOperations", KubeletVersion::k1_37, GateStanding::Kind::kFree},
    {"DRAPrioritizedList", KubeletVersion::k1_37, GateStanding::Kind::kLocked},
    {"DRAResourceClaimDeviceStatus", KubeletVersion::k1_37, GateStanding::Kind::kLocked},
    {"DRAWorkloadResourceClaims", KubeletVersion::k1_37, GateStanding::Kind::kFree},
    {"DefaultPodSysctls", KubeletVersion::k1_37, GateStanding::Kind::kFree},
    {"DisableCPUQuotaWithExclusiveCPUs", KubeletVersion::k1_37, GateStanding::Kind::kLocked},
    {"DisableCPUQuotaWithExclusiveCPUs", KubeletVersion::k1_38, GateStanding::Kind::kRemoved},
    {"HugepageAwareEviction", KubeletVersion::k1_37, GateStanding::Kind::kFree},
    {"InPlacePodVerticalScalingInitContainers", KubeletVersion::k1_37, GateStanding::Kind::kLocked},
    {"InPlacePodVerticalScalingMemoryBackedVolumes", KubeletVersion::k1_37, GateStanding::Kind::kFree},
    {"InPlacePodVerticalScalingSchedulerPreemption", KubeletVersion::k1_37, GateStanding::Kind::kFree},
    {"KubeletAllocatedPodsEndpoint", KubeletVersion::k1_37, GateStanding::Kind::kFree},
    {"NodeDeclaredFeatures", KubeletVersion::k1_37, GateStanding::Kind::kLocked},
    {"PLEGOnDemandRelist", KubeletVersion::k1_37, GateStanding::Kind::kLocked},
    {"PodLevelResourcesFixDefaulting", KubeletVersion::k1_37, GateStanding::Kind::kFree},
    {"PodLevelResourcesFixKubeletQOSClass", KubeletVersion::k1_37, GateStanding::Kind::kFree},
    {"PodsAPI", KubeletVersion::k1_37, GateStanding::Kind::kFree},
    {"PreventStaticPodAPIReferences", KubeletVersion::k1_37, GateStanding::Kind::kRemoved},
    {"SidecarContainers", KubeletVersion::k1_37, GateStanding::Kind::kRemoved},
});

/// In 1.36.
GateStanding FirstStanding(std::string_view gate) {
  if (const FeatureGate* const known = FindFeatureGate(gate); known != nullptr && known->locked)
    return {.kind = GateStanding::Kind::kLocked, .on = known->on};
  if (std::ranges::binary_search(kKnown, gate)) return {.kind = GateStanding::Kind::kFree};
  return {};
}

std::optional<bool> Configured(const KubeletConfiguration& config, std::string_view gate) {
  const auto it = std::ranges::find(config.feature_gates, gate, [](const auto& entry) { return entry.first; });
  return it == config.feature_gates.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace

const FeatureGate* FindFeatureGate(std::string_view name) {
  const auto it = std::ranges::lower_bound(kGates, name, {}, &FeatureGate::name);
  return it != kGates.end() && it->name == name ? &*it : nullptr;
}

std::span<const std::string_view> KnownFeatureGates() { return kKnown; }

GateStanding StandingOf(std::string_view gate, KubeletVersion version) {
  GateStanding out = FirstStanding(gate);
  for (const GateChange& change : kChanges) {
    if (change.name != gate) continue;
    if (change.since <= version)
      out = {.kind = change.kind, .since = change.since};
    else if (out.kind == GateStanding::Kind::kUnknown)
      out = {.kind = GateStanding::Kind::kLater, .since = change.since};
  }
  return out;
}

bool FeatureEnabled(const KubeletConfiguration& config, std::string_view gate) {
  if (const auto on = Configured(config, gate)) return *on;
  const FeatureGate* known = FindFeatureGate(gate);
  if (known == nullptr) return false;
  if (known->stage == Stage::kAlpha) return Configured(config, "AllAlpha").value_or(known->on);
  if (known->stage == Stage::kBeta) return Configured(config, "AllBeta").value_or(known->on);
  return known->on;
}

}  // namespace berth
