#include "kubernetes/scheduler_server/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "kubernetes/scheduler_server/published_test.h"
#include "kubernetes/scheduler_server/side_by_side.h"
#include "testing/fixtures.h"

namespace berth::scheduler_server {
namespace {

using kube::Change;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Change Told(const std::string& text) {
  auto object = kube::ReadObject(text);
  BERTH_CHECK(object.has_value());
  return {.kind = Change::Kind::kSet, .object = *std::move(object)};
}
Change Gone(const std::string& namespace_, const std::string& name) {
  Change out{.kind = Change::Kind::kGone, .object = {}};
  out.object.key = {.namespace_ = namespace_, .name = name};
  return out;
}
Change Synced() { return {.kind = Change::Kind::kSynced, .object = {}}; }

struct ClusterTest : testing::Test {
  void SetUp() override {
    EXPECT_THAT(cluster.Take(Kind::kNodeStates, {Told(StateText("a")), Told(StateText("b")), Synced()}), IsEmpty());
    EXPECT_THAT(cluster.Take(Kind::kPods, {Synced()}), IsEmpty());
  }
  scheduler_extender::Filtered Ask(const std::string& pod, const std::string& nodes = "ab") {
    const std::string body = CallText(pod, nodes);
    const auto call = scheduler_extender::ReadCall(body);
    BERTH_CHECK(call.has_value());
    auto out = cluster.Filter(*call);
    BERTH_CHECK(out.has_value());
    return *std::move(out);
  }
  Cluster cluster{{.patience = os::Millis{0}}};
};

TEST(ClusterStartTest, NobodyIsAnsweredBeforeAllOfBothKindsIsThere) {
  Cluster cluster;
  EXPECT_THAT(cluster.WhyNotReady(), HasSubstr("not all nodestates are known yet; not all pods"));
  cluster.Take(Kind::kPods, {Told(PodText("p", "1")), Synced()});
  cluster.SetTrouble(Kind::kNodeStates, "the server is away");
  EXPECT_EQ(cluster.WhyNotReady(), "not all nodestates are known yet: the server is away");
  EXPECT_FALSE(cluster.figures().ready);
  cluster.Take(Kind::kNodeStates, {Synced()});
  EXPECT_EQ(cluster.WhyNotReady(), "") << "trouble later on is no reason: what is known counts";
  EXPECT_TRUE(cluster.figures().ready);
  EXPECT_TRUE(cluster.figures().trouble[0]);
}

TEST_F(ClusterTest, PodsCountWhereTheyAreBoundUntilTheyAreGone) {
  cluster.Take(Kind::kPods, {Told(PodText("one", "8", "a"))});
  EXPECT_THAT(Ask(PodText("two", "8")).passed, ElementsAre(1));
  cluster.Take(Kind::kPods, {Gone("default", "one")});
  EXPECT_THAT(Ask(PodText("two", "8")).passed, ElementsAre(0, 1));
}

TEST_F(ClusterTest, APodCountsOnTheNodeItsStatusNominates) {
  codec::Json pod = *codec::ParseJson(PodText("one", "8"), "pod");
  pod["status"]["nominatedNodeName"] = "a";
  cluster.Take(Kind::kPods, {Told(codec::FormatJson(pod))});
  EXPECT_THAT(Ask(PodText("two", "8")).passed, ElementsAre(1));
  pod["status"]["nominatedNodeName"] = 7;
  cluster.Take(Kind::kPods, {Told(codec::FormatJson(pod))});
  EXPECT_THAT(Ask(PodText("two", "8")).passed, ElementsAre(0, 1));
}

TEST(ClusterTimeTest, PodsNothingIsHeardOfAreForgottenBesideTheCalls) {
  testkit::ManualClock clock;
  Cluster cluster({}, {}, clock);
  cluster.Take(Kind::kNodeStates, {Told(StateText("a")), Told(StateText("b")), Synced()});
  for (int i = 0; i < 10; ++i) {
    const std::string body = CallText(PodText("p" + std::to_string(i), "1"), "ab");
    const auto call = scheduler_extender::ReadCall(body);
    ASSERT_TRUE(call && cluster.Filter(*call));
  }
  EXPECT_EQ(cluster.figures().books.undecided, 10U);
  const std::uint64_t before = cluster.figures().books.decisions;
  clock.Advance(std::chrono::seconds(2));
  cluster.Expire();
  EXPECT_GT(cluster.figures().books.decisions, before) << "the nodes where they no longer count are decided anew";
  clock.Advance(std::chrono::seconds(28));
  cluster.Expire();
  EXPECT_EQ(cluster.figures().books.undecided, 0U);
}

TEST_F(ClusterTest, AStateThatCannotBeReadLetsNothingPassAndIsSaidOnce) {
  const std::string broken = R"({"metadata":{"name":"a","resourceVersion":"2"},"formatVersion":1})";
  EXPECT_THAT(cluster.Take(Kind::kNodeStates, {Told(broken)}), ElementsAre(HasSubstr("the NodeState of a cannot")));
  EXPECT_THAT(cluster.Take(Kind::kNodeStates, {Told(broken)}), IsEmpty());
  const auto out = Ask(PodText("one", "1"));
  EXPECT_THAT(out.passed, ElementsAre(1));
  ASSERT_EQ(out.refused.size(), 1U);
  EXPECT_TRUE(out.refused[0].final);
  EXPECT_EQ(cluster.figures().books.unusable, 1U);
  cluster.Take(Kind::kNodeStates, {Told(StateText("a", "3"))});
  EXPECT_THAT(Ask(PodText("one", "1")).passed, ElementsAre(0, 1));
  EXPECT_THAT(cluster.Take(Kind::kNodeStates, {Told(broken)}).size(), 1U) << "it was well in between";
}

TEST_F(ClusterTest, AStateOfAnotherNodeIsNotBelieved) {
  std::string other = StateText("b", "2");
  Change change = Told(other);
  change.object.key.name = "a";
  EXPECT_THAT(cluster.Take(Kind::kNodeStates, {change}), ElementsAre(HasSubstr("another node's state")));
  EXPECT_THAT(Ask(PodText("one", "1")).passed, ElementsAre(1));
}

TEST_F(ClusterTest, SettingsThatContradictTheMachineSpoilTheNode) {
  codec::Json json = *codec::ParseJson(StateText("a", "2"), "state");
  json["configuration"]["cpuManagerPolicy"] = "best";
  EXPECT_EQ(cluster.Take(Kind::kNodeStates, {Told(codec::FormatJson(json))}).size(), 1U);
  EXPECT_THAT(Ask(PodText("one", "1")).passed, ElementsAre(1));
}

TEST_F(ClusterTest, ANodeThatPublishesNothingPasses) {
  cluster.Take(Kind::kNodeStates, {Gone("", "a")});
  EXPECT_THAT(Ask(PodText("one", "64"), "ax").passed, ElementsAre(0, 1));
}

TEST_F(ClusterTest, APodThatCannotBeReadDoesNotCount) {
  cluster.Take(Kind::kPods, {Told(PodText("one", "8", "a"))});
  const std::string odd = PodText("one", "-8", "a", "2");
  EXPECT_THAT(cluster.Take(Kind::kPods, {Told(odd)}), ElementsAre(HasSubstr("pod default/one cannot be read")));
  EXPECT_EQ(cluster.figures().unreadable_pods, 1U);
  EXPECT_THAT(Ask(PodText("two", "8")).passed, ElementsAre(0, 1));
  cluster.Take(Kind::kPods, {Gone("default", "one")});
  EXPECT_EQ(cluster.figures().unreadable_pods, 0U);
}

/// Pod "first" counts on "a", where no second one of its size fits, and has no node yet.
struct WaitingTest : testing::Test {
  void SetUp() override {
    cluster.Take(Kind::kNodeStates, {Told(StateText("a")), Told(StateText("b")), Synced()});
    cluster.Take(Kind::kPods, {Told(PodText("first", "8")), Told(PodText("other", "8", "b")), Synced()});
    EXPECT_EQ(Passed("first", "a"), 1U);
  }
  std::size_t Passed(const std::string& pod, const std::string& nodes) {
    const std::string body = CallText(PodText(pod, "8"), nodes);
    const auto call = scheduler_extender::ReadCall(body);
    BERTH_CHECK(call.has_value());
    auto out = cluster.Filter(*call);
    BERTH_CHECK(out.has_value());
    return out->passed.size();
  }
  Cluster cluster{{.patience = std::chrono::seconds(20)}};
};

TEST_F(WaitingTest, ACallWaitsForAPodThatMayBeElsewhere) {
  std::atomic<bool> answered = false;
  std::size_t passed = 0;
  std::thread asker([&] {
    passed = Passed("second", "a");
    answered = true;
  });
  cluster.Take(Kind::kPods, {Told(PodText("unrelated", "1"))});  // no reason to give up
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(answered);
  cluster.Take(Kind::kPods, {Gone("default", "first")});
  asker.join();
  EXPECT_EQ(passed, 1U);
}

TEST_F(WaitingTest, NobodyWaitsAtTheEnd) {
  std::thread asker([&] { EXPECT_EQ(Passed("second", "a"), 0U); });
  cluster.Hurry();
  asker.join();
  EXPECT_EQ(Passed("third", "a"), 0U);
}

TEST_F(ClusterTest, ThePatienceHasAnEnd) {
  EXPECT_THAT(Ask(PodText("first", "8"), "a").passed, ElementsAre(0));
  const auto out = Ask(PodText("second", "8"), "a");
  EXPECT_THAT(out.passed, IsEmpty());
  EXPECT_TRUE(out.may_change);
}

TEST(SideBySideTest, AllIsDoneOnceWhateverTheThreads) {
  for (const std::size_t threads : {0U, 1U, 2U, 4U}) {
    SideBySide side(threads);
    for (const std::size_t count : {0U, 1U, 16U, 17U, 1000U}) {
      std::vector<std::atomic<int>> done(count);
      side.Run(count, [&](std::size_t i) { ++done[i]; });
      for (const auto& times : done) ASSERT_EQ(times, 1) << threads << " threads, " << count;
    }
  }
}

}  // namespace
}  // namespace berth::scheduler_server
