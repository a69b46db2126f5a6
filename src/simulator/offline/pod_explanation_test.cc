#include "simulator/offline/pod_explanation.h"

#include <gtest/gtest.h>

#include "host/machine/load_machine.h"
#include "simulator/offline/saved_ledger.h"

namespace berth::offline {
namespace {

/// Four CPUs, CPU policy static, CPU 0 reserved.
allocator::Node MakeNode() {
  auto machine = machine::ParseSynthetic("numa:1 core:4 pu:1");
  EXPECT_TRUE(machine) << machine.error().message;
  KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  auto node = allocator::Node::Make(*machine, config);
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

Pod MakePod(const std::string& name, std::string_view cpu) {
  Pod pod;
  pod.name = name;
  Container& container = pod.containers.emplace_back();
  container.name = "app";
  if (cpu.empty()) return pod;
  container.resources.requests.emplace("cpu", *Quantity::Parse(cpu));
  container.resources.requests.emplace("memory", *Quantity::Parse("1Mi"));
  container.resources.limits = container.resources.requests;
  return pod;
}

struct ExplainNowTest : testing::Test {
  Outlook Ask(const Pod& pod, const NodeConditions& conditions = {}) {
    return ExplainNow(node, ledger, conditions, pod, {}, "n1");
  }
  /// Why it waits; "" when it does not.
  std::string WaitReason(const Pod& pod, const NodeConditions& conditions) {
    const Outlook outlook = Ask(pod, conditions);
    return outlook.wait ? outlook.wait->reason : "";
  }
  void Place(Pod pod) {
    pod.uid = "uid-" + pod.name;
    const Decision decision = allocator::Decide(node, ledger, pod, {}, nullptr);
    ASSERT_TRUE(std::holds_alternative<Admit>(decision));
    Apply(ledger, std::get<Admit>(decision).delta);
  }
  /// A node whose CPUs 1.38 gives otherwise than the versions before it.
  void SpreadOverCores() {
    KubeletConfiguration config = node.config();
    config.reserved_system_cpus = "0-1";
    config.cpu_manager_policy_options["distribute-cpus-across-cores"] = "true";
    config.feature_gates["CPUManagerPolicyAlphaOptions"] = true;
    auto threaded = allocator::Node::Make(*machine::ParseSynthetic("numa:1 core:4 pu:2"), config);
    ASSERT_TRUE(threaded) << threaded.error().message;
    node = *std::move(threaded);
    ledger = node.EmptyLedger();
  }

  allocator::Node node = MakeNode();
  Ledger ledger = node.EmptyLedger();
};

TEST_F(ExplainNowTest, SaysWhatAnotherVersionOfTheKubeletWouldDecideOtherwise) {
  SpreadOverCores();
  const Outlook two = Ask(MakePod("two", "2"));
  EXPECT_EQ(two.versions, (std::vector<VersionDifference>{{KubeletVersion::k1_38, "app", "CPUs 2-3", "CPUs 2,4"}}));
  EXPECT_NE(FormatOutlook(two, {}).find("1.38: app: CPUs 2,4, instead of CPUs 2-3\n"), std::string::npos);
  EXPECT_TRUE(Ask(MakePod("shared", "1500m")).versions.empty());
  EXPECT_TRUE(Ask(MakePod("large", "9")).versions.empty());
}

TEST_F(ExplainNowTest, SaysWhyAContainerIsShared) {
  const ExplanationStyle style;
  EXPECT_NE(
      FormatOutlook(Ask(MakePod("web", "1500m")), style).find("app runs in the shared pool: no whole number of CPUs"),
      std::string::npos);
  EXPECT_NE(FormatOutlook(Ask(MakePod("web", "")), style).find("app runs in the shared pool: not Guaranteed"),
            std::string::npos);
  EXPECT_EQ(FormatOutlook(Ask(MakePod("web", "2")), style).find("shared pool"), std::string::npos);
}

TEST_F(ExplainNowTest, ALedgerOfAnotherMemoryPolicyIsTakenWithoutItsBookings) {
  KubeletConfiguration config = node.config();
  config.memory_manager_policy = "Static";
  config.system_reserved["memory"] = *Quantity::Parse("64Mi");
  config.reserved_memory = {{NumaId{0}, {{"memory", *Quantity::Parse("164Mi")}}}};  // and 100Mi of the hard eviction
  const auto pinned = allocator::Node::Make(node.machine(), config);
  ASSERT_TRUE(pinned) << pinned.error().message;
  Place(MakePod("old", "2"));
  Ledger kept = ledger;
  EXPECT_FALSE(TakeMemoryPolicy(node, kept));
  EXPECT_TRUE(TakeMemoryPolicy(*pinned, kept));
  EXPECT_FALSE(FindMisfit(*pinned, kept));
  EXPECT_EQ(kept.pods.begin()->second.placements[0].cpus, ledger.pods.begin()->second.placements[0].cpus);
  Pod more = MakePod("more", "1");
  more.uid = "uid-more";
  const Decision decision = allocator::Decide(*pinned, kept, more, {}, nullptr);
  ASSERT_TRUE(std::holds_alternative<Admit>(decision));
  Apply(kept, std::get<Admit>(decision).delta);
  EXPECT_TRUE(kept.pods.at("uid-more").placements[0].memory);
  EXPECT_TRUE(TakeMemoryPolicy(node, kept));
  EXPECT_FALSE(FindMisfit(node, kept));
  EXPECT_FALSE(kept.pods.at("uid-more").placements[0].memory);
}

TEST_F(ExplainNowTest, WithoutConditionsTheBooksDecide) {
  EXPECT_TRUE(std::holds_alternative<Admit>(Ask(MakePod("web", "2")).explanation.decision));
  EXPECT_TRUE(std::holds_alternative<Reject>(Ask(MakePod("web", "9")).explanation.decision));
  EXPECT_FALSE(Ask(MakePod("web", "2")).wait);
  EXPECT_FALSE(Ask(MakePod("web", "9")).wait);
}

TEST_F(ExplainNowTest, NothingIsAdmittedBeforeTheLedgerCanBeSaved) {
  const NodeConditions full{.ledger_problem = "no space"};
  EXPECT_EQ(WaitReason(MakePod("web", "2"), full), "LedgerNotSaved");
  EXPECT_EQ(WaitReason(MakePod("web", "9"), full), "LedgerNotSaved");
}

TEST_F(ExplainNowTest, PressureHoldsUpWhomItConcerns) {
  EXPECT_EQ(WaitReason(MakePod("any", ""), {.memory_pressure = true}), "NodeUnderPressure");
  EXPECT_EQ(WaitReason(MakePod("web", "2"), {.memory_pressure = true}), "");
  EXPECT_EQ(WaitReason(MakePod("web", "2"), {.pid_pressure = true}), "NodeUnderPressure");
  Pod critical = MakePod("dns", "");
  critical.priority = kCriticalPriority;
  EXPECT_EQ(WaitReason(critical, {.memory_pressure = true, .pid_pressure = true}), "");
}

TEST_F(ExplainNowTest, WhatDoesNotFitWaitsForOthersThatAreEnding) {
  const NodeConditions ending{.releasing = {"default/old-n1", "default/web-n1"}};
  const Outlook no = Ask(MakePod("web", "9"), ending);
  ASSERT_TRUE(no.wait);
  EXPECT_EQ(no.wait->reason, "WaitingForRelease");
  EXPECT_TRUE(no.wait->message.ends_with(": default/old-n1")) << no.wait->message << ": not for itself";
  EXPECT_EQ(WaitReason(MakePod("web", "2"), ending), "") << "it fits beside them";
  EXPECT_EQ(WaitReason(MakePod("web", "9"), {.releasing = {"default/web-n1"}}), "");
}

TEST_F(ExplainNowTest, OnlyCpusOfItsOwnWaitForThePool) {
  const NodeConditions late{.pool_problem = "cpuset not written"};
  EXPECT_EQ(WaitReason(MakePod("web", "2"), late), "PoolNotInForce");
  EXPECT_EQ(WaitReason(MakePod("web", "500m"), late), "");
}

TEST_F(ExplainNowTest, APodThatIsThereIsLeftOutByEitherOfItsNames) {
  Place(MakePod("web-n1", "3"));
  for (const char* name : {"web", "web-n1"}) {
    const Outlook outlook = Ask(MakePod(name, "3"));
    EXPECT_TRUE(outlook.was_there) << name;
    EXPECT_TRUE(std::holds_alternative<Admit>(outlook.explanation.decision)) << name;
  }
  EXPECT_FALSE(Ask(MakePod("other", "3")).was_there);
}

TEST_F(ExplainNowTest, TextSaysFirstWhatIsWaitedFor) {
  const std::string text = FormatOutlook(Ask(MakePod("web", "2"), {.ledger_problem = "the disk is full"}), {});
  EXPECT_TRUE(
      text.starts_with("pod default/web (Guaranteed): waits, LedgerNotSaved\n"
                       "the disk is full\n"
                       "Without that: admitted\n"))
      << text;
}

TEST_F(ExplainNowTest, WhatTheNodeRefusesWhateverIsFreeIsNotAskedOfTheEngine) {
  const LiveNode live{.refused = Reject{.reason = "NodePorts",
                                        .message = "Node didn't have free ports for the requested pod ports",
                                        .container = "",
                                        .details = {"host port 80/TCP is pod default/old's"}},
                      .plugin = Wait{"WaitingForPlugin", "asked later"}};
  EXPECT_EQ(FormatOutlook(ExplainNow(node, ledger, {}, MakePod("web", "2"), {}, "n1", live), {}),
            "pod default/web (Guaranteed): rejected, NodePorts\n"
            "Node didn't have free ports for the requested pod ports\n"
            "  host port 80/TCP is pod default/old's\n");
}

TEST_F(ExplainNowTest, WhoDoesNotFitWaitsInTheQueueWhileThatHasRoomAndThePodWouldEverFit) {
  Place(MakePod("old", "2"));
  LiveNode live{.queue = {.others = {.rules = {.most_waiting = 1}}}};
  const auto asked = [&](std::string_view cpu) {
    return ExplainNow(node, ledger, {}, MakePod("web", cpu), {}, "n1", live);
  };
  const Outlook waits = asked("3");
  ASSERT_TRUE(waits.wait);
  const Reject& reject = std::get<Reject>(waits.explanation.decision);
  EXPECT_EQ(*waits.wait, (Wait{"WaitingForRoom", reject.reason + ": " + reject.message}));
  EXPECT_FALSE(asked("1").wait);
  EXPECT_FALSE(asked("9").wait) << "on the empty node neither";
  live.queue.others.waiting = 1;
  EXPECT_FALSE(asked("3").wait);
}

TEST_F(ExplainNowTest, WhatWouldFitButForOneThatComesFirstIsTold) {
  Place(MakePod("old", "2"));
  Pod first = MakePod("first", "3");
  first.uid = "uid-first";
  LiveNode live{.find = [&](const std::string& uid) { return uid == first.uid ? &first : nullptr; }};
  live.queue.line.Leads(first.uid, ledger);  // and has its claim
  const Outlook outlook = ExplainNow(node, ledger, {}, MakePod("web", "1"), {}, "n1", live);
  EXPECT_EQ(std::get<Reject>(outlook.explanation.decision), allocator::OthersComeFirst("default/first"));
  EXPECT_FALSE(FormatOutlook(outlook, {}).contains("Removing pods")) << "nobody has tried that";
}

TEST_F(ExplainNowTest, BehindOneThatComesFirstNoVersionIsCompared) {
  SpreadOverCores();
  Place(MakePod("old", "2"));
  Pod first = MakePod("first", "5");
  first.uid = "uid-first";
  LiveNode live{.find = [&](const std::string& uid) { return uid == first.uid ? &first : nullptr; }};
  live.queue.line.Leads(first.uid, ledger);
  const Outlook behind = ExplainNow(node, ledger, {}, MakePod("two", "2"), {}, "n1", live);
  EXPECT_EQ(std::get<Reject>(behind.explanation.decision), allocator::OthersComeFirst("default/first"));
  EXPECT_TRUE(behind.versions.empty());
}

TEST_F(ExplainNowTest, NamesTheSettingsOfTheNodeThatWouldAdmitThePod) {
  KubeletConfiguration config = node.config();
  config.topology_manager_policy = "single-numa-node";
  node = *allocator::Node::Make(*machine::ParseSynthetic("numa:2 core:4 pu:1"), config);
  ledger = node.EmptyLedger();
  Pod pod = MakePod("web", "4");  // which node 0 has not free
  pod.init_containers.push_back(MakePod("small", "1").containers[0]);
  pod.init_containers[0].name = "small";
  EXPECT_NE(
      FormatOutlook(Ask(pod), {})
          .find("\nIt would be admitted now if the node's settings said: topologyManagerScope: pod, or lookAhead: "
                "true\n"),
      std::string::npos);
  EXPECT_EQ(FormatOutlook(Ask(MakePod("large", "5")), {}).find("settings said"), std::string::npos);
}

TEST_F(ExplainNowTest, ShortagesHaveTheWordsOfTheRejection) {
  const Outlook no = Ask(MakePod("web", "9"));
  const auto& reject = std::get<Reject>(no.explanation.decision);
  ASSERT_FALSE(reject.details.empty());
  EXPECT_NE(FormatOutlook(no, {}).find(reject.details.front()), std::string::npos);
}

TEST_F(ExplainNowTest, AnUnknownResourceIsToldWithWhatThereIs) {
  Pod pod = MakePod("web", "1");
  pod.containers.front().resources.limits.emplace("vendor.example/gpus", *Quantity::Parse("1"));
  const allocator::Inputs inputs{.devices = {{"vendor.example/gpu", {}}}, .preferred_devices = {}};
  const std::string text = FormatOutlook(ExplainNow(node, ledger, {}, pod, inputs, "n1"), ExplanationStyle());
  EXPECT_NE(text.find("vendor.example/gpus: no device plugin has registered it; the nearest one there is, is "
                      "vendor.example/gpu\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace berth::offline
