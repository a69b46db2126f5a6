// KubeletConfiguration files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/kubelet_reader.h"

namespace berth::config {
namespace {

using manifest::Warning;

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr std::string_view kKubeletHead = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

ParsedKubeletConfiguration ParseFields(const std::string& fields) {
  Result<ParsedKubeletConfiguration> parsed =
      ParseKubeletConfiguration(std::string(kKubeletHead) + fields, "/etc/k/conf.yaml");
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return parsed ? *std::move(parsed) : ParsedKubeletConfiguration();
}

std::string ErrorOfKubelet(const std::string& fields) {
  const auto parsed = ParseKubeletConfiguration(std::string(kKubeletHead) + fields, "/etc/k/conf.yaml");
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().code, Code::kInvalid);
  return parsed.error().message;
}

Quantity Amount(std::string_view text) { return *Quantity::Parse(text); }

TEST(KubeletConfigurationTest, AnEmptyOneIsAllDefaults) {
  EXPECT_EQ(ParseFields("").config, KubeletConfiguration());
  EXPECT_THAT(ParseFields("").warnings, IsEmpty());
}

TEST(KubeletConfigurationTest, ReadsManagersAndReservations) {
  const KubeletConfiguration c = ParseFields(R"(
cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: "true"}
cpuManagerReconcilePeriod: 1.5s
memoryManagerPolicy: Static
reservedMemory:
- {numaNode: 0, limits: {memory: 1Gi, hugepages-2Mi: 4Mi}}
- {numaNode: 1, limits: {memory: 2147483648}}
topologyManagerPolicy: restricted
topologyManagerScope: pod
topologyManagerPolicyOptions: {prefer-closest-numa-nodes: "true"}
reservedSystemCPUs: 0-1,8
systemReserved: {cpu: 500m, memory: 1Gi}
kubeReserved: {cpu: 1, pid: "1000"}
featureGates: {CPUManagerPolicyAlphaOptions: true}
)")
                                     .config;
  EXPECT_EQ(c.cpu_manager_policy, "static");
  EXPECT_THAT(c.cpu_manager_policy_options, ElementsAre(Pair("full-pcpus-only", "true")));
  EXPECT_EQ(c.cpu_manager_reconcile_period, 1500ms);
  EXPECT_EQ(c.memory_manager_policy, "Static");
  ASSERT_THAT(c.reserved_memory, SizeIs(2));
  EXPECT_EQ(c.reserved_memory[0].limits, (ResourceList{{"memory", Amount("1Gi")}, {"hugepages-2Mi", Amount("4Mi")}}));
  EXPECT_EQ(c.reserved_memory[1].node, NumaId{1});
  EXPECT_EQ(c.reserved_memory[1].limits, (ResourceList{{"memory", Amount("2Gi")}}));
  EXPECT_EQ(c.topology_manager_policy, "restricted");
  EXPECT_EQ(c.topology_manager_scope, "pod");
  EXPECT_THAT(c.topology_manager_policy_options, ElementsAre(Pair("prefer-closest-numa-nodes", "true")));
  EXPECT_EQ(c.reserved_system_cpus, "0-1,8");
  EXPECT_EQ(c.system_reserved, (ResourceList{{"cpu", Amount("500m")}, {"memory", Amount("1Gi")}}));
  EXPECT_EQ(c.kube_reserved, (ResourceList{{"cpu", Amount("1")}, {"pid", Amount("1000")}}));
  EXPECT_TRUE(FeatureEnabled(c, "CPUManagerPolicyAlphaOptions", KubeletVersion::k1_36));
}

