#include "frontend/nri_agent/translate.h"

#include <gtest/gtest.h>

#include <random>

#include "model/resources.h"

namespace berth::nri_agent {
namespace {

Quantity Amount(const char* text) { return *Quantity::Parse(text); }

nri::Pod InGroup(std::string group) {
  return {.id = "s", .name = "p", .uid = "u", .name_space = "n", .cgroup_parent = std::move(group)};
}

TEST(TranslateTest, ThePodsClassIsThatOfItsGroup) {
  EXPECT_EQ(QosClass::kGuaranteed, PodOf(InGroup("/kubepods/podu")).status_qos);
  EXPECT_EQ(QosClass::kBurstable, PodOf(InGroup("/kubepods/burstable/podu")).status_qos);
  EXPECT_EQ(QosClass::kBestEffort, PodOf(InGroup("/kubepods/besteffort/podu")).status_qos);
  EXPECT_EQ(QosClass::kBurstable, PodOf(InGroup("kubepods-burstable-podu.slice")).status_qos);
  EXPECT_EQ(QosClass::kGuaranteed, PodOf(InGroup("kubepods-podburstables.slice")).status_qos);
}

TEST(TranslateTest, AKubeletsSharesAndQuotasAreItsRequestsAndLimitsToTheThousandth) {
  for (std::int64_t milli = 10; milli <= 4000; ++milli) {
    const nri::Container seen{
        .id = "c",
        .pod_id = "s",
        .name = "app",
        .resources = {.cpu_shares = static_cast<std::uint64_t>(std::max<std::int64_t>(2, milli * 1024 / 1000)),
                      .cpu_quota = milli * 100,
                      .cpu_period = 100'000}};
    const Container of = ContainerOf(seen, QosClass::kBurstable);
    ASSERT_EQ(milli, AmountOf(of.resources.requests, "cpu").MilliValue());
    ASSERT_EQ(milli, AmountOf(of.resources.limits, "cpu").MilliValue());
  }
}

TEST(TranslateTest, AGuaranteedContainerAsksForWhatItIsLimitedTo) {
  const nri::Container seen{.id = "c",
                            .pod_id = "s",
                            .name = "app",
                            .resources = {.cpu_shares = 2048,
                                          .cpu_quota = 200'000,
                                          .cpu_period = 100'000,
                                          .memory_limit = 1 << 30,
                                          .hugepages = {{"2MB", 4 << 20}, {"1GB", 0}}}};
  const Container of = ContainerOf(seen, QosClass::kGuaranteed);
  const ResourceList want = {{"cpu", Amount("2")}, {"memory", Amount("1Gi")}, {"hugepages-2Mi", Amount("4Mi")}};
  EXPECT_EQ(want, of.resources.requests);
  EXPECT_EQ(want, of.resources.limits);
}

TEST(TranslateTest, AKubeletWithoutQuotasAsksForItsShares) {
  const nri::Container seen{.id = "c", .pod_id = "s", .name = "app", .resources = {.cpu_shares = 3072}};
  EXPECT_EQ(Amount("3"), AmountOf(ContainerOf(seen, QosClass::kGuaranteed).resources.limits, "cpu"));
  EXPECT_EQ(0U, ContainerOf(seen, QosClass::kBurstable).resources.limits.count("cpu"));
}

TEST(TranslateTest, WhoAsksForNothingHasNoRequests) {
  const nri::Container seen{.id = "c", .pod_id = "s", .name = "app", .resources = {.cpu_shares = 2}};
  EXPECT_TRUE(ContainerOf(seen, QosClass::kBestEffort).resources.requests.empty());
}

TEST(TranslateTest, ThePodsGroupIsFoundWithEitherDriverAndBelowAnyRoot) {
  EXPECT_EQ("kubepods/burstable/podu", GroupOf(InGroup("/kubepods/burstable/podu"), "/"));
  EXPECT_EQ("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu.slice",
            GroupOf(InGroup("kubepods-burstable-podu.slice"), "/"));
  EXPECT_EQ("kubepods.slice/kubepods-podu.slice", GroupOf(InGroup("/kubepods.slice/kubepods-podu.slice"), "/"));
  EXPECT_EQ("node-kubepods.slice/node-kubepods-podu.slice",
            GroupOf(InGroup("node-kubepods-podu.slice"), "/node.slice"));
  EXPECT_EQ(std::nullopt, GroupOf(InGroup("kubepods-podu.slice"), "/node.slice"));
  EXPECT_EQ("podu", GroupOf(InGroup("/node/podu"), "/node"));
  for (const char* const group : {"", "podu", "/", "/node", "/nodes/podu", "/a/../podu", "/a//podu", "-.slice"})
    EXPECT_FALSE(GroupOf(InGroup(group), "/node")) << group;
}

TEST(TranslateTest, NumbersOfAnySizeAreTaken) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    nri::Container seen{.id = "c", .pod_id = "s", .name = "app"};
    const auto any = [&] { return random() >> (random() % 64); };
    seen.resources.cpu_shares = any();
    seen.resources.cpu_quota = static_cast<std::int64_t>(any());
    seen.resources.cpu_period = any();
    seen.resources.memory_limit = static_cast<std::int64_t>(any());
    seen.resources.hugepages[std::to_string(any()) + "MB"] = any();
    seen.annotations["io.kubernetes.container.restartCount"] = std::to_string(static_cast<std::int64_t>(any()));
    for (const auto& [name, amount] : ContainerOf(seen, QosClass::kGuaranteed).resources.requests)
      ASSERT_GE(amount.Value(), 0) << name;
    ASSERT_GE(AttemptOf(seen), 0);
  }
}

}  // namespace
}  // namespace berth::nri_agent
