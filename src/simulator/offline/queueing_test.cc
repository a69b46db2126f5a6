#include "simulator/offline/queueing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/testing/builders.h"
#include "allocator/testing/random_node.h"
#include "model/node_conditions.h"
#include "model/promises.h"
#include "simulator/offline/pod_explanation.h"

namespace berth::offline {
namespace {

using allocator::testing::RandomNode;

/// Five CPUs, of which CPU 0 is reserved.
struct QueueingTest : ::testing::Test {
  static OfflineNode Make(const allocator::QueueRules& rules) {
    auto made = allocator::Node::Make(allocator::testing::MakeMachine({.cores_per_node = 5, .threads = 1}),
                                      allocator::testing::StaticConfig("0"));
    BERTH_CHECK(made.has_value());
    Ledger ledger = made->EmptyLedger();
    return {*std::move(made), std::move(ledger), {}, rules, {}, {}};
  }
  static AddStep Sized(const std::string& name, int cpus, std::int32_t priority = 0) {
    Pod pod = allocator::testing::MakePod(
        name, {allocator::testing::MakeContainer("c", {{"cpu", std::to_string(cpus)}, {"memory", "1Mi"}})});
    pod.name = name;
    pod.priority = priority;
    return {.file = "", .pod = std::move(pod)};
  }
  /// What came of a step, as "a: 1-2" or "a: waits 1".
  std::vector<std::string> Take(const Step& step) {
    std::vector<std::string> out;
    for (const Outcome& outcome : queueing.Take(step, 1)) {
      const std::string name = outcome.pod.substr(outcome.pod.find('/') + 1) + ": ";
      const Reject* const reject = Rejection(outcome);
      if (!outcome.evicted_for.empty())
        out.push_back(name + "evicted");
      else if (outcome.place > 0)
        out.push_back(name + "waits " + std::to_string(outcome.place));
      else if (reject != nullptr)
        out.push_back(name + reject->reason);
      else if (!outcome.decision)
        out.push_back(name + (outcome.waited ? "no longer waits" : "gone"));
      else
        out.push_back(name + FormatIds(ExclusiveCpus(*std::get<Admit>(*outcome.decision).delta.put)));
    }
    return out;
  }

