// Probes of containers of a real containerd: commands run by it, connections by berthd.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cri_node.h"

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
       .script = "touch /tmp/alive; trap 'exit 0' TERM; sleep 1000 & wait",
       .container =
           "    readinessProbe: {exec: {command: [test, -e, /tmp/well]}, periodSeconds: 1, timeoutSeconds: 10}\n"
           "    livenessProbe: {exec: {command: [test, -e, /tmp/alive]}, periodSeconds: 1, timeoutSeconds: 10, "
           "initialDelaySeconds: 2, failureThreshold: 1, terminationGracePeriodSeconds: 1}\n"});
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

}  // namespace
}  // namespace berth::testkit
