// berthd on this host's real cgroups: nobody on anybody's exclusive CPUs, restarts, idling, removal.
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "daemon_fixture.h"

namespace berth::testkit {
namespace {

struct DaemonNodeTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "needs two CPUs";
  }
  DaemonFixture node;
};

/// What a container that asks for one CPU gets on a node with CPU 0 reserved.
const CpuSet kOwn{CpuId{1}};

/// Keeps a container's systemd scope from going until the container's own processes are in it: it is there before the
/// scope has its CPUs, and sleeps.
constexpr std::string_view kHolder = "berth-hold";

/// Who is to become a container's process, and in its group already, until it has dropped the affinity of its parent:
/// it runs on the parent's CPUs, on none of the container's.
constexpr std::string_view kNewborn = "berth-shim";

/// Processes in the group of a container with CPUs of its own ("exclusive" by the pod's QoS tier and name).
bool IsExclusive(const SeenProcess& process) { return process.cgroup.starts_with("kubepods/pod"); }

std::set<int> PidsOf(const std::vector<SeenProcess>& processes, bool exclusive) {
  std::set<int> out;
  for (const SeenProcess& p : processes)
    if (IsExclusive(p) == exclusive) out.insert(p.pid);
  return out;
}

/// One look at the whole tree. What ran exclusively before and after the look ran so during it.
int LookForOverlap(const DaemonFixture& node) {
  const std::vector<SeenProcess> before = node.Processes();
  const std::vector<SeenProcess> during = node.Processes();
  const std::set<int> after = PidsOf(node.Processes(), true);
  int exclusive = 0;
  for (const SeenProcess& owner : before) {
    if (!IsExclusive(owner) || !after.contains(owner.pid) || owner.name == kHolder || owner.name == kNewborn) continue;
    ++exclusive;
    for (const SeenProcess& other : during) {
      if (IsExclusive(other)) continue;
      EXPECT_FALSE(other.allowed.Intersects(owner.allowed))
          << other.name << " (" << other.cgroup << ") is allowed on " << FormatIds(other.allowed) << ", "
          << owner.cgroup << " has " << FormatIds(owner.allowed);
      EXPECT_FALSE(other.on_cpu && owner.allowed.Contains(other.processor))
          << other.name << " (" << other.cgroup << ") was seen running on a CPU of " << owner.cgroup;
    }
  }
  return exclusive;
}

TEST_F(DaemonNodeTest, NobodyIsEverAllowedOnExclusiveCpus) {
  const CpuSet all = OnlineCpus();
  node.AddPod("burst.yaml", SpinnerManifest("burst", ""));
  node.Start();
  ASSERT_TRUE(node.Until("burst runs", [&] { return node.Runs("burst"); }));
  int seen = 0;
  for (int round = 0; round < 6; ++round) {
    node.AddPod("own.yaml", SpinnerManifest("own", "1"));
    if (round % 2 == 1) node.AddPod("late.yaml", SpinnerManifest("late", ""));
    ASSERT_TRUE(node.Until("own runs", [&] { return seen += LookForOverlap(node), node.Runs("own"); }));
    for (int i = 0; i < 20; ++i) seen += LookForOverlap(node);
    for (const SeenProcess& p : node.Processes())
      EXPECT_EQ(p.allowed, IsExclusive(p) ? kOwn : all - kOwn) << p.name << " " << p.cgroup;
    node.RemovePod("own.yaml");
    if (round % 2 == 1) node.RemovePod("late.yaml");
    ASSERT_TRUE(node.Until("own is gone", [&] {
      return seen += LookForOverlap(node), node.PodNamed("own").is_null() && node.PodNamed("late").is_null();
    }));
    ASSERT_TRUE(node.Until("the pool has grown again", [&] {
      return std::ranges::all_of(node.Processes(), [&](const SeenProcess& p) { return p.allowed == all; });
    }));
  }
  EXPECT_GT(seen, 100) << "too few looks met an exclusive container";
}

