// Probes of processes on this host: what READY says, what is restarted, and what a restart of berthd leaves as it is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "daemon_fixture.h"
#include "health_server.h"
#include "testing/raw_server.h"

namespace berth::testkit {
namespace {

constexpr const char* kIdleScript = "trap 'exit 0' TERM; sleep 1000 & wait";

struct DaemonProbeTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
  }
  /// `container`: more lines of it, indented by 4; `init`: items of initContainers. Nothing of it is killed because it
  /// is slow.
  void Add(const std::string& name, const std::string& container, const std::string& spec = "",
           const std::string& script = kIdleScript) {
    node.AddPod(name + ".yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                                    "}\nspec:\n  terminationGracePeriodSeconds: 300\n" + spec +
                                    "  containers:\n  - name: app\n    command: [/bin/sh, -c]\n    args: [\"" + script +
                                    "\"]\n" + container);
  }
  codec::Json App(const std::string& name) {
    const codec::Json pod = node.PodNamed(name);
    if (!pod.is_object()) return codec::Json();
    for (const codec::Json& container : pod["containers"])
      if (container["name"] == "app") return container;
    return codec::Json();
  }
  bool Ready(const std::string& name) {
    const codec::Json app = App(name);
    return app.is_object() && app["ready"] == true && node.PodNamed(name)["ready"] == true;
  }
  int Restarts(const std::string& name) {
    const codec::Json app = App(name);
    return app.is_object() ? app["restarts"].get<int>() : -1;
  }
  void Touch(const std::string& file) { std::ofstream(node.Dir(file)) << "x"; }
  void Remove(const std::string& file) { std::filesystem::remove(node.Dir(file)); }
  /// A command that succeeds while the file is there.
  std::string Exec(const std::string& file) {
    return "exec: {command: [/bin/sh, -c, 'test -e " + node.Dir(file) + "']}, periodSeconds: 1, timeoutSeconds: 10";
  }

  DaemonFixture node;
};

TEST_F(DaemonProbeTest, ReadinessFollowsItsProbeAndIsKeptOverARestart) {
  node.Start();
  Add("web", "    readinessProbe: {" + Exec("well") + ", failureThreshold: 1}\n");
  ASSERT_TRUE(node.Until("its probe has failed", [&] { return node.CountEvents("Unhealthy", "Readiness") > 0; }));
  EXPECT_TRUE(node.Runs("web"));
  EXPECT_FALSE(Ready("web"));
  Touch("well");
  ASSERT_TRUE(node.Until("it is ready", [&] { return Ready("web"); }));
  node.Kill();
  node.Start();
  ASSERT_TRUE(node.Until("it is known again", [&] { return node.Runs("web"); }));
  EXPECT_TRUE(Ready("web")) << "before it is asked again";
  Remove("well");
  ASSERT_TRUE(node.Until("it is not ready", [&] { return !Ready("web"); }));
  EXPECT_EQ(Restarts("web"), 0) << "that is no reason to restart it";
}

TEST_F(DaemonProbeTest, LivenessEndsAndRestartsWhatFails) {
  node.Start();
  Touch("alive");
  Add("web", "    livenessProbe: {" + Exec("alive") + ", failureThreshold: 2, terminationGracePeriodSeconds: 1}\n", "",
      "trap '' TERM; while :; do sleep 0.1; done");
  ASSERT_TRUE(node.Until("it runs", [&] { return node.Runs("web"); }));
  const int pid = node.Pids().begin()->second;
  Remove("alive");
  ASSERT_TRUE(node.Until("it was restarted", [&] { return Restarts("web") >= 1; }));
  EXPECT_FALSE(Lives(pid));
  EXPECT_GE(node.CountEvents("Unhealthy", "Liveness probe failed"), 1);
  EXPECT_GE(node.CountEvents("Killing", "failed liveness probe, will be restarted"), 1);
}

TEST_F(DaemonProbeTest, ARestartOfBerthdRestartsNothing) {
  node.Start();
  Touch("alive");
  Add("web", "    livenessProbe: {" + Exec("alive") + "}\n    startupProbe: {" + Exec("alive") + "}\n");
  ASSERT_TRUE(node.Until("it is ready", [&] { return Ready("web"); }));
  const int pid = node.Pids().begin()->second;
  for (int i = 0; i < 2; ++i) {
    node.Kill();
    node.Start();
    ASSERT_TRUE(node.Until("it is known again", [&] { return node.Runs("web"); }));
    EXPECT_TRUE(Ready("web"));
  }
  EXPECT_EQ(node.Pids().begin()->second, pid);
  EXPECT_EQ(Restarts("web"), 0);
}

