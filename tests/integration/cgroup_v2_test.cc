// What only cgroup v2 does, on a real kernel: runs in the guests of tests/vm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/text.h"
#include "cgroup_fixture.h"

namespace berth::cgroup {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testkit::RealCgroups;

constexpr std::string_view kPod = "kubepods/burstable/podu1";
constexpr std::string_view kContainer = "kubepods/burstable/podu1/web";

class CgroupV2Test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = RealCgroups::WhyNot()) GTEST_SKIP() << "needs real cgroups: " << *why;
    host_.emplace();
    if (host_->layout().version != Version::kV2) GTEST_SKIP() << "needs a host with cgroup v2 alone";
    all_ = tree().Read("")->cpus.value_or(CpuSet());
    if (all_.Count() < 2) GTEST_SKIP() << "needs two CPUs, this host has " << FormatIds(all_);
    one_ = CpuSet{*all_.First()};
    rest_ = all_ - one_;
    ASSERT_TRUE(tree().Create(kContainer));
  }
  Tree& tree() { return host_->tree(); }
  static CgroupValues Only(const CpuSet& cpus) {
    CgroupValues v;
    v.cpus = cpus;
    return v;
  }
  std::vector<std::string> Enabled(std::string_view path) {
    const std::string text = host_->Value("cpuset", path, "cgroup.subtree_control");
    const auto words = SplitWords(text);
    return {words.begin(), words.end()};
  }

  std::optional<RealCgroups> host_;
  CpuSet all_, one_, rest_;
};

TEST_F(CgroupV2Test, ExactlyTheControllersInUseAreHandedDownAndNoneToALeaf) {
  std::vector<std::string> used;
  for (const ControllerMount& c : host_->layout().controllers) used.push_back(c.controller);
  EXPECT_THAT(used, ::testing::UnorderedElementsAre("cpuset", "cpu", "memory", "pids", "hugetlb"));
  for (const std::string_view level : {std::string_view(""), std::string_view("kubepods"), kPod})
    EXPECT_THAT(Enabled(level), ::testing::UnorderedElementsAreArray(used)) << level;
  EXPECT_THAT(Enabled(kContainer), IsEmpty());
  const std::uint64_t before = tree().writes();
  ASSERT_TRUE(tree().Create(kContainer));
  EXPECT_EQ(before, tree().writes()) << "all is so already";
}

TEST_F(CgroupV2Test, ProcessesInTheWayOfControllersAreNamedWithTheCure) {
  ASSERT_TRUE(tree().Create("busy"));
  const int pid = host_->StartSleeper("busy");
  const auto made = tree().Create("busy/child");
  ASSERT_FALSE(made);
  EXPECT_EQ(Code::kBusy, made.error().code);
  EXPECT_EQ(EBUSY, made.error().sys);
  EXPECT_THAT(made.error().message, HasSubstr("/busy, so it cannot have children with controllers; move them"));
  ASSERT_TRUE(tree().Kill("busy"));
  RealCgroups::Reap(pid);
  EXPECT_TRUE(tree().Create("busy/child"));
}

TEST_F(CgroupV2Test, NoProcessEntersALevelAboveContainers) {
  const int pid = host_->StartSleeper(kContainer);
  EXPECT_EQ(EBUSY, host_->ForeignMove(kPod, pid));
  EXPECT_EQ(0, host_->ForeignMove(kContainer, pid));
  ASSERT_TRUE(tree().Kill(kContainer));
  RealCgroups::Reap(pid);
}

TEST_F(CgroupV2Test, ASetTheParentLacksIsNoticedByWhereTheProcessRuns) {
  ASSERT_TRUE(tree().Write(kContainer, Only(rest_)));
  const int pid = host_->StartSleeper(kContainer);
  EXPECT_EQ(rest_, host_->AllowedCpus(pid));
  host_->ForeignWrite("cpuset", "kubepods", "cpuset.cpus", FormatIds(one_));
  EXPECT_EQ(FormatIds(rest_), host_->Value("cpuset", kContainer, "cpuset.cpus")) << "the kernel keeps the wish";
  EXPECT_EQ(one_, tree().Read(kContainer)->cpus);
  EXPECT_EQ(one_, host_->AllowedCpus(pid));

  EXPECT_EQ(1, *ApplyCpus(tree(), {{std::string(kContainer), rest_}})) << "the level that was narrowed";
  EXPECT_EQ(rest_, tree().Read(kContainer)->cpus);
  EXPECT_EQ(rest_, host_->AllowedCpus(pid));
  ASSERT_TRUE(tree().Kill(kContainer));
  RealCgroups::Reap(pid);
}