TEST_F(DaemonNodeTest, APodIsNotTakenForGoneWhileNobodyAnswers) {
  int looks = 0;
  EXPECT_TRUE(node.Until("there is none", [&] {
    if (++looks == 2) node.Start();
    return node.PodNamed("own").is_null();
  }));
  EXPECT_EQ(looks, 2);
}

TEST_F(DaemonNodeTest, AContainerIsPinnedFromItsFirstInstruction) {
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  node.Start();
  ASSERT_TRUE(node.Until("own has said where it runs", [&] {
    const codec::Json logs = node.Get("/v1/logs/default/own/spin");
    return logs.is_object() && !logs["entries"].empty();
  }));
  EXPECT_EQ(node.Get("/v1/logs/default/own/spin")["entries"][0]["text"], "Cpus_allowed_list:\t1");
}

TEST_F(DaemonNodeTest, WhoNamesNoProfileHasTheDefaultOneWhereTheSettingsSaySo) {
  node.Configure("seccompDefault: true\n");
  node.AddPod("plain.yaml", SpinnerManifest("plain", ""));
  node.AddPod("free.yaml", SpinnerManifest("free", "") + "    securityContext: {seccompProfile: {type: Unconfined}}\n");
  node.Start();
  ASSERT_TRUE(node.Until("both run", [&] { return node.Runs("plain") && node.Runs("free"); }));
  const auto filters = [&](const std::string& container) {
    std::ifstream status("/proc/" + std::to_string(node.Pids().at(container)) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("Seccomp_filters:")) return std::string(Trim(line.substr(line.find(':') + 1)));
    return std::string();
  };
  EXPECT_EQ(filters("plain-n1/spin"), "2") << "beside the one that keeps it from cgroups";
  EXPECT_EQ(filters("free-n1/spin"), "1");
}

TEST_F(DaemonNodeTest, KilledAndStartedAgainNothingMoves) {
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  node.AddPod("burst.yaml", SpinnerManifest("burst", ""));
  node.Start();
  ASSERT_TRUE(node.Until("both run", [&] { return node.Runs("own") && node.Runs("burst"); }));
  const std::map<std::string, int> pids = node.Pids();
  const codec::Json ledger = node.Get("/v1/ledger");
  for (int round = 0; round < 3; ++round) {
    node.Kill();
    node.Start();
    ASSERT_TRUE(node.Until("the manifests were read", [&] { return !node.PodNamed("own")["file"].empty(); }));
    EXPECT_EQ(node.Pids(), pids);
    EXPECT_EQ(node.Get("/v1/ledger"), ledger);
    EXPECT_EQ(node.CountEvents("Started"), 0);
    LookForOverlap(node);
    for (const auto& [name, container] : node.Pids())
      EXPECT_EQ(node.PodNamed(name.substr(0, name.find("-n1")))["containers"][0]["restarts"], 0);
  }
}

TEST_F(DaemonNodeTest, ContainersThatEndedWhileBerthdWasDeadAreStartedAgain) {
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  node.Start();
  ASSERT_TRUE(node.Until("own runs", [&] { return node.Runs("own"); }));
  const int pid = node.Pids().begin()->second;
  node.Kill();
  ::kill(pid, SIGKILL);
  node.Start();
  ASSERT_TRUE(node.Until("own runs again", [&] { return node.Runs("own") && node.Pids().begin()->second != pid; }));
  EXPECT_EQ(node.PodNamed("own")["containers"][0]["restarts"], 1);
  EXPECT_EQ(node.PodNamed("own")["containers"][0]["cpus"], "1");
}

