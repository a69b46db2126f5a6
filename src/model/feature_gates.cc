// The feature gates of Kubernetes 1.36, and what became of them in later versions, as far as Berth knows them.
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "model/gate_standing.h"
#include "model/kubelet_config.h"
#include "model/kubelet_version.h"

namespace berth {
namespace {

using GateKind = GateStanding::Kind;
using Stage = FeatureGate::Stage;

/// Gates that change what Berth does: stage, default, locked to the default, in 1.36. Sorted.
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
    "AtomicFIFO",
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
    "CRIListStreaming",
    "CSIMigrationPortworx",
    "CSIServiceAccountTokenSecrets",
    "CSIVolumeHealth",
    "ChangeContainerStatusOnKubeletRestart",
    "ClearingNominatedNodeNameAfterBinding",
    "ClientsAllowCARotation",
    "ClientsAllowCBOR",
    "ClientsAllowTLSCacheGC",
    "ClientsPreferCBOR",
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
    "ControllerManagerReleaseLeaderElectionLockOnExit",
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
    "DRAListTypeAttributes",
    "DRANodeAllocatableResources",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
    "DRAResourceClaimDeviceStatus",
    "DRAResourceClaimGranularStatusAuthorization",
    "DRAResourcePoolStatus",
    "DRASchedulerFilterTimeout",
    "DRAWorkloadResourceClaims",
    "DeclarativeValidation",
    "DeclarativeValidationBeta",
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
    "ExtendWebSocketsToKubelet",
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
    "InOrderInformersBatchProcess",
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
    "ManifestBasedAdmissionControlConfig",
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
    "NativeHistograms",
    "NodeDeclaredFeatures",
    "NodeInclusionPolicyInPodTopologySpread",
    "NodeLogQuery",
    "NodeSwap",
    "NominatedNodeNameForExpectation",
    "OpenAPIEnums",
    "OpportunisticBatching",
    "OrderedNamespaceDeletion",
    "PLEGOnDemandRelist",
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
    "PodsAPI",
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
    "ResourceHealthStatusMessage",
    "RestartAllContainersOnContainerExits",
    "RetryGenerateName",
    "RotateKubeletServerCertificate",
    "RuntimeClassInImageCriAPI",
    "RuntimeClassInImageCriApi",
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
    "ShardedListAndWatch",
    "SidecarContainers",
    "SizeBasedListCostEstimate",
    "SizeMemoryBackedVolumes",
    "StaleControllerConsistencyDaemonSet",
    "StaleControllerConsistencyJob",
    "StaleControllerConsistencyReplicaSet",
    "StaleControllerConsistencyStatefulSet",
    "StatefulSetAutoDeletePVC",
    "StatefulSetSemanticRevisionComparison",
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
    "TopologyAwareWorkloadScheduling",
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
    "WorkloadWithJob",
});

struct GateChange {
  std::string_view name;
  KubeletVersion since;
  GateKind kind;
  Stage stage = Stage::kStable;  ///< kFree: from then on
  bool on = true;                ///< likewise: default
};

