// The tree against the kernel of this host, whichever cgroup version it has. Needs root and two CPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>

#include "cgroup_fixture.h"

namespace berth::cgroup {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testkit::RealCgroups;

constexpr std::string_view kPod = "kubepods/burstable/podu1";
constexpr std::string_view kContainer = "kubepods/burstable/podu1/web";

class CgroupRealTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = RealCgroups::WhyNot()) GTEST_SKIP() << "needs real cgroups: " << *why;
    host_.emplace();
    all_ = tree().Read("")->cpus.value_or(CpuSet());
    if (all_.Count() < 2) GTEST_SKIP() << "needs two CPUs, this host has " << FormatIds(all_);
    one_ = CpuSet{*all_.First()};
    rest_ = all_ - one_;
  }
  Tree& tree() { return host_->tree(); }
  static CgroupValues Only(const CpuSet& cpus) {
    CgroupValues v;
    v.cpus = cpus;
    return v;
  }
  /// A container's usual values on the first CPU.
  CgroupValues Usual() const {
    return {.cpus = one_,
            .mems = NodeSet{NumaId{0}},
            .shares = 512,
            .weight = 59,
            .cpu_max = CpuMax{.quota = microseconds(50'000), .period = microseconds(100'000)},
            .memory_max = Bytes{100'000'001},
            .swap_max = Bytes{0},
            .pids_max = 50,
            .hugetlb = {}};
  }

  std::optional<RealCgroups> host_;
  CpuSet all_, one_, rest_;
};

TEST_F(CgroupRealTest, ValuesReadBackAsTheKernelRoundsThem) {
  ASSERT_TRUE(tree().Create(kContainer));
  const auto written = tree().Write(kContainer, Usual());
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_GE(*written, host_->systemd() ? 1 : 6) << "systemd is told all at once";

  const auto seen = tree().Read(kContainer);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(one_, seen->cpus);
  EXPECT_EQ(Usual().mems, seen->mems);
  EXPECT_EQ(Usual().cpu_max, seen->cpu_max);
  EXPECT_EQ(Bytes{99'999'744}, seen->memory_max) << "down to a page of 4 KiB";
  EXPECT_EQ(50, seen->pids_max);
  if (host_->v2("cpu")) {
    EXPECT_EQ("59", host_->Value("cpu", kContainer, "cpu.weight"));
  } else {
    EXPECT_EQ("512", host_->Value("cpu", kContainer, "cpu.shares"));
  }

  EXPECT_EQ(0, *tree().Write(kContainer, Usual())) << "nothing differs, nothing is written";
}

TEST_F(CgroupRealTest, LimitsMoveUpAndDownAndAway) {
  ASSERT_TRUE(tree().Create(kContainer));
  for (const std::int64_t mib : {64, 256, 16, 128}) {
    CgroupValues v;
    v.memory_max = MiB(mib), v.swap_max = Bytes{0};
    const auto written = tree().Write(kContainer, v);
    ASSERT_TRUE(written) << mib << ": " << written.error().message;
    EXPECT_EQ(MiB(mib), tree().Read(kContainer)->memory_max);
  }
  CgroupValues none;
  none.memory_max = none.swap_max = Bytes{-1};
  none.pids_max = -1;
  none.cpu_max = CpuMax{};
  ASSERT_TRUE(tree().Write(kContainer, none));
  const auto seen = tree().Read(kContainer);
  EXPECT_EQ(Bytes{-1}, seen->memory_max);
  EXPECT_EQ(-1, seen->pids_max);
  EXPECT_EQ(CpuMax{}, seen->cpu_max);
}

TEST_F(CgroupRealTest, AProcessIsPinnedFromTheMomentItEnters) {
  ASSERT_TRUE(tree().Create(kContainer));
  ASSERT_TRUE(tree().Write(kContainer, Usual()));
  const int pid = host_->StartSleeper(kContainer);
  EXPECT_EQ(one_, host_->AllowedCpus(pid));
  EXPECT_THAT(*tree().Pids(kPod), ElementsAre(pid));
  ASSERT_TRUE(tree().Kill(kContainer));
  RealCgroups::Reap(pid);
}

TEST_F(CgroupRealTest, ABusyPodIsNotRemovedAKilledOneIs) {
  ASSERT_TRUE(tree().Create(kContainer));
  const int pid = host_->StartSleeper(kContainer, {.children = 20});
  EXPECT_EQ(21u, tree().Pids(kPod)->size());

  const auto busy = tree().Remove(kPod);
  ASSERT_FALSE(busy);
  EXPECT_EQ(Code::kBusy, busy.error().code);
  EXPECT_THAT(*tree().Children(kPod), ElementsAre("web"));

  const auto killed = tree().Kill(kPod);
  ASSERT_TRUE(killed) << killed.error().message;
  EXPECT_THAT(*tree().Pids(kPod), IsEmpty());
  const auto removed = tree().Remove(kPod);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_THAT(*tree().Children("kubepods/burstable"), IsEmpty());
  EXPECT_EQ(Code::kNotFound, tree().Read(kContainer).error().code);
  RealCgroups::Reap(pid);
}

