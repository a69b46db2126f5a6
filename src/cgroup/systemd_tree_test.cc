// The systemd driver on a kernel and a systemd played in memory: what is told, when, and what follows when it fails.
#include "cgroup/systemd_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cgroup/control_files.h"
#include "cgroup/systemd.h"
#include "testing/fake_cgroups.h"
#include "testing/fault_fs.h"
#include "testing/memory_fs.h"

namespace berth::cgroup {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testkit::FakeCgroups;
using testkit::MemoryFs;

constexpr std::string_view kPod = "kubepods.slice/kubepods-podu1.slice";
constexpr std::string_view kContainer = "kubepods.slice/kubepods-podu1.slice/berth-u1-web.scope";
constexpr const char* kMount = "sys/fs/cgroup/";

/// Units as directories and processes; properties become files, rounded as systemd rounds.
class PlayedSystemd final : public Systemd {
 public:
  struct World {
    World() : kernel(fs, {.v2 = true}) {}
    MemoryFs fs;
    FakeCgroups kernel;
    std::map<std::string, std::string> units;  ///< unit -> path
    std::vector<std::string> calls;
    int dying = 0;  ///< so often a scope of the name asked for is on its way out
    int fail_at = -1;
    Error failure{Code::kTimeout, ETIMEDOUT, "systemd did not answer"};
  };
  explicit PlayedSystemd(World& world) : world_(world) {}

  Result<bool> StartTransient(const std::string& unit, const std::vector<Property>& properties) override {
    BERTH_RETURN_IF_ERROR(Called("new " + unit));
    if ((world_.dying > 0 && IsScope(unit)) || world_.units.contains(unit)) return false;
    const std::string path = PathOfUnit(unit, properties);
    BERTH_RETURN_IF_ERROR(world_.fs.MakeDir(kMount + path));
    world_.units[unit] = path;
    for (const Property& p : properties)
      if (p.name == "PIDs") {
        const auto pids = std::get<std::vector<std::uint32_t>>(p.value);
        BERTH_RETURN_IF_ERROR(world_.kernel.AddProcess(path, static_cast<int>(pids.front())));
      }
    return true;
  }
  Result<void> Start(const std::string& unit) override { return Called("start " + unit); }
  Result<void> Set(const std::string& unit, const std::vector<Property>& properties) override {
    std::string said = "set " + unit;
    for (const Property& p : properties) said += " " + p.name;
    BERTH_RETURN_IF_ERROR(Called(said));
    if (!world_.units.contains(unit)) return Fail(Code::kNotFound, "unit " + unit + " is not loaded");
    for (const Property& p : properties) BERTH_RETURN_IF_ERROR(Apply(world_.units[unit], p, properties));
    return {};
  }
  Result<void> Attach(const std::string& unit, int pid) override {
    BERTH_RETURN_IF_ERROR(Called("attach " + unit));
    if (world_.dying > 0 && world_.dying-- > 0) return Fail(Code::kInvalid, "unit is not active, refusing");
    return world_.kernel.AddProcess(world_.units[unit], pid);
  }
  Result<void> Stop(const std::string& unit) override {
    BERTH_RETURN_IF_ERROR(Called("stop " + unit));
    world_.units.erase(unit);
    return {};
  }

 private:
  Result<void> Called(const std::string& what) {
    if (world_.fail_at >= 0 && world_.fail_at-- == 0) return std::unexpected(world_.failure);
    world_.calls.push_back(what);
    return {};
  }
  std::string PathOfUnit(const std::string& unit, const std::vector<Property>& properties) {
    std::string slice;
    for (const Property& p : properties)
      if (p.name == "Slice") slice = std::get<std::string>(p.value);
    if (slice == "-.slice") return unit;
    if (!slice.empty()) return world_.units[slice] + "/" + unit;
    const auto components = ComponentsOf(Driver::kSystemd, unit);
    return PathOf(Driver::kSystemd, components)->substr(1);
  }
  Result<void> Apply(const std::string& path, const Property& p, const std::vector<Property>& all) {
    const std::string dir = kMount + path + "/";
    const auto number = [&](std::string_view name) -> std::uint64_t {
      for (const Property& other : all)
        if (other.name == name) return std::get<std::uint64_t>(other.value);
      return 0;
    };
    if (p.name == "AllowedCPUs") {
      CpuSet cpus;
      const auto bits = std::get<std::vector<std::uint8_t>>(p.value);
      for (std::uint32_t i = 0; i < bits.size() * 8; ++i)
        if ((bits[i / 8] >> i % 8 & 1) != 0) cpus.Insert(CpuId{i});
      return world_.fs.Write(dir + "cpuset.cpus", FormatIds(cpus));
    }
    if (p.name == "CPUWeight") return world_.fs.Write(dir + "cpu.weight", std::to_string(number("CPUWeight")));
    if (p.name == "MemoryMax") return world_.fs.Write(dir + "memory.max", std::to_string(number("MemoryMax")));
    if (p.name == "CPUQuotaPerSecUSec") {
      const std::uint64_t period = number("CPUQuotaPeriodUSec");
      const std::uint64_t quota = number("CPUQuotaPerSecUSec") * period / 1'000'000;
      return world_.fs.Write(dir + "cpu.max", std::to_string(quota) + " " + std::to_string(period));
    }
    return {};
  }

  World& world_;
};

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
  ASSERT_TRUE(tree_->Create(kContainer));
  EXPECT_THAT(TakeCalls(), ElementsAre("new kubepods.slice", "new kubepods-podu1.slice", "new berth-u1-web.scope"));
  EXPECT_EQ(1U, tree_->Pids(kContainer)->size());
}

