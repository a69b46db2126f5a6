// packaging/kubernetes as its user gets it: the images of tools/make_image, run by a real containerd as the manifests
// say.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/id_set.h"
#include "host/os/capabilities.h"
#include "run_program.h"
#include "shipped_fixture.h"
#include "small_disk.h"
#include "testing/seen_groups.h"

namespace berth {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A line of /proc/PID/status.
std::string StatusOf(int pid, const std::string& name) {
  std::ifstream lines("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  return "";
}

/// Whether a process sees its root as read-only.
bool RootIsReadOnly(int pid) {
  std::ifstream lines("/proc/" + std::to_string(pid) + "/mountinfo");
  for (std::string line; std::getline(lines, line);)
    if (line.find(" / / ro") != std::string::npos) return true;
  return false;
}

struct ShippedNodeTest : ShippedTest {
  /// One CPU is the container's alone, all others are everybody else's.
  void ExpectApart(const PodOnNode& own, const PodOnNode& other) {
    const auto cpus = CpuSet::Parse(CpusOf(own.container));
    ASSERT_TRUE(cpus);
    EXPECT_EQ(1U, cpus->Count()) << CpusOf(own.container);
    EXPECT_TRUE(Becomes(other.container, FormatIds(testkit::OnlineCpus() - *cpus)));
  }
  /// Why it is not ready, soon: berthd answers the runtime before others can see what it has noted.
  bool Says(const ShippedPod& pod, const std::string& why) {
    return containerd->Until("it is not ready: " + why, [&] { return Probe(pod, "readinessProbe").contains(why); });
  }
};

TEST_F(ShippedNodeTest, ItJoinsPlacesIsUpgradedAndIsUninstalled) {
  const std::string all = FormatIds(testkit::OnlineCpus());
  const PodOnNode shared = RunWhole("shared", "burstable", 0);
  const Objects base = Printed("base");
  const ShippedPod first = StartPod(base, ObjectIn(base, "DaemonSet", "berth"), "berth-1");
  ASSERT_TRUE(BecomesReady(first));
  EXPECT_EQ("", Probe(first, "livenessProbe"));
  EXPECT_TRUE(RootIsReadOnly(PidOf(first)));
  constexpr os::CapabilitySet kHas =
      os::CapabilityBit(CAP_SYS_ADMIN) | os::CapabilityBit(CAP_SYS_PTRACE) | os::CapabilityBit(CAP_SYS_NICE);
  for (const char* const set : {"CapEff", "CapPrm", "CapBnd"})
    EXPECT_EQ(fmt::format("{:016x}", kHas), StatusOf(PidOf(first), set)) << set;
  EXPECT_EQ("1", StatusOf(PidOf(first), "NoNewPrivs"));
  EXPECT_EQ("2", StatusOf(PidOf(first), "Seccomp"));
  const PodOnNode own = RunWhole("own", "", 1000);
  ExpectApart(own, shared);
  const std::string cpus = CpusOf(own.container);
  EXPECT_EQ(0, StopPod(first)) << LogOfPod(first);
  const PodOnNode meanwhile = RunWhole("meanwhile", "burstable", 0);

  const Objects chart = Printed("chart");
  const ShippedPod second =
      StartPod(chart, ObjectIn(chart, "DaemonSet", "berth"), "berth-2", "localhost/berth/node:next");
  ASSERT_TRUE(BecomesReady(second));
  EXPECT_EQ(cpus, CpusOf(own.container));
  ExpectApart(own, meanwhile);
  End(own);
  const PodOnNode next = RunWhole("next", "", 1000);
  ExpectApart(next, shared);
  EXPECT_EQ(0, StopPod(second)) << LogOfPod(second);

  const YAML::Node giving = Patched(ObjectIn(chart, "DaemonSet", "berth"), "chart/give-back.json");
  const ShippedPod giver = StartPod(chart, giving, "give-back");
  for (const std::string& id :
       {shared.container, meanwhile.container, next.container, shared.sandbox, meanwhile.sandbox, next.sandbox})
    EXPECT_EQ(all, CpusOf(id)) << id;
  EXPECT_THAT(containerd->RecordOf(next.container), HasSubstr("\"cpus\": \"" + all + "\""));
  for (const char* const folder : {"state", "run"}) EXPECT_TRUE(fs::is_empty(berthd->Dir(folder))) << folder;
  EXPECT_EQ("65534\t65534\t65534\t65534", StatusOf(PidOf(giver), "Uid"));
  EXPECT_EQ("0000000000000000", StatusOf(PidOf(giver), "CapEff"));
  EXPECT_TRUE(RootIsReadOnly(PidOf(giver)));
  EXPECT_TRUE(testkit::Lives(PidOf(giver))) << "it stays until it is deleted: " << LogOfPod(giver);
  StopPod(giver);
}

TEST_F(ShippedNodeTest, WhereNriIsOffItRunsAndIsNotReady) {
  containerd->Kill();
  fs::remove(containerd->nri_socket());
  containerd->Start(testkit::ContainerdFixture::With::kCri);
  const Objects base = Printed("base");
  const ShippedPod pod = StartPod(base, ObjectIn(base, "DaemonSet", "berth"), "berth-1");
  EXPECT_TRUE(containerd->Until("it is started", [&] { return Probe(pod, "startupProbe").empty(); })) << LogOfPod(pod);
  EXPECT_EQ("", Probe(pod, "livenessProbe"));
  EXPECT_TRUE(Says(pod, "is NRI switched on there?"));
  containerd->Kill();
  containerd->Start(testkit::ContainerdFixture::With::kCriAndNri);
  EXPECT_TRUE(BecomesReady(pod));
  EXPECT_EQ(0, StopPod(pod)) << LogOfPod(pod);
}

TEST_F(ShippedNodeTest, WithoutADurableLedgerItIsNotReady) {
  testkit::SmallDisk disk(berthd->Dir("state"), "size=1m");
  ASSERT_TRUE(disk.mounted());
  const Objects base = Printed("base");
  const ShippedPod pod = StartPod(base, ObjectIn(base, "DaemonSet", "berth"), "berth-1");
  ASSERT_TRUE(BecomesReady(pod));
  disk.Fill();
  const PodOnNode own = RunPod("own", "");
  EXPECT_FALSE(Create(own, "app", 1000, kWait));
  EXPECT_TRUE(Says(pod, "ledger"));
  EXPECT_EQ("", Probe(pod, "livenessProbe"));
  disk.Free();
  EXPECT_TRUE(containerd->Until("it is made", [&] { return Create(own, "app", 1000, kWait).has_value(); }));
  EXPECT_TRUE(BecomesReady(pod));
  EXPECT_EQ(0, StopPod(pod)) << LogOfPod(pod);
}

TEST_F(ShippedNodeTest, OneThatDoesNotGoOnIsNotAlive) {
  const Objects base = Printed("base");
  const ShippedPod pod = StartPod(base, ObjectIn(base, "DaemonSet", "berth"), "berth-1");
  ASSERT_TRUE(BecomesReady(pod));
  ASSERT_EQ(0, ::kill(PidOf(pod), SIGSTOP));
  EXPECT_NE("", Probe(pod, "livenessProbe"));
  ASSERT_EQ(0, ::kill(PidOf(pod), SIGCONT));
  EXPECT_TRUE(containerd->Until("it is alive", [&] { return Probe(pod, "livenessProbe").empty(); }));
  EXPECT_EQ(0, StopPod(pod)) << LogOfPod(pod);
}

/// It starts what lies in its folder of plug-ins, and does not start where one of those ends before it was taken in.
TEST_F(ShippedNodeTest, ARuntimeWithBerthdAmongItsOwnPlugInsStartsAllTheSame) {
  containerd->Kill();
  fs::create_directories(containerd->Dir("nri/plugins"));
  fs::create_symlink(fs::path(BERTH).parent_path() / "berthd", containerd->Dir("nri/plugins/50-berth"));
  containerd->Start(testkit::ContainerdFixture::With::kCriAndNri);
  EXPECT_TRUE(containerd->Until("it has left", [&] {
    return containerd->output().find("connection to plugin \\\"50-berth\\\" closed") != std::string::npos;
  }));
  const PodOnNode shared = RunWhole("shared", "burstable", 0);
  const Objects base = Printed("base");
  const ShippedPod pod = StartPod(base, ObjectIn(base, "DaemonSet", "berth"), "berth-1");
  ASSERT_TRUE(BecomesReady(pod));
  ExpectApart(RunWhole("own", "", 1000), shared);
  EXPECT_EQ(0, StopPod(pod)) << LogOfPod(pod);
}

struct ShippedExtenderTest : ShippedTest {
  void SetUp() override {
    ShippedTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    // Of a service account.
    fs::create_directories(containerd->Dir("token"));
    for (const char* const file : {"token", "ca.crt", "namespace"})
      std::ofstream(containerd->Dir(std::string("token/") + file)) << "berth-system";
  }
};

TEST_F(ShippedExtenderTest, ItAnswersWithoutAnyPrivilege) {
  for (const Objects& objects : {Printed("scheduler/base"), Printed("scheduler/chart")}) {
    const ShippedPod pod = StartPod(objects, ObjectIn(objects, "Deployment", "berth-scheduler"), "extender");
    EXPECT_TRUE(containerd->Until("it is alive", [&] { return Probe(pod, "livenessProbe").empty(); })) << LogOfPod(pod);
    // There is no API server.
    EXPECT_TRUE(containerd->Until("it is not ready", [&] { return Probe(pod, "readinessProbe").contains("503"); }))
        << LogOfPod(pod);
    const int pid = PidOf(pod);
    EXPECT_EQ("65532\t65532\t65532\t65532", StatusOf(pid, "Uid"));
    EXPECT_EQ("65532\t65532\t65532\t65532", StatusOf(pid, "Gid"));
    EXPECT_EQ("0000000000000000", StatusOf(pid, "CapBnd"));
    EXPECT_EQ("1", StatusOf(pid, "NoNewPrivs"));
    EXPECT_EQ("2", StatusOf(pid, "Seccomp"));
    EXPECT_TRUE(RootIsReadOnly(pid));
    EXPECT_EQ(0, StopPod(pod)) << LogOfPod(pod);
  }
}

}  // namespace
}  // namespace berth
