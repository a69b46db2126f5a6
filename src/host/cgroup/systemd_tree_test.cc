// The systemd driver on a kernel and a systemd played in memory: what is told, when, and what follows when it fails.
#include "host/cgroup/systemd_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/cgroup/control_files.h"
#include "host/cgroup/played_systemd_test.h"
#include "host/cgroup/systemd.h"
#include "testing/fake_cgroups.h"
#include "testing/fault_fs.h"
#include "testing/memory_fs.h"
#include "testing/queued_executor.h"

namespace berth::cgroup {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testkit::FakeCgroups;
using testkit::MemoryFs;

constexpr std::string_view kPodSlice = "kubepods.slice/kubepods-podu1.slice";
constexpr std::string_view kContainerScope = "kubepods.slice/kubepods-podu1.slice/berth-u1-web.scope";

class SystemdTreeTest : public ::testing::Test {
 protected:
  SystemdTreeTest() {
    auto layout = DiscoverLayout(world_.fs);
    BERTH_CHECK(layout.has_value());
    TreeDoors doors{.kill = [](const auto&, const auto&) { return Result<void>(); },
                    .wait = [this](os::Millis time) { waited_ += time; }};
    auto opened = OpenSystemdTree(testkit::Share(world_.fs), *layout, "/", std::move(doors),
                                  std::make_unique<PlayedSystemd>(world_));
    BERTH_CHECK(opened.has_value());
    tree_ = *std::move(opened);
  }
  std::string Value(std::string_view path, std::string_view file) { return world_.kernel.Value("cpu", path, file); }
  std::vector<std::string> TakeCalls() { return std::exchange(world_.calls, {}); }