/// What came after 1.36, of a gate the oldest first. None is locked to off.
constexpr auto kChanges = std::to_array<GateChange>({
    {"DRADeviceCompatibilityGroups", KubeletVersion::k1_37, GateKind::kFree, Stage::kAlpha, false},
    {"DRAExtendedResource", KubeletVersion::k1_37, GateKind::kLocked},
    {"DRAOptionalNodeOperations", KubeletVersion::k1_37, GateKind::kFree, Stage::kAlpha, false},
    {"DRAPrioritizedList", KubeletVersion::k1_37, GateKind::kLocked},
    {"DRAResourceClaimDeviceStatus", KubeletVersion::k1_37, GateKind::kLocked},
    {"DefaultPodSysctls", KubeletVersion::k1_37, GateKind::kFree, Stage::kAlpha, false},
    {"DisableCPUQuotaWithExclusiveCPUs", KubeletVersion::k1_37, GateKind::kLocked},
    {"DisableCPUQuotaWithExclusiveCPUs", KubeletVersion::k1_38, GateKind::kRemoved},
    {"HugepageAwareEviction", KubeletVersion::k1_37, GateKind::kFree, Stage::kBeta, true},
    {"InPlacePodVerticalScalingInitContainers", KubeletVersion::k1_37, GateKind::kLocked},
    {"InPlacePodVerticalScalingMemoryBackedVolumes", KubeletVersion::k1_37, GateKind::kFree, Stage::kAlpha, false},
    {"InPlacePodVerticalScalingSchedulerPreemption", KubeletVersion::k1_37, GateKind::kFree, Stage::kAlpha, false},
    {"KubeletAllocatedPodsEndpoint", KubeletVersion::k1_37, GateKind::kFree, Stage::kAlpha, false},
    {"MemoryQoS", KubeletVersion::k1_37, GateKind::kFree, Stage::kBeta, true},
    {"NodeDeclaredFeatures", KubeletVersion::k1_37, GateKind::kLocked},
    {"PLEGOnDemandRelist", KubeletVersion::k1_37, GateKind::kLocked},
    {"PodLevelResourceManagers", KubeletVersion::k1_37, GateKind::kFree, Stage::kBeta, false},
    {"PodLevelResourcesFixDefaulting", KubeletVersion::k1_37, GateKind::kFree, Stage::kBeta, true},
    {"PodLevelResourcesFixKubeletQOSClass", KubeletVersion::k1_37, GateKind::kFree, Stage::kBeta, true},
    {"PreventStaticPodAPIReferences", KubeletVersion::k1_37, GateKind::kRemoved},
    {"SidecarContainers", KubeletVersion::k1_37, GateKind::kRemoved},
});

/// In 1.36.
GateStanding FirstStanding(std::string_view gate) {
  if (const auto known = FindFeatureGate(gate, KubeletVersion::k1_36); known && known->locked)
    return {.kind = GateKind::kLocked, .on = known->on};
  if (std::ranges::binary_search(kKnown, gate)) return {.kind = GateKind::kFree};
  return {};
}

std::optional<bool> Configured(const KubeletConfiguration& config, std::string_view gate) {
  const auto it = std::ranges::find(config.feature_gates, gate, [](const auto& entry) { return entry.first; });
  return it == config.feature_gates.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace

std::optional<FeatureGate> FindFeatureGate(std::string_view name, KubeletVersion version) {
  std::optional<FeatureGate> out;
  const auto it = std::ranges::lower_bound(kGates, name, {}, &FeatureGate::name);
  if (it != kGates.end() && it->name == name) out = *it;
  for (const GateChange& change : kChanges)
    if (change.name == name && change.since <= version)
      out = FeatureGate{
          .name = change.name, .stage = change.stage, .on = change.on, .locked = change.kind != GateKind::kFree};
  return out;
}

std::vector<std::string_view> KnownFeatureGates(KubeletVersion version) {
  std::vector<std::string_view> out(kKnown.begin(), kKnown.end());
  for (const GateChange& change : kChanges) out.push_back(change.name);
  std::erase_if(out, [&](std::string_view gate) {
    const GateKind kind = StandingOf(gate, version).kind;
    return kind != GateKind::kFree && kind != GateKind::kLocked;
  });
  std::ranges::sort(out);
  const auto twice = std::ranges::unique(out);
  out.erase(twice.begin(), twice.end());
  return out;
}

GateStanding StandingOf(std::string_view gate, KubeletVersion version) {
  GateStanding out = FirstStanding(gate);
  for (const GateChange& change : kChanges) {
    if (change.name != gate) continue;
    if (change.since <= version)
      out = {.kind = change.kind, .since = change.since};
    else if (out.kind == GateKind::kUnknown)
      out = {.kind = GateKind::kLater, .since = change.since};
  }
  return out;
}

bool FeatureEnabled(const KubeletConfiguration& config, std::string_view gate, KubeletVersion version) {
  const auto known = FindFeatureGate(gate, version);
  if (known && known->locked) return known->on;
  if (const auto on = Configured(config, gate)) return *on;
  if (!known) return false;
  if (known->stage == Stage::kAlpha) return Configured(config, "AllAlpha").value_or(known->on);
  if (known->stage == Stage::kBeta) return Configured(config, "AllBeta").value_or(known->on);
  return known->on;
}

}  // namespace berth