TEST(KubeletConfigurationTest, ReadsEvictionAndCgroups) {
  const KubeletConfiguration c = ParseFields(R"(
evictionHard: {memory.available: 200Mi}
evictionSoft: {memory.available: 10%}
evictionSoftGracePeriod: {memory.available: 30s}
evictionMinimumReclaim: {memory.available: 0Mi}
evictionPressureTransitionPeriod: 0s
evictionMaxPodGracePeriod: 3
mergeDefaultEvictionSettings: true
kernelMemcgNotification: true
enforceNodeAllocatable: [pods, system-reserved]
systemReservedCgroup: /sys
cgroupRoot: /x
cgroupDriver: systemd
systemCgroups: /system
failCgroupV1: false
singleProcessOOMKill: false
cpuCFSQuota: false
cpuCFSQuotaPeriod: 10ms
podPidsLimit: -7
maxPods: 30
podsPerCore: 4
oomScoreAdj: -500
memoryThrottlingFactor: 0.5
failSwapOn: false
memorySwap: {swapBehavior: LimitedSwap}
)")
                                     .config;
  ASSERT_TRUE(c.eviction_hard);
  EXPECT_THAT(*c.eviction_hard, ElementsAre(Pair("memory.available", "200Mi")));
  EXPECT_THAT(c.eviction_soft, ElementsAre(Pair("memory.available", "10%")));
  EXPECT_THAT(c.eviction_soft_grace_period, ElementsAre(Pair("memory.available", "30s")));
  EXPECT_THAT(c.eviction_minimum_reclaim, SizeIs(1));
  EXPECT_EQ(c.eviction_pressure_transition_period, 5min) << "0 stands for the default";
  EXPECT_EQ(c.eviction_max_pod_grace_period, 3);
  EXPECT_TRUE(c.merge_default_eviction_settings && c.kernel_memcg_notification);
  EXPECT_THAT(c.enforce_node_allocatable, ElementsAre("pods", "system-reserved"));
  EXPECT_EQ(c.cgroup_root, "/x");
  EXPECT_EQ(c.cgroup_driver, "systemd");
  EXPECT_FALSE(c.cpu_cfs_quota);
  EXPECT_EQ(c.fail_cgroup_v1, false);
  EXPECT_EQ(c.fail_swap_on, false);
  EXPECT_EQ(c.single_process_oom_kill, false);
  EXPECT_EQ(c.cpu_cfs_quota_period, 10ms);
  EXPECT_EQ(c.pod_pids_limit, -1);
  EXPECT_EQ(c.max_pods, 30);
  EXPECT_EQ(c.pods_per_core, 4);
  EXPECT_EQ(c.oom_score_adj, -500);
  EXPECT_EQ(c.memory_throttling_factor, 0.5);
  EXPECT_EQ(c.swap_behavior, "LimitedSwap");
}

TEST(KubeletConfigurationTest, ReadsSourcesAndResolvesRelativePaths) {
  const KubeletConfiguration c = ParseFields(R"(
staticPodPath: pods
staticPodURL: http://127.0.0.1/pods
staticPodURLHeader: {Authorization: [a, b]}
fileCheckFrequency: 5s
podLogsDir: logs
crashLoopBackOff: {maxContainerRestartPeriod: 30s}
shutdownGracePeriod: 30s
shutdownGracePeriodCriticalPods: 10s
containerLogMaxSize: 1Mi
containerLogMaxFiles: 3
containerLogMonitorInterval: 4s
)")
                                     .config;
  EXPECT_EQ(c.static_pod_path, "/etc/k/pods");
  EXPECT_EQ(c.pod_logs_dir, "/etc/k/logs");
  EXPECT_THAT(c.static_pod_url_header, ElementsAre(Pair("Authorization", ElementsAre("a", "b"))));
  EXPECT_EQ(c.file_check_frequency, 5s);
  EXPECT_EQ(c.max_container_restart_period, 30s);
  EXPECT_EQ(c.shutdown_grace_period, 30s);
  EXPECT_EQ(c.container_log_max_size, "1Mi");
  EXPECT_EQ(c.container_log_max_files, 3);
  EXPECT_EQ(c.container_log_monitor_interval, std::chrono::seconds(4));
}

TEST(KubeletConfigurationTest, AnEmptyEvictionMapIsNotTheDefaultOne) {
  EXPECT_EQ(ParseFields("evictionHard: {}\n").config.eviction_hard, (std::map<std::string, std::string>()));
  EXPECT_EQ(ParseFields("evictionHard: null\n").config.eviction_hard, std::nullopt);
  EXPECT_THAT(ParseFields("enforceNodeAllocatable: []\n").config.enforce_node_allocatable, IsEmpty());
}

TEST(KubeletConfigurationTest, KnownFieldsWithoutMeaningAreQuiet) {
  EXPECT_THAT(
      ParseFields("authentication: {anonymous: {enabled: false}}\nclusterDNS: [10.0.0.10]\nrotateCertificates: true\n"
                  "imageGCHighThresholdPercent: 85\nlogging: {format: json}\nregisterNode: true\n")
          .warnings,
      IsEmpty());
}