  PlayedSystemd::World world_;
  os::Millis waited_{0};
  std::unique_ptr<Tree> tree_;
};

CgroupValues SomeValues() {
  CgroupValues out;
  out.cpus = *CpuSet::Parse("1-2");
  out.weight = 59;
  out.memory_max = MiB(64);
  return out;
}

TEST_F(SystemdTreeTest, MakesSlicesFromTheTopAndAScopeAroundAProcess) {
  ASSERT_TRUE(tree_->Create(kContainerScope));
  EXPECT_THAT(TakeCalls(), ElementsAre("new kubepods.slice", "new kubepods-podu1.slice", "new berth-u1-web.scope"));
  EXPECT_EQ(1U, tree_->Pids(kContainerScope)->size());
}

TEST_F(SystemdTreeTest, WhatIsThereIsNotAskedForAgain) {
  ASSERT_TRUE(tree_->Create(kContainerScope));
  TakeCalls();
  ASSERT_TRUE(tree_->Create(kPodSlice));
  ASSERT_TRUE(tree_->Create(kContainerScope));
  EXPECT_THAT(TakeCalls(), IsEmpty());
}

TEST_F(SystemdTreeTest, TellsAllValuesAtOnceAndNothingWhenNothingDiffers) {
  ASSERT_TRUE(tree_->Create(kContainerScope));
  TakeCalls();
  const auto first = tree_->Write(kContainerScope, SomeValues());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(1, *first);
  EXPECT_THAT(TakeCalls(), ElementsAre("set berth-u1-web.scope MemoryMax CPUWeight AllowedCPUs"));
  EXPECT_EQ("1-2", Value(kContainerScope, "cpuset.cpus"));
  EXPECT_EQ(0, tree_->Write(kContainerScope, SomeValues()).value_or(-1));
  EXPECT_THAT(TakeCalls(), IsEmpty());
}

TEST_F(SystemdTreeTest, AForeignWriteIsPutBackThroughSystemd) {
  ASSERT_TRUE(tree_->Create(kContainerScope));
  ASSERT_TRUE(tree_->Write(kContainerScope, SomeValues()));
  TakeCalls();
  ASSERT_TRUE(world_.kernel.ForeignWrite("cpu", kContainerScope, "cpu.weight", "7"));
  EXPECT_EQ(1, tree_->Write(kContainerScope, SomeValues()).value_or(-1));
  EXPECT_THAT(TakeCalls(), ElementsAre("set berth-u1-web.scope CPUWeight"));
  EXPECT_EQ("59", Value(kContainerScope, "cpu.weight"));
}

TEST_F(SystemdTreeTest, AQuotaThatSystemdRoundsIsExactInTheKernel) {
  ASSERT_TRUE(tree_->Create(kContainerScope));
  CgroupValues values;
  values.cpu_max = CpuMax{.quota = microseconds(1'500), .period = microseconds(100'000)};
  EXPECT_EQ(2, tree_->Write(kContainerScope, values).value_or(-1)) << "told, and written";
  EXPECT_EQ("1500 100000", Value(kContainerScope, "cpu.max"));
  EXPECT_EQ(0, tree_->Write(kContainerScope, values).value_or(-1));
}

TEST_F(SystemdTreeTest, AScopeThatIsOnItsWayOutIsWaitedFor) {
  world_.dying = 2;
  const auto made = tree_->Create("berth.scope");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(TakeCalls(), ElementsAre("new berth.scope", "attach berth.scope", "new berth.scope", "attach berth.scope",
                                       "new berth.scope"));
  EXPECT_GT(waited_.count(), 0);
}

TEST_F(SystemdTreeTest, AScopeThatIsThereIsEntered) {
  ASSERT_TRUE(tree_->Create(kContainerScope));
  tree_->LetGo(kContainerScope);
  TakeCalls();
  ASSERT_TRUE(tree_->Create(kContainerScope));
  EXPECT_THAT(TakeCalls(), ElementsAre("new berth-u1-web.scope", "attach berth-u1-web.scope"));
}

TEST_F(SystemdTreeTest, ADirectoryWithoutAUnitIsWrittenToAllTheSame) {
  ASSERT_TRUE(tree_->Create(kContainerScope));
  world_.units.erase("berth-u1-web.scope");
  EXPECT_TRUE(tree_->Write(kContainerScope, SomeValues()));
  EXPECT_EQ("1-2", Value(kContainerScope, "cpuset.cpus"));
}

TEST_F(SystemdTreeTest, EachCallFailingLeavesTheKernelAsItWasAndARepetitionCompletes) {
  for (int at = 0; at < 4; ++at) {
    world_.fail_at = at;
    auto made = tree_->Create(kContainerScope);
    if (made) {
      EXPECT_EQ(3, at);
      const auto written = tree_->Write(kContainerScope, SomeValues());
      ASSERT_FALSE(written);
      made = std::unexpected(written.error());
      EXPECT_EQ("", Value(kContainerScope, "cpuset.cpus")) << "systemd knows first, or nobody does";
    }
    EXPECT_EQ(Code::kTimeout, made.error().code);
    EXPECT_EQ(ETIMEDOUT, made.error().sys);
    EXPECT_THAT(made.error().message, HasSubstr("did not answer"));
    world_.fail_at = -1;
    ASSERT_TRUE(tree_->Create(kContainerScope));
    ASSERT_TRUE(tree_->Write(kContainerScope, SomeValues()));
    const auto pids = tree_->Pids(kContainerScope);
    for (const int pid : *pids) world_.kernel.EndProcess(pid);
    const auto removed = tree_->Remove("kubepods.slice");
    ASSERT_TRUE(removed) << removed.error().message;
    world_.units.clear();
    EXPECT_THAT(*tree_->Children(""), IsEmpty());
  }
}

TEST_F(SystemdTreeTest, RemovingStopsTheUnitOnceAndNothingWithProcessesInIt) {
  ASSERT_TRUE(tree_->Create(kContainerScope));
  const int pid = tree_->Pids(kContainerScope)->front();
  TakeCalls();
  ASSERT_FALSE(tree_->Remove(kPodSlice)) << "the kernel still lists a process";
  EXPECT_THAT(TakeCalls(), IsEmpty());
  world_.kernel.EndProcess(pid);
  ASSERT_TRUE(tree_->Remove(kPodSlice));
  EXPECT_THAT(TakeCalls(), ElementsAre("stop kubepods-podu1.slice"));
  EXPECT_THAT(*tree_->Children("kubepods.slice"), IsEmpty());
  ASSERT_TRUE(tree_->Remove(kPodSlice)) << "gone already";
  EXPECT_THAT(TakeCalls(), IsEmpty());
}

TEST_F(SystemdTreeTest, WhatIsNoUnitIsNotMade) {
  const auto made = tree_->Create("kubepods");
  ASSERT_FALSE(made);
  EXPECT_EQ(Code::kInvalid, made.error().code);
}

// ---- asked by another thread ----

class SystemdBehindTest : public SystemdTreeTest {
 protected:
  SystemdBehindTest() {
    tree_->WaitBehind(executor_, [this] { ++answers_; });
  }
  /// Repeats `call` while it is under way, with one answer of systemd's in between. Systemd is never asked within it.
  template <class Call>
  auto Until(Call call) {
    for (;;) {
      const std::size_t before = world_.calls.size();
      auto result = call();
      EXPECT_EQ(before, world_.calls.size()) << "systemd was asked on the caller's thread";
      if (result || result.error().code != Code::kBusy || ++repetitions_ > 100) return result;
      EXPECT_TRUE(tree_->asking()) << result.error().message;
      executor_.RunOne();
    }
  }

