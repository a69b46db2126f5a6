#include "node/eviction/node_pressure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::eviction {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Settings = std::map<std::string, std::string>;

constexpr std::int64_t kMi = 1 << 20;
constexpr std::int64_t kGi = 1 << 30;

Threshold Hard(Signal signal, std::int64_t least) {
  return {.signal = signal, .hard = true, .least = {.units = least, .share = {}}, .grace = {}, .reclaim = {}};
}

std::vector<Threshold> Read(const KubeletConfiguration& config) {
  auto thresholds = ReadThresholds(config);
  EXPECT_TRUE(thresholds) << thresholds.error().message;
  return thresholds.value_or(std::vector<Threshold>());
}

TEST(ThresholdsTest, TheDefaultIs100MiOfTheNodeAndOfAllPods) {
  EXPECT_THAT(Read({}), ElementsAre(Hard(Signal::kMemory, 100 * kMi), Hard(Signal::kAllocatableMemory, 100 * kMi)));
  KubeletConfiguration config;
  config.enforce_node_allocatable = {"none"};
  EXPECT_THAT(Read(config), ElementsAre(Hard(Signal::kMemory, 100 * kMi)));
  config.eviction_hard.emplace();
  EXPECT_THAT(Read(config), ElementsAre());
  config.merge_default_eviction_settings = true;
  EXPECT_THAT(Read(config), ElementsAre(Hard(Signal::kMemory, 100 * kMi)));
}

TEST(ThresholdsTest, PercentsAreOfTheCapacityIn32Bits) {
  KubeletConfiguration config;
  config.eviction_hard = Settings{{"memory.available", "12.5%"}};
  ASSERT_EQ(2U, Read(config).size());
  EXPECT_EQ(0.125F, Read(config)[0].least.share);
  config.eviction_hard = Settings{{"memory.available", "10%"}};
  EXPECT_EQ(858993472, Read(config)[0].least.Of(8 * kGi));
  EXPECT_EQ(1677721625, Read(config)[0].least.Of(16777216000));
  for (const char* none : {"0%", "100%"}) {
    config.eviction_hard = Settings{{"memory.available", none}};
    EXPECT_TRUE(Read(config).empty()) << none;
  }
}

TEST(ThresholdsTest, SoftOnesHaveAGracePeriod) {
  KubeletConfiguration config;
  config.eviction_hard.emplace();
  config.eviction_soft = {{"pid.available", "500"}, {"nodefs.available", "10%"}};
  config.eviction_soft_grace_period = {{"pid.available", "1m30s"}, {"nodefs.available", "1m"}};
  config.eviction_minimum_reclaim = {{"pid.available", "100"}, {"nodefs.available", "0"}};
  const auto thresholds = Read(config);
  ASSERT_EQ(1U, thresholds.size()) << "file systems are not watched";
  EXPECT_FALSE(thresholds[0].hard);
  EXPECT_EQ(seconds(90), thresholds[0].grace);
  EXPECT_EQ(100, thresholds[0].reclaim.units);
}

TEST(ThresholdsTest, MistakesAreNamed) {
  const auto error = [](const KubeletConfiguration& config) {
    const auto read = ReadThresholds(config);
    return read ? std::string() : read.error().message;
  };
  KubeletConfiguration config;
  config.eviction_hard = Settings{{"memory.free", "1Gi"}};
  EXPECT_EQ("evictionHard: unsupported eviction signal memory.free", error(config));
  for (const auto& [text, wrong] : std::map<std::string, std::string>{{"-1%", "must be >= 0%: -1%"},
                                                                      {"101%", "must be <= 100%: 101%"},
                                                                      {"0", "must be positive: 0"},
                                                                      {"x%", "is not a percentage"},
                                                                      {"", "evictionHard[\"memory.available\"]"}}) {
    config.eviction_hard = Settings{{"memory.available", text}};
    EXPECT_THAT(error(config), HasSubstr(wrong)) << text;
  }
  config.eviction_hard.reset();
  config.eviction_soft = {{"memory.available", "1Gi"}};
  EXPECT_THAT(error(config), HasSubstr("grace period must be specified for the soft eviction threshold"));
  config.eviction_soft_grace_period = {{"memory.available", "0s"}};
  EXPECT_THAT(error(config), HasSubstr("must be positive"));
}