TEST(KubeletConfigurationTest, FieldsThatBearOnResourcesInAKubeletAndNothingHereAreWarnings) {
  const std::pair<const char*, const char*> cases[] = {
      {"kernelMemcgNotification: true\n", "kernelMemcgNotification"},
      {"syncFrequency: 10s\n", "syncFrequency"},
      {"shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s\n", "shutdownGracePeriod"},
      {"memorySwap: {swapBehavior: LimitedSwap}\n", "memorySwap.swapBehavior"},
      {"imageServiceEndpoint: unix:///run/images.sock\n", "imageServiceEndpoint"},
  };
  for (const auto& [fields, where] : cases) {
    const std::vector<Warning> warnings = ParseFields(fields).warnings;
    ASSERT_THAT(warnings, SizeIs(1)) << fields;
    EXPECT_EQ(warnings[0].where, "/etc/k/conf.yaml: " + std::string(where));
    EXPECT_THAT(warnings[0].message, HasSubstr("has no effect: ")) << fields;
  }
}

TEST(KubeletConfigurationTest, AValueThatChangesNothingIsQuiet) {
  EXPECT_THAT(ParseFields("kernelMemcgNotification: false\nlocalStorageCapacityIsolation: false\nsyncFrequency: 0s\n"
                          "shutdownGracePeriod: 0s\nshutdownGracePeriodCriticalPods: 0s\n"
                          "memorySwap: {swapBehavior: NoSwap}\n"
                          "imageServiceEndpoint: unix:///run/containerd/containerd.sock\n")
                  .warnings,
              IsEmpty());
}

TEST(KubeletConfigurationTest, OfAFileWithSeveralKindsItsOwnIsReadAndTheOthersAreNamed) {
  const std::string text = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n---\n" +
                           std::string(kKubeletHead) + "maxPods: 7\n---\nnodes: 3\n";
  const auto parsed = ParseKubeletConfiguration(text, "kubeadm.yaml");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->config.max_pods, 7);
  ASSERT_THAT(parsed->warnings, SizeIs(2));
  EXPECT_EQ(parsed->warnings[0].where, "kubeadm.yaml: document 1");
  EXPECT_THAT(parsed->warnings[0].message, HasSubstr("kind InitConfiguration: not read"));
  EXPECT_THAT(parsed->warnings[1].message, HasSubstr("without a kind: not read"));
}

TEST(KubeletConfigurationTest, AFileWithSeveralKindsHoldsOneOfItsOwn) {
  const std::string own = std::string(kKubeletHead) + "---\n";
  const auto two = ParseKubeletConfiguration(own + own, "k.yaml");
  ASSERT_FALSE(two);
  EXPECT_THAT(two.error().message,
              HasSubstr("k.yaml: holds 2 documents, of which 2 say \"kind: KubeletConfiguration\""));
  const auto none = ParseKubeletConfiguration("kind: A\n---\nkind: B\n", "k.yaml");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("of which 0 say"));
}

TEST(KubeletConfigurationTest, UnknownAndDuplicateFieldsAreWarnings) {
  const ParsedKubeletConfiguration parsed = ParseFields("cpuManagerPolcy: static\nmaxPods: 5\nmaxPods: 6\n");
  EXPECT_EQ(parsed.config.max_pods, 6);
  EXPECT_THAT(parsed.warnings,
              ElementsAre(Warning{"/etc/k/conf.yaml: maxPods", "the key is given more than once; the last one counts"},
                          Warning{"/etc/k/conf.yaml: cpuManagerPolcy",
                                  "unknown field, ignored; did you mean \"cpuManagerPolicy\"?"}));
}

TEST(KubeletConfigurationTest, FlagsWrittenAsFieldsAreToldWithTheirFields) {
  const ParsedKubeletConfiguration parsed = ParseFields("reserved-cpus: 0-1\ncpu-manager-policy: static\n");
  EXPECT_THAT(parsed.warnings, testing::UnorderedElementsAre(
                                   Warning{"/etc/k/conf.yaml: reserved-cpus",
                                           "unknown field, ignored; the kubelet's flag --reserved-cpus is the field "
                                           "\"reservedSystemCPUs\""},
                                   Warning{"/etc/k/conf.yaml: cpu-manager-policy",
                                           "unknown field, ignored; did you mean \"cpuManagerPolicy\"?"}));
}