  void EndProcesses() {
    const auto pids = tree_->Pids(kContainerScope);
    ASSERT_TRUE(pids);
    for (const int pid : *pids) world_.kernel.EndProcess(pid);
  }

  testkit::QueuedExecutor executor_;
  int answers_ = 0;
  int repetitions_ = 0;
};

TEST_F(SystemdBehindTest, ACallIsRepeatedUntilEverythingWasAskedOnce) {
  ASSERT_TRUE(Until([&] { return tree_->Create(kContainerScope); }));
  EXPECT_THAT(TakeCalls(), ElementsAre("new kubepods.slice", "new kubepods-podu1.slice", "new berth-u1-web.scope"));
  EXPECT_EQ(1U, tree_->Pids(kContainerScope)->size());
  EXPECT_EQ(3, answers_);
  ASSERT_TRUE(Until([&] { return tree_->Write(kContainerScope, SomeValues()); }));
  EXPECT_THAT(TakeCalls(), ElementsAre("set berth-u1-web.scope MemoryMax CPUWeight AllowedCPUs"));
  EXPECT_EQ("1-2", Value(kContainerScope, "cpuset.cpus"));
  EXPECT_EQ(0, tree_->Write(kContainerScope, SomeValues()).value_or(-1));
  EndProcesses();
  ASSERT_TRUE(Until([&] { return tree_->Remove(kPodSlice); }));
  EXPECT_THAT(TakeCalls(), ElementsAre("stop kubepods-podu1.slice"));
}

TEST_F(SystemdBehindTest, AQuotaThatSystemdRoundsComesToAnEnd) {
  ASSERT_TRUE(Until([&] { return tree_->Create(kContainerScope); }));
  CgroupValues values = SomeValues();
  values.cpu_max = CpuMax{.quota = microseconds(1'500), .period = microseconds(100'000)};
  ASSERT_TRUE(Until([&] { return tree_->Write(kContainerScope, values); }));
  EXPECT_EQ("1500 100000", Value(kContainerScope, "cpu.max"));
  EXPECT_EQ("59", Value(kContainerScope, "cpu.weight"));
}

TEST_F(SystemdBehindTest, AScopeThatIsThereOrOnItsWayOutIsEntered) {
  ASSERT_TRUE(Until([&] { return tree_->Create(kContainerScope); }));
  tree_->LetGo(kContainerScope);
  TakeCalls();
  ASSERT_TRUE(Until([&] { return tree_->Create(kContainerScope); }));
  EXPECT_THAT(TakeCalls(), ElementsAre("new berth-u1-web.scope", "attach berth-u1-web.scope"));
  world_.dying = 2;
  const auto made = Until([&] { return tree_->Create("berth.scope"); });
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(TakeCalls(), ElementsAre("new berth.scope", "attach berth.scope", "new berth.scope", "attach berth.scope",
                                       "new berth.scope"));
  EXPECT_EQ(0, waited_.count());
}

TEST_F(SystemdBehindTest, ASliceSystemdKnowsWithoutAGroupIsStartedAndThenStopped) {
  world_.units["kubepods.slice"] = "kubepods.slice";  // its directory was removed by somebody
  const auto made = Until([&] { return tree_->Create("kubepods.slice"); });
  EXPECT_TRUE(made) << made.error().message;
  EXPECT_THAT(TakeCalls(),
              ElementsAre("new kubepods.slice", "start kubepods.slice", "stop kubepods.slice", "new kubepods.slice"));
}

TEST_F(SystemdBehindTest, AnErrorIsToldAndARepetitionAsksAgain) {
  for (int at = 0; at < 3; ++at) {
    world_.fail_at = at;
    auto made = Until([&] { return tree_->Create(kContainerScope); });
    ASSERT_FALSE(made) << at;
    EXPECT_EQ(Code::kTimeout, made.error().code);
    world_.fail_at = -1;
    made = Until([&] { return tree_->Create(kContainerScope); });
    ASSERT_TRUE(made) << made.error().message;
    EndProcesses();
    ASSERT_TRUE(Until([&] { return tree_->Remove("kubepods.slice"); }));
    world_.units.clear();
  }
}

TEST_F(SystemdBehindTest, AnotherValueTakesThePlaceOfWhatWasAskedBefore) {
  ASSERT_TRUE(Until([&] { return tree_->Create(kContainerScope); }));
  CgroupValues first;
  first.weight = 150;
  CgroupValues second;
  second.weight = 200;
  const auto asked = tree_->Write(kContainerScope, first);
  ASSERT_FALSE(asked);
  EXPECT_EQ(Code::kBusy, asked.error().code);
  ASSERT_TRUE(Until([&] { return tree_->Write(kContainerScope, second); }));
  EXPECT_EQ("200", Value(kContainerScope, "cpu.weight"));
  executor_.RunAll();
  EXPECT_EQ("200", Value(kContainerScope, "cpu.weight"));
}

TEST_F(SystemdBehindTest, NobodyReadsCpusThatAreJustBeingChanged) {
  ASSERT_TRUE(Until([&] { return tree_->Create(kContainerScope); }));
  ASSERT_FALSE(tree_->Write(kContainerScope, SomeValues()));
  CgroupValues other;
  other.weight = 70;
  ASSERT_FALSE(tree_->Write(kContainerScope, other)) << "takes the place of the first, which is asked all the same";
  const auto cpus = tree_->ReadCpus(kContainerScope);
  ASSERT_FALSE(cpus) << "they are the old ones, and will not be for long";
  EXPECT_EQ(Code::kBusy, cpus.error().code);
  EXPECT_FALSE(tree_->ReadCpuset(kContainerScope));
  EXPECT_TRUE(tree_->ReadCpus(kPodSlice));
  executor_.RunAll();
  EXPECT_EQ("1-2", FormatIds(tree_->ReadCpus(kContainerScope).value_or(CpuSet())));
}

// It has one thread, which would wait for the kernel, and berthd's would wait at its next write to a cpuset.
TEST_F(SystemdBehindTest, MemoryIsThereWhenSystemdIsToldOfItsNodes) {
  ASSERT_TRUE(Until([&] { return tree_->Create(kContainerScope); }));
  executor_.RunAll();
  TakeCalls();
  CgroupValues nodes;
  nodes.mems = *NodeSet::Parse("1");
  const auto fails_as_busy = [&](std::string_view path, const CgroupValues& values) {
    const auto written = tree_->Write(path, values);
    return !written && written.error().code == Code::kBusy && tree_->asking();
  };
  EXPECT_TRUE(fails_as_busy(kContainerScope, nodes));
  EXPECT_EQ("", Value(kContainerScope, "cpuset.mems"));
  EXPECT_TRUE(fails_as_busy(kPodSlice, SomeValues()));
  EXPECT_EQ(Code::kBusy, tree_->Create("berth.scope").error().code);
  EXPECT_EQ(1U, executor_.waiting()) << "systemd is asked nothing meanwhile";
  executor_.RunAll();
  EXPECT_EQ("1", Value(kContainerScope, "cpuset.mems"));
  EXPECT_THAT(TakeCalls(), IsEmpty());
  ASSERT_TRUE(Until([&] { return tree_->Write(kContainerScope, SomeValues()); }));
  EXPECT_THAT(TakeCalls(), ElementsAre("set berth-u1-web.scope AllowedMemoryNodes",
                                       "set berth-u1-web.scope MemoryMax CPUWeight AllowedCPUs"))
      << "with the next CPUs it would write the old ones";
  ASSERT_TRUE(Until([&] { return tree_->Write(kContainerScope, nodes); }));
  EXPECT_THAT(TakeCalls(), IsEmpty());
}

TEST_F(SystemdBehindTest, LeftItWaitsItselfAgain) {
  tree_->WaitHere();
  ASSERT_TRUE(tree_->Create(kContainerScope));
  EXPECT_THAT(TakeCalls(), ElementsAre("new kubepods.slice", "new kubepods-podu1.slice", "new berth-u1-web.scope"));
}

// ---- which driver ----

Result<Driver> Choose(std::string_view configured, bool systemd, Version version, bool delegated = false) {
  return ChooseDriver(
      {.configured = configured, .systemd_runs = systemd, .version = version, .delegated = delegated, .root = "/"});
}

TEST(ChooseDriverTest, TheHostDecidesWhenNothingIsSaid) {
  EXPECT_EQ(Driver::kSystemd, Choose("", true, Version::kV2).value_or(Driver::kCgroupfs));
  EXPECT_EQ(Driver::kCgroupfs, Choose("", false, Version::kV2).value_or(Driver::kSystemd));
  EXPECT_EQ(Driver::kCgroupfs, Choose("", true, Version::kV1).value_or(Driver::kSystemd));
  EXPECT_EQ(Driver::kCgroupfs, Choose("", true, Version::kHybrid).value_or(Driver::kSystemd));
  EXPECT_EQ(Driver::kCgroupfs, Choose("", true, Version::kV2, true).value_or(Driver::kSystemd));
}

TEST(ChooseDriverTest, WhatFitsIsTaken) {
  EXPECT_EQ(Driver::kSystemd, Choose("systemd", true, Version::kV2).value_or(Driver::kCgroupfs));
  EXPECT_EQ(Driver::kCgroupfs, Choose("cgroupfs", false, Version::kV2).value_or(Driver::kSystemd));
  EXPECT_EQ(Driver::kCgroupfs, Choose("cgroupfs", true, Version::kV1).value_or(Driver::kSystemd));
  EXPECT_EQ(Driver::kCgroupfs, Choose("cgroupfs", true, Version::kV2, true).value_or(Driver::kSystemd));
}

TEST(ChooseDriverTest, AContradictionIsAnErrorWithTheCure) {
  const struct {
    std::string_view configured;
    bool systemd;
    Version version;
    const char* cure;
  } cases[] = {
      {"systemd", false, Version::kV2, "set 'cgroupDriver: cgroupfs', or leave it out"},
      {"systemd", true, Version::kV1, "systemd.unified_cgroup_hierarchy=1"},
      {"systemd", true, Version::kHybrid, "systemd.unified_cgroup_hierarchy=1"},
      {"cgroupfs", true, Version::kV2, "set 'cgroupDriver: systemd' or leave it out"},
      {"upstart", true, Version::kV2, "leave it out"},
  };
  for (const auto& c : cases) {
    const auto chosen = Choose(c.configured, c.systemd, c.version);
    ASSERT_FALSE(chosen) << c.configured;
    EXPECT_THAT(chosen.error().message, HasSubstr(c.cure));
    EXPECT_THAT(chosen.error().message, HasSubstr("cgroupDriver: " + std::string(c.configured)));
  }
}

}  // namespace
}  // namespace berth::cgroup
