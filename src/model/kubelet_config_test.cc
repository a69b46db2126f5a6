#include "model/kubelet_config.h"

#include <gtest/gtest.h>

#include <algorithm>

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