TEST(KubeletConfigurationTest, WrongTypesAreErrorsWithTheirPath) {
  EXPECT_THAT(
      ErrorOfKubelet("maxPods: \"110\"\ncpuCFSQuotaPeriod: 100\nfailSwapOn: 1\ncpuManagerPolicyOptions: {a: true}\n"),
      AllOf(HasSubstr("/etc/k/conf.yaml: maxPods: Invalid value: \"110\": expected a whole number"),
            HasSubstr("cpuCFSQuotaPeriod: Invalid value: 100: expected a duration"),
            HasSubstr("failSwapOn: Invalid value: 1: expected true or false"),
            HasSubstr("cpuManagerPolicyOptions[a]: Invalid value: true: expected a string; put it in quotes")));
  EXPECT_THAT(ErrorOfKubelet("syncFrequency: 10\n"), HasSubstr("expected a duration such as \"10s\""));
  EXPECT_THAT(ErrorOfKubelet("syncFrequency: 1 minute\n"), HasSubstr("unknown unit"));
  EXPECT_THAT(ErrorOfKubelet("syncFrequency: 1us\n"), HasSubstr("finer than a millisecond"));
  EXPECT_THAT(ErrorOfKubelet("systemReserved: {cpu: 1x}\n"),
              HasSubstr("systemReserved[cpu]: Invalid value: bad quantity"));
  EXPECT_THAT(ErrorOfKubelet("staticPodURLHeader: {A: b}\n"),
              HasSubstr("staticPodURLHeader[A]: Invalid value: expected a list"));
}

