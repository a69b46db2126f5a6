// Who may pass a pod that waits, and who goes for a critical one, beside every set of pods tried.
#include "allocator/queue/queue_decisions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/decision/decide.h"
#include "allocator/decision/release.h"
#include "allocator/testing/builders.h"
#include "allocator/testing/random_node.h"
#include "model/node_conditions.h"

namespace berth::allocator {
namespace {

using testing::MakeContainer;
using testing::MakePod;
using testing::RandomNode;

Node FourCpus() {
  auto node = Node::Make(testing::MakeMachine({.cores_per_node = 5, .threads = 1}), testing::StaticConfig("0"));
  BERTH_CHECK(node.has_value());
  return *std::move(node);
}

Pod Sized(const std::string& uid, int cpus) {
  return MakePod(uid, {MakeContainer("main", {{"cpu", std::to_string(cpus)}, {"memory", "64Mi"}})});
}

Ledger Holding(const Node& node, const std::vector<Pod>& pods) {
  Ledger out = node.EmptyLedger();
  for (const Pod& pod : pods) {
    const Decision decision = Decide(node, out, pod, {}, nullptr);
    BERTH_CHECK(std::holds_alternative<Admit>(decision));
    Apply(out, std::get<Admit>(decision).delta);
  }
  return out;
}

std::vector<std::string> Uids(const std::optional<Removal>& removal) {
  std::vector<std::string> out;
  if (removal)
    for (const PodRef& pod : removal->pods) out.push_back(pod.uid);
  std::ranges::sort(out);
  return out;
}

TEST(QueueTest, OnlyWhatIsTooLargeForTheEmptyNodeNeverFits) {
  const Node node = FourCpus();
  EXPECT_FALSE(NeverFits(node, Sized("a", 4), {}));
  EXPECT_TRUE(NeverFits(node, Sized("a", 5), {}));
}

TEST(QueueTest, WhoLeavesRoomBesideThoseThatStayMayPass) {
  const Node node = FourCpus();
  const Ledger after = Holding(node, {Sized("old", 2), Sized("passes", 1)});
  EXPECT_TRUE(LeavesRoom(node, after, {"old"}, Sized("first", 3), {}));
  EXPECT_FALSE(LeavesRoom(node, after, {"old", "unknown"}, Sized("first", 4), {}));
  EXPECT_FALSE(LeavesRoom(node, after, {}, Sized("first", 2), {}));
}

TEST(QueueTest, TheFewestAndAmongThemTheLeastImportantGo) {
  const Node node = FourCpus();
  const Ledger ledger = Holding(node, {Sized("high", 1), Sized("low", 1), Sized("mid", 1), Sized("large", 1)});
  const std::vector<Candidate> candidates = {{"high", 100}, {"low", 1}, {"mid", 50}, {"large", 1'000}};
  EXPECT_THAT(Uids(WhoHasToGo(node, ledger, Sized("c", 1), {}, candidates)), ::testing::ElementsAre("low"));
  EXPECT_THAT(Uids(WhoHasToGo(node, ledger, Sized("c", 2), {}, candidates)), ::testing::ElementsAre("low", "mid"));
}

TEST(QueueTest, CriticalPodsAndThoseThatAreNoCandidatesStay) {
  const Node node = FourCpus();
  const Ledger ledger = Holding(node, {Sized("critical", 2), Sized("other", 2)});
  EXPECT_FALSE(WhoHasToGo(node, ledger, Sized("c", 4), {}, {{"critical", kCriticalPriority}, {"other", 0}}));
  EXPECT_FALSE(WhoHasToGo(node, ledger, Sized("c", 2), {}, {{"critical", kCriticalPriority}}));
  EXPECT_THAT(Uids(WhoHasToGo(node, ledger, Sized("c", 2), {}, {{"other", 0}})), ::testing::ElementsAre("other"));
}

TEST(QueueTest, NobodyGoesForAPodThatFits) {
  const Node node = FourCpus();
  EXPECT_FALSE(WhoHasToGo(node, Holding(node, {Sized("a", 2)}), Sized("c", 2), {}, {{"a", 0}}));
}

/// Smaller: fewer pods, then the more important ones less important.
using Cost = std::pair<std::size_t, std::vector<std::tuple<std::int32_t, int, std::int64_t>>>;

std::tuple<std::int32_t, int, std::int64_t> RankOf(const Candidate& candidate, const Ledger& ledger) {
  const PodRecord& record = ledger.pods.find(candidate.uid)->second;
  const int qos = record.qos == QosClass::kGuaranteed ? 2 : record.qos == QosClass::kBurstable ? 1 : 0;
  return {candidate.priority, qos, -static_cast<std::int64_t>(record.sequence)};
}

TEST(QueuePropertyTest, TheVictimsAreTheBestOfAllSetsOfPods) {
  constexpr std::uint64_t kSeed = 9;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomNode random(kSeed);
  int asked = 0;
  const int rounds = std::min(testing::PropertySteps(120), 3'000);
  for (int round = 0; round < rounds; ++round) {
    const auto node = random.MakeRegularNode();
    if (!node) continue;
    const Inputs inputs = random.MakeInputs(*node);
    Ledger ledger = node->EmptyLedger();
    std::vector<Candidate> candidates;
    for (int i = 0; i < 7; ++i) {
      const Pod pod = random.MakePod();
      const Decision decision = Decide(*node, ledger, pod, inputs, nullptr);
      const auto* const admit = std::get_if<Admit>(&decision);
      if (admit == nullptr) continue;
      Apply(ledger, admit->delta);
      candidates.push_back({pod.uid, static_cast<std::int32_t>(random.Roll(3))});
    }
    const Pod critical = random.MakePod();
    if (std::holds_alternative<Admit>(Decide(*node, ledger, critical, inputs, nullptr))) continue;
    std::optional<Cost> best;
    bool all_do = false;
    for (std::uint32_t set = 1; set < (1U << candidates.size()); ++set) {
      Ledger left = ledger;
      Cost cost;
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        if ((set >> i & 1U) == 0) continue;
        ++cost.first;
        cost.second.push_back(RankOf(candidates[i], ledger));
        Apply(left, Release(*node, left, candidates[i].uid, nullptr));
      }
      std::ranges::sort(cost.second, std::greater<>());
      all_do = cost.first == candidates.size();
      if (best && *best <= cost && !all_do) continue;
      all_do = std::holds_alternative<Admit>(Decide(*node, left, critical, inputs, nullptr));
      if (all_do && !(best && *best <= cost)) best = cost;
    }
    const auto victims = WhoHasToGo(*node, ledger, critical, inputs, candidates);
    // Hints of an emptier node may be worse: then it is not looked whether fewer would do.
    if (!all_do) best.reset();
    ASSERT_EQ(victims.has_value(), best.has_value());
    if (!victims) continue;
    ++asked;
    Cost cost{victims->pods.size(), {}};
    for (const PodRef& victim : victims->pods) {
      cost.second.push_back(RankOf(*std::ranges::find(candidates, victim.uid, &Candidate::uid), ledger));
    }
    std::ranges::sort(cost.second, std::greater<>());
    EXPECT_EQ(cost, *best);
    EXPECT_TRUE(victims->smallest);
  }
  EXPECT_GT(asked, 10);
}

}  // namespace
}  // namespace berth::allocator
