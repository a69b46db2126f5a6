#include "model/kubelet_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "model/gate_standing.h"

namespace berth {
namespace {

constexpr KubeletVersion k1_36 = KubeletVersion::k1_36;
constexpr KubeletVersion k1_37 = KubeletVersion::k1_37;

/// In every version.
std::vector<bool> Enabled(const KubeletConfiguration& config, std::string_view gate) {
  std::vector<bool> out;
  for (const KubeletVersion version : kKubeletVersions) out.push_back(FeatureEnabled(config, gate, version));
  return out;
}

TEST(FeatureGateTest, UnconfiguredGatesHaveTheirDefaults) {
  const KubeletConfiguration config;
  for (const char* on : {"CPUManagerPolicyOptions", "CPUManagerPolicyBetaOptions", "TopologyManagerPolicyOptions",
                         "TopologyManagerPolicyBetaOptions", "DisableCPUQuotaWithExclusiveCPUs", "PodLevelResources",
                         "SidecarContainers"})
    EXPECT_EQ(Enabled(config, on), (std::vector{true, true, true})) << on;
  for (const char* off :
       {"CPUManagerPolicyAlphaOptions", "TopologyManagerPolicyAlphaOptions", "PodLevelResourceManagers", "QOSReserved"})
    EXPECT_EQ(Enabled(config, off), (std::vector{false, false, false})) << off;
  for (const char* later : {"MemoryQoS", "HugepageAwareEviction"})
    EXPECT_EQ(Enabled(config, later), (std::vector{false, true, true})) << later;
}

TEST(FeatureGateTest, AConfiguredGateWinsUnlessItIsLocked) {
  KubeletConfiguration config;
  config.feature_gates = {{"CPUManagerPolicyAlphaOptions", true},
                          {"CPUManagerPolicyBetaOptions", false},
                          {"MemoryQoS", false},
                          {"DisableCPUQuotaWithExclusiveCPUs", false}};
  EXPECT_EQ(Enabled(config, "CPUManagerPolicyAlphaOptions"), (std::vector{true, true, true}));
  EXPECT_EQ(Enabled(config, "CPUManagerPolicyBetaOptions"), (std::vector{false, false, false}));
  EXPECT_EQ(Enabled(config, "MemoryQoS"), (std::vector{false, false, false}));
  EXPECT_EQ(Enabled(config, "DisableCPUQuotaWithExclusiveCPUs"), (std::vector{false, true, true}));
}

TEST(FeatureGateTest, AllAlphaAndAllBetaMoveTheGatesOfTheirStage) {
  KubeletConfiguration config;
  config.feature_gates = {{"AllAlpha", true}, {"AllBeta", false}, {"QOSReserved", false}, {"PodLevelResources", true}};
  EXPECT_TRUE(FeatureEnabled(config, "CPUManagerPolicyAlphaOptions", k1_36));
  EXPECT_FALSE(FeatureEnabled(config, "CPUManagerPolicyBetaOptions", k1_36));
  EXPECT_FALSE(FeatureEnabled(config, "QOSReserved", k1_36)) << "set by name";
  EXPECT_TRUE(FeatureEnabled(config, "PodLevelResources", k1_36)) << "set by name";
  EXPECT_TRUE(FeatureEnabled(config, "CPUManagerPolicyOptions", k1_36)) << "not alpha, not beta";
  EXPECT_EQ(Enabled(config, "MemoryQoS"), (std::vector{true, false, false})) << "alpha, then beta";
  EXPECT_EQ(Enabled(config, "PodLevelResourceManagers"), (std::vector{true, false, false}));
  EXPECT_EQ(Enabled(config, "NodeDeclaredFeatures"), (std::vector{false, true, true})) << "beta, then locked";
}

TEST(FeatureGateTest, UnknownGatesAreOff) {
  EXPECT_FALSE(FeatureEnabled(KubeletConfiguration(), "NoSuchGate", k1_36));
  EXPECT_FALSE(FeatureEnabled(KubeletConfiguration(), "", k1_37));
}

TEST(FeatureGateTest, StandingsFollowTheVersion) {
  using Kind = GateStanding::Kind;
  const auto kinds = [](std::string_view gate) {
    std::vector<Kind> out;
    for (const KubeletVersion version : kKubeletVersions) out.push_back(StandingOf(gate, version).kind);
    return out;
  };
  EXPECT_EQ(kinds("MemoryQoS"), (std::vector{Kind::kFree, Kind::kFree, Kind::kFree}));
  EXPECT_EQ(kinds("NodeSwap"), (std::vector{Kind::kLocked, Kind::kLocked, Kind::kLocked}));
  EXPECT_EQ(kinds("PLEGOnDemandRelist"), (std::vector{Kind::kFree, Kind::kLocked, Kind::kLocked}));
  EXPECT_EQ(kinds("DisableCPUQuotaWithExclusiveCPUs"), (std::vector{Kind::kFree, Kind::kLocked, Kind::kRemoved}));
  EXPECT_EQ(kinds("SidecarContainers"), (std::vector{Kind::kLocked, Kind::kRemoved, Kind::kRemoved}));
  EXPECT_EQ(kinds("HugepageAwareEviction"), (std::vector{Kind::kLater, Kind::kFree, Kind::kFree}));
  EXPECT_EQ(kinds("NoSuchGate"), (std::vector{Kind::kUnknown, Kind::kUnknown, Kind::kUnknown}));
  EXPECT_EQ(StandingOf("HugepageAwareEviction", KubeletVersion::k1_36).since, KubeletVersion::k1_37);
}

TEST(FeatureGateTest, TablesAreSortedAndConsistent) {
  for (const KubeletVersion version : kKubeletVersions) {
    const auto gates = KnownFeatureGates(version);
    EXPECT_TRUE(std::ranges::is_sorted(gates));
    EXPECT_EQ(std::ranges::adjacent_find(gates), gates.end());
    EXPECT_EQ(std::ranges::binary_search(gates, "HugepageAwareEviction"), version != k1_36);
    EXPECT_EQ(std::ranges::binary_search(gates, "SidecarContainers"), version == k1_36);
  }
  const auto known = KnownFeatureGates(k1_36);
  int with_meaning = 0;
  for (const std::string_view name : known) {
    const auto gate = FindFeatureGate(name, k1_36);
    if (!gate) continue;
    ++with_meaning;
    EXPECT_EQ(gate->name, name);
    EXPECT_TRUE(!gate->locked || gate->stage == FeatureGate::Stage::kStable) << name;
  }
  EXPECT_EQ(with_meaning, 35);
}

}  // namespace
}  // namespace berth