TEST(KubeletConfigurationTest, TheRulesOfTheFileAreKept) {
  const std::pair<const char*, const char*> cases[] = {
      {"topologyManagerPolicy: best\n", "topologyManagerPolicy: Unsupported value: \"best\""},
      {"topologyManagerScope: node\n", "topologyManagerScope: Unsupported value"},
      {"reservedSystemCPUs: 3-1\n", "reservedSystemCPUs: Invalid value: bad CPU list field '3-1'"},
      {"reservedSystemCPUs: \"0\"\nkubeReservedCgroup: /k\n", "reservedSystemCPUs: Forbidden"},
      {"systemReserved: {gpu: 1}\n", "systemReserved[gpu]: Unsupported value: cannot reserve \"gpu\""},
      {"kubeReserved: {cpu: -1}\n", "kubeReserved[cpu]: Invalid value: -1: must not be negative"},
      {"enforceNodeAllocatable: [pods, none]\n", "\"none\" excludes"},
      {"enforceNodeAllocatable: [pods, pods]\n", "Duplicate value: \"pods\""},
      {"enforceNodeAllocatable: [all]\n", "enforceNodeAllocatable: Unsupported value: \"all\""},
      {"enforceNodeAllocatable: [kube-reserved]\n", "kubeReservedCgroup: Required value"},
      {"enforceNodeAllocatable: [kube-reserved, kube-reserved-compressible]\nkubeReservedCgroup: /k\n",
       "exclude each other"},
      {"cgroupsPerQOS: false\n", "needs cgroupsPerQOS"},
      {"systemCgroups: /s\n", "systemCgroups: Forbidden: needs cgroupRoot"},
      {"reservedMemory: [{numaNode: 0, limits: {memory: 0}}]\n", "reservedMemory[0].limits[memory]: Invalid value: 0"},
      {"reservedMemory: [{numaNode: 0, limits: {cpu: 1}}]\n", "only memory and hugepages-<size>"},
      {"reservedMemory: [{limits: {memory: 1}}, {numaNode: 0, limits: {memory: 1}}]\n",
       "reservedMemory[1].limits[memory]: Duplicate value"},
      {"reservedMemory: [{numaNode: -1, limits: {}}]\n", "reservedMemory[0].numaNode: Invalid value: -1"},
      {"reservedMemory: [{numaNode: 8192, limits: {}}]\n", "must be between 0 and 8191"},
      {"cpuCFSQuotaPeriod: 2s\n", "cpuCFSQuotaPeriod: Invalid value: 2000ms: must be between 1ms and 1s"},
      {"maxPods: -1\n", "maxPods: Invalid value: -1"},
      {"podsPerCore: -1\n", "podsPerCore: Invalid value: -1"},
      {"oomScoreAdj: 1001\n", "oomScoreAdj: Invalid value: 1001"},
      {"memoryThrottlingFactor: 0.0\n", "memoryThrottlingFactor: Invalid value"},
      {"memoryThrottlingFactor: 1.1\n", "memoryThrottlingFactor: Invalid value"},
      {"memoryReservationPolicy: TieredReservation\n", "needs the feature gate MemoryQoS"},
      {"memorySwap: {swapBehavior: Lots}\n", "memorySwap.swapBehavior: Unsupported value"},
      {"crashLoopBackOff: {maxContainerRestartPeriod: 500ms}\n", "must be between 1s and 300s"},
      {"podLogsDir: /var/../log\n", "podLogsDir: Invalid value"},
      {"podLogsDir: /var/log/\n", "podLogsDir: Invalid value"},
      {"containerLogMaxFiles: 1\n", "must be greater than 1"},
      {"containerLogMonitorInterval: 2s\n", "containerLogMonitorInterval: Invalid value: 2000ms: must be at least 3s"},
      {"containerLogMaxSize: lots\n", "containerLogMaxSize: Invalid value: bad quantity"},
      {"shutdownGracePeriod: 500ms\n", "must be 0 or at least 1s"},
      {"shutdownGracePeriod: 5s\nshutdownGracePeriodCriticalPods: 6s\n", "must not exceed shutdownGracePeriod"},
      {"fileCheckFrequency: -1s\n", "must not be negative"},
      {"featureGates: {NoSuchGate: true}\n", "featureGates[NoSuchGate]: Unsupported value: unknown feature gate"},
      {"featureGates: {MemoryQos: true}\n", "did you mean MemoryQoS?"},
      {"featureGates: {KubeletPodResources: true}\n",
       "featureGates[KubeletPodResources]: Unsupported value: this feature gate was removed: the feature is always on"},
      {"featureGates: {CPUManager: true}\n",
       "featureGates[CPUManager]: Unsupported value: this feature gate was removed"},
      {"featureGates: {TopologyManager: true}\n", "this feature gate was removed"},
      {"featureGates: {Sysctls: false, AppArmor: true}\n",
       "featureGates[Sysctls]: Unsupported value: this feature gate"},
      {"featureGates: {SidecarContainers: false}\n", "featureGates[SidecarContainers]: Forbidden: locked to true"},
      {"featureGates: {PodLevelResourceManagers: true, PodLevelResources: false}\n", "needs PodLevelResources"},
      {"runOnce: true\n", "runOnce: Invalid value"},
      {"port: 70000\n", "port: Invalid value: 70000: must be between 1 and 65535"},
      {"maxParallelImagePulls: 0\n", "maxParallelImagePulls: Invalid value"},
  };
  for (const auto& [fields, message] : cases) EXPECT_THAT(ErrorOfKubelet(fields), HasSubstr(message)) << fields;
}

TEST(KubeletConfigurationTest, FeatureGatesAreThoseOfTheVersion) {
  const auto answers = [](const std::string& gate) {
    std::string out;
    for (const KubeletVersion version : kKubeletVersions) {
      const auto parsed = ParseKubeletConfigurationFields("{\"featureGates\": {" + gate + "}}", "k", version);
      out += (out.empty() ? "" : "|") + (parsed ? "ok" : parsed.error().message);
    }
    return out;
  };
  EXPECT_EQ(answers("\"MemoryQoS\": true"), "ok|ok|ok");
  EXPECT_THAT(answers("\"HugepageAwareEvicton\": true"),
              ::testing::MatchesRegex(".*unknown feature gate.*\\|.*did you mean HugepageAwareEviction\\?\\|.*"));
  EXPECT_THAT(
      answers("\"SidecarContainers\": true"),
      ::testing::MatchesRegex("ok\\|.*was removed: the feature is always on in 1.37.*\\|.*always on in 1.38.*"));
  EXPECT_THAT(answers("\"DisableCPUQuotaWithExclusiveCPUs\": false"),
              ::testing::MatchesRegex("ok\\|.*locked to true in 1.37; remove it\\|.*was removed.*take it out.*"));
  EXPECT_THAT(answers("\"NodeDeclaredFeatures\": true"), "ok|ok|ok");
  EXPECT_THAT(answers("\"HugepageAwareEviction\": false"),
              ::testing::MatchesRegex(".*knows this feature gate from 1.37 on.*set kubeletVersion.*\\|ok\\|ok"));
  EXPECT_THAT(answers("\"CPUManager\": true"),
              ::testing::MatchesRegex(".*always on in 1.36.*\\|.*always on in 1.37.*\\|.*always on in 1.38.*"));
  EXPECT_THAT(answers("\"NoSuchGate\": true"), HasSubstr("featureGates[NoSuchGate]: Unsupported value: unknown"));
}