  OfflineNode node = Make({.most_waiting = 3, .overtakes = 1, .preempt_for_critical = true});
  Queueing queueing{node};
};

using ::testing::ElementsAre;

TEST_F(QueueingTest, WhatDoesNotFitWaitsInItsOrderAndIsAdmittedWithWhatIsGivenBack) {
  EXPECT_THAT(Take(Sized("a", 3)), ElementsAre("a: 1-3"));
  EXPECT_THAT(Take(Sized("b", 2)), ElementsAre("b: waits 1"));
  EXPECT_THAT(Take(Sized("c", 4, 7)), ElementsAre("c: waits 1")) << "a higher priority goes first";
  EXPECT_THAT(Take(Sized("d", 2)), ElementsAre("d: waits 3"));
  EXPECT_THAT(Take(Sized("e", 2)), ElementsAre("e: UnexpectedAdmissionError")) << "the queue is full";
  EXPECT_THAT(queueing.Waiting(), ElementsAre("default/c", "default/b", "default/d"));
  EXPECT_THAT(Take(RemoveStep{"default/c"}), ElementsAre("c: no longer waits"));
  EXPECT_THAT(Take(RemoveStep{"default/a"}), ElementsAre("a: gone", "b: 1-2", "d: 3-4"));
  EXPECT_THAT(Take(Sized("f", 5)), ElementsAre("f: UnexpectedAdmissionError")) << "not on the empty node either";
}

TEST_F(QueueingTest, WhoHasAClaimIsNotPassedByAPodOrAResizeThatWouldTakeItsRoom) {
  Take(Sized("a", 2));
  EXPECT_THAT(Take(Sized("large", 3)), ElementsAre("large: waits 1"));
  EXPECT_THAT(Take(Sized("b", 1)), ElementsAre("b: 3")) << "one may pass";
  EXPECT_THAT(Take(Sized("c", 1)), ElementsAre("c: 4")) << "it leaves room once a and b are gone";
  Take(RemoveStep{"default/b"});
  EXPECT_THAT(Take(Sized("d", 1)), ElementsAre("d: waits 2"));
  EXPECT_THAT(Take(ResizeStep{Sized("c", 2)}), ElementsAre("c: Deferred"));
  EXPECT_THAT(Take(ResizeStep{Sized("large", 2)}), ElementsAre("large: waits 2", "d: 3"))
      << "it is another pod, and d is the first";
  EXPECT_THAT(Take(ResizeStep{Sized("a", 1)}), ElementsAre("a: 1"));
  EXPECT_THAT(Take(RemoveStep{"default/c"}), ElementsAre("c: gone", "large: 2,4"));
}

TEST_F(QueueingTest, AWaitingCriticalPodEvictsOthersOnlyOnceThatHelps) {
  Take(Sized("system", 3, kCriticalPriority));
  Take(Sized("a", 1));
  EXPECT_THAT(Take(Sized("critical", 2, kCriticalPriority)), ElementsAre("critical: waits 1"));
  EXPECT_EQ(node.ledger.pods.count("a"), 1U);
  EXPECT_THAT(Take(ResizeStep{Sized("system", 2, kCriticalPriority)}),
              ElementsAre("system: 1-2", "a: evicted", "critical: 3-4"));
}

TEST_F(QueueingTest, WithoutTheSettingsNobodyWaitsAndNobodyIsEvicted) {
  OfflineNode plain = Make({});
  Queueing other(plain);
  other.Take(Sized("a", 4), 1);
  const auto outcomes = other.Take(Sized("critical", 1, kCriticalPriority), 2);
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_NE(Rejection(outcomes[0]), nullptr);
  EXPECT_EQ(outcomes[0].place, 0);
}

/// Nobody waits whom the engine would admit, evicted is who Explain names, and nobody gets lost.
TEST(QueueingPropertyTest, WhoeverCouldBeAdmittedIsAndEvictedAreThoseThatExplainNames) {
  constexpr std::uint64_t kSeed = 20;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomNode random(kSeed);
  int evictions = 0;
  int waited = 0;
  for (int round = 0; round < std::min(allocator::testing::PropertySteps(40), 2'000); ++round) {
    auto made = random.MakeRegularNode();
    if (!made) continue;
    allocator::Inputs inputs = random.MakeInputs(*made);
    Ledger empty = made->EmptyLedger();
    OfflineNode node{*std::move(made),
                     std::move(empty),
                     std::move(inputs),
                     {.most_waiting = 4, .overtakes = 1'000'000, .preempt_for_critical = true},
                     {},
                     {}};
    Queueing queueing(node);
    std::vector<Pod> there;
    for (int step = 0; step < 25; ++step) {
      const Ledger before = node.ledger;
      std::vector<allocator::Candidate> candidates;
      for (const Pod& pod : there) candidates.push_back({pod.uid, pod.priority});
      std::vector<Outcome> outcomes;
      Pod pod;
      const bool adds = there.empty() || !random.OneIn(3);
      if (adds) {
        pod = random.MakePod();
        pod.name = pod.uid;
        pod.priority = random.OneIn(4) ? kCriticalPriority : static_cast<std::int32_t>(random.Roll(3));
        there.push_back(pod);
        outcomes = queueing.Take(AddStep{.file = "", .pod = pod}, step);
      } else {
        const auto gone = there.begin() + random.Roll(static_cast<unsigned>(there.size()));
        const std::string name = FullName(*gone);
        there.erase(gone);
        outcomes = queueing.Take(RemoveStep{name}, step);
      }
      std::set<std::string> evicted;
      for (const Outcome& outcome : outcomes) {
        if (!outcome.evicted_for.empty() && adds && outcome.evicted_for == FullName(pod)) evicted.insert(outcome.pod);
        waited += outcome.waited && outcome.decision ? 1 : 0;
      }
      if (!evicted.empty()) {
        const LiveNode live{
            .queue = {.others = {.rules = {.preempt_for_critical = true}, .may_go = std::move(candidates)}}};
        const Outlook outlook = ExplainNow(node.node, before, {}, pod, node.inputs, "", live);
        ASSERT_TRUE(outlook.wait);
        EXPECT_EQ(outlook.wait->reason, "WaitingForRelease");
        ASSERT_TRUE(outlook.explanation.removal);
        std::set<std::string> named;
        for (const PodRef& one : outlook.explanation.removal->pods) named.insert(one.pod);
        EXPECT_EQ(evicted, named);
        ++evictions;
      }
      for (const std::string& name : queueing.Waiting()) {
        const auto waiting = std::ranges::find(there, name, [](const Pod& one) { return FullName(one); });
        ASSERT_NE(waiting, there.end());
        EXPECT_FALSE(node.ledger.pods.contains(waiting->uid));
        const Decision decision = allocator::Decide(node.node, node.ledger, *waiting, node.inputs, nullptr);
        ASSERT_TRUE(std::holds_alternative<Reject>(decision)) << name << " waits, and would be admitted";
      }
      ASSERT_EQ(Contradictions(node.ledger), std::vector<std::string>());
    }
  }
  EXPECT_GT(evictions, 10);
  EXPECT_GT(waited, 10);
}

}  // namespace
}  // namespace berth::offline