TEST_F(DaemonNodeTest, IdleBerthdWithTwentyPodsIsSmallAndWritesNothing) {
  constexpr int kPods = 20;
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  for (int i = 1; i < kPods; ++i) {
    const std::string name = "idle-" + std::to_string(i);
    node.AddPod(name + ".yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                                    "}\nspec:\n  containers:\n  - {name: sleep, image: none, command: [sleep, inf]}\n");
  }
  std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n"
                                           "reconcilePeriod: 200ms\n";
  node.Start({"--config", node.Dir("berth.yaml"), "--socket", node.socket()});
  ASSERT_TRUE(node.Until("all run", [&] { return node.Pids().size() == kPods; }));
  const auto writes = node.Get("/v1/status")["cgroupWrites"].get<std::uint64_t>();
  // A foreign write that is repaired proves that reconciling went on in between.
  std::ofstream(node.GroupFile("cpuset", "berth", "cpuset.cpus")) << "0-1";
  ASSERT_TRUE(node.Until("the foreign write was put right", [&] { return node.CountEvents("CgroupRepaired") == 1; }));
  EXPECT_EQ(node.Get("/v1/status")["cgroupWrites"].get<std::uint64_t>(), writes + 1);
  // In guests programs lie in memory, and the kernel maps far more of them than was touched: there only what is
  // berthd's own counts.
  struct statfs of_program{};
  ASSERT_EQ(0, ::statfs(BERTHD, &of_program));
  const bool in_memory = of_program.f_type == TMPFS_MAGIC || of_program.f_type == RAMFS_MAGIC;
  const std::string field = in_memory ? "RssAnon:" : "VmRSS:";
  std::ifstream status("/proc/" + std::to_string(node.pid()) + "/status");
  std::optional<int> kib;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) kib = ParseDecimal<int>(SplitWords(line)[1]);
  ASSERT_TRUE(kib);
  EXPECT_LE(*kib, (in_memory ? 6 : 20) * 1024) << field;
}

TEST_F(DaemonNodeTest, ACpusetEditedByHandIsPutBackItsWriterNamedAndAQuotaToo) {
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  node.Start();
  ASSERT_TRUE(node.Until("own runs", [&] { return node.Runs("own"); }));
  const std::string group = node.PodNamed("own")["containers"][0]["cgroup"].get<std::string>();
  const auto write = [&](const std::string& file, const char* value) { return (std::ofstream(file) << value).good(); };
  const std::string v1_quota = node.GroupFile("cpu", group, "cpu.cfs_quota_us");
  const bool v1 = ::access(v1_quota.c_str(), F_OK) == 0;
  const std::string quota = v1 ? v1_quota : node.GroupFile("cpu", group, "cpu.max");
  const std::string before = ReadText(quota);
  // Berth's own group may be widened and narrowed at any time: its processes are the supervisors and berthd.
  const std::string all = FormatIds(OnlineCpus());
  // The kernel names the writer a moment after the value is there: a look of berthd's own between the two names nobody.
  const std::string writer = "(pid " + std::to_string(::getpid());
  for (int tries = 1, repairs = 0; node.CountEvents("CgroupRepaired", writer) == 0; ++tries) {
    ASSERT_LE(tries, 100) << "the writer is never named: " << node.Repairs();
    ASSERT_TRUE(write(node.GroupFile("cpuset", "berth", "cpuset.cpus"), all.c_str()));
    ASSERT_TRUE(node.Until("it is put right", [&] { return node.CountEvents("CgroupRepaired") > repairs; }));
    repairs = node.CountEvents("CgroupRepaired");
  }
  EXPECT_EQ(Trim(ReadText(node.GroupFile("cpuset", "berth", "cpuset.cpus"))), FormatIds(OnlineCpus() - kOwn));
  ASSERT_TRUE(write(node.GroupFile("cpuset", group, "cpuset.cpus"), "0"));
  ASSERT_TRUE(node.Until("the container has its CPU again",
                         [&] { return Trim(ReadText(node.GroupFile("cpuset", group, "cpuset.cpus"))) == "1"; }));
  // All values are looked at each minute, and at the start. Not before the cpuset is back: systemd puts its own quota
  // back with that.
  node.Kill();
  ASSERT_TRUE(write(quota, v1 ? "50000" : "50000 100000"));
  node.Start();
  EXPECT_TRUE(node.Until("the quota is put back", [&] { return ReadText(quota) == before; }));
  EXPECT_TRUE(node.Until("an event says so",
                         [&] { return node.CountEvents("CgroupRepaired", v1 ? "cpu.cfs_quota_us" : "cpu.max") > 0; }));
  EXPECT_EQ(node.Pids().size(), 1U);
}

