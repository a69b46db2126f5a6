// A call of a berthd that was killed goes on in the runtime, or reaches it later: what it makes comes to light when the
// next berthd has listed what there is, or has made its own. Containers and sandboxes, at every order of list and call.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <tuple>

#include "cri_node.h"

namespace berth {
namespace {

using testkit::CriRelay;
using testkit::RelayedCall;
using Moment = CriRelay::Moment;

/// When the runtime does what the first berthd asked it.
enum class Order {
  kBeforeTheNextBerthd,
  kBetweenItsListAndItsCall,
  kAfterItsCall,
};

constexpr os::Millis kStep{10};
constexpr int kMostSteps = 6'000;

class DaemonCriLateTest : public testkit::CriNodeTest,
                          public testing::WithParamInterface<std::tuple<const char*, Order>> {
 protected:
  /// The first call of `method` reaches the runtime when `late_may` is set, whether berthd lives or not; those after it
  /// when `own_may` is.
  void HoldCalls() {
    relay->SetJudge([this, method = std::string(std::get<0>(GetParam()))](const RelayedCall& call, Moment moment) {
      CriRelay::Fate fate;
      if (call.method != method) return fate;
      if (moment == Moment::kAnswered) {
        if (call.request == late_) late_done_ = true;
        return fate;
      }
      const int number = ++asked_;
      if (number == 1) late_ = call.request;
      fate.outlives = number == 1;
      WaitFor(number == 1 ? late_may_ : own_may_);
      return fate;
    });
  }
  static void WaitFor(const std::atomic<bool>& flag) {
    for (int i = 0; i < kMostSteps && !flag; ++i) os::SleepFor(kStep);
  }
  void TearDown() override {
    late_may_ = own_may_ = true;
    CriNodeTest::TearDown();
  }
  bool Finished() {
    late_may_ = true;
    return containerd->Until("the late call is over", [&] { return late_done_.load(); });
  }

  std::atomic<int> asked_ = 0;
  std::string late_;  // written before late_done_ is read
  std::atomic<bool> late_may_ = false;
  std::atomic<bool> own_may_ = false;
  std::atomic<bool> late_done_ = false;
};

TEST_P(DaemonCriLateTest, ThePodRunsSoonAndNothingIsLeftOver) {
  const Order order = std::get<1>(GetParam());
  PutRelayBetween();
  Start();
  HoldCalls();
  Add({.name = "one", .script = std::string("echo began; ") + testkit::kIdle, .cpu = "1"});
  ASSERT_TRUE(berthd->Until("the call comes", [&] { return asked_ == 1; }));
  berthd->Kill();
  if (order == Order::kBeforeTheNextBerthd) {
    ASSERT_TRUE(Finished());
  }
  own_may_ = order != Order::kBetweenItsListAndItsCall;
  Start();
  if (order == Order::kBetweenItsListAndItsCall) {
    ASSERT_TRUE(berthd->Until("its own call comes", [&] { return asked_ == 2; }));
    ASSERT_TRUE(Finished());
    own_may_ = true;
  }
  ASSERT_TRUE(berthd->Until("it runs", [&] { return berthd->Runs("one") && !LogOf("one").empty(); }));
  for (const char* const failed : {"FailedCreatePodSandBox", "CreateContainerError", "RunContainerError"})
    EXPECT_EQ(0, berthd->CountEvents(failed, "")) << "a back-off follows";
  if (order == Order::kAfterItsCall) {
    ASSERT_TRUE(Finished());
  }
  EXPECT_EQ("began\n", WordsOf("one"));
  EXPECT_EQ(berthd->PodNamed("one")["containers"][0]["restarts"], 0);
  Remove("one");
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

std::string LateName(const testing::TestParamInfo<std::tuple<const char*, Order>>& info) {
  const auto [method, order] = info.param;
  return std::string(method) + (order == Order::kBeforeTheNextBerthd        ? "BeforeTheNextBerthd"
                                : order == Order::kBetweenItsListAndItsCall ? "BetweenItsListAndItsCall"
                                                                            : "AfterItsCall");
}

INSTANTIATE_TEST_SUITE_P(Late, DaemonCriLateTest,
                         testing::Combine(testing::Values("RunPodSandbox", "CreateContainer"),
                                          testing::Values(Order::kBeforeTheNextBerthd, Order::kBetweenItsListAndItsCall,
                                                          Order::kAfterItsCall)),
                         LateName);

}  // namespace
}  // namespace berth
