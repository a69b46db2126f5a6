// Pods of a container runtime that are resized: the same process, and the runtime's record follows.
#include <gtest/gtest.h>

#include <string>

#include "cri_node.h"

namespace berth {
namespace {

using testkit::kSpin;

struct DaemonCriResizeTest : testkit::CriNodeTest {
  void Web(const std::string& cpu, const std::string& more = "") {
    Add({.name = "web", .script = kSpin, .cpu = cpu, .container = more});
  }
  bool Done(bool exclusive) {
    const codec::Json pod = berthd->PodNamed("web");
    return pod.is_object() && !pod.contains("resize") &&
           pod["containers"][0].value("exclusive", !exclusive) == exclusive;
  }
  /// What containerd starts it with the next time.
  void ExpectRecord(const std::string& cpus, int shares, int quota) {
    const std::string id = berthd->PodNamed("web")["containers"][0]["id"];
    codec::Json cpu;
    const bool followed = berthd->Until("containerd's record follows", [&] {
      const auto record = codec::Json::parse(containerd->RecordOf(id), nullptr, false);
      if (!record.is_object()) return false;
      cpu = record["Spec"]["linux"]["resources"]["cpu"];
      return cpu["cpus"] == cpus && cpu["shares"] == shares && cpu["quota"] == quota;
    });
    EXPECT_TRUE(followed) << cpu.dump();
  }
  int WebPid() {
    for (const auto& [name, pid] : berthd->Pids())
      if (name.starts_with("web")) return pid;
    return 0;
  }
};

TEST_F(DaemonCriResizeTest, AContainerGetsACpuForItselfAndGivesItBackWithoutARestart) {
  settings = "nodeFit: false\n";
  Start();
  Web("500m");
  Add({.name = "best", .script = kSpin});
  ASSERT_TRUE(berthd->Until("they run", [&] { return berthd->Runs("web") && berthd->Runs("best"); }));
  const int pid = WebPid();
  for (int round = 0; round < testkit::Rounds(2); ++round) {
    Web("1");
    ASSERT_TRUE(berthd->Until("web has its CPU", [&] { return Done(true); })) << "round " << round;
    EXPECT_EQ("1", FormatIds(CpusOf("web")));
    EXPECT_FALSE(CpusOf("best").Contains(CpuId{1}));
    ExpectRecord("1", 1024, -1);
    Web("500m");
    ASSERT_TRUE(berthd->Until("web is in the shared pool", [&] { return Done(false); })) << "round " << round;
    ExpectRecord(testkit::AllCpus(), 512, 50'000);
    EXPECT_EQ(pid, WebPid());
  }
  for (const char* const name : {"web", "best"}) Remove(name);
  EXPECT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriResizeTest, OnlyAContainerWhosePolicySaysSoIsRestarted) {
  settings = "nodeFit: false\n";
  const std::string policy = "    resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]\n";
  Start();
  Web("500m", policy);
  ASSERT_TRUE(berthd->Until("it runs", [&] { return berthd->Runs("web"); }));
  const int pid = WebPid();
  Web("1", policy);
  ASSERT_TRUE(berthd->Until("another process has the CPU",
                            [&] { return Done(true) && WebPid() != pid && WebPid() != 0 && berthd->Runs("web"); }));
  Remove("web");
  EXPECT_TRUE(berthd->Until("it is gone", [&] { return NoPods(); }));
}

}  // namespace
}  // namespace berth
