#include "kubernetes/scheduler_extender/books.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "allocator/testing/builders.h"

namespace berth::scheduler_extender {
namespace {

using allocator::testing::MakeContainer;
using allocator::testing::MakeMachine;
using allocator::testing::PinMemory;
using allocator::testing::StaticConfig;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Instant kStart{std::chrono::hours(1)};

/// Two NUMA nodes with 8 CPUs each, of which CPU 0 is reserved.
NodeState StateOf(std::string name, const std::string& policy = "single-numa-node") {
  NodeState out;
  out.node = std::move(name);
  out.machine = MakeMachine({.sockets = 2, .cores_per_node = 4, .node_memory = GiB(16)});
  out.config = StaticConfig("0");
  PinMemory(out.config);
  out.config.topology_manager_policy = policy;
  auto made = allocator::Node::Make(out.machine, out.config, {});
  BERTH_CHECK(made.has_value());
  out.ledger = made->EmptyLedger();
  return out;
}

/// A node, as it decides for itself.
struct RealNode {
  explicit RealNode(std::string name, const std::string& policy = "single-numa-node")
      : state(StateOf(std::move(name), policy)), engine(*allocator::Node::Make(state.machine, state.config, {})) {}
  bool Admit(const Pod& pod) {
    const Decision decision = allocator::Decide(engine, state.ledger, pod, {}, nullptr);
    const auto* const admit = std::get_if<berth::Admit>(&decision);
    if (admit != nullptr) Apply(state.ledger, admit->delta);
    return admit != nullptr;
  }
  void Release(const std::string& uid) { Apply(state.ledger, allocator::Release(engine, state.ledger, uid, nullptr)); }

  NodeState state;
  allocator::Node engine;
};

Pod PodOf(std::string uid, const std::string& cpu, std::string node = {}, const std::string& memory = "1Gi") {
  Pod out = allocator::testing::MakePod(uid, {MakeContainer("app", {{"cpu", cpu}, {"memory", memory}})});
  out.name = std::move(uid);
  out.node_name = std::move(node);
  return out;
}

struct BooksTest : ::testing::Test {
  void SetUp() override {
    for (const char* name : {"a", "b"}) ASSERT_TRUE(books.SetNode(StateOf(name)));
  }
  std::vector<Candidate> Nodes(const std::string& names) const {
    std::vector<Candidate> out;
    for (const char name : names) out.push_back({.name = std::string(1, name), .object = {}});
    return out;
  }
  Filtered Ask(const Pod& pod, const std::string& names = "ab", Instant now = kStart) {
    auto out = books.Filter(pod, Nodes(names), now);
    BERTH_CHECK(out.has_value());
    return *std::move(out);
  }
  /// Names of the nodes that pass.
  std::string Passed(const Pod& pod, const std::string& names = "ab", Instant now = kStart) {
    std::string out;
    for (const std::size_t i : Ask(pod, names, now).passed) out += names[i];
    return out;
  }

