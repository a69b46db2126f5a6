// When a node is published, and what is said when it cannot be.
#include "kubernetes/node_publisher/publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/loop_thread.h"
#include "kubernetes/node_publisher/fake_store_test.h"
#include "testing/fixtures.h"
#include "testing/queued_executor.h"

namespace berth::node_publisher {
namespace {

using std::chrono_literals::operator""ms;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct PublisherTest : ::testing::Test {
  void SetUp() override {
    auto writer = std::make_unique<Writer>(WriterOptions{.kind = Kind::kState, .node = "n1", .version = "0.9"},
                                           [this]() -> Result<std::unique_ptr<kube::Client>> {
                                             if (!reachable)
                                               return Fail(Code::kUnreachable, "GET https://10.0.0.1: nobody listens");
                                             return kube::Client::Make(store.access(), {.retries = 0});
                                           });
    publisher = std::make_unique<Publisher>(std::move(writer), executor, clock, PublisherOptions{.look = 100s},
                                            [this](bool warning, const std::string& reason, const std::string& text) {
                                              told.push_back((warning ? "! " : "") + reason + ": " + text);
                                            });
  }
  void Begin(Moment moment) BERTH_ASSERTS(loop_thread) {
    loop_thread.Claim();
    publisher->Changed(std::move(moment));
    ASSERT_TRUE(Turn(2'000ms));
  }
  /// Lets time pass up to what is due, within `most`. False: nothing is.
  bool Turn(os::Millis most = os::Millis(0)) BERTH_ASSERTS(loop_thread) {
    loop_thread.Claim();
    const os::MonoTime due = publisher->next_due();
    if (due > clock.Now() + most) {
      clock.Advance(most);
      return false;
    }
    if (due > clock.Now()) clock.Advance(std::chrono::ceil<os::Millis>(due - clock.Now()));
    publisher->Tick(clock.Now());
    return true;
  }

  Store store;
  bool reachable = true;
  testkit::ManualClock clock;
  testkit::QueuedExecutor executor;
  std::vector<std::string> told;
  std::unique_ptr<Publisher> publisher;
};

TEST_F(PublisherTest, TheFirstIsWrittenWhenAllIsFoundAndChangesTogether) {
  EXPECT_FALSE(Turn(1'000ms)) << "there is nothing to tell yet";
  publisher->Changed(MomentOf(2));
  EXPECT_FALSE(Turn(500ms));
  publisher->Changed(MomentOf(0));
  EXPECT_TRUE(Turn(500ms)) << "two seconds after the start";
  EXPECT_FALSE(Turn(10'000ms)) << "one job at a time";
  executor.RunAll();
  EXPECT_EQ(store.Calls("PATCH"), 1);
  publisher->Changed(MomentOf(1));
  EXPECT_FALSE(Turn(200ms));
  publisher->Changed(MomentOf(2));
  EXPECT_TRUE(Turn(100ms)) << "300 ms after the first of them";
  executor.RunAll();
  EXPECT_EQ(store.Calls("PATCH"), 2);
  EXPECT_EQ(store.At(kStates)["ledger"]["shared"], "2-3");
  EXPECT_EQ(publisher->figures(), (PublishFigures{.writes = {.tried = 2, .failed = 0}, .current = true}));
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(PublisherTest, WhatChangesWhileAJobIsUnderWayIsWrittenAfterIt) {
  Begin(MomentOf(0));
  publisher->Changed(MomentOf(1));
  executor.RunAll();
  EXPECT_TRUE(Turn(300ms));
  executor.RunAll();
  EXPECT_EQ(store.At(kStates)["ledger"]["shared"], "1-3");
}

TEST_F(PublisherTest, ASnapshotThatSharesAllThatIsPublishedIsNoChange) {
  const Moment moment = MomentOf(1);
  Begin(moment);
  executor.RunAll();
  auto other = std::make_shared<NodeSnapshot>(*moment.node);
  other->figures = std::make_shared<NodeFigures>();
  publisher->Changed({.node = other, .config = moment.config});
  EXPECT_FALSE(Turn(60'000ms));
  EXPECT_TRUE(Turn(60'000ms)) << "a look at the server's is due";
  executor.RunAll();
  EXPECT_EQ(store.Calls("PATCH"), 1);
  EXPECT_EQ(store.Calls("GET"), 2);
}

TEST_F(PublisherTest, WithoutAnAnswerItIsTriedAgainSoonAndSaidOnce) {
  reachable = false;
  Begin(MomentOf(1));
  executor.RunAll();
  EXPECT_THAT(told, ElementsAre(StartsWith("! PublishingFailed: NodeState may be out of date: ")));
  for (int i = 0; i < 20; ++i) {
    publisher->Changed(MomentOf(i % 3));
    ASSERT_TRUE(Turn(4'000ms)) << "never longer than twice the longest pause";
    executor.RunAll();
  }
  EXPECT_THAT(told, testing::SizeIs(1));
  EXPECT_THAT(publisher->Warning(), HasSubstr("nobody listens"));
  EXPECT_FALSE(publisher->figures().current);
  reachable = true;
  ASSERT_TRUE(Turn(4'000ms));
  executor.RunAll();
  EXPECT_THAT(told, ElementsAre(testing::_, "Published: NodeState is up to date again"));
  EXPECT_EQ(publisher->Warning(), "");
  EXPECT_EQ(store.At(kStates)["ledger"]["shared"], "1-3");
  EXPECT_EQ(publisher->figures(), (PublishFigures{.writes = {.tried = 22, .failed = 21}, .current = true}));
}

TEST_F(PublisherTest, AServerThatRefusesIsLeftAloneForLongerAndLonger) {
  store.Refuse("PATCH", 404, "NotFound");
  Begin(MomentOf(1));
  executor.RunAll();
  const os::MonoTime begin = clock.Now();
  int tries = 0;
  for (; clock.Now() < begin + std::chrono::minutes(5); ++tries) {
    publisher->Changed(MomentOf(tries % 3));
    ASSERT_TRUE(Turn(60'000ms));
    executor.RunAll();
  }
  EXPECT_LT(tries, 20) << "changes do not make it faster";
  EXPECT_THAT(told, ElementsAre(HasSubstr("apply its CustomResourceDefinition")));
  store.Refuse("PATCH", 403, "Forbidden");
  ASSERT_TRUE(Turn(60'000ms));
  executor.RunAll();
  EXPECT_THAT(told, testing::SizeIs(2)) << "it is another problem";
}

}  // namespace
}  // namespace berth::node_publisher