TEST_F(SystemdTreeTest, WhatIsThereIsNotAskedForAgain) {
  ASSERT_TRUE(tree_->Create(kContainer));
  TakeCalls();
  ASSERT_TRUE(tree_->Create(kPod));
  ASSERT_TRUE(tree_->Create(kContainer));
  EXPECT_THAT(TakeCalls(), IsEmpty());
}

TEST_F(SystemdTreeTest, TellsAllValuesAtOnceAndNothingWhenNothingDiffers) {
  ASSERT_TRUE(tree_->Create(kContainer));
  TakeCalls();
  const auto first = tree_->Write(kContainer, SomeValues());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(1, *first);
  EXPECT_THAT(TakeCalls(), ElementsAre("set berth-u1-web.scope MemoryMax CPUWeight AllowedCPUs"));
  EXPECT_EQ("1-2", Value(kContainer, "cpuset.cpus"));
  EXPECT_EQ(0, tree_->Write(kContainer, SomeValues()).value_or(-1));
  EXPECT_THAT(TakeCalls(), IsEmpty());
}

TEST_F(SystemdTreeTest, AForeignWriteIsPutBackThroughSystemd) {
  ASSERT_TRUE(tree_->Create(kContainer));
  ASSERT_TRUE(tree_->Write(kContainer, SomeValues()));
  TakeCalls();
  ASSERT_TRUE(world_.kernel.ForeignWrite("cpu", kContainer, "cpu.weight", "7"));
  EXPECT_EQ(1, tree_->Write(kContainer, SomeValues()).value_or(-1));
  EXPECT_THAT(TakeCalls(), ElementsAre("set berth-u1-web.scope CPUWeight"));
  EXPECT_EQ("59", Value(kContainer, "cpu.weight"));
}

TEST_F(SystemdTreeTest, AQuotaThatSystemdRoundsIsExactInTheKernel) {
  ASSERT_TRUE(tree_->Create(kContainer));
  CgroupValues values;
  values.cpu_max = CpuMax{.quota = microseconds(1'500), .period = microseconds(100'000)};
  EXPECT_EQ(2, tree_->Write(kContainer, values).value_or(-1)) << "told, and written";
  EXPECT_EQ("1500 100000", Value(kContainer, "cpu.max"));
  EXPECT_EQ(0, tree_->Write(kContainer, values).value_or(-1));
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
  ASSERT_TRUE(tree_->Create(kContainer));
  tree_->LetGo(kContainer);
  TakeCalls();
  ASSERT_TRUE(tree_->Create(kContainer));
  EXPECT_THAT(TakeCalls(), ElementsAre("new berth-u1-web.scope", "attach berth-u1-web.scope"));
}

TEST_F(SystemdTreeTest, ADirectoryWithoutAUnitIsWrittenToAllTheSame) {
  ASSERT_TRUE(tree_->Create(kContainer));
  world_.units.erase("berth-u1-web.scope");
  EXPECT_TRUE(tree_->Write(kContainer, SomeValues()));
  EXPECT_EQ("1-2", Value(kContainer, "cpuset.cpus"));
}

TEST_F(SystemdTreeTest, EachCallFailingLeavesTheKernelAsItWasAndARepetitionCompletes) {
  for (int at = 0; at < 4; ++at) {
    world_.fail_at = at;
    auto made = tree_->Create(kContainer);
    if (made) {
      EXPECT_EQ(3, at);
      const auto written = tree_->Write(kContainer, SomeValues());
      ASSERT_FALSE(written);
      made = std::unexpected(written.error());
      EXPECT_EQ("", Value(kContainer, "cpuset.cpus")) << "systemd knows first, or nobody does";
    }
    EXPECT_EQ(Code::kTimeout, made.error().code);
    EXPECT_EQ(ETIMEDOUT, made.error().sys);
    EXPECT_THAT(made.error().message, HasSubstr("did not answer"));
    world_.fail_at = -1;
    ASSERT_TRUE(tree_->Create(kContainer));
    ASSERT_TRUE(tree_->Write(kContainer, SomeValues()));
    const auto pids = tree_->Pids(kContainer);
    for (const int pid : *pids) world_.kernel.EndProcess(pid);
    const auto removed = tree_->Remove("kubepods.slice");
    ASSERT_TRUE(removed) << removed.error().message;
    world_.units.clear();
    EXPECT_THAT(*tree_->Children(""), IsEmpty());
  }
}

TEST_F(SystemdTreeTest, RemovingStopsTheUnitOnceAndNothingWithProcessesInIt) {
  ASSERT_TRUE(tree_->Create(kContainer));
  const int pid = tree_->Pids(kContainer)->front();
  TakeCalls();
  ASSERT_FALSE(tree_->Remove(kPod)) << "the kernel still lists a process";
  EXPECT_THAT(TakeCalls(), IsEmpty());
  world_.kernel.EndProcess(pid);
  ASSERT_TRUE(tree_->Remove(kPod));
  EXPECT_THAT(TakeCalls(), ElementsAre("stop kubepods-podu1.slice"));
  EXPECT_THAT(*tree_->Children("kubepods.slice"), IsEmpty());
  ASSERT_TRUE(tree_->Remove(kPod)) << "gone already";
  EXPECT_THAT(TakeCalls(), IsEmpty());
}

TEST_F(SystemdTreeTest, WhatIsNoUnitIsNotMade) {
  const auto made = tree_->Create("kubepods");
  ASSERT_FALSE(made);
  EXPECT_EQ(Code::kInvalid, made.error().code);
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
