#include "kubernetes/scheduler_server/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "kubernetes/scheduler_extender/extender_messages.h"
#include "kubernetes/scheduler_server/fake_cluster_test.h"
#include "kubernetes/scheduler_server/published_test.h"
#include "rpc/http/http_client.h"

namespace berth::scheduler_server {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::HasSubstr;
using testkit::SendAll;

/// The whole program but its command line, on a thread of its own.
class Running {
 public:
  explicit Running(const kube::Access& access) {
    std::promise<std::uint16_t> port;
    thread_ = std::thread([this, &port, access] {
      SchedulerOptions options;
      options.access = access;
      options.cluster.patience = 50ms;
      options.pace = {.first = 5ms, .most = 20ms};
      auto scheduler = Scheduler::Start(options, log_);
      BERTH_CHECK(scheduler.has_value());
      scheduler_ = scheduler->get();
      port.set_value(scheduler_->port());
      BERTH_CHECK(scheduler_->Run().has_value());
    });
    port_ = port.get_future().get();
  }
  ~Running() {
    scheduler_->Stop();
    thread_.join();
  }

  http::ClientAnswer Ask(const std::string& method, const std::string& path, const std::string& body = {}) const {
    const auto client = http::MakeClient();
    BERTH_CHECK(client.has_value());
    auto answer = (*client)->Send({.method = method,
                                   .url = "http://127.0.0.1:" + std::to_string(port_) + path,
                                   .body = body,
                                   .max_body = std::size_t{1} << 20});
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *std::move(answer) : http::ClientAnswer{};
  }
  std::string Filter(const std::string& pod, const std::string& nodes) const {
    return Ask("POST", "/filter", CallText(pod, nodes)).body;
  }
  /// Asks again until the answer has `text`.
  std::string Until(const std::string& method, const std::string& path, const std::string& text,
                    const std::string& body = {}) const {
    std::string answer;
    for (const auto end = std::chrono::steady_clock::now() + 20s; std::chrono::steady_clock::now() < end;) {
      answer = Ask(method, path, body).body;
      if (answer.contains(text)) return answer;
      std::this_thread::sleep_for(2ms);
    }
    ADD_FAILURE() << "never \"" << text << "\", but: " << answer;
    return answer;
  }