TEST(KubeletConfigurationTest, DefaultsOfGatesAreThoseOfTheVersion) {
  const auto accepted = [](const std::string& fields, KubeletVersion version) {
    return ParseKubeletConfigurationFields("{" + fields + "}", "k", version).has_value();
  };
  const std::string tiered = R"("memoryReservationPolicy": "TieredReservation")";
  EXPECT_FALSE(accepted(tiered, KubeletVersion::k1_36)) << "it needs the gate MemoryQoS";
  EXPECT_TRUE(accepted(tiered, KubeletVersion::k1_37));
  EXPECT_FALSE(accepted(tiered + R"(, "featureGates": {"MemoryQoS": false})", KubeletVersion::k1_37));
  EXPECT_FALSE(accepted(tiered + R"(, "featureGates": {"AllBeta": false})", KubeletVersion::k1_37));
  const auto plain = ParseKubeletConfigurationFields("{}", "k", KubeletVersion::k1_37);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->config, KubeletConfiguration()) << "what the version says is no setting";
}

TEST(KubeletConfigurationTest, DefaultSysctlsOfPodsAreKnownFrom137OnNeedTheirGateAndHaveNoEffect) {
  const auto said = [](const std::string& fields, KubeletVersion version) {
    const auto parsed = ParseKubeletConfigurationFields("{" + fields + "}", "k", version);
    if (!parsed) return parsed.error().message;
    return parsed->warnings.empty() ? std::string() : parsed->warnings[0].message;
  };
  const std::string sysctls = R"("defaultPodSysctls": {"net.core.somaxconn": "1024"})";
  const std::string gate = R"(, "featureGates": {"DefaultPodSysctls": true})";
  EXPECT_THAT(said(sysctls, KubeletVersion::k1_36), HasSubstr("unknown field"));
  EXPECT_THAT(said(sysctls, KubeletVersion::k1_37), HasSubstr("needs the feature gate DefaultPodSysctls"));
  EXPECT_THAT(said(sysctls + gate, KubeletVersion::k1_37), HasSubstr("has no effect"));
  EXPECT_EQ(said(R"("defaultPodSysctls": {})", KubeletVersion::k1_38), "");
}

TEST(KubeletConfigurationTest, TheFileHoldsOneDocumentOfTheRightKind) {
  const auto error = [](std::string_view text) {
    const auto parsed = ParseKubeletConfiguration(text, "k.yaml");
    return parsed ? "accepted" : parsed.error().message;
  };
  EXPECT_THAT(error(""), HasSubstr("k.yaml: the file is empty"));
  EXPECT_THAT(error("maxPods: 1\n"), AllOf(HasSubstr("apiVersion: Required value"), HasSubstr("kind: Required value")));
  EXPECT_THAT(error("apiVersion: v1\nkind: Pod\n"), HasSubstr("kind: Unsupported value: \"Pod\""));
  EXPECT_THAT(error(std::string(kKubeletHead) + "---\n" + std::string(kKubeletHead)), HasSubstr("holds 2 documents"));
  EXPECT_THAT(error("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(error("a: ["), HasSubstr("k.yaml: document 1: line 1"));
}

TEST(KubeletConfigurationTest, FieldsAloneNeedNoKind) {
  const auto parsed = ParseKubeletConfigurationFields(R"({"cpuManagerPolicy":"static","staticPodPath":"x"})", "case 1");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->config.cpu_manager_policy, "static");
  EXPECT_EQ(parsed->config.static_pod_path, "x");
  const auto bad = ParseKubeletConfigurationFields(R"({"maxPods":"x"})", "case 2");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("case 2: maxPods: "));
  EXPECT_FALSE(ParseKubeletConfigurationFields("{", "case 3"));
}

}  // namespace
}  // namespace berth::config
