// How pods end on this host, whatever happens to berthd and its supervisors meanwhile, and whatever a container does
// against it.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <string>

#include "daemon_fixture.h"

namespace berth::testkit {
namespace {

using Clock = std::chrono::steady_clock;

/// One container that runs `script` in /bin/sh, on a CPU of its own.
std::string ScriptPod(const std::string& name, const std::string& script, int grace_s) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         "}\nspec:\n  terminationGracePeriodSeconds: " + std::to_string(grace_s) +
         "\n  containers:\n  - name: app\n    image: none\n"
         "    command: [\"/bin/sh\", \"-c\"]\n    args:\n    - |\n      " +
         script + "\n    resources: {limits: {cpu: \"1\", memory: 32Mi}}\n";
}

bool Lives(int pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && text.size() > end + 2 && text[end + 2] != 'Z';
}

struct DaemonEndingTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "needs two CPUs";
  }
  std::string LinesOf(const std::string& file) const {
    std::ifstream in(node.Dir(file));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Runs one pod and returns its main process.
  int Run(const std::string& name, const std::string& script, int grace_s) {
    node.AddPod(name + ".yaml", ScriptPod(name, script, grace_s));
    node.Start();
    node.Until(name + " runs", [&] { return node.Runs(name) && !LinesOf("ready").empty(); });
    return node.Pids().begin()->second;
  }
  std::string Ready() const { return "echo > " + node.Dir("ready") + "; "; }

  DaemonFixture node;
};

TEST_F(DaemonEndingTest, AGracePeriodGoesOnWhileBerthdIsKilledAndStartedAgain) {
  const std::string script =
      "trap 'echo term >> " + node.Dir("terms") + "' TERM; " + Ready() + "while :; do sleep 0.1; done";
  const int pid = Run("patient", script, 6);
  node.RemovePod("patient.yaml");
  ASSERT_TRUE(node.Until("it got TERM", [&] { return !LinesOf("terms").empty(); }));
  const Clock::time_point begin = Clock::now();
  for (int restart = 0; restart < 3; ++restart) {
    node.Kill();
    node.Start();
  }
  EXPECT_TRUE(Lives(pid));
  ASSERT_TRUE(node.Until("it was killed", [&] { return !Lives(pid); }));
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  EXPECT_GE(took.count(), 5'000);
  EXPECT_LE(took.count(), 9'000);
  EXPECT_EQ(LinesOf("terms"), "term\n") << "TERM is sent once";
  EXPECT_TRUE(node.Until("it is gone", [&] { return node.Get("/v1/pods").empty() || !node.Runs("patient"); }));
}

}  // namespace
}  // namespace berth::testkit