  Books books;
};

TEST_F(BooksTest, APodCountsWhereverItPassedUntilItsNodeIsKnown) {
  EXPECT_EQ(Passed(PodOf("one", "8")), "ab");
  EXPECT_EQ(books.figures().undecided, 1U);
  const Filtered two = Ask(PodOf("two", "8"));
  EXPECT_THAT(two.passed, IsEmpty()) << "NUMA node 0 has 7 CPUs, and the other may be taken";
  EXPECT_TRUE(two.may_change);
  ASSERT_EQ(two.refused.size(), 2U);
  EXPECT_THAT(two.refused[0].reason, HasSubstr("8000m asked, 7000m of 15000m free"));
  EXPECT_FALSE(two.refused[0].final);
  EXPECT_FALSE(Ask(PodOf("huge", "9")).may_change) << "wherever that one is";

  books.SetPod(PodOf("one", "8", "a"));
  EXPECT_EQ(books.figures().undecided, 0U);
  EXPECT_EQ(books.figures().awaited, 1U);
  EXPECT_EQ(Passed(PodOf("two", "8")), "b");
  books.SetPod(PodOf("two", "8", "b"));
  const Filtered three = Ask(PodOf("three", "8"));
  EXPECT_THAT(three.passed, IsEmpty());
  EXPECT_FALSE(three.may_change) << "both are where they are";
}

TEST_F(BooksTest, TheNodesStateTakesTheAwaitedPodsPlace) {
  RealNode a("a");
  const Pod one = PodOf("one", "8");
  EXPECT_EQ(Passed(one), "ab");
  books.SetPod(PodOf("one", "8", "a"));
  ASSERT_TRUE(a.Admit(one));
  ASSERT_TRUE(books.SetNode(a.state));
  EXPECT_EQ(books.figures().awaited, 0U);
  EXPECT_EQ(Passed(PodOf("two", "8"), "a"), "");
  a.Release("one");
  ASSERT_TRUE(books.SetNode(a.state));
  books.SetPod(PodOf("one", "8", "a"));
  EXPECT_EQ(books.figures().awaited, 0U) << "what was shown once is the node's to tell";
  EXPECT_EQ(Passed(PodOf("two", "8"), "a"), "a");
}

TEST_F(BooksTest, ANodesStateSaysNothingOfPodsOnOtherNodes) {
  RealNode a("a");
  const Pod one = PodOf("one", "8");
  EXPECT_EQ(Passed(one), "ab");
  ASSERT_TRUE(a.Admit(one));
  ASSERT_TRUE(books.SetNode(a.state)) << "it may have made this up";
  EXPECT_EQ(books.figures().undecided, 1U);
  EXPECT_EQ(Passed(PodOf("two", "8")), "");
  books.SetPod(PodOf("one", "8", "b"));
  EXPECT_EQ(books.figures().awaited, 1U);
  EXPECT_EQ(Passed(PodOf("two", "8"), "b"), "");
  books.SetPod(PodOf("one", "8", "a"));
  EXPECT_EQ(books.figures().awaited, 0U);
}

TEST_F(BooksTest, APodThatIsGoneOrHasEndedNoLongerCounts) {
  EXPECT_EQ(Passed(PodOf("one", "8")), "ab");
  books.SetPod(PodOf("one", "8"));
  books.DropPod("default", "one");
  EXPECT_EQ(Passed(PodOf("two", "8"), "a"), "a");
  books.SetPod(PodOf("two", "8", "a"));
  EXPECT_EQ(Passed(PodOf("three", "8"), "a"), "");
  Pod ended = PodOf("two", "8", "a");
  ended.phase = "Failed";
  books.SetPod(ended);
  EXPECT_EQ(Passed(PodOf("three", "8"), "a"), "a");
  books.DropPod("default", "nobody");
}

TEST_F(BooksTest, APodOfTheSameNameIsAnother) {
  Pod old = PodOf("old", "8", "a");
  old.name = "web-0";
  books.SetPod(old);
  Pod made = PodOf("new", "8");
  made.name = "web-0";
  EXPECT_EQ(Passed(made), "b") << "the scheduler knows of it before the old one's end is heard of";
  books.SetPod(old);
  EXPECT_EQ(books.figures().undecided, 1U);
  books.DropPod("default", "web-0");
  EXPECT_EQ(books.figures().undecided, 1U);
  EXPECT_EQ(books.figures().awaited, 0U);
  made.node_name = "b";
  books.SetPod(made);
  EXPECT_EQ(books.figures().awaited, 1U);
}

TEST_F(BooksTest, TheTimeOfAPodNothingIsHeardOfRunsOut) {
  using std::chrono::seconds;
  EXPECT_EQ(Passed(PodOf("one", "8")), "ab");
  EXPECT_EQ(Passed(PodOf("two", "8"), "ab", kStart + seconds(1)), "");
  EXPECT_EQ(Passed(PodOf("two", "8"), "ab", kStart + seconds(2)), "b") << "by now it counts where it is likeliest";
  books.SetPod(PodOf("two", "8", "b"));
  const Filtered three = Ask(PodOf("three", "8"), "ab", kStart + seconds(29));
  EXPECT_THAT(three.passed, IsEmpty());
  EXPECT_FALSE(three.may_change) << "it is not worth waiting for";
  EXPECT_EQ(Passed(PodOf("three", "8"), "ab", kStart + seconds(30)), "a");
  EXPECT_FALSE(books.Expire(kStart + seconds(61)));
  EXPECT_EQ(books.figures().undecided, 0U);
}

TEST_F(BooksTest, TheTimeOfManyPodsIsLookedAtInParts) {
  for (const char* const name : {"one", "two", "three"}) Ask(PodOf(name, "1"));
  const Instant later = kStart + std::chrono::hours(1);
  EXPECT_TRUE(books.Expire(later, 4)) << "each settles, and then goes";
  EXPECT_EQ(books.figures().undecided, 1U);
  EXPECT_FALSE(books.Expire(later, 4));
  EXPECT_EQ(books.figures().undecided, 0U);
}

TEST_F(BooksTest, APodCountsWhereTheSchedulerKeepsANodeFreeForIt) {
  const Instant later = kStart + std::chrono::hours(1);
  const Pod one = PodOf("one", "8");
  books.SetPod(one);
  EXPECT_EQ(Passed(one), "ab");
  books.SetPod(one, "b");
  EXPECT_EQ(Passed(PodOf("two", "8"), "ab", later), "a") << "however long that takes";
  books.SetPod(PodOf("two", "8"));
  books.DropPod("default", "two");
  EXPECT_EQ(books.figures().undecided, 0U);
  EXPECT_EQ(books.figures().awaited, 1U);
  EXPECT_EQ(Passed(one, "a", later), "a") << "asked for again";
  books.SetPod(one, "b");
  EXPECT_EQ(Passed(PodOf("three", "8"), "b", later), "b") << "that is not news";
  books.SetPod(one, "a");
  books.SetPod(one);
  EXPECT_EQ(books.figures().awaited, 0U) << "no longer";
  Books new_one;
  ASSERT_TRUE(new_one.SetNode(StateOf("a")));
  new_one.SetPod(one, "a");
  new_one.SetPod(one, "a");
  const auto out = new_one.Filter(PodOf("two", "8"), Nodes("a"), kStart);
  ASSERT_TRUE(out);
  EXPECT_THAT(out->passed, IsEmpty()) << "known from the API server alone";
  EXPECT_EQ(new_one.figures().undecided, 0U);
}

TEST_F(BooksTest, ANominatedPodThatPassesNowhereKeepsItsNode) {
  RealNode a("a");
  const Pod victim = PodOf("victim", "8");
  ASSERT_TRUE(a.Admit(victim));
  ASSERT_TRUE(books.SetNode(a.state));
  const Pod preemptor = PodOf("preemptor", "8");
  books.SetPod(preemptor, "a");
  EXPECT_EQ(Passed(preemptor, "a"), "") << "the victim has not ended yet";
  EXPECT_EQ(books.figures().awaited, 1U);
  EXPECT_EQ(books.figures().undecided, 0U);
  a.Release("victim");
  ASSERT_TRUE(books.SetNode(a.state));
  EXPECT_EQ(Passed(PodOf("other", "8"), "a"), "") << "its node is kept for it";
  EXPECT_EQ(Passed(preemptor, "a"), "a");
  books.DropPod("default", "preemptor");
  EXPECT_EQ(books.figures().awaited, 0U);
}

TEST_F(BooksTest, ANominatedPodOfWhichNothingIsHeardGetsItsNodeBack) {
  const Pod one = PodOf("one", "8");
  books.SetPod(one, "b");
  EXPECT_EQ(Passed(one, "a"), "a");
  EXPECT_EQ(Passed(PodOf("two", "8"), "b"), "b");
  const Instant later = kStart + std::chrono::hours(1);
  EXPECT_FALSE(books.Expire(later));
  EXPECT_EQ(Passed(PodOf("three", "8"), "ab", later), "a");
}

TEST_F(BooksTest, ANominatedPodKeepsItsNodeWhenThereAreTooManyUndecidedOnes) {
  Books few({.most_undecided = 1});
  ASSERT_TRUE(few.SetNode(StateOf("a")));
  const Pod one = PodOf("one", "1");
  few.SetPod(one, "a");
  ASSERT_TRUE(few.Filter(PodOf("two", "1"), Nodes("a"), kStart));
  EXPECT_FALSE(few.Filter(one, Nodes("a"), kStart));
  EXPECT_EQ(few.figures().awaited, 1U);
}

TEST_F(BooksTest, APodThatIsAskedForAgainCountsOnce) {
  EXPECT_EQ(Passed(PodOf("one", "8")), "ab");
  EXPECT_EQ(Passed(PodOf("one", "8"), "a"), "a");
  EXPECT_EQ(Passed(PodOf("two", "8")), "b") << "the second call counts";
  EXPECT_EQ(Passed(PodOf("one", "16")), "") << "now it passes nowhere";
  EXPECT_EQ(books.figures().undecided, 1U);
}

TEST_F(BooksTest, NodesWithoutAStatePassUnlessTheyMayNot) {
  EXPECT_EQ(Passed(PodOf("one", "100"), "axb"), "x");
  EXPECT_EQ(books.figures().undecided, 0U);
  Books strict({.pass_unknown = false});
  const auto out = strict.Filter(PodOf("one", "1"), Nodes("x"), kStart);
  ASSERT_TRUE(out);
  ASSERT_EQ(out->refused.size(), 1U);
  EXPECT_TRUE(out->refused[0].final);
}

TEST_F(BooksTest, NothingPassesOnANodeWhoseStateCannotBeUsed) {
  EXPECT_EQ(Passed(PodOf("one", "8")), "ab");
  NodeState wrong = StateOf("a");
  wrong.config.cpu_manager_policy = "best";
  EXPECT_FALSE(books.SetNode(wrong));
  EXPECT_EQ(books.figures().nodes, 1U);
  EXPECT_EQ(books.figures().unusable, 1U);
  const Filtered out = Ask(PodOf("two", "1"), "a");
  ASSERT_EQ(out.refused.size(), 1U);
  EXPECT_THAT(out.refused[0].reason, HasSubstr("cannot be used"));
  ASSERT_TRUE(books.SetNode(StateOf("a")));
  EXPECT_EQ(books.figures().unusable, 0U);
  EXPECT_EQ(Passed(PodOf("two", "8"), "a"), "a") << "the first pod was not told of this node any more";
}

TEST_F(BooksTest, PodsOfANodeThatComesBackCountAgain) {
  books.SetPod(PodOf("one", "8", "c"));
  EXPECT_EQ(Passed(PodOf("two", "8"), "c"), "c") << "it publishes nothing";
  books.DropPod("default", "two");
  ASSERT_TRUE(books.SetNode(StateOf("c")));
  EXPECT_EQ(Passed(PodOf("three", "8"), "c"), "");
  books.DropNode("c");
  books.DropNode("c");
  EXPECT_EQ(books.figures().nodes, 2U);
  ASSERT_TRUE(books.SetNode(StateOf("c")));
  EXPECT_EQ(Passed(PodOf("three", "8"), "c"), "");
}

TEST_F(BooksTest, TooManyUndecidedPodsAreSaid) {
  Books few({.most_undecided = 1});
  ASSERT_TRUE(few.SetNode(StateOf("a")));
  ASSERT_TRUE(few.Filter(PodOf("one", "1"), Nodes("a"), kStart));
  EXPECT_TRUE(few.Filter(PodOf("one", "1"), Nodes("a"), kStart)) << "the same one";
  const auto second = few.Filter(PodOf("two", "1"), Nodes("a"), kStart);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kOverloaded);
}

TEST_F(BooksTest, WhatAPodAsksForByAnnotationCountsAsOnItsNode) {
  for (const char* const node : {"a", "b"}) {
    NodeState state = StateOf(node);
    state.own.pods = {{.name = "any", .namespaces = {"*"}, .topology_policies = {"best-effort"}}};
    ASSERT_TRUE(books.SetNode(state));
  }
  EXPECT_EQ(Passed(PodOf("wide", "12")), "");
  Pod asks = PodOf("asks", "12");
  asks.annotations["berth.dev/topology-policy"] = "best-effort";
  EXPECT_EQ(Passed(asks), "ab");
}

TEST_F(BooksTest, AStaticPodsMirrorIsTheStaticPod) {
  RealNode a("a");
  ASSERT_TRUE(a.Admit(PodOf("5f2b", "8")));
  ASSERT_TRUE(books.SetNode(a.state));
  Pod mirror = PodOf("of-the-server", "8", "a");
  mirror.annotations["kubernetes.io/config.mirror"] = "5f2b";
  books.SetPod(mirror);
  EXPECT_EQ(books.figures().awaited, 0U);
}

TEST_F(BooksTest, TheTighterNodeHasTheHigherScore) {
  books.SetPod(PodOf("one", "4", "a"));
  const Pod two = PodOf("two", "4");
  const std::vector<int> asked_alone = books.Prioritize(two, Nodes("axb"));
  ASSERT_EQ(asked_alone.size(), 3U);
  EXPECT_GT(asked_alone[0], asked_alone[2]);
  EXPECT_EQ(asked_alone[1], 0);
  EXPECT_EQ(Passed(two), "ab");
  EXPECT_EQ(books.Prioritize(two, Nodes("axb")), asked_alone) << "the pod itself is no reason for or against a node";
  EXPECT_THAT(books.Prioritize(two, Nodes("x")), ElementsAre(0));
}

/// Many nodes with 32 CPUs on one NUMA node, of which CPU 0 is reserved; a pod runs on every second one.
struct ManyNodesTest : ::testing::Test {
  static constexpr std::size_t kNodes = 1000;
  static constexpr std::size_t kLikely = BooksOptions().most_likely;
  static constexpr std::uint64_t kFewDecisions = 100;
  void SetUp() override {
    NodeState state;
    state.machine = MakeMachine({.cores_per_node = 16, .node_memory = GiB(128)});
    state.config = StaticConfig("0");
    state.config.topology_manager_policy = "single-numa-node";
    const auto engine = allocator::Node::Make(state.machine, state.config, {});
    ASSERT_TRUE(engine);
    const Ledger empty = engine->EmptyLedger();
    Ledger used = empty;
    const Decision decision = allocator::Decide(*engine, used, PodOf("there", "4"), {}, nullptr);
    Apply(used, std::get<Admit>(decision).delta);
    for (std::size_t i = 0; i < kNodes; ++i) {
      state.node = "node-" + std::to_string(i);
      state.ledger = i % 2 == 0 ? empty : used;
      ASSERT_TRUE(books.SetNode(state));
      nodes.push_back({.name = state.node, .object = {}});
    }
  }
  std::vector<std::size_t> Passed(const Pod& pod, Instant now = kStart) {
    const std::uint64_t before = books.figures().decisions;
    auto out = books.Filter(pod, nodes, now);
    BERTH_CHECK(out.has_value());
    decisions = books.figures().decisions - before;
    return out->passed;
  }

