// Values of pods and containers. The numbers come from the kubelet (rules/cgroups#conversions).
#include "host/cgroup/pod_cgroup_values.h"

#include <gtest/gtest.h>

#include "testing/pods.h"

namespace berth::cgroup {
namespace {

using std::chrono::microseconds;

struct Amounts {
  std::string cpu, memory, huge_2mi;
};

ResourceList List(const Amounts& a) {
  return testkit::List({{"cpu", a.cpu}, {"memory", a.memory}, {"hugepages-2Mi", a.huge_2mi}});
}

Container Make(const std::string& name, const Amounts& requests, const Amounts& limits) {
  Container c;
  c.name = name;
  c.resources = {.requests = List(requests), .limits = List(limits)};
  return c;
}

Pod MakePod(std::vector<Container> containers, std::vector<Container> init = {}) {
  Pod pod = testkit::PodOf(std::move(containers), std::move(init));
  pod.uid = "u";
  return pod;
}

/// The pod with limits on parts of its containers that several examples build on.
Pod Partly() {
  return MakePod({Make("a", {"250m", "128Mi", ""}, {"1", "", ""}), Make("b", {"100m", "", ""}, {"2", "1Gi", ""})});
}

CpuMax Quota(std::int64_t us) { return {.quota = microseconds(us), .period = microseconds(100'000)}; }
constexpr CpuMax kNoQuota{.quota = std::nullopt, .period = microseconds(100'000)};

TEST(ConversionTest, SharesOfMilliCpu) {
  const std::pair<std::int64_t, std::uint64_t> cases[] = {
      {0, 2},      {1, 2},       {9, 9},       {15, 15},     {100, 102},         {250, 256},
      {999, 1022}, {1000, 1024}, {7250, 7424}, {2600, 2662}, {300'000, 262'144}, {-5, 2}};
  for (const auto& [milli, shares] : cases) EXPECT_EQ(shares, SharesOf({milli})) << milli;
  EXPECT_EQ(262'144u, SharesOf({std::numeric_limits<std::int64_t>::max()}));
}

TEST(LiftsTest, OnlyWhatIsNotWantedAndDiffersIsGivenBack) {
  CgroupValues found;
  found.cpu_max = Quota(50'000);
  found.memory_low = MiB(1);
  found.memory_high = MiB(2);
  found.oom_group = true;
  EXPECT_EQ(Lifts(found, found, UnsetContainerValues()), CgroupValues()) << "all of it is wanted";
  CgroupValues lifted;
  lifted.cpu_max = kNoQuota;
  lifted.memory_low = Bytes{0};
  lifted.memory_high = Bytes{-1};
  lifted.oom_group = false;
  EXPECT_EQ(Lifts({}, found, UnsetContainerValues()), lifted);
  EXPECT_EQ(Lifts({}, lifted, UnsetContainerValues()), CgroupValues()) << "it is so already";
  EXPECT_EQ(Lifts({}, {}, UnsetContainerValues()), CgroupValues()) << "the kernel has no such files";
  CgroupValues pids;
  pids.pids_max = 100;
  EXPECT_EQ(Lifts({}, pids, UnsetContainerValues()), CgroupValues()) << "no setting sets it there";
  CgroupValues none;
  none.pids_max = -1;
  EXPECT_EQ(Lifts({}, pids, UnsetPodValues()), none);
}

TEST(LiftsTest, TheTextOfTheSettingsDiffersWhenTheyDo) {
  const std::string before = SettingsText({}, std::nullopt);
  EXPECT_EQ(SettingsText({}, std::nullopt), before);
  EXPECT_NE(SettingsText({}, 50), before);
  EXPECT_NE(SettingsText({.cpu_cfs_quota = false}, std::nullopt), before);
  EXPECT_NE(SettingsText({.pod_pids_limit = 100}, std::nullopt), before);
  EXPECT_NE(SettingsText({.oom_group = true}, std::nullopt), before);
}

TEST(ConversionTest, QuotaOfMilliCpu) {
  const auto at = [](std::int64_t milli, std::int64_t period_us) {
    const auto quota = QuotaOf({milli}, microseconds(period_us));
    return quota ? quota->count() : -1;
  };
  EXPECT_EQ(-1, at(0, 100'000));
  EXPECT_EQ(1000, at(1, 100'000));
  EXPECT_EQ(1000, at(9, 100'000));
  EXPECT_EQ(1500, at(15, 100'000));
  EXPECT_EQ(99'900, at(999, 100'000));
  EXPECT_EQ(30'000'000, at(300'000, 100'000));
  EXPECT_EQ(1000, at(100, 10'000));
  EXPECT_EQ(2500, at(250, 10'000));
  EXPECT_EQ(15'000, at(1500, 10'000));
}

TEST(ConversionTest, WeightOfSharesForContainersAndForTheLevelsAbove) {
  struct Row {
    std::uint64_t shares, tier, container;
  };
  const Row rows[] = {{2, 1, 1},
                      {3, 1, 2},
                      {10, 1, 4},
                      {102, 4, 17},
                      {256, 10, 35},
                      {512, 20, 59},
                      {614, 24, 67},
                      {1024, 39, 100},
                      {1536, 59, 138},
                      {2048, 79, 174},
                      {4096, 157, 303},
                      {10240, 391, 639},
                      {65536, 2500, 3023},
                      {131072, 5000, 5478},
                      {262144, 10000, 10000},
                      {7424, 284, 0},
                      {2662, 102, 0},
                      {0, 0, 0},
                      {1, 1, 1},
                      {300000, 10000, 10000}};
  for (const Row& row : rows) {
    EXPECT_EQ(row.tier, TierWeightOfShares(row.shares)) << row.shares;
    if (row.container != 0 || row.shares == 0) {
      EXPECT_EQ(row.container, WeightOfShares(row.shares)) << row.shares;
    }
  }
}

TEST(ConversionTest, WeightNeverFallsWhenSharesGrow) {
  for (std::uint64_t s = 3; s <= 262'144; ++s) {
    ASSERT_LE(WeightOfShares(s - 1), WeightOfShares(s)) << s;
    ASSERT_LE(TierWeightOfShares(s - 1), TierWeightOfShares(s)) << s;
  }
}

TEST(PodValuesTest, GuaranteedPodHasAllThree) {
  const Pod pod = MakePod(
      {Make("a", {"1500m", "1Gi", ""}, {"1500m", "1Gi", ""}), Make("b", {"500m", "256Mi", ""}, {"500m", "256Mi", ""})});
  const CgroupValues v = PodValues(pod, false, {});
  EXPECT_EQ(2048u, v.shares);
  EXPECT_EQ(Quota(200'000), v.cpu_max);
  EXPECT_EQ(Bytes{1342177280}, v.memory_max);
  EXPECT_FALSE(v.cpus || v.mems || v.pids_max);
}

TEST(PodValuesTest, ExclusiveCpusOrSwitchedOffQuotasLiftThePodsQuota) {
  const Pod pod = MakePod({Make("a", {"2", "1Gi", ""}, {"2", "1Gi", ""})});
  EXPECT_EQ(kNoQuota, PodValues(pod, true, {}).cpu_max);
  EXPECT_EQ(kNoQuota, PodValues(pod, false, {.cpu_cfs_quota = false}).cpu_max);
}

TEST(PodValuesTest, OneContainerWithoutMemoryLimitLeavesThePodWithoutOne) {
  const CgroupValues v = PodValues(Partly(), false, {});
  EXPECT_EQ(358u, v.shares);
  EXPECT_EQ(Quota(300'000), v.cpu_max);
  EXPECT_EQ(std::nullopt, v.memory_max);
}

TEST(PodValuesTest, OverheadCountsForBoth) {
  Pod pod = Partly();
  pod.overhead = List({"250m", "120Mi", ""});
  const CgroupValues v = PodValues(pod, false, {});
  EXPECT_EQ(614u, v.shares);
  EXPECT_EQ(Quota(325'000), v.cpu_max);
}

TEST(PodValuesTest, AnInitContainerWithoutLimitLiftsTheQuota) {
  Pod pod = Partly();
  pod.init_containers = {Make("i", {"2", "", ""}, {})};
  const CgroupValues v = PodValues(pod, false, {});
  EXPECT_EQ(2048u, v.shares);
  EXPECT_EQ(std::nullopt, v.cpu_max);
}

TEST(PodValuesTest, SidecarsAddToInitContainersAfterThem) {
  Pod pod = Partly();
  pod.init_containers = {Make("s", {"300m", "64Mi", ""}, {"400m", "64Mi", ""}),
                         Make("i", {"500m", "", ""}, {"4", "", ""})};
  pod.init_containers[0].restartable_init = true;
  const CgroupValues v = PodValues(pod, false, {});
  EXPECT_EQ(819u, v.shares);
  EXPECT_EQ(Quota(440'000), v.cpu_max);
}

TEST(PodValuesTest, ASidecarsLimitStandsForInitContainersWithoutOne) {
  Pod pod = MakePod({Make("a", {"100m", "", ""}, {"1", "", ""})},
                    {Make("s", {"100m", "", ""}, {"1", "", ""}), Make("i", {"100m", "", ""}, {})});
  pod.init_containers[0].restartable_init = true;
  EXPECT_EQ(Quota(200'000), PodValues(pod, false, {}).cpu_max);
  std::swap(pod.init_containers[0], pod.init_containers[1]);
  EXPECT_EQ(std::nullopt, PodValues(pod, false, {}).cpu_max) << "before it, nothing stands for it";
}

TEST(PodValuesTest, PodLevelResourcesReplaceTheContainers) {
  Pod pod = MakePod({Make("a", {"100m", "", ""}, {}), Make("b", {}, {})});
  pod.resources = Resources{.requests = List({"1", "1Gi", ""}), .limits = List({"2", "2Gi", ""})};
  const CgroupValues v = PodValues(pod, false, {});
  EXPECT_EQ(1024u, v.shares);
  EXPECT_EQ(Quota(200'000), v.cpu_max);
  EXPECT_EQ(Bytes{2147483648}, v.memory_max);
}

TEST(PodValuesTest, EmptyPodLevelResourcesMakeItBestEffort) {
  Pod pod = MakePod({Make("a", {"100m", "1Gi", ""}, {"100m", "1Gi", ""})});
  pod.resources = Resources{};
  const CgroupValues v = PodValues(pod, false, {});
  EXPECT_EQ(2u, v.shares);
  EXPECT_FALSE(v.cpu_max || v.memory_max);
}

TEST(PodValuesTest, HugePagesComeFromRequests) {
  const Pod pod = MakePod({Make("a", {"1", "1Gi", "100Mi"}, {"1", "1Gi", "100Mi"})});
  const CgroupValues v = PodValues(pod, false, {});
  EXPECT_EQ((std::map<Bytes, Bytes>{{MiB(2), Bytes{104857600}}}), v.hugetlb);
}

TEST(PodValuesTest, TheSmallestQuotaIsTenMillis) {
  const CgroupValues v = PodValues(MakePod({Make("a", {"1m", "1Mi", ""}, {"1m", "1Mi", ""})}), false, {});
  EXPECT_EQ(2u, v.shares);
  EXPECT_EQ(Quota(1000), v.cpu_max);
  EXPECT_EQ(Bytes{1048576}, v.memory_max);
}

TEST(PodValuesTest, PidsLimitOnlyWhenSet) {
  const Pod pod = MakePod({Make("a", {}, {})});
  EXPECT_EQ(std::nullopt, PodValues(pod, false, {}).pids_max);
  EXPECT_EQ(100, PodValues(pod, false, {.pod_pids_limit = 100}).pids_max);
}

TEST(SandboxValuesTest, ContainersAreAddedAndTheOverheadIsToldApart) {
  Pod pod = Partly();
  EXPECT_EQ(SandboxOverhead(pod, {}), CgroupValues());
  pod.overhead = List({"500m", "64Mi", ""});
  const CgroupValues overhead = SandboxOverhead(pod, {});
  EXPECT_EQ(overhead.shares, 512U);
  EXPECT_EQ(overhead.cpu_max, Quota(50'000));
  EXPECT_EQ(overhead.memory_max, Bytes{64 << 20});
  const CgroupValues resources = SandboxResources(pod, {});
  EXPECT_EQ(resources.shares, 358U);
  EXPECT_EQ(resources.cpu_max, Quota(300'000)) << "3 CPUs";
  EXPECT_EQ(resources.memory_max, Bytes{1 << 30}) << "of those that have a limit";
  EXPECT_FALSE(SandboxResources(pod, {.cpu_cfs_quota = false}).cpu_max);
  EXPECT_EQ(SandboxResources(MakePod({Make("a", {"", "", ""}, {"", "", ""})}), {}).shares, 2U);
}

TEST(ContainerValuesTest, LimitsAndRequestsBecomeValues) {
  const Pod pod = Partly();
  const CgroupValues a = ContainerValues(pod, pod.containers[0], false, CpuSet{CpuId{1}}, NodeSet{NumaId{0}}, {});
  EXPECT_EQ(256u, a.shares);
  EXPECT_EQ(35u, a.weight);
  EXPECT_EQ(Quota(100'000), a.cpu_max);
  EXPECT_EQ(std::nullopt, a.memory_max);
  EXPECT_EQ(CpuSet{CpuId{1}}, a.cpus);
  EXPECT_EQ(NodeSet{NumaId{0}}, a.mems);
  const CgroupValues b = ContainerValues(pod, pod.containers[1], false, std::nullopt, std::nullopt, {});
  EXPECT_EQ(102u, b.shares);
  EXPECT_EQ(GiB(1), b.memory_max);
  EXPECT_EQ(Bytes{0}, b.swap_max);
  EXPECT_FALSE(b.cpus || b.mems);
}

TEST(ContainerValuesTest, ExclusiveCpusHaveNoQuota) {
  const Pod pod = MakePod({Make("a", {"2", "1Gi", ""}, {"2", "1Gi", ""})});
  EXPECT_EQ(kNoQuota, ContainerValues(pod, pod.containers[0], true, std::nullopt, std::nullopt, {}).cpu_max);
  EXPECT_EQ(
      std::nullopt,
      ContainerValues(pod, pod.containers[0], true, std::nullopt, std::nullopt, {.cpu_cfs_quota = false}).cpu_max);
}

TEST(ContainerValuesTest, SharesFallBackToTheLimitAndLimitsToThePod) {
  Pod pod = MakePod({Make("a", {}, {"500m", "", ""}), Make("b", {}, {})});
  pod.resources = Resources{.requests = {}, .limits = List({"2", "2Gi", ""})};
  const CgroupValues a = ContainerValues(pod, pod.containers[0], false, std::nullopt, std::nullopt, {});
  EXPECT_EQ(512u, a.shares);
  EXPECT_EQ(Quota(50'000), a.cpu_max);
  EXPECT_EQ(GiB(2), a.memory_max);
  EXPECT_EQ(Quota(200'000), ContainerValues(pod, pod.containers[1], false, std::nullopt, std::nullopt, {}).cpu_max);
  pod.resources.reset();
  EXPECT_EQ(2u, ContainerValues(pod, pod.containers[1], false, std::nullopt, std::nullopt, {}).shares);
}

TEST(ContainerValuesTest, HugePageLimitsOfTheContainerOverrideThePods) {
  Pod pod = MakePod({Make("a", {}, {"", "", "64Mi"}), Make("b", {}, {})});
  pod.resources = Resources{.requests = {}, .limits = List({"", "", "128Mi"})};
  const auto pages = [&](std::size_t i) {
    return *ContainerValues(pod, pod.containers[i], false, std::nullopt, std::nullopt, {}).hugetlb;
  };
  EXPECT_EQ((std::map<Bytes, Bytes>{{MiB(2), MiB(64)}}), pages(0));
  EXPECT_EQ((std::map<Bytes, Bytes>{{MiB(2), MiB(128)}}), pages(1));
}

ValueOptions MemoryQos(bool tiered) {
  ValueOptions options;
  options.memory_qos = true;
  options.tiered_reservation = tiered;
  options.node_memory = GiB(8);
  return options;
}

TEST(MemoryQosTest, PodsKeepTheirRequestUnderTieredReservation) {
  const Pod burstable = Partly();
  EXPECT_EQ(Bytes{134217728}, PodValues(burstable, false, MemoryQos(true)).memory_low);
  EXPECT_EQ(std::nullopt, PodValues(burstable, false, MemoryQos(true)).memory_min);
  EXPECT_EQ(std::nullopt, PodValues(burstable, false, MemoryQos(false)).memory_low);
  const Pod guaranteed = MakePod(
      {Make("a", {"1500m", "1Gi", ""}, {"1500m", "1Gi", ""}), Make("b", {"500m", "256Mi", ""}, {"500m", "256Mi", ""})});
  EXPECT_EQ(Bytes{1342177280}, PodValues(guaranteed, false, MemoryQos(true)).memory_min);
}

TEST(MemoryQosTest, ContainersAreSlowedDownBetweenRequestAndLimit) {
  const Pod pod = MakePod({Make("a", {"1", "1Gi", ""}, {"1", "2Gi", ""})});
  Reasons why;
  const CgroupValues values = ContainerValues(pod, pod.containers[0], false, {}, {}, MemoryQos(true), &why);
  EXPECT_EQ(Bytes{2040107008}, values.memory_high);
  EXPECT_EQ(GiB(1), values.memory_low);
  EXPECT_EQ(std::nullopt, values.memory_min);
  EXPECT_EQ("1073741824 + (2147483648 - 1073741824) × 0.9, down to a page", why["memory_high"]);
}

TEST(MemoryQosTest, WithoutALimitTheNodesMemoryCountsAndEqualAmountsSetNone) {
  const Pod open = MakePod({Make("a", {"1", "1Gi", ""}, {})});
  const CgroupValues values = ContainerValues(open, open.containers[0], false, {}, {}, MemoryQos(false));
  EXPECT_EQ(Bytes{7838314496}, values.memory_high) << "1Gi + 7Gi * 0.9, down to a page";
  EXPECT_EQ(Bytes{0}, values.memory_min);
  EXPECT_EQ(Bytes{0}, values.memory_low);
  const Pod equal = MakePod({Make("a", {"1", "1Gi", ""}, {"1", "1Gi", ""})});
  EXPECT_EQ(std::nullopt, ContainerValues(equal, equal.containers[0], false, {}, {}, MemoryQos(false)).memory_high);
}

/// Settings as a kubelet of that version has them, on a v2 node of 16 GiB.
ValueOptions As(KubeletVersion version, const KubeletConfiguration& config = {}) {
  return OptionsOf(config, KubeletRulesOf(version), true, GiB(16));
}
constexpr KubeletVersion k1_36 = KubeletVersion::k1_36;
constexpr KubeletVersion k1_37 = KubeletVersion::k1_37;

CgroupValues ValuesOf(const Pod& pod, const ValueOptions& options) {
  return ContainerValues(pod, pod.containers.front(), false, {}, {}, options);
}

TEST(MemoryQosTest, From137OnItIsOnAndNobodyIsSlowedDownUnlessAFactorIsSaid) {
  const Pod burstable = MakePod({Make("a", {"1", "1Gi", ""}, {"1", "2Gi", ""})});
  EXPECT_EQ(ValuesOf(burstable, As(k1_36)).memory_min, std::nullopt) << "the gate is off";
  KubeletConfiguration on;
  on.feature_gates["MemoryQoS"] = true;
  EXPECT_EQ(ValuesOf(burstable, As(k1_36, on)).memory_high, Bytes{2040107008}) << "0.9";
  for (const KubeletConfiguration& config : {KubeletConfiguration(), on}) {
    const CgroupValues values = ValuesOf(burstable, As(k1_37, config));
    EXPECT_EQ(values.memory_min, Bytes{0});
    EXPECT_EQ(values.memory_low, Bytes{0});
    EXPECT_EQ(values.memory_high, std::nullopt);
  }
  on.memory_throttling_factor = 0.9;
  EXPECT_EQ(ValuesOf(burstable, As(k1_37, on)).memory_high, Bytes{2040107008});
}

TEST(MemoryQosTest, From137OnContainersWithoutARequestAreSlowedDownToo) {
  KubeletConfiguration config;
  config.feature_gates["MemoryQoS"] = true;
  config.memory_throttling_factor = 0.9;
  const Pod best_effort = MakePod({Make("a", {}, {})});
  EXPECT_EQ(ValuesOf(best_effort, As(k1_36, config)).memory_high, std::nullopt);
  EXPECT_EQ(ValuesOf(best_effort, As(k1_37, config)).memory_high, Bytes{15461879808}) << "16Gi * 0.9, down to a page";
  const Pod guaranteed = MakePod({Make("a", {"1", "1Gi", ""}, {"1", "1Gi", ""})});
  EXPECT_EQ(ValuesOf(guaranteed, As(k1_37, config)).memory_high, std::nullopt);
}

TEST(MemoryQosTest, From137OnWhatHasItsPodsLimitAloneIsSlowedDownWithThePod) {
  KubeletConfiguration config;
  config.feature_gates["MemoryQoS"] = true;
  config.memory_throttling_factor = 0.9;
  Pod pod = MakePod({Make("a", {"1", "1Gi", ""}, {})});
  pod.resources = Resources{.requests = List({"1", "1Gi", ""}), .limits = List({"", "2Gi", ""})};
  EXPECT_EQ(ValuesOf(pod, As(k1_36, config)).memory_high, Bytes{15569256448}) << "1Gi + 15Gi * 0.9: of the node";
  EXPECT_EQ(PodValues(pod, false, As(k1_36, config)).memory_high, std::nullopt);
  EXPECT_EQ(ValuesOf(pod, As(k1_37, config)).memory_high, std::nullopt);
  EXPECT_EQ(PodValues(pod, false, As(k1_37, config)).memory_high, Bytes{2040107008});
  pod.containers.front().resources.limits = List({"", "1536Mi", ""});
  EXPECT_EQ(ValuesOf(pod, As(k1_37, config)).memory_high, Bytes{1556922368}) << "its own limit";
}

TEST(MemoryQosTest, TurnedOffFrom137OnMemoryHighIsWrittenAsNone) {
  const Pod burstable = MakePod({Make("a", {"1", "1Gi", ""}, {"1", "2Gi", ""})});
  KubeletConfiguration off;
  off.feature_gates["MemoryQoS"] = false;
  EXPECT_EQ(ValuesOf(burstable, As(k1_36, off)).memory_high, std::nullopt);
  const CgroupValues values = ValuesOf(burstable, As(k1_37, off));
  EXPECT_EQ(values.memory_high, Bytes{-1});
  EXPECT_FALSE(values.memory_min || values.memory_low);
  EXPECT_EQ(PodValues(burstable, false, As(k1_37, off)).memory_high, std::nullopt) << "containers alone";
  EXPECT_EQ(ValuesOf(burstable, OptionsOf(off, KubeletRulesOf(k1_37), false, GiB(16))).memory_high, std::nullopt)
      << "v1 has no such file";
}

TEST(MemoryQosTest, WhatAnyOfItsSettingsWroteIsGivenBackWithoutThem) {
  KubeletConfiguration config;
  config.memory_reservation_policy = "TieredReservation";
  config.memory_throttling_factor = 0.9;
  Pod pod = MakePod({Make("a", {"1", "1Gi", ""}, {"1", "1536Mi", ""})});
  pod.resources = Resources{.requests = List({"1", "1Gi", ""}), .limits = List({"2", "2Gi", ""})};
  const CgroupValues of_pod = PodValues(pod, false, As(k1_37, config));
  const CgroupValues of_container = ValuesOf(pod, As(k1_37, config));
  ASSERT_TRUE(of_pod.memory_low && of_pod.memory_high && of_container.memory_low && of_container.memory_high);
  KubeletConfiguration off;
  off.feature_gates["MemoryQoS"] = false;
  for (const KubeletVersion version : kKubeletVersions) {
    CgroupValues given_back;
    given_back.memory_low = Bytes{0};
    given_back.memory_high = Bytes{-1};
    EXPECT_EQ(Lifts(PodValues(pod, false, As(version, off)), of_pod, UnsetPodValues()), given_back) << Name(version);
    const CgroupValues wanted = ValuesOf(pod, As(version, off));
    const CgroupValues lifts = Lifts(wanted, of_container, UnsetContainerValues());
    EXPECT_EQ(lifts.memory_low, Bytes{0}) << Name(version);
    EXPECT_EQ(wanted.memory_high ? wanted.memory_high : lifts.memory_high, Bytes{-1}) << Name(version);
  }
  EXPECT_NE(SettingsText(As(k1_36), {}), SettingsText(As(k1_37), {})) << "so that groups that run follow";
  EXPECT_NE(SettingsText(As(k1_37), {}), SettingsText(As(k1_37, off), {}));
}

TEST(OptionsTest, From137OnNothingBringsTheQuotaOfExclusiveCpusBack) {
  const Pod pod = MakePod({Make("a", {"2", "1Gi", ""}, {"2", "1Gi", ""})});
  const auto quotas = [&](const ValueOptions& options) {
    return std::pair(PodValues(pod, true, options).cpu_max,
                     ContainerValues(pod, pod.containers[0], true, {}, {}, options).cpu_max);
  };
  for (const char* gate : {"DisableCPUQuotaWithExclusiveCPUs", "AllBeta"}) {
    KubeletConfiguration config;
    config.feature_gates[gate] = false;
    EXPECT_EQ(quotas(As(k1_36, config)), std::pair(std::optional(Quota(200'000)), std::optional(Quota(200'000))));
    EXPECT_EQ(quotas(As(k1_37, config)), std::pair(std::optional(kNoQuota), std::optional(kNoQuota))) << gate;
    EXPECT_EQ(quotas(As(KubeletVersion::k1_38, config)).first, kNoQuota) << gate;
  }
}

TEST(OptionsTest, FollowSettingsAndVersion) {
  KubeletConfiguration config;
  config.feature_gates = {{"MemoryQoS", true}, {"DisableCPUQuotaWithExclusiveCPUs", false}};
  EXPECT_TRUE(OptionsOf(config, {}, true, GiB(1)).memory_qos);
  EXPECT_FALSE(OptionsOf(config, {}, false, GiB(1)).memory_qos) << "v1";
  EXPECT_TRUE(OptionsOf(config, {}, true, GiB(1)).oom_group) << "v2 ends all processes of a container together";
  EXPECT_FALSE(OptionsOf(config, {}, false, GiB(1)).oom_group);
  config.single_process_oom_kill = true;
  EXPECT_FALSE(OptionsOf(config, {}, true, GiB(1)).oom_group);
  const Pod pod = MakePod({Make("a", {"1", "1Gi", ""}, {"1", "1Gi", ""})});
  EXPECT_EQ(Quota(100'000), PodValues(pod, true, OptionsOf(config, {}, true, GiB(1))).cpu_max) << "the gate is off";
}

TEST(ReasonsTest, EachValueHasItsFormulaWithTheNumbers) {
  Reasons why;
  const Pod pod = Partly();
  PodValues(pod, false, {}, &why);
  EXPECT_EQ("the pod's CPU request 350m × 1024 / 1000 = 358", why["shares"]);
  EXPECT_EQ("the pod's CPU limit 3000m × 100000 / 1000 = 300000 µs", why["cpu_max"]);
  const Pod tiny = MakePod({Make("a", {"1m", "1Mi", ""}, {"1m", "1Mi", ""})});
  PodValues(tiny, false, {}, &why);
  EXPECT_EQ("the pod's CPU request 1m × 1024 / 1000 = 1, at least: 2", why["shares"]);
  EXPECT_EQ("the pod's CPU limit 1m × 100000 / 1000 = 100 µs, at least 1000 µs", why["cpu_max"]);
  PodValues(tiny, true, {}, &why);
  EXPECT_EQ("no quota: it has CPUs of its own", why["cpu_max"]);
}

}  // namespace
}  // namespace berth::cgroup
