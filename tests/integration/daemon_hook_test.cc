// Hooks of processes on this host: run in the container, by request or as a time to wait, and what follows when they
// fail.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "daemon_fixture.h"
#include "testing/raw_server.h"

namespace berth::testkit {
namespace {

struct DaemonHookTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    node.Start();
  }
  /// One container "app" that runs until it is asked to end, which it notes; `spec`: lines of the pod.
  void Add(const std::string& name, const std::string& lifecycle, const std::string& spec = "",
           const std::string& more = "") {
    node.AddPod(name + ".yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n" + spec +
                                    "  containers:\n  - name: app\n    command: [/bin/sh, -c]\n    args: [\"trap 'echo "
                                    "term >> " +
                                    node.Dir(name) + "; exit 0' TERM; echo up >> " + node.Dir(name) +
                                    "; while :; do sleep 0.1; done\"]\n    lifecycle: {" + lifecycle + "}\n" + more);
  }
  /// A command that writes `word` to the pod's file.
  std::string Say(const std::string& pod, const std::string& word) const {
    return "exec: {command: [/bin/sh, -c, 'echo " + word + " >> " + node.Dir(pod) + "']}";
  }
  std::string Wait(const std::string& file) const {
    return "exec: {command: [/bin/sh, -c, 'while ! test -e " + node.Dir(file) + "; do sleep 0.1; done; echo hook >> " +
           node.Dir("slow") + "']}";
  }
  std::string Said(const std::string& pod) const {
    std::ifstream in(node.Dir(pod));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool Ready(const std::string& name) {
    const codec::Json pod = node.PodNamed(name);
    return pod.is_object() && pod["ready"] == true;
  }
  bool Over(const std::string& name) {
    const codec::Json pod = node.PodNamed(name);
    return pod.is_object() && (pod["phase"] == "Failed" || pod["phase"] == "Succeeded");
  }
  bool Gone(const std::string& name) { return !node.PodNamed(name).is_object(); }
  codec::Json Container(const std::string& pod, const std::string& name) {
    const codec::Json all = node.PodNamed(pod);
    if (!all.is_object()) return codec::Json::object();
    for (const codec::Json& container : all["containers"])
      if (container["name"] == name) return container;
    return codec::Json::object();
  }
  bool AppRuns(const std::string& pod) { return Container(pod, "app").value("state", "") == "running"; }

  DaemonFixture node;
};

TEST_F(DaemonHookTest, CommandsRunAfterTheStartAndBeforeTheEnd) {
  Add("web", "postStart: {" + Say("web", "warm") + "}, preStop: {" + Say("web", "drain") + "}");
  ASSERT_TRUE(node.Until("it is ready", [&] { return Ready("web") && Said("web").find("up\n") != std::string::npos; }));
  EXPECT_NE(Said("web").find("warm\n"), std::string::npos);
  node.RemovePod("web.yaml");
  ASSERT_TRUE(node.Until("it is gone", [&] { return Gone("web"); }));
  EXPECT_TRUE(Said("web").ends_with("drain\nterm\n")) << Said("web");
  EXPECT_EQ(node.CountEvents("FailedPostStartHook") + node.CountEvents("FailedPreStopHook"), 0);
}

TEST_F(DaemonHookTest, NothingElseOfThePodStartsBeforeAPostStartIsOverNotEvenOverARestart) {
  Add("slow", "postStart: {" + Wait("go") + "}", "", "  - name: other\n    command: [/bin/sleep, '1000']\n");
  ASSERT_TRUE(node.Until("it runs", [&] { return Said("slow") == "up\n" && AppRuns("slow"); }));
  EXPECT_FALSE(Ready("slow"));
  EXPECT_FALSE(node.Pids().contains("slow-n1/other"));
  node.Kill();
  node.Start();
  ASSERT_TRUE(node.Until("it is known again", [&] { return AppRuns("slow"); }));
  EXPECT_FALSE(Container("slow", "app").value("ready", false)) << node.PodNamed("slow").dump(1);
  std::ofstream(node.Dir("go")) << "x";
  ASSERT_TRUE(node.Until("it is ready", [&] { return Ready("slow"); }));
  EXPECT_EQ(Container("slow", "app")["restarts"], 0);
  EXPECT_TRUE(node.Pids().contains("slow-n1/other"));
}

TEST_F(DaemonHookTest, AContainerWhosePostStartFailsIsEndedAndStartedAgainAsItsPolicySays) {
  const std::string fails = "postStart: {exec: {command: [/bin/sh, -c, 'echo why >&2; exit 4']}}";
  Add("once", fails, "  restartPolicy: Never\n");
  Add("again", fails + ", preStop: {" + Say("again", "drain") + "}");
  EXPECT_TRUE(node.Until("it is over", [&] { return Over("once"); }));
  EXPECT_TRUE(node.Until("it was started again", [&] { return Container("again", "app").value("restarts", 0) >= 1; }));
  EXPECT_GE(node.CountEvents("FailedPostStartHook", "container app: postStart ended with exit code 4: why"), 2);
  EXPECT_EQ(Container("once", "app")["restarts"], 0);
  EXPECT_NE(Said("again").find("drain\n"), std::string::npos) << Said("again");
}

TEST_F(DaemonHookTest, RequestsAreSentAndAnyAnswerWillDo) {
  std::mutex mutex;
  std::vector<std::string> asked;
  const RawServer server(Answering([&](const RawRequest& request) {
    const std::scoped_lock lock(mutex);
    const auto agent = request.headers.find("User-Agent");
    asked.push_back(request.target + " " + (agent == request.headers.end() ? "" : agent->second));
    return HttpText(404, "", "");
  }));
  const std::string at = "httpGet: {port: web, path: ";
  Add("web", "postStart: {" + at + "/hello}}, preStop: {" + at + "/bye}}", "",
      "    ports: [{name: web, containerPort: " + std::to_string(server.port()) + "}]\n");
  ASSERT_TRUE(node.Until("it is ready", [&] { return Ready("web"); }));
  node.RemovePod("web.yaml");
  ASSERT_TRUE(node.Until("it is gone", [&] { return Gone("web"); }));
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(asked, (std::vector<std::string>{"/hello kube-lifecycle/1.36", "/bye kube-lifecycle/1.36"}));
}

TEST_F(DaemonHookTest, AServerWithoutTlsIsAskedWithoutItAndThePodSaysSo) {
  const auto request = Answering([](const RawRequest&) { return HttpText(200, "", ""); });
  const RawServer server([&](int fd) {
    char first = 0;
    if (::recv(fd, &first, 1, MSG_PEEK) != 1) return;
    if (first != '\x16') return request(fd);
    SendAll(fd, HttpText(400, "", "no TLS here"));
  });
  Add("web", "postStart: {httpGet: {scheme: HTTPS, port: " + std::to_string(server.port()) + "}}");
  ASSERT_TRUE(node.Until("it is ready", [&] { return Ready("web"); }));
  EXPECT_EQ(node.CountEvents("LifecycleHTTPFallback", "container app: postStart \"https://127.0.0.1:"), 1);
  EXPECT_EQ(node.CountEvents("FailedPostStartHook"), 0);
}

TEST_F(DaemonHookTest, ASleepIsPartOfTheGracePeriodAndTermComesAfterIt) {
  using Clock = std::chrono::steady_clock;
  Add("web", "postStart: {sleep: {seconds: 1}}, preStop: {sleep: {seconds: 60}}",
      "  terminationGracePeriodSeconds: 3\n");
  ASSERT_TRUE(node.Until("it is ready", [&] { return Ready("web") && Said("web") == "up\n"; }));
  const Clock::time_point begin = Clock::now();
  node.RemovePod("web.yaml");
  ASSERT_TRUE(node.Until("it was asked", [&] { return Said("web").ends_with("term\n"); }));
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(2900));
  EXPECT_TRUE(node.Until("it is gone", [&] { return Gone("web"); }));
}

}  // namespace
}  // namespace berth::testkit