TEST(ThresholdsTest, AllMistakesAreToldAtOnceThoseOfEntriesWithoutAThresholdToo) {
  KubeletConfiguration config;
  config.eviction_hard = Settings{{"memory.availabel", "1Gi"}, {"pid.available", "-5"}};
  config.eviction_soft = {{"memory.available", "1Gi"}};
  config.eviction_soft_grace_period = {{"pid.available", "soon"}};
  config.eviction_minimum_reclaim = {{"nodefs.available", "-1Gi"}, {"memory", "1Gi"}, {"pid.available", "0"}};
  const auto read = ReadThresholds(config);
  ASSERT_FALSE(read);
  const std::string& told = read.error().message;
  EXPECT_THAT(told, HasSubstr("evictionHard: unsupported eviction signal memory.availabel; did you mean "
                              "memory.available?\n"));
  EXPECT_THAT(told, HasSubstr("eviction threshold pid.available must be positive: -5\n"));
  EXPECT_THAT(told, HasSubstr("must be specified for the soft eviction threshold memory.available\n"));
  EXPECT_THAT(told, HasSubstr("evictionSoftGracePeriod[\"pid.available\"]: "));
  EXPECT_THAT(told, HasSubstr("evictionMinimumReclaim[\"nodefs.available\"]: "));
  EXPECT_THAT(told, HasSubstr("evictionMinimumReclaim: unsupported eviction signal memory"));
}

TEST(ThresholdsTest, HugePagesAreApartFrom137OnUnlessTheGateIsOff) {
  KubeletConfiguration config;
  const auto pages = [&](KubeletVersion version) { return HugePageCountingOf(config, KubeletRulesOf(version)); };
  EXPECT_EQ(HugePageCounting::kInUse, pages(KubeletVersion::k1_36));
  EXPECT_EQ(HugePageCounting::kApart, pages(KubeletVersion::k1_37));
  config.feature_gates["HugepageAwareEviction"] = false;
  EXPECT_EQ(HugePageCounting::kInUse, pages(KubeletVersion::k1_36));
  EXPECT_EQ(HugePageCounting::kAvailable, pages(KubeletVersion::k1_38));
}

TEST(PressureTest, AHardThresholdActsAtOnceAndOnlyBelowIt) {
  Pressure pressure({Hard(Signal::kMemory, 100)}, seconds(300));
  EXPECT_FALSE(pressure.Look({{Signal::kMemory, {100, 1000}}}, seconds(0))) << "not less";
  EXPECT_FALSE(pressure.memory_pressure());
  const auto met = pressure.Look({{Signal::kMemory, {99, 1000}}}, seconds(10));
  ASSERT_TRUE(met);
  EXPECT_EQ(100, met->least);
  EXPECT_EQ(99, met->available);
  EXPECT_TRUE(pressure.memory_pressure());
  EXPECT_FALSE(pressure.pid_pressure());
}

TEST(PressureTest, ASoftThresholdActsWhenItWasMetForItsGracePeriodWithoutABreak) {
  Threshold soft = Hard(Signal::kMemory, 100);
  soft.hard = false;
  soft.grace = seconds(60);
  Pressure pressure({soft}, seconds(0));
  EXPECT_FALSE(pressure.Look({{Signal::kMemory, {50, 1000}}}, seconds(0)));
  EXPECT_TRUE(pressure.memory_pressure()) << "the condition does not wait";
  EXPECT_FALSE(pressure.Look({{Signal::kMemory, {150, 1000}}}, seconds(30)));
  EXPECT_FALSE(pressure.next_act()) << "nothing is met";
  EXPECT_FALSE(pressure.Look({{Signal::kMemory, {50, 1000}}}, seconds(60)));
  EXPECT_EQ(seconds(120), pressure.next_act()) << "to be looked at then";
  EXPECT_FALSE(pressure.Look({{Signal::kMemory, {50, 1000}}}, seconds(119)));
  EXPECT_TRUE(pressure.Look({{Signal::kMemory, {50, 1000}}}, seconds(120)));
}

TEST(PressureTest, OnceMetItStaysMetUntilTheMinimumIsReclaimed) {
  Threshold threshold = Hard(Signal::kMemory, 100);
  threshold.reclaim.units = 50;
  Pressure pressure({threshold}, seconds(0));
  EXPECT_FALSE(pressure.Look({{Signal::kMemory, {120, 1000}}}, seconds(0)));
  EXPECT_TRUE(pressure.Look({{Signal::kMemory, {90, 1000}}}, seconds(10)));
  EXPECT_TRUE(pressure.Look({{Signal::kMemory, {149, 1000}}}, seconds(20)));
  EXPECT_FALSE(pressure.Look({{Signal::kMemory, {150, 1000}}}, seconds(30)));
  EXPECT_FALSE(pressure.Look({{Signal::kMemory, {120, 1000}}}, seconds(40)));
}