  Books books;
  std::vector<Candidate> nodes;
  std::uint64_t decisions = 0;  // that the last Passed took
};

TEST_F(ManyNodesTest, PodsWithoutABindingCostFewDecisionsAndBlockFewNodes) {
  for (int i = 1; i <= 12; ++i) {
    EXPECT_GT(Passed(PodOf("p" + std::to_string(i), std::to_string(i))).size(), kNodes - 12 * kLikely);
    EXPECT_LT(decisions, kFewDecisions) << i;
  }
  EXPECT_GT(Passed(PodOf("large", "31")).size(), kNodes / 2 - 12 * kLikely) << "the empty ones, but for a few";
  EXPECT_LT(decisions, kFewDecisions);
  const Instant later = kStart + std::chrono::seconds(31);
  books.Expire(later);
  EXPECT_EQ(Passed(PodOf("after", "31"), later).size(), kNodes / 2);
  EXPECT_LT(decisions, kFewDecisions);
}

TEST_F(ManyNodesTest, FiveHundredPodsWithoutABindingAndAGangThatIsHeldCostFewDecisionsEach) {
  Instant now = kStart;
  for (int i = 0; i < 50; ++i) Passed(PodOf("gang-" + std::to_string(i), "4"), now);
  now += BooksOptions().settle;
  books.Expire(now);
  EXPECT_EQ(books.figures().undecided, 50U);
  EXPECT_GE(Passed(PodOf("large", "31"), now).size(), kNodes / 2 - 50) << "each of them counts on one node";
  std::uint64_t most = 0;
  for (int i = 0; i < 500; ++i, now += std::chrono::milliseconds(50)) {
    EXPECT_GT(Passed(PodOf("p" + std::to_string(i), std::to_string(1 + i % 12)), now).size(), 0U);
    most = std::max(most, decisions);
    books.Expire(now);
  }
  EXPECT_EQ(books.figures().undecided, 551U);
  EXPECT_LT(most, 500U);
}

TEST_F(ManyNodesTest, WhereAPodIsBoundOneThatOnlyFitsWithoutItDoesNotPass) {
  for (const std::size_t node : {std::size_t{0}, std::size_t{468}}) {
    Pod pod = PodOf("p" + std::to_string(node), "1");
    Passed(pod);
    pod.node_name = nodes[node].name;
    books.SetPod(pod);
    const std::vector<std::size_t> passed = Passed(PodOf("large", "31"));
    EXPECT_FALSE(std::ranges::binary_search(passed, node)) << "whether it was a likely one or not";
    EXPECT_GE(passed.size(), kNodes / 2 - 2) << "it counts nowhere else";
  }
}

TEST_F(ManyNodesTest, NodesWhereThePodCountsAreAboveTheirEquals) {
  Passed(PodOf("one", "4"));
  const std::vector<int> scores = books.Prioritize(PodOf("one", "4"), nodes);
  const int best = std::ranges::max(scores);
  EXPECT_EQ(std::ranges::count(scores, best), 1);
  EXPECT_EQ(std::ranges::count(scores, best - 1), kLikely - 1);
  const auto expected = static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
  const Instant later = kStart + BooksOptions().settle;
  books.Expire(later);
  const std::vector<std::size_t> passed = Passed(PodOf("large", "28"), later);
  EXPECT_FALSE(std::ranges::binary_search(passed, expected)) << "after a while it counts on the likeliest one";
  EXPECT_GE(passed.size(), kNodes / 2 - 1);
}

/// What schedulers do, at random: pods are asked for and bound, nodes admit them in that order and publish, pods end.
/// No node rejects a pod that passed there, as long as nothing that counted there when it passed has gone: with more
/// room, the pods before it may be placed so that it no longer fits.
TEST(BooksPropertyTest, WhatPassesIsAdmittedByTheNode) {
  struct Chosen {  // and not bound yet
    Pod pod;
    std::vector<std::size_t> passed;
    std::size_t node;
    bool disturbed = false;  // less counts there than when it passed
  };
  const std::vector<std::string> policies = {"single-numa-node", "restricted", "best-effort", "none"};
  int admitted = 0;
  int disturbed = 0;
  int rejected = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const std::string& policy = policies[seed % policies.size()];
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + policy);
    std::mt19937 random(seed);
    const auto one_of = [&](std::size_t n) { return std::size_t{random()} % n; };
    Books books;
    std::vector<RealNode> nodes;
    std::vector<Candidate> candidates;
    for (const char* name : {"a", "b", "c", "d"}) {
      ASSERT_TRUE(books.SetNode(nodes.emplace_back(name, policy).state));
      candidates.push_back({.name = name, .object = {}});
    }
    std::deque<Chosen> chosen;  // in order
    std::vector<std::pair<Pod, std::size_t>> running;
    std::vector<bool> behind(nodes.size());  // a pod has ended there, and the books do not show it
    const auto publish = [&](std::size_t node) {
      behind[node] = false;
      return books.SetNode(nodes[node].state).has_value();
    };
    const auto disturb = [&](std::size_t node) {
      for (Chosen& other : chosen) other.disturbed = other.disturbed || other.node == node;
    };
    for (int step = 0; step < 300; ++step) {
      const std::size_t what = one_of(10);
      if (what < 4) {
        const std::string cpu = std::to_string(1 + one_of(6));
        const std::string memory = std::to_string(1 + one_of(10)) + "Gi";
        const Pod pod = PodOf("p" + std::to_string(step), cpu, {}, memory);
        const auto out = books.Filter(pod, candidates, kStart);
        ASSERT_TRUE(out);
        if (out->passed.empty()) continue;
        const std::size_t node = out->passed[one_of(out->passed.size())];
        chosen.push_back({.pod = pod, .passed = out->passed, .node = node, .disturbed = behind[node]});
      } else if (what < 7 && !chosen.empty()) {
        Chosen next = chosen.front();
        chosen.pop_front();
        const std::size_t node = next.node;
        const bool fits = nodes[node].Admit(next.pod);
        ASSERT_TRUE(fits || next.disturbed) << next.pod.uid << " on " << candidates[node].name;
        for (const std::size_t other : next.passed)
          if (other != node || !fits) disturb(other);
        ++(fits ? admitted : rejected);
        if (next.disturbed) ++disturbed;
        next.pod.node_name = candidates[node].name;
        if (one_of(2) == 0) {
          ASSERT_TRUE(publish(node)) << "heard of before the binding is";
        }
        books.SetPod(next.pod);
        if (fits) {
          running.emplace_back(next.pod, node);
        } else {
          next.pod.phase = "Failed";
          books.SetPod(next.pod);
        }
      } else if (what < 9) {
        ASSERT_TRUE(publish(one_of(nodes.size())));
      } else if (!running.empty()) {
        const std::size_t i = one_of(running.size());
        const auto [pod, node] = running[i];
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
        nodes[node].Release(pod.uid);
        disturb(node);
        behind[node] = true;
        if (one_of(2) == 0) {
          ASSERT_TRUE(publish(node));
        }
        books.DropPod(pod.namespace_, pod.name);
      }
    }
  }
  EXPECT_GT(admitted, 800);
  EXPECT_GT(admitted - disturbed, 100) << "of these none may be rejected";
  EXPECT_LT(rejected, disturbed / 20);
}

}  // namespace
}  // namespace berth::scheduler_extender