TEST_F(CgroupV2Test, ALevelWithProcessesBelowItCannotLoseAllItsCpus) {
  ASSERT_TRUE(tree().Write(kContainer, Only(rest_)));
  ASSERT_TRUE(tree().Write("kubepods", Only(rest_)));
  const int pid = host_->StartSleeper(kContainer);
  const std::unique_ptr<os::Fs> fs = *os::OpenFs("/");
  const auto cleared = fs->Write(tree().Dirs("kubepods").dirs.front() + "/cpuset.cpus", "\n");
  ASSERT_FALSE(cleared) << "the pool may be held at a level: nothing below it could be trusted then";
  EXPECT_EQ(ENOSPC, cleared.error().sys);
  EXPECT_EQ(rest_, host_->AllowedCpus(pid));
  ASSERT_TRUE(tree().Kill(kContainer));
  RealCgroups::Reap(pid);
}

TEST_F(CgroupV2Test, CpusTheRootLacksAreAnError) {
  host_->ForeignWrite("cpuset", "", "cpuset.cpus", FormatIds(one_));
  const auto lost = tree().Write(kContainer, Only(rest_));
  ASSERT_FALSE(lost);
  EXPECT_EQ(Code::kInvalid, lost.error().code);
  EXPECT_THAT(lost.error().message, HasSubstr("its processes run on " + FormatIds(one_)));
}

TEST_F(CgroupV2Test, NodesThatDoNotExistAreRefused) {
  CgroupValues v;
  v.mems = NodeSet{NumaId{63}};
  const auto absent = tree().Write(kContainer, v);
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr("cpuset.mems"));
}

TEST_F(CgroupV2Test, WeightsAndLimitsTakeTheirWholeRange) {
  for (const std::uint64_t weight : {1U, 100U, 10'000U}) {
    CgroupValues v;
    v.weight = weight;
    ASSERT_TRUE(tree().Write(kContainer, v)) << weight;
    EXPECT_EQ(std::to_string(weight), host_->Value("cpu", kContainer, "cpu.weight"));
    EXPECT_EQ(0, *tree().Write(kContainer, v));
  }
  CgroupValues limits;
  limits.pids_max = 0;  // as in the runtimes: at least the container's own process
  limits.memory_max = Bytes{-1};
  ASSERT_TRUE(tree().Write(kContainer, limits));
  EXPECT_EQ("1", host_->Value("pids", kContainer, "pids.max"));
  EXPECT_EQ("max", host_->Value("memory", kContainer, "memory.max"));
}

TEST_F(CgroupV2Test, HugePagesAreLimitedPerSize) {
  CgroupValues v;
  v.hugetlb = std::map<Bytes, Bytes>{{MiB(2), MiB(6)}};
  const auto written = tree().Write(kContainer, v);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(std::to_string(MiB(6).v), host_->Value("hugetlb", kContainer, "hugetlb.2MB.max"));
  EXPECT_EQ(std::to_string(MiB(6).v), host_->Value("hugetlb", kContainer, "hugetlb.2MB.rsvd.max"));
  EXPECT_EQ(0, *tree().Write(kContainer, v));
}

TEST_F(CgroupV2Test, AForkingCrowdIsKilledWithOneWrite) {
  const int pid = host_->StartSleeper(kContainer, {.children = 40});
  EXPECT_THAT(host_->Value("cpuset", kPod, "cgroup.events"), HasSubstr("populated 1"));
  const std::uint64_t before = tree().writes();
  ASSERT_TRUE(tree().Kill(kPod));
  EXPECT_EQ(before + 1, tree().writes());
  RealCgroups::Reap(pid);
  EXPECT_THAT(host_->Value("cpuset", kPod, "cgroup.events"), HasSubstr("populated 0"));
  EXPECT_TRUE(tree().Remove(kPod));
}

}  // namespace
}  // namespace berth::cgroup
