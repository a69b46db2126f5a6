#include "daemon/pod_specs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/loop_thread.h"
#include "host/event_loop/worker_pool.h"
#include "kubernetes/kube_client/fake_api_test.h"

namespace berth::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string PodTextOf(const std::string& name, const std::string& version, const std::string& annotations = "{}") {
  return R"({"kind":"Pod","metadata":{"name":")" + name + R"(","namespace":"default","uid":"u-)" + name +
         R"(","resourceVersion":")" + version + R"(","annotations":)" + annotations +
         R"(},"spec":{"containers":[{"name":"app","image":"i","resources":{"requests":{"cpu":"250m"}}}]}})";
}

/// What is heard of pods, on a loop that turns until it is so.
struct PodSpecsTest : ::testing::Test {
  void SetUp() override {
    loop = *event_loop::Loop::Open(os::SystemClock());
    pool = *event_loop::WorkerPool::Start(*loop, {{.name = "disk"}});
    loop->Keep(
        "the test's look", [this] { return next_look; }, [this](os::MonoTime now) { next_look = now + os::Millis(5); });
  }
  void TearDown() override { loop->Close(); }

  void Start(std::function<Result<kube::Access>()> access) BERTH_ASSERTS(loop_thread) {
    loop_thread.Assert();
    specs = std::make_unique<PodSpecs>(
        *loop, pool->lane("disk"), PodSpecsOptions{.access = std::move(access), .node_name = "n1", .pace = {}},
        PodSpecsSink{.set = [this](const Pod& pod) { heard.push_back("set " + pod.name + " " + pod.uid); },
                     .gone = [this](const std::string& name_space,
                                    const std::string& name) { heard.push_back("gone " + name_space + "/" + name); },
                     .follows = [this](bool now) { follows = now; },
                     .tell = [this](bool, const std::string& reason,
                                    const std::string& message) { told.push_back(reason + ": " + message); }});
    loop->Keep(
        "pod specs", [this]() BERTH_REQUIRES(loop_thread) { return specs->next_due(); },
        [this](os::MonoTime now) BERTH_REQUIRES(loop_thread) { specs->Tick(now); });
  }
  /// False: it did not come to that within half a minute.
  bool Until(const std::function<bool()>& done) BERTH_REQUIRES(loop_thread) {
    const os::MonoTime end = os::SystemClock().Now() + os::Millis(30'000);
    while (!done() && os::SystemClock().Now() < end) EXPECT_TRUE(loop->Turn(true));
    return done();
  }

  std::unique_ptr<event_loop::Loop> loop;
  std::unique_ptr<event_loop::WorkerPool> pool;
  std::vector<std::string> heard;
  std::vector<std::string> told;
  bool follows = false;
  os::MonoTime next_look{};
  std::unique_ptr<PodSpecs> specs;
};

TEST_F(PodSpecsTest, PodsOfTheNodeAreHeardOfByTheUidThatItKnowsThemBy) {
  kube::FakeApi api([](const kube::Asked& asked, int, int fd) {
    if (asked.line.contains("sendInitialEvents=true")) {
      testkit::SendAll(fd, kube::JsonAnswer(422, kube::StatusText(422, "Invalid")));
    } else if (!asked.line.contains("watch=true")) {
      testkit::SendAll(
          fd, kube::ListAnswer(
                  {PodTextOf("web", "5"), PodTextOf("static", "6", R"({"kubernetes.io/config.mirror":"5f2b"})")}, "7"));
    } else if (testkit::SendAll(fd, kube::StreamBegin() + kube::Line("DELETED", PodTextOf("web", "8")))) {
      static_cast<void>(testkit::ReceiveAll(fd));
    }
  });
  Start([&] { return api.access(); });
  ASSERT_TRUE(Until([&] { return follows && heard.size() == 3; })) << ::testing::PrintToString(heard);
  EXPECT_THAT(heard, ElementsAre("set web u-web", "set static 5f2b", "gone default/web"));
  EXPECT_THAT(told, IsEmpty());
  EXPECT_EQ("", specs->Warning());
  for (const std::string& line : api.lines()) EXPECT_THAT(line, HasSubstr("fieldSelector=spec.nodeName%3Dn1"));
}

TEST_F(PodSpecsTest, WhyNobodyIsFollowedIsSaid) {
  Start([]() -> Result<kube::Access> { return Fail(Code::kNotFound, "node.conf: no such file"); });
  ASSERT_TRUE(Until([&] { return !told.empty(); }));
  EXPECT_THAT(told, ElementsAre(HasSubstr("PodSpecsUnknown: the specs of pods cannot be followed")));
  EXPECT_THAT(specs->Warning(), HasSubstr("node.conf: no such file"));
  EXPECT_FALSE(follows);
}

TEST_F(PodSpecsTest, AServerThatRefusesAndThenAgreesIsFollowed) {
  std::atomic<bool> refuses = true;
  kube::FakeApi api([&](const kube::Asked& asked, int, int fd) {
    if (refuses)
      testkit::SendAll(fd, kube::JsonAnswer(403, kube::StatusText(403, "Forbidden", "no rights")));
    else if (asked.line.contains("sendInitialEvents=true"))
      testkit::SendAll(fd, kube::JsonAnswer(422, kube::StatusText(422, "Invalid")));
    else if (!asked.line.contains("watch=true"))
      testkit::SendAll(fd, kube::ListAnswer({}, "7"));
    else if (testkit::SendAll(fd, kube::StreamBegin()))
      static_cast<void>(testkit::ReceiveAll(fd));
  });
  Start([&] { return api.access(); });
  ASSERT_TRUE(Until([&] { return !told.empty(); }));
  EXPECT_THAT(specs->Warning(), HasSubstr("no rights"));
  refuses = false;
  ASSERT_TRUE(Until([&] { return follows; }));
  EXPECT_THAT(told, ElementsAre(HasSubstr("PodSpecsUnknown"), HasSubstr("PodSpecsFollowed")));
  EXPECT_EQ("", specs->Warning());
}

}  // namespace
}  // namespace berth::daemon
