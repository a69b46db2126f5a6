// Probes of containers of a real containerd: commands run by it, connections by berthd.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "cri_node.h"
#include "health_server.h"
#include "testing/fixtures.h"
#include "testing/raw_server.h"
#include "testing/seen_groups.h"

namespace berth::testkit {
namespace {

class DaemonCriProbeTest : public CriNodeTest {
 protected:
  codec::Json App(const std::string& pod) {
    const codec::Json found = berthd->PodNamed(pod);
    return found.is_object() ? found["containers"][0] : codec::Json();
  }
  bool Ready(const std::string& pod) {
    const codec::Json app = App(pod);
    return app.is_object() && app["ready"] == true;
  }
};

TEST_F(DaemonCriProbeTest, CommandsSayWhetherAContainerIsReadyAndWell) {
  Start();
  Add({.name = "web",
       .script = "trap 'exit 0' TERM; touch /tmp/alive; sleep 1000 & wait",
       .container =
           "    readinessProbe: {exec: {command: [test, -e, /tmp/well]}, periodSeconds: 1, timeoutSeconds: 10}\n"
           "    livenessProbe: {exec: {command: [test, -e, /tmp/alive]}, periodSeconds: 1, timeoutSeconds: 10, "
           "failureThreshold: 1, terminationGracePeriodSeconds: 1}\n"
           "    startupProbe: {exec: {command: [test, -e, /tmp/alive]}, periodSeconds: 1, timeoutSeconds: 10, "
           "failureThreshold: 600}\n"});
  ASSERT_TRUE(berthd->Until("it runs and was asked",
                            [&] { return berthd->Runs("web") && berthd->CountEvents("Unhealthy", "Readiness") > 0; }));
  EXPECT_FALSE(Ready("web"));
  // The container's files through its first process.
  const std::string root = "/proc/" + std::to_string(berthd->Pids().begin()->second) + "/root/tmp/";
  std::ofstream(root + "well") << "x";
  ASSERT_TRUE(berthd->Until("it is ready", [&] { return Ready("web"); }));
  EXPECT_EQ(0, App("web")["restarts"].get<int>());
  std::filesystem::remove(root + "alive");
  ASSERT_TRUE(berthd->Until("it was restarted", [&] {
    const codec::Json app = App("web");
    return app.is_object() && app["restarts"].get<int>() >= 1 && app["state"] == "running";
  }));
  EXPECT_GE(berthd->CountEvents("Killing", "failed liveness probe, will be restarted"), 1);
  Remove("web");
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return Gone("web"); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriProbeTest, AServerOfGrpcSaysWhetherAContainerIsReady) {
  HealthServer health;  // on the loopback, and such a probe has no host but the pod's
  settings = "nodeIP: 127.0.0.1\n";
  Start();
  Add({.name = "web",
       .container = "    readinessProbe: {grpc: {port: " + std::to_string(health.port()) +
                    ", service: shop}, periodSeconds: 1}\n"});
  ASSERT_TRUE(berthd->Until("it is ready", [&] { return Ready("web"); }));
  EXPECT_EQ("/grpc.health.v1.Health/Check \x0a\x04shop", health.asked());
  health.Say(HealthServer::kNotServing);
  EXPECT_TRUE(berthd->Until("it is not ready any more, because the server says so", [&] {  // not because one was late
    return !Ready("web") && berthd->CountEvents("Unhealthy", "NOT_SERVING") > 0;
  }));
  Remove("web");
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return Gone("web"); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriProbeTest, HooksAreRequestsToo) {
  std::mutex mutex;
  std::vector<std::string> asked;
  const RawServer server(Answering([&](const RawRequest& request) {
    const std::scoped_lock lock(mutex);
    asked.push_back(request.target);
    return HttpText(404, "", "");
  }));
  Start();
  Add({.name = "web",  // its grace period is over for no hook that is slow, and it ends as soon as it is asked to
       .script = "trap 'exit 0' TERM; echo up; sleep 1000 & wait",
       .spec = "  terminationGracePeriodSeconds: 300\n",
       .container = "    lifecycle: {postStart: {httpGet: {port: web, path: /hello}}, preStop: {httpGet: {port: web, "
                    "path: /bye}}}\n    ports: [{name: web, containerPort: " +
                    std::to_string(server.port()) + "}]\n"});
  ASSERT_TRUE(berthd->Until("it is ready", [&] { return Ready("web") && WordsOf("web") == "up\n"; }));
  Remove("web");
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return Gone("web"); }));
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(asked, (std::vector<std::string>{"/hello", "/bye"}));
}

TEST_F(DaemonCriProbeTest, AHookThatSleepsIsPartOfTheGracePeriod) {
  using Clock = std::chrono::steady_clock;
  const TempDir said;
  Start();
  const Clock::time_point added = Clock::now();
  Add({.name = "web",
       .script = "trap 'echo term > /said/word; exit 0' TERM; echo up; sleep 1000 & wait",
       .spec = "  terminationGracePeriodSeconds: 3\n  volumes: [{name: said, hostPath: {path: " + said.path() + "}}]\n",
       .container = "    lifecycle: {postStart: {sleep: {seconds: 2}}, preStop: {sleep: {seconds: 60}}}\n"
                    "    volumeMounts: [{name: said, mountPath: /said}]\n"});
  ASSERT_TRUE(berthd->Until("it is ready", [&] { return Ready("web") && WordsOf("web") == "up\n"; }));
  EXPECT_GE(Clock::now() - added, std::chrono::seconds(2));
  const Clock::time_point begin = Clock::now();
  Remove("web");
  ASSERT_TRUE(berthd->Until("it was asked", [&] { return ReadIfThere(said / "word") == "term\n"; }));
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(2900));
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return Gone("web"); }));
}

}  // namespace
}  // namespace berth::testkit
