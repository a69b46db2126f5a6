#include "model/kubelet_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "model/gate_standing.h"

namespace berth {
namespace {

TEST(FeatureGateTest, UnconfiguredGatesHaveTheirDefaults) {
  const KubeletConfiguration config;
  for (const char* on : {"CPUManagerPolicyOptions", "CPUManagerPolicyBetaOptions", "TopologyManagerPolicyOptions",
                         "DisableCPUQuotaWithExclusiveCPUs", "PodLevelResources", "SidecarContainers"})
    EXPECT_TRUE(FeatureEnabled(config, on)) << on;
  for (const char* off : {"CPUManagerPolicyAlphaOptions", "TopologyManagerPolicyAlphaOptions",
                          "PodLevelResourceManagers", "MemoryQoS", "QOSReserved"})
    EXPECT_FALSE(FeatureEnabled(config, off)) << off;
  EXPECT_TRUE(FeatureEnabled(config, "TopologyManagerPolicyBetaOptions"));
}

TEST(FeatureGateTest, AConfiguredGateWins) {
  KubeletConfiguration config;
  config.feature_gates = {{"CPUManagerPolicyAlphaOptions", true}, {"CPUManagerPolicyBetaOptions", false}};
  EXPECT_TRUE(FeatureEnabled(config, "CPUManagerPolicyAlphaOptions"));
  EXPECT_FALSE(FeatureEnabled(config, "CPUManagerPolicyBetaOptions"));
}

TEST(FeatureGateTest, AllAlphaAndAllBetaMoveTheGatesOfTheirStage) {
  KubeletConfiguration config;
  config.feature_gates = {{"AllAlpha", true}, {"AllBeta", false}, {"MemoryQoS", false}, {"PodLevelResources", true}};
  EXPECT_TRUE(FeatureEnabled(config, "CPUManagerPolicyAlphaOptions"));
  EXPECT_FALSE(FeatureEnabled(config, "CPUManagerPolicyBetaOptions"));
  EXPECT_FALSE(FeatureEnabled(config, "MemoryQoS")) << "set by name";
  EXPECT_TRUE(FeatureEnabled(config, "PodLevelResources")) << "set by name";
  EXPECT_TRUE(FeatureEnabled(config, "CPUManagerPolicyOptions")) << "not alpha, not beta";
}

TEST(FeatureGateTest, UnknownGatesAreOff) {
  EXPECT_FALSE(FeatureEnabled(KubeletConfiguration(), "NoSuchGate"));
  EXPECT_FALSE(FeatureEnabled(KubeletConfiguration(), ""));
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
  const auto known = KnownFeatureGates();
  EXPECT_TRUE(std::ranges::is_sorted(known));
  EXPECT_EQ(std::ranges::adjacent_find(known), known.end());
  int with_meaning = 0;
  for (const std::string_view name : known) {
    const FeatureGate* gate = FindFeatureGate(name);
    if (gate == nullptr) continue;
    ++with_meaning;
    EXPECT_EQ(gate->name, name);
    EXPECT_TRUE(!gate->locked || gate->stage == FeatureGate::Stage::kStable) << name;
  }
  EXPECT_EQ(with_meaning, 35);
}

}  // namespace
}  // namespace berth
