// The history of a running berthd: it outlives restarts, and nothing that happens to it is in the way of a pod.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "daemon_fixture.h"
#include "small_disk.h"

namespace berth::testkit {
namespace {

struct DaemonHistoryTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
  }
  codec::Json History() { return node.Get("/v1/status")["history"]; }
  /// Occurrences of `reason` among the events `query` asks for.
  int Count(const std::string& query, const std::string& reason) {
    int count = 0;
    const codec::Json answer = node.Get("/v1/events" + query);
    for (const codec::Json& event : answer["events"])
      if (event["reason"] == reason) count += event["count"].get<int>();
    return count;
  }
  bool WarnsOf(const std::string& text) {
    const codec::Json status = node.Get("/v1/status");
    for (const codec::Json& warning : status["warnings"])
      if (warning.get<std::string>().find(text) != std::string::npos) return true;
    return false;
  }
  void AdmitAndRelease(const std::string& name) {
    node.AddPod(name + ".yaml", SpinnerManifest(name, "1", 1));
    ASSERT_TRUE(node.Until(name + " runs", [&] { return node.Runs(name); }));
    node.RemovePod(name + ".yaml");
    ASSERT_TRUE(node.Until(name + " is gone", [&] { return node.PodNamed(name).is_null(); }));
  }
  DaemonFixture node;
};

TEST_F(DaemonHistoryTest, WhatHappenedIsKnownAfterARestart) {
  node.AddPod("big.yaml", SpinnerManifest("big", "4096"));
  node.Start();
  AdmitAndRelease("own");
  ASSERT_TRUE(node.Until("all is written", [&] {  // what is shown may not have been handed over yet
    return History()["kept"] == node.Get("/v1/events?limit=1000")["events"].size();
  }));
  node.Kill();
  node.RemovePod("big.yaml");
  node.Start();
  EXPECT_EQ(Count("?pod=big&since=1h", "UnexpectedAdmissionError"), 1);
  for (const char* reason : {"Admitted", "Started", "Killing", "Released"})
    EXPECT_EQ(Count("?pod=default/own&since=1h", reason), 1) << reason;
  EXPECT_EQ(Count("?pod=default/own&since=0s", "Admitted"), 0);
  EXPECT_EQ(Count("?pod=ow", "Admitted"), 0);
  EXPECT_EQ(node.Get("/v1/events?limit=1")["events"].size(), 1U);
  EXPECT_EQ(node.Get("/v1/events?limit=1")["leftOut"], true);
  EXPECT_EQ(History()["lost"], 0);
}

TEST_F(DaemonHistoryTest, AFullDiskOfTheHistoryIsInNobodysWay) {
  SmallDisk disk(node.Dir("state/history"), "size=192k,mode=0700");
  ASSERT_TRUE(disk.mounted());
  disk.Fill();
  node.Start();
  AdmitAndRelease("own");
  ASSERT_TRUE(node.Until("the loss is shown", [&] { return WarnsOf("history"); }));
  EXPECT_EQ(Count("?pod=own", "Admitted"), 1) << "from memory";
  EXPECT_FALSE(History()["problem"].get<std::string>().empty());
  EXPECT_TRUE(WarnsOf("lost: 0"));
  disk.Free();
  ASSERT_TRUE(
      node.Until("it is written again", [&] { return History()["problem"] == "" && History()["waiting"] == 0; }));
  EXPECT_TRUE(node.Until("that is told", [&] { return node.CountEvents("HistoryRestored") >= 1; }));
  node.Kill();
  node.Start();
  EXPECT_EQ(Count("?pod=own", "Admitted"), 1) << "nothing was lost: it waited";
  node.Kill();
}

TEST_F(DaemonHistoryTest, AReadOnlyHistoryIsInNobodysWay) {
  SmallDisk disk(node.Dir("state/history"), "size=1m,mode=0700");
  ASSERT_TRUE(disk.mounted());
  ASSERT_TRUE(disk.MakeReadOnly());
  node.Start();
  AdmitAndRelease("own");
  ASSERT_TRUE(node.Until("the loss is shown", [&] { return WarnsOf("history"); }));
  EXPECT_EQ(Count("?pod=own", "Admitted"), 1) << "from memory";
  ASSERT_TRUE(disk.MakeWritable());
  ASSERT_TRUE(node.Until("it is written", [&] { return History()["problem"] == "" && History()["waiting"] == 0; }));
  node.Kill();
}

TEST_F(DaemonHistoryTest, ADamagedFileIsSetAsideAndNamed) {
  node.Start();
  AdmitAndRelease("own");
  node.Kill();
  const std::string file = node.Dir("state/history/events.db");
  std::filesystem::remove(file + "-wal");
  std::ofstream(file, std::ios::trunc) << "these are not the pages of a database";
  node.Start();
  ASSERT_TRUE(node.Until("it is named", [&] { return node.CountEvents("HistoryDamaged", file + ".damaged") == 1; }));
  EXPECT_EQ(ReadText(file + ".damaged"), "these are not the pages of a database");
  AdmitAndRelease("second");
  ASSERT_TRUE(node.Until("the new one is written", [&] { return History()["waiting"] == 0; }));
  EXPECT_EQ(Count("?pod=second", "Admitted"), 1);
}

}  // namespace
}  // namespace berth::testkit