TEST_F(CgroupRealTest, AForeignWriteIsSeenAndRepairedWithExactlyOneWrite) {
  ASSERT_TRUE(tree().Create(kContainer));
  ASSERT_TRUE(tree().Write(kContainer, Usual()));
  host_->ForeignWrite("cpuset", kContainer, "cpuset.cpus", FormatIds(all_));
  EXPECT_EQ(all_, tree().Read(kContainer)->cpus);
  const std::uint64_t before = tree().writes();
  EXPECT_EQ(1, *ApplyCpus(tree(), {{std::string(kContainer), one_}}));
  EXPECT_EQ(before + 1, tree().writes());
  EXPECT_EQ(one_, tree().Read(kContainer)->cpus);
  EXPECT_EQ(0, *tree().Write(kContainer, Usual()));
}

TEST_F(CgroupRealTest, TheSharedPoolMakesRoomForAnExclusiveContainerAndGrowsAfterIt) {
  const std::string exclusive = "kubepods/podg/only";
  const std::string shared(kContainer);
  ASSERT_TRUE(tree().Create(shared));
  ASSERT_TRUE(tree().Write(shared, Only(all_)));
  const int in_pool = host_->StartSleeper(shared);
  ASSERT_TRUE(tree().Create(exclusive));
  EXPECT_EQ(all_, host_->AllowedCpus(in_pool));

  EXPECT_EQ(2, *ApplyCpus(tree(), {{shared, rest_}, {exclusive, one_}}));
  const int alone = host_->StartSleeper(exclusive);
  EXPECT_EQ(rest_, host_->AllowedCpus(in_pool));
  EXPECT_EQ(one_, host_->AllowedCpus(alone));

  ASSERT_TRUE(tree().Kill(exclusive));
  RealCgroups::Reap(alone);
  ASSERT_TRUE(tree().Remove("kubepods/podg"));
  EXPECT_EQ(1, *ApplyCpus(tree(), {{shared, all_}}));
  EXPECT_EQ(all_, host_->AllowedCpus(in_pool));
  ASSERT_TRUE(tree().Kill(shared));
  RealCgroups::Reap(in_pool);
}

TEST_F(CgroupRealTest, LevelsThatAForeignProgramNarrowedAreWidenedAgain) {
  ASSERT_TRUE(tree().Create(kContainer));
  for (const std::string_view level : {kContainer, kPod})
    host_->ForeignWrite("cpuset", level, "cpuset.cpus", FormatIds(one_));
  EXPECT_EQ(2, *tree().Write(kContainer, Only(rest_)));
  EXPECT_EQ(rest_, tree().Read(kContainer)->cpus);
  EXPECT_EQ(all_, tree().Read(kPod)->cpus);
}

TEST_F(CgroupRealTest, RefusalsOfTheKernelNameFileValueAndErrno) {
  ASSERT_TRUE(tree().Create(kContainer));
  const auto absent = tree().Write(kContainer, Only(CpuSet{CpuId{kMaxId}}));
  ASSERT_FALSE(absent);
  EXPECT_NE(0, absent.error().sys);
  EXPECT_THAT(absent.error().message, HasSubstr("set 8191: write /sys/fs/cgroup/"));
  EXPECT_THAT(absent.error().message, HasSubstr("cpuset.cpus"));

  if (host_->v2("cpu")) return;
  CgroupValues v;
  v.cpu_max = CpuMax{.quota = microseconds(10'000), .period = microseconds(100'000)};
  ASSERT_TRUE(tree().Write(kPod, v));
  v.cpu_max->quota = microseconds(20'000);
  const auto more = tree().Write(kContainer, v);
  ASSERT_FALSE(more);
  EXPECT_EQ(EINVAL, more.error().sys);
}

TEST_F(CgroupRealTest, MemoryBelowUsageIsBusyOnV1AndEndsTheProcessOnV2) {
  ASSERT_TRUE(tree().Create(kContainer));
  if (host_->SwapIsOn()) GTEST_SKIP() << "needs a host without swap";
  const int pid = host_->StartSleeper(kContainer, {.touch_mib = 16});
  CgroupValues v;
  v.memory_max = MiB(4), v.swap_max = Bytes{0};
  const auto low = tree().Write(kContainer, v);
  if (host_->systemd()) {
    EXPECT_TRUE(low || low.error().code == Code::kNotFound) << "a scope ends with its only process";
    RealCgroups::Reap(pid);
    EXPECT_THAT(*tree().Pids(kContainer), IsEmpty());
    return;
  }
  if (host_->v2("memory")) {
    EXPECT_TRUE(low) << low.error().message;
    RealCgroups::Reap(pid);
    EXPECT_THAT(*tree().Pids(kContainer), IsEmpty()) << "there is nothing to reclaim but the process";
    EXPECT_THAT(host_->Value("memory", kContainer, "memory.events"), HasSubstr("oom_kill 1"));
    return;
  }
  ASSERT_FALSE(low);
  EXPECT_EQ(Code::kBusy, low.error().code);
  EXPECT_THAT(low.error().message, HasSubstr("to 4194304 (current usage: "));
  v.memory_max = MiB(64);
  EXPECT_TRUE(tree().Write(kContainer, v)) << "nothing is half-set";
  ASSERT_TRUE(tree().Kill(kContainer));
  RealCgroups::Reap(pid);
}

}  // namespace
}  // namespace berth::cgroup