TEST(PressureTest, AConditionStaysForTheTransitionPeriod) {
  Pressure pressure({Hard(Signal::kPids, 100)}, seconds(300));
  EXPECT_TRUE(pressure.Look({{Signal::kPids, {50, 1000}}}, seconds(0)));
  EXPECT_FALSE(pressure.Look({{Signal::kPids, {500, 1000}}}, seconds(299)));
  EXPECT_TRUE(pressure.pid_pressure());
  EXPECT_FALSE(pressure.Look({{Signal::kPids, {500, 1000}}}, seconds(300)));
  EXPECT_FALSE(pressure.pid_pressure());
}

TEST(PressureTest, MemoryComesBeforePids) {
  Pressure pressure({Hard(Signal::kPids, 100), Hard(Signal::kAllocatableMemory, 100)}, seconds(0));
  const auto met = pressure.Look({{Signal::kPids, {1, 1000}}, {Signal::kAllocatableMemory, {1, 1000}}}, seconds(0));
  ASSERT_TRUE(met);
  EXPECT_EQ(Signal::kAllocatableMemory, met->threshold.signal);
}

Candidate Using(const std::string& uid, std::int32_t priority, std::int64_t usage, std::int64_t request) {
  return {.uid = uid, .priority = priority, .critical = false, .request = request, .usage = usage, .processes = 1};
}

std::vector<std::string> Uids(const std::vector<Candidate>& pods) {
  std::vector<std::string> out;
  for (const Candidate& pod : pods) out.push_back(pod.uid);
  return out;
}

TEST(RankTest, UsageAboveRequestThenPriorityThenHowFarAbove) {
  const std::vector<Candidate> pods = {Using("a", 0, 300 * kMi, 200 * kMi), Using("b", 100, 2 * kGi, kGi),
                                       Using("c", 0, 100 * kMi, 500 * kMi), Using("d", 0, 250 * kMi, 100 * kMi)};
  EXPECT_THAT(Uids(Rank(Signal::kMemory, pods)), ElementsAre("d", "a", "b", "c"));
  EXPECT_EQ(Uids(Rank(Signal::kAllocatableMemory, pods)), Uids(Rank(Signal::kMemory, pods)));
}

TEST(RankTest, UnknownUsageGoesFirstAndEqualOnesByUid) {
  std::vector<Candidate> pods = {Using("b", 0, 10, 5), Using("a", 0, 10, 5), Using("x", 5, 10, 5)};
  pods[2].usage.reset();
  EXPECT_THAT(Uids(Rank(Signal::kMemory, pods)), ElementsAre("x", "a", "b"));
}

TEST(RankTest, NobodyIsNamedWhoIsCriticalOrCannotHelp) {
  std::vector<Candidate> pods = {Using("critical", 0, 10, 5), Using("idle", 0, 0, 5)};
  pods[0].critical = true;
  EXPECT_TRUE(Rank(Signal::kMemory, pods).empty());
  pods[1].processes = 0;
  EXPECT_TRUE(Rank(Signal::kPids, pods).empty());
}

TEST(RankTest, PidsGoByPriorityThenNumber) {
  std::vector<Candidate> pods = {Using("few", 0, 1, 0), Using("many", 0, 1, 0), Using("important", 9, 1, 0)};
  pods[1].processes = 50;
  pods[2].processes = 500;
  EXPECT_THAT(Uids(Rank(Signal::kPids, pods)), ElementsAre("many", "few", "important"));
}

TEST(MessageTest, HoldsFigureThresholdAndWhatTheVictimUsed) {
  const Met met{.threshold = Hard(Signal::kMemory, 100), .least = 104857600, .available = 52428800};
  EXPECT_EQ(
      "The node was low on resource: memory. Threshold quantity: 104857600, available: 52428800. The pod was using "
      "300, request is 200, has larger consumption of memory.",
      Message(met, Using("a", 0, 300, 200)));
  Met pids = met;
  pids.threshold.signal = Signal::kPids;
  EXPECT_THAT(Message(pids, Using("a", 0, 300, 200)), HasSubstr("resource: pids. "));
}

}  // namespace
}  // namespace berth::eviction
