// The tree on a kernel played in memory: both versions, with the rules the real ones refuse by.
#include "host/cgroup/host_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>

#include "testing/fake_cgroups.h"
#include "testing/fault_fs.h"
#include "testing/fixtures.h"
#include "testing/memory_fs.h"
#include "testing/queued_executor.h"

namespace berth::cgroup {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testkit::Cpus;
using testkit::FakeCgroups;
using testkit::FaultFs;
using testkit::FsWrapper;
using testkit::MemoryFs;

constexpr std::string_view kPod = "kubepods/burstable/podu1";
constexpr std::string_view kContainer = "kubepods/burstable/podu1/web";

NodeSet Nodes(std::string_view text) { return *NodeSet::Parse(text); }

CgroupValues CpusOnly(std::string_view text) {
  CgroupValues v;
  v.cpus = Cpus(text);
  return v;
}

/// A host with its tree; the doors record instead of killing and waiting.
struct Host {
  explicit Host(FakeCgroups::Options options, const std::string& root = "berth") : kernel(fs, std::move(options)) {
    tree = Open(testkit::Share(fs), root);
    BERTH_CHECK(tree != nullptr);
  }
  std::unique_ptr<Tree> Open(std::unique_ptr<os::Fs> through, const std::string& root = "berth") {
    auto layout = DiscoverLayout(fs);
    EXPECT_TRUE(layout) << layout.error().message;
    auto opened = OpenTree(std::move(through), *layout, root, Doors());
    if (opened) return *std::move(opened);
    error = opened.error();
    return nullptr;
  }
  TreeDoors Doors() {
    return {.kill = [this](const std::vector<int>& pids, const auto& still_there) -> Result<void> {
              BERTH_TRY(const std::vector<int> there, still_there());
              killed.insert(killed.end(), pids.begin(), pids.end());
              if (die_after-- > 0) return {};
              for (const int pid : there) kernel.EndProcess(pid);
              return {};
            },
            .wait = [this](os::Millis t) { waited += t; }};
  }
  MemoryFs fs;
  FakeCgroups kernel;
  std::unique_ptr<Tree> tree;
  Error error;
  std::vector<int> killed;
  int die_after = 0;  ///< passes that processes survive
  os::Millis waited{0};
};

class TreeTest : public ::testing::TestWithParam<bool> {
 protected:
  Host host_{{.v2 = GetParam()}};
  bool v2() const { return GetParam(); }
  Tree& tree() { return *host_.tree; }
  std::string At(std::string_view path) { return "berth/" + std::string(path); }
};

INSTANTIATE_TEST_SUITE_P(Versions, TreeTest, ::testing::Bool(),
                         [](const auto& which) { return which.param ? "V2" : "V1"; });

CgroupValues Everything() {
  return {.cpus = Cpus("2-3"),
          .mems = Nodes("1"),
          .shares = 512,
          .weight = 59,
          .cpu_max = CpuMax{.quota = microseconds(50'000), .period = microseconds(100'000)},
          .memory_max = MiB(64),
          .swap_max = Bytes{0},
          .pids_max = 20,
          .memory_min = MiB(8),
          .memory_low = MiB(16),
          .memory_high = MiB(48),
          .oom_group = true,
          .hugetlb = {}};
}

TEST_P(TreeTest, WritesAllValuesOnceAndReadsThemBack) {
  ASSERT_TRUE(tree().Create(kContainer));
  const auto first = tree().Write(kContainer, Everything());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(v2() ? 11 : 7, *first);
  const auto second = tree().Write(kContainer, Everything());
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(0, *second) << "nothing differs";

  CgroupValues want = Everything();
  want.hugetlb.reset();
  (v2() ? want.shares : want.weight).reset();
  if (!v2()) want.memory_min.reset(), want.memory_low.reset(), want.memory_high.reset(), want.oom_group.reset();
  const auto seen = tree().Read(kContainer);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(want, *seen);
}

TEST_P(TreeTest, SetsMemoryNodesBeforeCpus) {
  ASSERT_TRUE(tree().Create(kContainer));
  host_.fs.ClearLog();
  CgroupValues v = CpusOnly("1");
  v.mems = Nodes("0");
  ASSERT_TRUE(tree().Write(kContainer, v));
  EXPECT_THAT(host_.fs.log(), ElementsAre(HasSubstr("cpuset.mems 0"), HasSubstr("cpuset.cpus 1")));
}

TEST_P(TreeTest, CreatingTwiceChangesNothing) {
  ASSERT_TRUE(tree().Create(kContainer));
  host_.fs.ClearLog();
  const std::uint64_t writes = tree().writes();
  ASSERT_TRUE(tree().Create(kContainer));
  EXPECT_THAT(host_.fs.log(), IsEmpty());
  EXPECT_EQ(writes, tree().writes());
}

TEST_P(TreeTest, AForeignWriteIsRepairedByOneWrite) {
  ASSERT_TRUE(tree().Create(kContainer));
  ASSERT_TRUE(tree().Write(kContainer, Everything()));
  ASSERT_TRUE(host_.kernel.ForeignWrite("cpuset", At(kContainer), "cpuset.cpus", "0-3"));
  EXPECT_EQ(Cpus("0-3"), tree().Read(kContainer)->cpus);
  EXPECT_EQ(1, *tree().Write(kContainer, Everything()));
  EXPECT_EQ("2-3", host_.kernel.Value("cpuset", At(kContainer), "cpuset.cpus"));
}

TEST_P(TreeTest, LimitsAreComparedAsTheKernelRoundsThem) {
  ASSERT_TRUE(tree().Create(kContainer));
  CgroupValues v;
  v.memory_max = Bytes{1'000'001};
  EXPECT_EQ(1, *tree().Write(kContainer, v));
  EXPECT_EQ(0, *tree().Write(kContainer, v));
  EXPECT_EQ(Bytes{999'424}, tree().Read(kContainer)->memory_max);
}

TEST_P(TreeTest, NoLimitLiftsAllLimits) {
  ASSERT_TRUE(tree().Create(kContainer));
  ASSERT_TRUE(tree().Write(kContainer, Everything()));
  CgroupValues v;
  v.cpu_max = CpuMax{};
  v.memory_max = v.swap_max = Bytes{-1};
  v.pids_max = -1;
  ASSERT_TRUE(tree().Write(kContainer, v));
  const auto seen = tree().Read(kContainer);
  ASSERT_TRUE(seen);
  EXPECT_EQ(CpuMax{}, seen->cpu_max);
  EXPECT_EQ(Bytes{-1}, seen->memory_max);
  EXPECT_EQ(Bytes{-1}, seen->swap_max);
  EXPECT_EQ(-1, seen->pids_max);
}

TEST_P(TreeTest, AnEmptyCpuSetIsRefused) {
  ASSERT_TRUE(tree().Create(kContainer));
  EXPECT_EQ(Code::kInvalid, tree().Write(kContainer, CpusOnly("")).error().code);
}

TEST_P(TreeTest, CpusAreTakenAwayByOneWrite) {
  ASSERT_TRUE(tree().Create(kContainer));
  ASSERT_TRUE(tree().Write(kContainer, CpusOnly("0-3")));
  const std::uint64_t before = tree().writes();
  ASSERT_TRUE(tree().NarrowCpus(kContainer, Cpus("0,3")));
  EXPECT_EQ(before + 1, tree().writes());
  EXPECT_EQ(Cpus("0,3"), host_.kernel.EffectiveCpus("berth/" + std::string(kContainer)));
  EXPECT_FALSE(tree().NarrowCpus(kContainer, CpuSet()));
  EXPECT_EQ(Code::kNotFound, tree().NarrowCpus("kubepods/poda/gone", Cpus("0")).error().code);
}

TEST_P(TreeTest, NamesThatAreNoNamesNeverReachTheDisk) {
  host_.fs.ClearLog();
  for (const char* path : {"kubepods/../../etc", "..", ".", "a//b", "/a", "a/", "a b", "a\nb", "a/cpu.max", "tasks",
                           "cgroup.procs", "b\xc3\xa4r"}) {
    const auto made = tree().Create(path);
    ASSERT_FALSE(made) << path;
    EXPECT_EQ(Code::kInvalid, made.error().code) << path;
    EXPECT_FALSE(tree().Remove(path)) << path;
    EXPECT_FALSE(tree().Kill(path)) << path;
    EXPECT_THAT(tree().Dirs(path).dirs, IsEmpty()) << path;
  }
  EXPECT_FALSE(tree().Create(std::string(256, 'x')));
  EXPECT_THAT(host_.fs.log(), IsEmpty());
}

TEST_P(TreeTest, UnknownCgroupsAreNotFound) {
  EXPECT_EQ(Code::kNotFound, tree().Read("nobody").error().code);
  EXPECT_EQ(Code::kNotFound, tree().Write("nobody", CpusOnly("1")).error().code);
  EXPECT_THAT(*tree().Pids("nobody"), IsEmpty());
  EXPECT_THAT(*tree().Children("nobody"), IsEmpty());
  EXPECT_TRUE(tree().Kill("nobody"));
  EXPECT_TRUE(tree().Remove("nobody"));
}

TEST_P(TreeTest, ListsChildrenAndProcessesOfTheWholeSubtree) {
  ASSERT_TRUE(tree().Create(kContainer));
  ASSERT_TRUE(tree().Create("kubepods/burstable/podu1/log.tail"));
  ASSERT_TRUE(host_.kernel.AddProcess(At(kContainer), 30));
  ASSERT_TRUE(host_.kernel.AddProcess(At("kubepods/burstable/podu1/log.tail"), 4));
  EXPECT_THAT(*tree().Children(kPod), ElementsAre("log.tail", "web"));
  EXPECT_THAT(*tree().Pids(kPod), ElementsAre(4, 30));
  EXPECT_THAT(*tree().Pids(kContainer), ElementsAre(30));
}

/// What is opened: each is a system call.
struct CountingFs final : testkit::FsWrapper {
  using FsWrapper::FsWrapper;
  Result<std::string> Read(std::string_view path) override {
    ++opens;
    return FsWrapper::Read(path);
  }
  Result<std::vector<std::string>> List(std::string_view path) override {
    ++opens;
    return FsWrapper::List(path);
  }
  int opens = 0;
};

TEST_P(TreeTest, WhetherSomethingRunsInAGroupIsOneLookWhereItDoes) {
  ASSERT_TRUE(tree().Create(kContainer));
  CountingFs counting(host_.fs);
  const auto counted = host_.Open(testkit::Share(counting));
  ASSERT_TRUE(counted);
  EXPECT_FALSE(*counted->HasProcesses(kPod));
  EXPECT_FALSE(*counted->HasProcesses("nobody"));
  ASSERT_TRUE(host_.kernel.AddProcess(At(kContainer), 30));
  counting.opens = 0;
  EXPECT_TRUE(*counted->HasProcesses(kContainer));
  EXPECT_EQ(1, counting.opens);
  EXPECT_TRUE(*counted->HasProcesses(kPod));
  EXPECT_EQ(4, counting.opens) << "its own, what is below, and that";
  counting.opens = 0;
  EXPECT_THAT(*counted->CpusetChildren(kPod), ElementsAre("web"));
  EXPECT_EQ(1, counting.opens);
}

// ---- memory of processes ----

struct MemoryMoveTest : TreeTest {
  void SetUp() override {
    ASSERT_TRUE(tree().Create(kContainer));
    ASSERT_TRUE(tree().Create(kOther));
    ASSERT_TRUE(host_.kernel.AddProcess(At(kContainer), 30));
    tree().WaitBehind(executor_, [this] { ++answers_; });
  }
  static constexpr std::string_view kOther = "kubepods/burstable/podu1/log";
  std::string Mems() { return host_.kernel.Value("cpuset", At(kContainer), "cpuset.mems"); }
  std::optional<Code> FailureOf(const CgroupValues& values, std::string_view path = kContainer) {
    const auto written = tree().Write(path, values);
    return written ? std::nullopt : std::optional(written.error().code);
  }
  static CgroupValues On(std::string_view cpus, std::string_view mems) {
    CgroupValues v = CpusOnly(cpus);
    v.mems = Nodes(mems);
    return v;
  }
  testkit::QueuedExecutor executor_;
  int answers_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Versions, MemoryMoveTest, ::testing::Bool(),
                         [](const auto& which) { return which.param ? "V2" : "V1"; });

TEST_P(MemoryMoveTest, NodesOfWhatRunsAreWrittenOnAnotherThread) {
  const std::string before = Mems();
  EXPECT_EQ(Code::kBusy, FailureOf(On("1", "1")));
  EXPECT_TRUE(tree().asking());
  EXPECT_EQ(before, Mems()) << "not by the thread that asked for it";
  EXPECT_EQ("1", host_.kernel.Value("cpuset", At(kContainer), "cpuset.cpus")) << "everything else is";
  EXPECT_EQ(Code::kBusy, tree().ReadCpuset(kContainer).error().code) << "its nodes are neither these nor those";
  EXPECT_TRUE(tree().ReadCpuset(kOther));
  ASSERT_TRUE(executor_.RunOne());
  EXPECT_EQ(1, answers_);
  EXPECT_FALSE(tree().asking());
  EXPECT_EQ("1", Mems());
  EXPECT_FALSE(FailureOf(On("1", "1")));
  EXPECT_EQ(0U, executor_.waiting()) << "there is nothing left to be done";
}

// In the kernel each of them would wait for the memory, too.
TEST_P(MemoryMoveTest, NoOtherCpusetIsWrittenMeanwhile) {
  EXPECT_EQ(Code::kBusy, FailureOf(On("1", "1")));
  const std::uint64_t writes = tree().writes();
  EXPECT_EQ(Code::kBusy, FailureOf(CpusOnly("2"), kOther));
  EXPECT_EQ(Code::kBusy, FailureOf(On("1", "0")));
  EXPECT_EQ(Code::kBusy, tree().NarrowCpus(kOther, Cpus("2")).error().code);
  EXPECT_EQ(Code::kBusy, tree().ReturnToCpuset(kOther, {30}).error().code);
  if (!v2()) {
    EXPECT_EQ(Code::kBusy, tree().Create("kubepods/burstable/podu1/new").error().code);
  }
  EXPECT_EQ(writes, tree().writes());
  EXPECT_EQ(1U, executor_.waiting());
  CgroupValues limit;
  limit.pids_max = 99;
  EXPECT_FALSE(FailureOf(limit, kOther)) << "which is no cpuset";
  EXPECT_TRUE(tree().WriteBeforeRun(kOther, CpusOnly("2"))) << "a runtime waits for it";
  host_.kernel.EndProcess(30);
  EXPECT_EQ(Code::kBusy, tree().Remove(kPod).error().code) << "a group of it is being written to";
  executor_.RunAll();
  EXPECT_FALSE(FailureOf(CpusOnly("3"), kOther));
}

TEST_P(MemoryMoveTest, WithoutProcessesThereIsNothingToMove) {
  host_.kernel.EndProcess(30);
  EXPECT_FALSE(FailureOf(On("1", "1")));
  EXPECT_EQ("1", Mems());
  EXPECT_EQ(0U, executor_.waiting());
}

TEST_P(MemoryMoveTest, WhatFailsIsToldOnceAndTriedAgain) {
  EXPECT_EQ(Code::kBusy, FailureOf(On("1", "7")));
  executor_.RunAll();
  const auto why = FailureOf(On("1", "7"));
  EXPECT_TRUE(why && *why != Code::kBusy);
  EXPECT_EQ(Code::kBusy, FailureOf(On("1", "7")));
  executor_.RunAll();
  EXPECT_EQ(Code::kBusy, FailureOf(On("1", "1"))) << "begun: what failed was of other nodes";
  executor_.RunAll();
  EXPECT_EQ("1", Mems());
}

TEST_P(MemoryMoveTest, AGroupThatGoesMeanwhileIsNoFailure) {
  EXPECT_EQ(Code::kBusy, FailureOf(On("1", "1")));
  host_.kernel.EndProcess(30);
  for (const std::string& dir : tree().Dirs(kContainer).dirs) ASSERT_TRUE(host_.fs.RemoveDir(dir));
  executor_.RunAll();
  EXPECT_EQ(1, answers_);
  EXPECT_EQ(Code::kNotFound, FailureOf(On("1", "1")));
}

TEST_P(MemoryMoveTest, TheTopOfTheHierarchiesIsReadAtAnyTime) {
  Host top({.v2 = v2()}, "");
  EXPECT_TRUE(top.tree->ReadCpuset(""));
}

TEST_P(MemoryMoveTest, WhoWaitsHereAgainWritesHere) {
  EXPECT_EQ(Code::kBusy, FailureOf(On("1", "0")));
  tree().WaitHere();
  EXPECT_FALSE(FailureOf(On("1", "1")));
  EXPECT_EQ("1", Mems());
}

TEST_P(TreeTest, KillsAndRemovesAWholePod) {
  ASSERT_TRUE(tree().Create(kContainer));
  ASSERT_TRUE(host_.kernel.AddProcess(At(kContainer), 30));
  const auto busy = tree().Remove(kPod);
  ASSERT_FALSE(busy);
  EXPECT_EQ(Code::kBusy, busy.error().code);
  EXPECT_THAT(busy.error().message, HasSubstr("30"));
  EXPECT_THAT(*tree().Children(kPod), ElementsAre("web")) << "nothing was removed";

  host_.die_after = 2;
  ASSERT_TRUE(tree().Kill(kPod));
  EXPECT_EQ(v2() ? 0u : 3u, host_.killed.size());
  ASSERT_TRUE(tree().Remove(kPod));
  EXPECT_THAT(*tree().Children("kubepods/burstable"), IsEmpty());
  EXPECT_FALSE(host_.fs.IsDir(host_.kernel.Dir("memory", At(kPod))));
}

TEST_P(TreeTest, WhoSurvivesAKillIsNamedWithItsState) {
  if (v2()) GTEST_SKIP() << "cgroup.kill of the played kernel leaves nobody";
  ASSERT_TRUE(tree().Create(kContainer));
  ASSERT_TRUE(host_.kernel.AddProcess(At(kContainer), 30));
  host_.die_after = 1;
  const auto alive = tree().Kill(kPod, os::Millis(0));
  ASSERT_FALSE(alive);
  EXPECT_EQ(Code::kBusy, alive.error().code);
  EXPECT_THAT(alive.error().message, HasSubstr("survive SIGKILL: 30 (state "));
}

TEST_P(TreeTest, TheRootStays) {
  EXPECT_EQ(Code::kInvalid, tree().Remove("").error().code);
  EXPECT_TRUE(host_.fs.IsDir(host_.kernel.Dir("cpuset", "berth")));
}

TEST_P(TreeTest, RemoveWaitsForTheKernelToLetGo) {
  ASSERT_TRUE(tree().Create(kContainer));
  int refusals = 3;
  struct Slow : FsWrapper {
    Slow(os::Fs& fs, int& n) : FsWrapper(fs), left(n) {}
    Result<void> RemoveDir(std::string_view path) override {
      if (left-- > 0) return FailErrno("rmdir", path, EBUSY);
      return FsWrapper::RemoveDir(path);
    }
    int& left;
  };
  const auto slow = host_.Open(std::make_unique<Slow>(host_.fs, refusals));
  ASSERT_TRUE(slow->Remove(kContainer));
  EXPECT_EQ(os::Millis(1 + 2 + 4), host_.waited);
  refusals = 1'000'000;
  const auto stuck = slow->Remove(kPod);
  ASSERT_FALSE(stuck);
  EXPECT_EQ(Code::kBusy, stuck.error().code);
  EXPECT_EQ(os::Millis(7 + 2000), host_.waited) << "bounded";
}

TEST_P(TreeTest, EveryFailedWriteIsNamedAndARetryCompletes) {
  for (const auto kind : {FaultFs::Kind::kFail, FaultFs::Kind::kFailAfter}) {
    for (int n = 0;; ++n) {
      Host host({.v2 = GetParam()});
      FaultFs faulty(host.fs, {.at = n, .kind = kind, .sys = EIO});
      const auto tree = host.Open(testkit::Share(faulty));
      const auto work = [&]() -> Result<void> {
        if (tree == nullptr) return std::unexpected(host.error);
        BERTH_RETURN_IF_ERROR(tree->Create(kContainer));
        BERTH_TRY([[maybe_unused]] const int writes, tree->Write(kContainer, Everything()));
        return tree->Remove(kPod);
      };
      const auto first = work();
      if (!faulty.fired()) break;
      ASSERT_FALSE(first) << n;
      EXPECT_EQ(EIO, first.error().sys) << n;
      EXPECT_THAT(first.error().message, HasSubstr("sys/fs/cgroup/")) << n;
      if (tree == nullptr) continue;
      const auto again = work();
      EXPECT_TRUE(again) << n << ": " << again.error().message;
    }
  }
}

TEST(V1TreeTest, NewCpusetsAreFitForProcessesFromTheRootDown) {
  Host host({});
  ASSERT_TRUE(host.tree->Create(kContainer));
  EXPECT_EQ("0-3", host.kernel.Value("cpuset", "berth/kubepods/burstable/podu1/web", "cpuset.cpus"));
  EXPECT_EQ("0-1", host.kernel.Value("cpuset", "berth/kubepods", "cpuset.mems"));
  EXPECT_TRUE(host.kernel.AddProcess("berth/kubepods/burstable/podu1/web", 5));
}

TEST(V1TreeTest, DirsNamesEveryHierarchyOnce) {
  Host host({});
  const CgroupDirs dirs = host.tree->Dirs("kubepods");
  EXPECT_FALSE(dirs.v2);
  EXPECT_THAT(dirs.dirs,
              ElementsAre("/sys/fs/cgroup/cpuset/berth/kubepods", "/sys/fs/cgroup/cpu,cpuacct/berth/kubepods",
                          "/sys/fs/cgroup/memory/berth/kubepods", "/sys/fs/cgroup/pids/berth/kubepods"));
}

TEST(V1TreeTest, WidensItsOwnLevelsWhenAChildNeedsMore) {
  Host host({}, "");
  ASSERT_TRUE(host.tree->Create(kContainer));
  for (const char* level :
       {"kubepods/burstable/podu1/web", "kubepods/burstable/podu1", "kubepods/burstable", "kubepods"})
    ASSERT_TRUE(host.kernel.ForeignWrite("cpuset", level, "cpuset.cpus", "0-1"));
  EXPECT_EQ(4, *host.tree->Write(kContainer, CpusOnly("3")));
  EXPECT_EQ("0-1,3", host.kernel.Value("cpuset", "kubepods/burstable", "cpuset.cpus"));
  EXPECT_EQ("3", host.kernel.Value("cpuset", kContainer, "cpuset.cpus"));
}

TEST(V1TreeTest, ReturnsProcessesThatTheKernelMovedOutOfTheirCpuset) {
  Host host({}, "");
  const std::string pod = "kubepods/burstable/podu1";
  ASSERT_TRUE(host.tree->Create(pod + "/web"));
  ASSERT_TRUE(host.tree->Create(pod + "/log"));
  for (const int pid : {5, 6}) ASSERT_TRUE(host.kernel.AddProcess(pod + "/web", pid));
  ASSERT_TRUE(host.kernel.AddProcess(pod + "/log", 7));
  for (const char* pid : {"5", "7"}) ASSERT_TRUE(host.kernel.ForeignWrite("cpuset", pod, "cgroup.procs", pid));
  ASSERT_EQ("5\n7", host.kernel.Value("cpuset", pod, "cgroup.procs"));
  EXPECT_THAT(*host.tree->CpusetPids(pod), ElementsAre(5, 7));
  EXPECT_EQ(1, *host.tree->ReturnToCpuset(pod + "/web", {5, 7}));
  EXPECT_THAT(*host.tree->CpusetPids(pod), ElementsAre(7)) << "of another container";
  EXPECT_EQ("5\n6", host.kernel.Value("cpuset", pod + "/web", "cgroup.procs"));
  EXPECT_EQ(0, *host.tree->ReturnToCpuset(pod + "/gone", {7}));
  EXPECT_THAT(*host.tree->CpusetPids(pod + "/gone"), IsEmpty());
}

/// Moves no process with an odd pid.
struct OddOnesStay : testkit::FsWrapper {
  using FsWrapper::FsWrapper;
  Result<void> Write(std::string_view path, std::string_view s) override {
    if (path.ends_with("/cgroup.procs") && (s.back() - '0') % 2 == 1) return FailErrno("write", path, EINVAL);
    return FsWrapper::Write(path, s);
  }
};

TEST(V1TreeTest, AProcessThatCannotBeMovedBackKeepsNoOtherOut) {
  Host host({}, "");
  const std::string pod = "kubepods/burstable/podu1";
  ASSERT_TRUE(host.tree->Create(pod + "/web"));
  for (const int pid : {5, 8}) {
    ASSERT_TRUE(host.kernel.AddProcess(pod + "/web", pid));
    ASSERT_TRUE(host.kernel.ForeignWrite("cpuset", pod, "cgroup.procs", std::to_string(pid)));
  }
  const auto tree = host.Open(std::make_unique<OddOnesStay>(host.fs), "");
  const auto returned = tree->ReturnToCpuset(pod + "/web", {5, 8});
  ASSERT_FALSE(returned);
  EXPECT_EQ(EINVAL, returned.error().sys);
  EXPECT_EQ("8", host.kernel.Value("cpuset", pod + "/web", "cgroup.procs"));
}

TEST(V1TreeTest, DoesNotWidenWhatIsNotItsOwn) {
  Host host({}, "site/berth");
  ASSERT_TRUE(host.tree->Create("kubepods"));
  for (const char* level : {"site/berth/kubepods", "site/berth", "site"})
    ASSERT_TRUE(host.kernel.ForeignWrite("cpuset", level, "cpuset.cpus", "0-1"));
  const auto refused = host.tree->Write("kubepods", CpusOnly("3"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(Code::kPermission, refused.error().code);
  EXPECT_THAT(refused.error().message, HasSubstr("/sys/fs/cgroup/cpuset/site only has 0-1"));
  EXPECT_EQ("0-1", host.kernel.Value("cpuset", "site", "cpuset.cpus"));
}

TEST(V1TreeTest, CpusTheHostDoesNotHaveAreRefused) {
  Host host({});
  ASSERT_TRUE(host.tree->Create(kContainer));
  const auto refused = host.tree->Write(kContainer, CpusOnly("7"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(EINVAL, refused.error().sys);
  EXPECT_THAT(refused.error().message, HasSubstr("set 7: write /sys/fs/cgroup/cpuset/berth/kubepods/burstable"));
}

TEST(V1TreeTest, SwapLimitMovesFirstUpwardsAndLastDownwards) {
  Host host({});
  ASSERT_TRUE(host.tree->Create(kContainer));
  const auto set = [&](std::int64_t mib) {
    CgroupValues v;
    v.memory_max = MiB(mib), v.swap_max = Bytes{0};
    return host.tree->Write(kContainer, v);
  };
  ASSERT_TRUE(set(64));
  host.fs.ClearLog();
  ASSERT_TRUE(set(128));
  ASSERT_TRUE(set(32));
  EXPECT_THAT(
      host.fs.log(),
      ElementsAre(HasSubstr("memory.memsw.limit_in_bytes 134217728"), HasSubstr("memory.limit_in_bytes 134217728"),
                  HasSubstr("memory.limit_in_bytes 33554432"), HasSubstr("memory.memsw.limit_in_bytes 33554432")));
}

TEST(V1TreeTest, RaisingOnlyTheMemoryLimitTakesTheSwapLimitAlong) {
  Host host({});
  ASSERT_TRUE(host.tree->Create(kContainer));
  CgroupValues v;
  v.memory_max = MiB(64), v.swap_max = Bytes{0};
  ASSERT_TRUE(host.tree->Write(kContainer, v));
  v.swap_max.reset(), v.memory_max = MiB(128);
  EXPECT_EQ(2, *host.tree->Write(kContainer, v));
  EXPECT_EQ("134217728",
            host.kernel.Value("memory", "berth/kubepods/burstable/podu1/web", "memory.memsw.limit_in_bytes"));
}

TEST(V1TreeTest, AHostThatDoesNotCountSwapHasNoSwapLimit) {
  Host host({.swap = false});
  ASSERT_TRUE(host.tree->Create(kContainer));
  CgroupValues v;
  v.memory_max = MiB(64), v.swap_max = Bytes{0};
  EXPECT_EQ(1, *host.tree->Write(kContainer, v));
  EXPECT_EQ(std::nullopt, host.tree->Read(kContainer)->swap_max);
}

TEST(V1TreeTest, MemoryBelowUsageNamesTheFigures) {
  Host host({});
  ASSERT_TRUE(host.tree->Create(kContainer));
  const std::string dir = host.kernel.Dir("memory", "berth/" + std::string(kContainer));
  host.fs.AddFile(dir + "/memory.usage_in_bytes", "38666240\n");
  host.fs.AddFile(dir + "/memory.max_usage_in_bytes", "38907904\n");
  CgroupValues v;
  v.memory_max = MiB(1);
  const auto busy = host.tree->Write(kContainer, v);
  ASSERT_FALSE(busy);
  EXPECT_EQ(Code::kBusy, busy.error().code);
  EXPECT_EQ(EBUSY, busy.error().sys);
  EXPECT_THAT(busy.error().message, HasSubstr("to 1048576 (current usage: 38666240, peak usage: 38907904)"));
}

TEST(V1TreeTest, QuotaAboveTheParentsIsRefusedAndTheOrderAvoidsFalseRefusals) {
  Host host({});
  ASSERT_TRUE(host.tree->Create(kContainer));
  const auto set = [&](std::string_view path, std::int64_t quota, std::int64_t period) {
    CgroupValues v;
    v.cpu_max = CpuMax{.quota = microseconds(quota), .period = microseconds(period)};
    return host.tree->Write(path, v);
  };
  ASSERT_TRUE(set(kPod, 50'000, 100'000));
  ASSERT_TRUE(set(kContainer, 50'000, 100'000));
  const auto refused = set(kContainer, 60'000, 100'000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(EINVAL, refused.error().sys);
  EXPECT_THAT(refused.error().message, HasSubstr("cpu.cfs_quota_us"));
  // Half a CPU again, but a shorter period: period first would be more than the parent has.
  ASSERT_TRUE(set(kContainer, 5'000, 10'000));
  ASSERT_TRUE(set(kContainer, 50'000, 100'000));
}

TEST(V1TreeTest, OldKernelsAreToldToCountChildren) {
  MemoryFs fs;
  FakeCgroups kernel(fs, {});
  ASSERT_TRUE(fs.MakeDir("sys/fs/cgroup/memory/berth"));
  fs.AddFile("sys/fs/cgroup/memory/berth/memory.use_hierarchy", "0\n");
  auto tree = OpenTree(testkit::Share(fs), *DiscoverLayout(fs), "berth", {});
  ASSERT_TRUE(tree);
  ASSERT_TRUE((*tree)->Create("kubepods"));
  EXPECT_EQ("1", kernel.Value("memory", "berth", "memory.use_hierarchy"));
}

TEST(V1TreeTest, SharesOutOfRangeAreRefused) {
  Host host({});
  ASSERT_TRUE(host.tree->Create("a"));
  for (const std::uint64_t shares : {0UL, 1UL, 262'145UL}) {
    CgroupValues v;
    v.shares = shares;
    EXPECT_EQ(Code::kInvalid, host.tree->Write("a", v).error().code) << shares;
  }
}

TEST(V2TreeTest, HandsDownOnlyTheControllersItNeeds) {
  Host host({.v2 = true});
  ASSERT_TRUE(host.tree->Create(kContainer));
  EXPECT_EQ("cpuset cpu memory pids", host.kernel.Value("cpuset", "", "cgroup.subtree_control"));
  EXPECT_EQ("cpuset cpu memory pids",
            host.kernel.Value("cpuset", "berth/kubepods/burstable/podu1", "cgroup.subtree_control"));
  EXPECT_EQ("", host.kernel.Value("cpuset", "berth/kubepods/burstable/podu1/web", "cgroup.subtree_control"))
      << "a leaf holds processes";
  EXPECT_TRUE(host.kernel.AddProcess("berth/kubepods/burstable/podu1/web", 5));
}

TEST(V2TreeTest, SaysWhoStandsInTheWayOfControllers) {
  MemoryFs fs;
  FakeCgroups kernel(fs, {.v2 = true});
  ASSERT_TRUE(fs.MakeDir("sys/fs/cgroup/berth"));
  ASSERT_TRUE(kernel.AddProcess("berth", 77));
  auto tree = OpenTree(testkit::Share(fs), *DiscoverLayout(fs), "berth", {});
  ASSERT_TRUE(tree) << tree.error().message;
  const auto made = (*tree)->Create("kubepods");
  ASSERT_FALSE(made);
  EXPECT_EQ(Code::kBusy, made.error().code);
  EXPECT_THAT(made.error().message, HasSubstr("processes live in /sys/fs/cgroup/berth"));
}

TEST(V2TreeTest, OneDirectoryIsEnough) {
  Host host({.v2 = true});
  const CgroupDirs dirs = host.tree->Dirs("kubepods/podx");
  EXPECT_TRUE(dirs.v2);
  EXPECT_THAT(dirs.dirs, ElementsAre("/sys/fs/cgroup/berth/kubepods/podx"));
}

TEST(V2TreeTest, TiersHaveTheLinearWeightUnlessOneIsGiven) {
  Host host({.v2 = true});
  ASSERT_TRUE(host.tree->Create("kubepods"));
  CgroupValues v;
  v.shares = 1024;
  ASSERT_TRUE(host.tree->Write("kubepods", v));
  EXPECT_EQ("39", host.kernel.Value("cpu", "berth/kubepods", "cpu.weight"));
  v.weight = 100;
  ASSERT_TRUE(host.tree->Write("kubepods", v));
  EXPECT_EQ("100", host.kernel.Value("cpu", "berth/kubepods", "cpu.weight"));
  v.weight = 10'001;
  EXPECT_EQ(Code::kInvalid, host.tree->Write("kubepods", v).error().code);
}

TEST(V2TreeTest, GivesCpusBackThatALevelOfItsOwnTookAway) {
  Host host({.v2 = true});
  ASSERT_TRUE(host.tree->Create(kContainer));
  ASSERT_TRUE(host.tree->Write(kContainer, CpusOnly("2-3")));
  ASSERT_TRUE(host.kernel.ForeignWrite("cpuset", "berth/kubepods", "cpuset.cpus", "0-1"));
  EXPECT_EQ(Cpus("0-1"), host.tree->Read(kContainer)->cpus) << "what counts is where it runs";
  EXPECT_EQ(1, *host.tree->Write(kContainer, CpusOnly("2-3")));
  EXPECT_EQ(Cpus("2-3"), host.tree->Read(kContainer)->cpus);
  EXPECT_EQ("0-3", host.kernel.Value("cpuset", "berth/kubepods", "cpuset.cpus")) << "others keep what they had";
  EXPECT_EQ("", host.kernel.Value("cpuset", "berth/kubepods/burstable", "cpuset.cpus")) << "it inherits";

  ASSERT_TRUE(host.kernel.ForeignWrite("cpuset", std::string("berth/") + std::string(kPod), "cpuset.cpus", "2"));
  EXPECT_EQ(1, *host.tree->Write(kContainer, CpusOnly("2-3"))) << "a part of them is missing";
  EXPECT_EQ(Cpus("2-3"), host.tree->Read(kContainer)->cpus);
  EXPECT_EQ(0, *host.tree->Write(kContainer, CpusOnly("2-3")));
}

TEST(V2TreeTest, SeesThatTheRootHasNoneOfTheCpus) {
  Host host({.v2 = true});
  ASSERT_TRUE(host.tree->Create(kContainer));
  ASSERT_TRUE(host.kernel.ForeignWrite("cpuset", "berth", "cpuset.cpus", "0-1"));
  const auto lost = host.tree->Write(kContainer, CpusOnly("2-3"));
  ASSERT_FALSE(lost);
  EXPECT_EQ(Code::kInvalid, lost.error().code);
  EXPECT_THAT(lost.error().message, HasSubstr("run on 0-1"));
  EXPECT_EQ("0-1", host.kernel.Value("cpuset", "berth", "cpuset.cpus")) << "what Berth may use is for others to say";
  EXPECT_EQ(1, *host.tree->Write(kContainer, CpusOnly("1-2"))) << "a part of them is there";
  EXPECT_EQ(Cpus("1"), host.tree->Read(kContainer)->cpus);
}

TEST(OpenTest, AReadOnlyMountComesWithTheCure) {
  MemoryFs fs;
  FakeCgroups kernel(fs, {});
  auto layout = *DiscoverLayout(fs);
  layout.controllers[2].read_only = true;
  const auto tree = Tree::Open(testkit::Share(fs), layout, "berth");
  ASSERT_FALSE(tree);
  EXPECT_EQ(Code::kPermission, tree.error().code);
  EXPECT_THAT(tree.error().message, HasSubstr("mount -o remount,rw /sys/fs/cgroup/memory"));
}

TEST(OpenTest, WithoutRightsItSaysHowToGetThem) {
  MemoryFs fs;
  FakeCgroups kernel(fs, {});
  FaultFs closed(fs, {.at = 0, .kind = FaultFs::Kind::kFail, .sys = EACCES});
  const auto tree = Tree::Open(testkit::Share(closed), *DiscoverLayout(fs), "/berth/");
  ASSERT_FALSE(tree);
  EXPECT_EQ(Code::kPermission, tree.error().code);
  EXPECT_THAT(tree.error().message, HasSubstr("run as root"));
}

TEST(OpenTest, RefusesRootsThatLeadElsewhere) {
  MemoryFs fs;
  FakeCgroups kernel(fs, {});
  for (const char* root : {"../x", "a/..", "a b"})
    EXPECT_EQ(Code::kInvalid, Tree::Open(testkit::Share(fs), *DiscoverLayout(fs), root).error().code) << root;
}

TEST(OpenTest, AMissingControllerMattersOnlyWhenAsked) {
  MemoryFs fs;
  FakeCgroups kernel(fs, {});
  auto layout = *DiscoverLayout(fs);
  std::erase_if(layout.controllers, [](const ControllerMount& c) { return c.controller == "pids"; });
  auto tree = Tree::Open(testkit::Share(fs), layout, "berth");
  ASSERT_TRUE(tree);
  ASSERT_TRUE((*tree)->Create("a"));
  CgroupValues v = Everything();
  v.pids_max.reset();
  EXPECT_TRUE((*tree)->Write("a", v));
  v.pids_max = 5;
  const auto refused = (*tree)->Write("a", v);
  ASSERT_FALSE(refused);
  EXPECT_EQ(Code::kUnsupported, refused.error().code);
  EXPECT_THAT(refused.error().message, HasSubstr("controller 'pids' is not enabled"));
}

TEST(HugePagesTest, UnlistedSizesGetZero) {
  MemoryFs fs;
  FakeCgroups kernel(fs, {});
  fs.AddDir("sys/kernel/mm/hugepages/hugepages-2048kB");
  fs.AddDir("sys/kernel/mm/hugepages/hugepages-1048576kB");
  fs.AddDir("sys/fs/cgroup/hugetlb");
  auto layout = *DiscoverLayout(fs);
  layout.controllers.push_back({.controller = "hugetlb", .mount = "/sys/fs/cgroup/hugetlb", .v2 = false});
  auto tree = Tree::Open(testkit::Share(fs), layout, "berth");
  ASSERT_TRUE(tree);
  const std::string dir = "sys/fs/cgroup/hugetlb/berth/";
  for (const char* name :
       {"hugetlb.2MB.limit_in_bytes", "hugetlb.1GB.limit_in_bytes", "hugetlb.2MB.rsvd.limit_in_bytes"})
    fs.AddFile(dir + name, "9223372036854771712\n");
  CgroupValues v;
  v.hugetlb.emplace()[MiB(2)] = Bytes{104857600};
  EXPECT_EQ(3, *(*tree)->Write("", v));
  EXPECT_EQ("104857600", fs.Content(dir + "hugetlb.2MB.limit_in_bytes"));
  EXPECT_EQ("104857600", fs.Content(dir + "hugetlb.2MB.rsvd.limit_in_bytes"));
  EXPECT_EQ("0", fs.Content(dir + "hugetlb.1GB.limit_in_bytes"));
  EXPECT_EQ(0, *(*tree)->Write("", v));
}

}  // namespace
}  // namespace berth::cgroup