TEST_F(DaemonProbeTest, AStartupProbeHoldsBackTheOthersAndASidecarsSuccessors) {
  node.Start();
  Add("web",
      "    livenessProbe: {" + Exec("never") + ", failureThreshold: 1}\n    startupProbe: {" + Exec("started") +
          ", failureThreshold: 600}\n",
      "  initContainers:\n  - {name: side, restartPolicy: Always, command: [/bin/sh, -c, \"" +
          std::string(kIdleScript) + "\"], startupProbe: {" + Exec("side") + ", failureThreshold: 600}}\n");
  ASSERT_TRUE(node.Until("the sidecar was asked", [&] { return node.CountEvents("Unhealthy", "side: Startup") > 0; }));
  EXPECT_EQ(App("web")["state"], "waiting");
  Touch("side");
  ASSERT_TRUE(node.Until("the app runs", [&] { return App("web")["state"] == "running"; }));
  ASSERT_TRUE(node.Until("the app was asked", [&] { return node.CountEvents("Unhealthy", "app: Startup") > 0; }));
  EXPECT_EQ(node.CountEvents("Unhealthy", "Liveness"), 0);
  EXPECT_FALSE(Ready("web"));
  Touch("started");
  ASSERT_TRUE(node.Until("it is asked how it is, and restarted", [&] { return Restarts("web") >= 1; }));
}

TEST_F(DaemonProbeTest, AsksByHttpAndTcp) {
  node.Start();
  const RawServer server(HttpText(200, "", "fine"));
  const std::string port = std::to_string(server.port());
  Add("web",
      "    ports: [{name: web, containerPort: " + port +
          "}]\n    readinessProbe: {httpGet: {port: web, host: 127.0.0.1}, periodSeconds: 1, timeoutSeconds: 10}\n"
          "    startupProbe: {tcpSocket: {port: web, host: 127.0.0.1}, periodSeconds: 1, timeoutSeconds: 10}\n");
  EXPECT_TRUE(node.Until("it is ready", [&] { return Ready("web"); }));
}

TEST_F(DaemonProbeTest, ACommandRunsInTheContainersGroupAndIsKilledWhenItIsLate) {
  node.Start();
  Add("web", "    readinessProbe: {exec: {command: [/bin/sh, -c, 'cat /proc/self/cgroup > " + node.Dir("group") +
                 ".new; mv " + node.Dir("group") + ".new " + node.Dir("group") + "; echo $$ > " + node.Dir("pid") +
                 "; sleep 1000']}, periodSeconds: 1, timeoutSeconds: 1}\n");
  ASSERT_TRUE(node.Until("it was late, and has said where it ran", [&] {  // one may be killed before it gets so far
    return node.CountEvents("Unhealthy", "timed out") > 0 && std::filesystem::exists(node.Dir("group"));
  }));
  std::ifstream group(node.Dir("group"));
  const std::string lines{std::istreambuf_iterator<char>(group), {}};
  EXPECT_NE(lines.find("app"), std::string::npos) << lines;
  node.RemovePod("web.yaml");
  EXPECT_TRUE(node.Until("it is gone", [&] { return !node.PodNamed("web").is_object(); }));
  for (const SeenProcess& process : node.Processes()) EXPECT_NE(process.name, "sleep") << process.cgroup;
}

TEST_F(DaemonProbeTest, AServerOfGrpcSaysWhetherAContainerIsReady) {
  HealthServer health;  // on the loopback, and such a probe has no host but the pod's
  std::ofstream(node.Dir("berth.yaml"))
      << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nnodeIP: 127.0.0.1\n";
  node.Start({"--config", node.Dir("berth.yaml"), "--socket", node.socket()});
  Add("web",
      "    readinessProbe: {grpc: {port: " + std::to_string(health.port()) + ", service: shop}, periodSeconds: 1}\n");
  ASSERT_TRUE(node.Until("it is ready", [&] { return Ready("web"); }));
  EXPECT_EQ("/grpc.health.v1.Health/Check \x0a\x04shop", health.asked());
  health.Say(HealthServer::kNotServing);
  EXPECT_TRUE(node.Until("it is not ready any more, because the server says so", [&] {  // not because one was late
    return !Ready("web") && node.CountEvents("Unhealthy", "NOT_SERVING") > 0;
  }));
}

TEST_F(DaemonProbeTest, AContainerIsAskedToEndWithItsOwnSignal) {
  node.Start();
  Add("web", "    lifecycle: {stopSignal: SIGUSR1}\n", "  os: {name: linux}\n",
      "trap 'echo usr1 > " + node.Dir("seen") + "; exit 0' USR1; touch " + node.Dir("ready") +
          "; while :; do sleep 0.1; done");
  ASSERT_TRUE(node.Until("it listens", [&] { return std::filesystem::exists(node.Dir("ready")); }));
  node.RemovePod("web.yaml");
  ASSERT_TRUE(node.Until("it is gone", [&] { return !node.PodNamed("web").is_object(); }));
  EXPECT_TRUE(std::filesystem::exists(node.Dir("seen")));
}

TEST_F(DaemonProbeTest, APodIsActiveNoLongerThanItMayBe) {
  node.Start();
  Add("job", "", "  activeDeadlineSeconds: 3\n");
  ASSERT_TRUE(node.Until("it runs, or did", [&] {
    const codec::Json pod = node.PodNamed("job");
    return pod.is_object() && pod["phase"] != "Pending";
  }));
  node.Kill();
  node.Start();
  ASSERT_TRUE(node.Until("it has failed", [&] {
    const codec::Json pod = node.PodNamed("job");
    return pod.is_object() && pod["phase"] == "Failed" && pod["reason"] == "DeadlineExceeded";
  }));
  EXPECT_TRUE(node.Pids().empty());
}

}  // namespace
}  // namespace berth::testkit