 private:
  events::Log log_{events::LogLevel::kError};
  Scheduler* scheduler_ = nullptr;  // the thread's
  std::uint16_t port_ = 0;
  std::thread thread_;
};

struct SchedulerTest : testing::Test {
  void SetUp() override {
    for (const char* name : {"a", "b"}) cluster.Put(Kind::kNodeStates, name, StateText(name));
  }
  FakeCluster cluster;
};

TEST_F(SchedulerTest, APodPassesOnTheNodesThatWouldTakeIt) {
  cluster.Put(Kind::kPods, "one", PodText("one", "8", "a"));
  const Running running(cluster.access());
  running.Until("GET", "/readyz", "ok\n");
  EXPECT_EQ(running.Ask("GET", "/healthz").status, 200);
  const auto answer = running.Ask("POST", "/filter", CallText(PodText("two", "8"), "abx"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr(R"("NodeNames":["b","x"],"FailedNodes":{"a":"a: )"));
  EXPECT_THAT(answer.body, HasSubstr(R"("Error":"")"));
  const std::string scores = running.Ask("POST", "/prioritize", CallText(PodText("two", "8"), "bx")).body;
  EXPECT_THAT(scores, testing::MatchesRegex(R"(\[\{"Host":"b","Score":[0-9]+\},\{"Host":"x","Score":0\}\])"));
}

TEST_F(SchedulerTest, UntilAllIsKnownItSaysSo) {
  cluster.Refuse(Kind::kPods, kube::JsonAnswer(403, kube::StatusText(403, "Forbidden", "not for you")));
  const Running running(cluster.access());
  const std::string why = running.Until("GET", "/readyz", "not for you");
  EXPECT_THAT(why, HasSubstr("not all pods are known yet"));
  EXPECT_THAT(why,
              HasSubstr("/api/v1/pods: 403 Forbidden: not for you (the service account needs get, list and watch"));
  EXPECT_EQ(running.Ask("GET", "/readyz").status, 503);
  EXPECT_EQ(running.Ask("GET", "/healthz").status, 200);
  for (const char* path : {"/filter", "/prioritize"})
    EXPECT_EQ(running.Ask("POST", path, CallText(PodText("two", "8"), "ab")).status, 503);
  cluster.Refuse(Kind::kPods, "");
  running.Until("GET", "/readyz", "ok\n");
  EXPECT_THAT(running.Filter(PodText("two", "8"), "ab"), HasSubstr(R"("NodeNames":["a","b"])"));
}

TEST_F(SchedulerTest, AClusterWithoutNodeStatesIsAskedUntilItHasThem) {
  cluster.Refuse(Kind::kNodeStates, kube::JsonAnswer(404, "404 page not found"));
  const Running running(cluster.access());
  running.Until("GET", "/readyz", "NodeState is not defined in this cluster");
  EXPECT_THAT(running.Ask("GET", "/metrics").body, HasSubstr(R"(berth_scheduler_trouble{resource="nodestates"} 1)"));
  cluster.Refuse(Kind::kNodeStates, "");
  running.Until("GET", "/readyz", "ok\n");
  running.Until("GET", "/metrics", R"(berth_scheduler_trouble{resource="nodestates"} 0)");
}

TEST_F(SchedulerTest, WhatHappensWhileAWatchIsBrokenIsNotLost) {
  cluster.Put(Kind::kPods, "one", PodText("one", "8", "a"));
  const Running running(cluster.access());
  running.Until("GET", "/readyz", "ok\n");
  while (!cluster.Watched(Kind::kPods)) std::this_thread::yield();
  cluster.Refuse(Kind::kPods, kube::JsonAnswer(503, ""));
  running.Until("GET", "/metrics", R"(berth_scheduler_trouble{resource="pods"} 1)");
  cluster.Remove(Kind::kPods, "one");
  cluster.Put(Kind::kPods, "two", PodText("two", "8", "b"));
  EXPECT_THAT(running.Filter(PodText("three", "8"), "ab"), HasSubstr(R"("NodeNames":["b"])")) << "as it was known last";
  cluster.Refuse(Kind::kPods, "");
  running.Until("POST", "/filter", R"("NodeNames":["a"])", CallText(PodText("three", "8"), "ab"));
}

TEST_F(SchedulerTest, AStateThatCannotBeUsedLetsNothingPass) {
  const Running running(cluster.access());
  running.Until("GET", "/readyz", "ok\n");
  cluster.Put(Kind::kNodeStates, "a", R"({"metadata":{"name":"a","uid":"u-a","resourceVersion":"9"}})");
  running.Until("GET", "/metrics", R"(berth_scheduler_nodes{state="unusable"} 1)");
  EXPECT_THAT(running.Filter(PodText("one", "1"), "ab"),
              HasSubstr(R"("NodeNames":["b"],"FailedNodes":{},"FailedAndUnresolvableNodes":{"a":"a: its NodeState)"));
  cluster.Put(Kind::kNodeStates, "a", StateText("a", "10"));
  running.Until("GET", "/metrics", R"(berth_scheduler_nodes{state="unusable"} 0)");
  EXPECT_THAT(running.Filter(PodText("one", "1"), "ab"), HasSubstr(R"("NodeNames":["a","b"])"));
}

TEST_F(SchedulerTest, CallsThatMakeNoSenseAreAnsweredAsTheSchedulerUnderstandsIt) {
  const Running running(cluster.access());
  running.Until("GET", "/readyz", "ok\n");
  const auto filter = running.Ask("POST", "/filter", "{}");
  EXPECT_EQ(filter.status, 200);
  EXPECT_THAT(filter.body, HasSubstr(R"("Error":"the field \"Pod\" is missing")"));
  EXPECT_EQ(running.Ask("POST", "/prioritize", "[").status, 400);
  EXPECT_EQ(running.Ask("POST", "/bind", "{}").status, 404);
  const std::string page = running.Ask("GET", "/metrics").body;
  EXPECT_THAT(page, HasSubstr(R"(berth_scheduler_calls_total{verb="filter",result="invalid"} 1)"));
  EXPECT_THAT(page, HasSubstr(R"(berth_scheduler_call_seconds_count{verb="prioritize"} 1)"));
}

TEST_F(SchedulerTest, OnlyPodsThatHaveNotEndedAreAskedFor) {
  kube::FakeApi api([](const kube::Asked&, int, int fd) { SendAll(fd, kube::JsonAnswer(503, "")); });
  const Running running(api.access());
  running.Until("GET", "/metrics", R"(berth_scheduler_trouble{resource="pods"} 1)");
  EXPECT_THAT(api.lines(), testing::Contains(HasSubstr("fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase")));
}

TEST_F(SchedulerTest, TwoWhoAskAtOnceGetOnePlaceOnce) {
  const Running running(cluster.access());
  running.Until("GET", "/readyz", "ok\n");
  std::string answers[2];
  {
    std::jthread one([&] { answers[0] = running.Filter(PodText("one", "8"), "a"); });
    std::jthread two([&] { answers[1] = running.Filter(PodText("two", "8"), "a"); });
  }
  const bool first = answers[0].contains(R"("NodeNames":["a"])");
  EXPECT_THAT(answers[first ? 1 : 0], HasSubstr(R"("NodeNames":[])"));
  EXPECT_THAT(answers[first ? 0 : 1], HasSubstr(R"("NodeNames":["a"])"));
}

}  // namespace
}  // namespace berth::scheduler_server