TEST_F(DaemonNodeTest, UnderMemoryPressureAPodGoesWithItsFiguresAndACriticalOneStays) {
  node.Configure("evictionHard: {memory.available: \"99%\"}\n");  // so pressure is there from the start
  const auto manifest = [](const std::string& name, const std::string& priority) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  " + priority +
           "\n  terminationGracePeriodSeconds: 60\n  containers:\n  - name: c\n    image: none\n"
           "    command: [\"/bin/sh\", \"-c\", \"trap '' TERM; while :; do sleep 1; done\"]\n"
           "    resources: {requests: {memory: 64Ki}}\n";
  };
  node.AddPod("vital.yaml", manifest("vital", "priority: 2000000000"));
  node.AddPod("hog.yaml", manifest("hog", "priority: 0"));
  node.AddPod("idle.yaml", SpinnerManifest("idle", ""));
  node.Start();
  ASSERT_TRUE(node.Until("vital runs", [&] { return node.Runs("vital"); }));
  ASSERT_TRUE(node.Until("hog is evicted", [&] {
    const codec::Json pod = node.PodNamed("hog");
    return !pod.is_null() && pod["reason"] == "Evicted" && !node.Runs("hog");
  }));
  const std::string message = node.PodNamed("hog")["message"].get<std::string>();
  EXPECT_TRUE(message.starts_with("The node was low on resource: memory. Threshold quantity: ")) << message;
  EXPECT_NE(message.find("request is 65536"), std::string::npos) << message;
  EXPECT_TRUE(node.Runs("vital"));
  EXPECT_EQ("NodeUnderPressure", node.PodNamed("idle")["reason"].get<std::string>());
  EXPECT_GE(node.CountEvents("EvictionThresholdMet"), 1);
  EXPECT_EQ(node.CountEvents("NodeHasMemoryPressure"), 1);
}

TEST_F(DaemonNodeTest, LeavesNothingBehind) {
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  node.AddPod("burst.yaml", SpinnerManifest("burst", ""));
  node.Start({"--stop-containers"});
  ASSERT_TRUE(node.Until("both run", [&] { return node.Runs("own") && node.Runs("burst"); }));
  std::vector<int> pids;
  for (const SeenProcess& p : node.Processes())
    if (p.pid != node.pid()) pids.push_back(p.pid);
  EXPECT_GE(pids.size(), 4U) << "two spinners and their supervisors";
  EXPECT_EQ(node.Stop(), 0) << node.output();
  EXPECT_TRUE(node.Groups().empty()) << node.Groups().front();
  node.Until("supervisors and containers are gone",
             [&] { return std::ranges::none_of(pids, [](int pid) { return ::kill(pid, 0) == 0; }); });
}

TEST_F(DaemonNodeTest, StoppedWithoutBeingToldMoreItLeavesContainersRunning) {
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  node.Start();
  ASSERT_TRUE(node.Until("own runs", [&] { return node.Runs("own"); }));
  const int pid = node.Pids().begin()->second;
  EXPECT_EQ(node.Stop(), 0);
  EXPECT_EQ(::kill(pid, 0), 0);
  node.Start({"--stop-containers"});
  EXPECT_EQ(node.Pids().begin()->second, pid);
}

}  // namespace
}  // namespace berth::testkit
