// Pods whose manifest is edited while they run: the same process, on other CPUs, and nobody else there.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "base/text.h"
#include "daemon_fixture.h"

namespace berth::testkit {
namespace {

/// `usual`, or BERTH_RESIZE_ROUNDS.
int ResizeRounds(int usual) {
  const char* const text = std::getenv("BERTH_RESIZE_ROUNDS");
  return text == nullptr ? usual : ParseDecimal<int>(text).value_or(usual);
}

/// CPU 0 is reserved. "web" has half a CPU of the shared pool or CPU 1 for itself, beside spinners of other classes.
struct DaemonResizeTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    if (OnlineCpus().Count() < 2) GTEST_SKIP() << "needs two CPUs";
    node.Start();
  }
  void Web(const std::string& cpu, const std::string& more = "") {
    node.AddPod("web.yaml", SpinnerManifest("web", cpu) + more);
  }
  void AddSpinners() {
    node.AddPod("best.yaml", SpinnerManifest("best", ""));
    node.AddPod("also.yaml", SpinnerManifest("also", ""));  // what asks for something would not leave a whole CPU
  }
  bool Exclusive() {
    const codec::Json pod = node.PodNamed("web");
    return pod.is_object() && !pod.contains("resize") && pod["containers"][0].value("exclusive", false);
  }
  bool SharedAgain() {
    const codec::Json pod = node.PodNamed("web");
    return pod.is_object() && !pod.contains("resize") && !pod["containers"][0].value("exclusive", true);
  }
  int WebPid() {
    for (const auto& [name, pid] : node.Pids())
      if (name.starts_with("web")) return pid;
    return 0;
  }
  /// Processes of other pods, and berthd's, that may run where web's own may: while that is on fewer CPUs than the
  /// shared pool has, it is alone there. The CPUs of web are looked at before and after the others.
  int Overlaps() {
    const auto look = [&] {
      CpuSet web;
      for (const SeenProcess& process : node.Processes())
        if (process.pid == WebPid()) web = process.allowed;
      return web;
    };
    const CpuSet before = look();
    int found = 0;
    for (const SeenProcess& process : node.Processes())
      if (process.pid != WebPid() && process.allowed.Intersects(before)) ++found;
    return look() == before ? found : 0;
  }

  DaemonFixture node;
};

TEST_F(DaemonResizeTest, AProcessGetsACpuForItselfAndGivesItBackWithoutARestart) {
  AddSpinners();
  Web("500m");
  ASSERT_TRUE(node.Until("they run", [&] { return node.Runs("web") && node.Runs("best") && node.Runs("also"); }));
  const int pid = WebPid();
  ASSERT_GT(pid, 0);
  int done = 0;
  for (int round = 0; round < ResizeRounds(4); ++round) {
    Web("1");
    ASSERT_TRUE(node.Until("web has its CPU", [&] { return Exclusive(); })) << "round " << round;
    ++done;
    EXPECT_EQ(Overlaps(), 0) << "round " << round;
    EXPECT_EQ(WebPid(), pid) << "round " << round;
    Web("500m");
    ASSERT_TRUE(node.Until("web is in the shared pool", [&] { return SharedAgain(); })) << "round " << round;
    ++done;
    EXPECT_EQ(WebPid(), pid) << "round " << round;
    if (HasFailure()) break;
  }
  EXPECT_TRUE(Lives(pid));
  EXPECT_EQ("", node.Repairs()) << node.output();
  RecordProperty("resizes", done);
}

TEST_F(DaemonResizeTest, AResizedPodIsTheSameOneForTheNextBerthd) {
  Web("500m");
  ASSERT_TRUE(node.Until("it runs", [&] { return node.Runs("web"); }));
  const int pid = WebPid();
  Web("1");
  ASSERT_TRUE(node.Until("web has its CPU", [&] { return Exclusive(); }));
  node.Kill();
  Web("500m");  // while no berthd runs
  node.Start();
  ASSERT_TRUE(node.Until("web is in the shared pool", [&] { return SharedAgain(); }));
  EXPECT_EQ(WebPid(), pid);
}

TEST_F(DaemonResizeTest, WhatDoesNotFitLeavesThePodAsItIs) {
  Web("500m");
  ASSERT_TRUE(node.Until("it runs", [&] { return node.Runs("web"); }));
  const int pid = WebPid();
  Web("4000");
  ASSERT_TRUE(node.Until("it is refused", [&] { return node.PodNamed("web").contains("resize"); }));
  const codec::Json resize = node.PodNamed("web")["resize"];
  EXPECT_EQ(resize["condition"], "PodResizePending");
  EXPECT_EQ(resize["reason"], "Infeasible");
  EXPECT_EQ(WebPid(), pid);
}

TEST_F(DaemonResizeTest, OnlyAContainerWhosePolicySaysSoIsRestarted) {
  const std::string policy = "    resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]\n";
  AddSpinners();
  Web("500m", policy);
  ASSERT_TRUE(node.Until("they run", [&] { return node.Runs("web") && node.Runs("best"); }));
  const int pid = WebPid();
  Web("1", policy);
  ASSERT_TRUE(node.Until("another process has the CPU",
                         [&] { return Exclusive() && WebPid() != pid && WebPid() != 0 && node.Runs("web"); }));
  EXPECT_EQ(node.PodNamed("web")["containers"][0]["restarts"], 1);
  EXPECT_EQ(node.PodNamed("best")["containers"][0]["restarts"], 0);
}

}  // namespace
}  // namespace berth::testkit
