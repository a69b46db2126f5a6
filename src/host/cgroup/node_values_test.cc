// Values of the levels above pods (rules/cgroups#all-pods, rules/cgroups#classes).
#include "host/cgroup/node_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/pods.h"

namespace berth::cgroup {
namespace {

using ::testing::HasSubstr;
using testkit::List;

KubeletConfiguration Reserving() {
  KubeletConfiguration config;
  config.system_reserved = List({{"cpu", "500m"}, {"memory", "1Gi"}, {"pid", "1000"}});
  config.kube_reserved = List({{"cpu", "250m"}, {"memory", "512Mi"}});
  return config;
}

NodeShares Shares(const KubeletConfiguration& config, const ResourceList& capacity, bool v2 = true,
                  KubeletVersion version = KubeletVersion::k1_36) {
  auto shares = SharesOfNode(config, KubeletRulesOf(version), capacity, 32768, -1, v2);
  EXPECT_TRUE(shares);
  return shares ? *shares : NodeShares();
}

NodeShares EightCpus(const KubeletConfiguration& config, KubeletVersion version = KubeletVersion::k1_36) {
  return Shares(config, List({{"cpu", "8"}, {"memory", "16Gi"}}), true, version);
}

void Add(Ledger& ledger, QosClass qos, const std::string& cpu, const std::string& memory) {
  PodRecord record;
  record.uid = "u" + std::to_string(ledger.pods.size());
  record.qos = qos;
  record.requests = List({{"cpu", cpu}, {"memory", memory}});
  ledger.pods.emplace(record.uid, record);
}

TEST(NodeValuesTest, PodsGetCapacityLessReservationsButNotLessTheEvictionThreshold) {
  Reasons why;
  const CgroupValues values = NodeValues(EightCpus(Reserving()), {}, &why);
  EXPECT_EQ(7424U, values.shares);
  EXPECT_EQ(284U, TierWeightOfShares(*values.shares));
  EXPECT_EQ(Bytes{15569256448}, values.memory_max);
  EXPECT_EQ(31768, values.pids_max);
  EXPECT_EQ(std::nullopt, values.cpu_max);
  EXPECT_EQ(std::nullopt, values.memory_min);
  EXPECT_EQ("capacity 16Gi - system reserved 1Gi - kube reserved 512Mi = 14848Mi", why["memory_max"]);
  EXPECT_THAT(why["shares"], HasSubstr("for pods 7250m × 1024 / 1000 = 7424"));
}

TEST(NodeValuesTest, WithoutEnforcementItIsTheCapacity) {
  KubeletConfiguration config = Reserving();
  config.enforce_node_allocatable = {"none"};
  const CgroupValues values = NodeValues(EightCpus(config), {});
  EXPECT_EQ(8192U, values.shares);
  EXPECT_EQ(313U, TierWeightOfShares(*values.shares));
  EXPECT_EQ(GiB(16), values.memory_max);
  EXPECT_EQ(32768, values.pids_max);
}

TEST(NodeValuesTest, HugePagesOfTheNodeAreTheLimitOfAllPods) {
  const NodeShares node = Shares({}, List({{"cpu", "8"}, {"memory", "16Gi"}, {"hugepages-2Mi", "2Gi"}}));
  const CgroupValues values = NodeValues(node, {});
  ASSERT_TRUE(values.hugetlb);
  EXPECT_EQ(GiB(2), values.hugetlb->at(MiB(2)));
  EXPECT_EQ(Bytes{0}, values.hugetlb_others);
}

TEST(NodeValuesTest, ListedCpusAreWhatTheSystemReserves) {
  const auto node = SharesOfNode(Reserving(), {}, List({{"cpu", "16"}, {"memory", "16Gi"}}), std::nullopt, 3, true);
  ASSERT_TRUE(node);
  EXPECT_EQ(13U * 1024, NodeValues(*node, {}).shares);
  EXPECT_EQ(std::nullopt, NodeValues(*node, {}).pids_max) << "not known";
}

TEST(NodeValuesTest, ReservationsAboveCapacityLeaveNothing) {
  KubeletConfiguration config;
  config.system_reserved = List({{"cpu", "9"}});
  EXPECT_EQ(2U, NodeValues(EightCpus(config), {}).shares);
}

TEST(TierValuesTest, BurstableSharesAreTheSumOfItsRequests) {
  Ledger ledger;
  Add(ledger, QosClass::kBurstable, "350m", "0");
  Add(ledger, QosClass::kBurstable, "2250m", "0");
  Add(ledger, QosClass::kGuaranteed, "4", "0");
  Reasons why;
  const CgroupValues values = TierValues(EightCpus({}), QosClass::kBurstable, ledger, &why);
  EXPECT_EQ(2662U, values.shares);
  EXPECT_EQ(102U, TierWeightOfShares(*values.shares));
  EXPECT_THAT(why["shares"], HasSubstr("requests of 2 Burstable pods: 2600m"));
  EXPECT_EQ(2U, TierValues(EightCpus({}), QosClass::kBestEffort, ledger).shares);
  EXPECT_EQ(2U, TierValues(EightCpus({}), QosClass::kBurstable, {}).shares) << "no pods";
}

TEST(TierValuesTest, HugePagesAreNotLimitedPerClass) {
  const CgroupValues values = TierValues(EightCpus({}), QosClass::kBurstable, {});
  ASSERT_TRUE(values.hugetlb);
  EXPECT_TRUE(values.hugetlb->empty());
  EXPECT_EQ(Bytes{4611686018427387904}, values.hugetlb_others);
  EXPECT_EQ(std::nullopt, values.memory_max);
}

KubeletConfiguration QosReserving(const std::string& percent) {
  KubeletConfiguration config;
  config.feature_gates["QOSReserved"] = true;
  config.qos_reserved["memory"] = percent;
  return config;
}

TEST(TierValuesTest, ReservedMemoryShrinksTheClassesBelow) {
  Ledger ledger;
  Add(ledger, QosClass::kGuaranteed, "0", "4Gi");
  Add(ledger, QosClass::kBurstable, "0", "2Gi");
  const NodeShares half = EightCpus(QosReserving("50%"));
  EXPECT_EQ(Bytes{15032385536}, TierValues(half, QosClass::kBurstable, ledger).memory_max);
  EXPECT_EQ(Bytes{13958643712}, TierValues(half, QosClass::kBestEffort, ledger).memory_max);
  const NodeShares all = EightCpus(QosReserving("100%"));
  Reasons why;
  EXPECT_EQ(GiB(10), TierValues(all, QosClass::kBestEffort, ledger, &why).memory_max);
  EXPECT_EQ(
      "unreserved 16Gi - 100 % of memory requests of 1 Guaranteed pod: 4Gi - 100 % of memory requests of 1 Burstable "
      "pod: 2Gi = 10737418240",
      why["memory_max"]);
}

TEST(TierValuesTest, QosReservedCountsReservationsButNoEviction) {
  KubeletConfiguration config = Reserving();
  config.feature_gates["QOSReserved"] = true;
  config.qos_reserved["memory"] = "100%";
  EXPECT_EQ(Bytes{15569256448}, TierValues(EightCpus(config), QosClass::kBurstable, {}).memory_max);
}

TEST(TierValuesTest, ReservingMoreThanThereIsLeavesNothing) {
  Ledger ledger;
  Add(ledger, QosClass::kGuaranteed, "0", "20Gi");
  EXPECT_EQ(Bytes{0}, TierValues(EightCpus(QosReserving("100%")), QosClass::kBurstable, ledger).memory_max);
}

TEST(TierValuesTest, QosReservedNeedsItsGateAndAShareOfMemory) {
  KubeletConfiguration config = QosReserving("50%");
  config.feature_gates.clear();
  EXPECT_EQ(std::nullopt, EightCpus(config).qos_reserved_memory);
  for (const char* bad : {"50", "-1%", "101%", "%", "5.5%", ""}) {
    const auto shares = SharesOfNode(QosReserving(bad), {}, {}, std::nullopt, -1, true);
    ASSERT_FALSE(shares) << bad;
    EXPECT_THAT(shares.error().message, HasSubstr("qosReserved.memory")) << bad;
  }
  config = QosReserving("50%");
  config.qos_reserved = {{"cpu", "50%"}};
  EXPECT_FALSE(SharesOfNode(config, {}, {}, std::nullopt, -1, true));
}

TEST(MemoryQosTest, TieredReservationKeepsWhatPodsAskFor) {
  KubeletConfiguration config;
  config.feature_gates["MemoryQoS"] = true;
  Ledger ledger;
  Add(ledger, QosClass::kGuaranteed, "0", "4Gi");
  Add(ledger, QosClass::kBurstable, "0", "2Gi");
  EXPECT_EQ(Bytes{0}, NodeValues(EightCpus(config), ledger).memory_min) << "memoryReservationPolicy None";
  EXPECT_EQ(Bytes{0}, TierValues(EightCpus(config), QosClass::kBurstable, ledger).memory_low);
  config.memory_reservation_policy = "TieredReservation";
  EXPECT_EQ(GiB(6), NodeValues(EightCpus(config), ledger).memory_min);
  EXPECT_EQ(GiB(2), TierValues(EightCpus(config), QosClass::kBurstable, ledger).memory_low);
  const NodeShares v1 = Shares(config, List({{"cpu", "8"}, {"memory", "16Gi"}}), false);
  EXPECT_EQ(std::nullopt, NodeValues(v1, ledger).memory_min) << "v1 has no such file";
}

TEST(MemoryQosTest, From137OnItIsOnAndWhatBurstablePodsAskForIsKeptInTheGroupOfAllPodsToo) {
  constexpr KubeletVersion k1_36 = KubeletVersion::k1_36;
  constexpr KubeletVersion k1_37 = KubeletVersion::k1_37;
  Ledger ledger;
  Add(ledger, QosClass::kGuaranteed, "0", "4Gi");
  Add(ledger, QosClass::kBurstable, "0", "2Gi");
  EXPECT_EQ(NodeValues(EightCpus({}, k1_36), ledger).memory_min, std::nullopt) << "the gate is off";
  const CgroupValues none = NodeValues(EightCpus({}, k1_37), ledger);
  EXPECT_EQ(none.memory_min, Bytes{0}) << "memoryReservationPolicy None";
  EXPECT_EQ(none.memory_low, Bytes{0});
  KubeletConfiguration config;
  config.feature_gates["MemoryQoS"] = true;
  config.memory_reservation_policy = "TieredReservation";
  EXPECT_EQ(NodeValues(EightCpus(config, k1_36), ledger).memory_low, std::nullopt);
  Reasons why;
  const CgroupValues all = NodeValues(EightCpus(config, k1_37), ledger, &why);
  EXPECT_EQ(all.memory_min, GiB(6));
  EXPECT_EQ(all.memory_low, GiB(2));
  EXPECT_EQ(why["memory_low"], "memory requests of 1 Burstable pod: 2Gi");
  EXPECT_EQ(TierValues(EightCpus(config, k1_37), QosClass::kBurstable, ledger).memory_low, GiB(2));

  config.feature_gates["MemoryQoS"] = false;
  for (const KubeletVersion version : kKubeletVersions) {  // turned off: all is given back
    const CgroupValues lifts =
        Lifts(NodeValues(EightCpus(config, version), ledger), all, UnsetTierValues(QosClass::kGuaranteed));
    EXPECT_EQ(lifts.memory_min, Bytes{0}) << Name(version);
    EXPECT_EQ(lifts.memory_low, Bytes{0}) << Name(version);
  }
}

TEST(ReservedGroupsTest, EachEnforcedOneGetsWhatIsReservedForIt) {
  KubeletConfiguration config = Reserving();
  config.enforce_node_allocatable = {"pods", "system-reserved", "kube-reserved-compressible"};
  config.system_reserved_cgroup = "/system";
  config.kube_reserved_cgroup = "/kube";
  const auto groups = ReservedGroups(config, EightCpus(config));
  ASSERT_TRUE(groups);
  ASSERT_EQ(2U, groups->size());
  const ReservedGroup& system = groups->front();
  EXPECT_EQ("System Reserved", system.what);
  EXPECT_EQ("/system", system.group);
  EXPECT_EQ(512U, system.values.shares);
  EXPECT_EQ(GiB(1), system.values.memory_max);
  EXPECT_EQ(1000, system.values.pids_max);
  EXPECT_TRUE(system.values.hugetlb && system.values.hugetlb->empty());
  const ReservedGroup& kube = groups->back();
  EXPECT_EQ("Kube Reserved Compressible", kube.what);
  EXPECT_EQ(256U, kube.values.shares);
  EXPECT_EQ(std::nullopt, kube.values.memory_max);
  EXPECT_EQ(std::nullopt, kube.values.hugetlb);
}

TEST(ReservedGroupsTest, NothingReservedIsAnErrorWithTheCure) {
  KubeletConfiguration config;
  config.enforce_node_allocatable = {"kube-reserved"};
  config.kube_reserved_cgroup = "/kube";
  const auto groups = ReservedGroups(config, EightCpus(config));
  ASSERT_FALSE(groups);
  EXPECT_THAT(groups.error().message, HasSubstr("\"/kube\" cgroup is not configured properly: set kubeReserved"));
}

}  // namespace
}  // namespace berth::cgroup
