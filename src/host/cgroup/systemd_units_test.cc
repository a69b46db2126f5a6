#include "host/cgroup/systemd_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace berth::cgroup {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kInfinity = std::numeric_limits<std::uint64_t>::max();

std::vector<Property> Of(std::string_view file, std::string_view text) {
  auto out = PropertiesFor(file, text);
  EXPECT_TRUE(out) << out.error().message;
  return out ? *std::move(out) : std::vector<Property>();
}

TEST(SystemdUnitsTest, TheLastSliceScopeOrServiceIsTheUnit) {
  EXPECT_EQ("kubepods.slice", UnitOf("kubepods.slice"));
  EXPECT_EQ("kubepods-burstable-podx.slice",
            UnitOf("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podx.slice"));
  EXPECT_EQ("cri-containerd-1.scope", UnitOf("kubepods.slice/kubepods-podx.slice/cri-containerd-1.scope"));
  EXPECT_EQ("sshd.service", UnitOf("system.slice/sshd.service"));
}

TEST(SystemdUnitsTest, WhatIsDelegatedHoldsNoUnits) {
  EXPECT_EQ(std::nullopt, UnitOf(""));
  EXPECT_EQ(std::nullopt, UnitOf("kubepods"));
  EXPECT_EQ(std::nullopt, UnitOf("kubepods.slice/plain"));
  EXPECT_EQ(std::nullopt, UnitOf("kubepods.slice/c.scope/init.scope"));
  EXPECT_EQ(std::nullopt, UnitOf("system.slice/berthd.service/kubepods.slice"));
}

TEST(SystemdUnitsTest, AUnitIsInTheSliceAboveIt) {
  EXPECT_EQ("-.slice", SliceOf("berth.scope"));
  EXPECT_EQ("kubepods-podx.slice", SliceOf("kubepods.slice/kubepods-podx.slice/berth-x-c.scope"));
}

TEST(SystemdUnitsTest, SetsAreBytesOfBits) {
  EXPECT_THAT(Of("cpuset.cpus", "0-1,3,8\n"), ElementsAre(Property{"AllowedCPUs", std::vector<std::uint8_t>{0x0b, 1}}));
  EXPECT_THAT(Of("cpuset.mems", "1"), ElementsAre(Property{"AllowedMemoryNodes", std::vector<std::uint8_t>{2}}));
}

TEST(SystemdUnitsTest, NumbersAreNumbersAndMaxIsInfinity) {
  EXPECT_THAT(Of("cpu.weight", "39"), ElementsAre(Property{"CPUWeight", std::uint64_t{39}}));
  EXPECT_THAT(Of("memory.max", "4096"), ElementsAre(Property{"MemoryMax", std::uint64_t{4096}}));
  EXPECT_THAT(Of("memory.high", "max"), ElementsAre(Property{"MemoryHigh", kInfinity}));
  EXPECT_THAT(Of("memory.swap.max", "0"), ElementsAre(Property{"MemorySwapMax", std::uint64_t{0}}));
  EXPECT_THAT(Of("pids.max", "max"), ElementsAre(Property{"TasksMax", kInfinity}));
}

TEST(SystemdUnitsTest, AQuotaIsToldInWholePercentsAndNeverLess) {
  EXPECT_EQ(20'000U, QuotaPerSecond(1'500, 100'000));
  EXPECT_EQ(340'000U, QuotaPerSecond(33'300, 100'000));
  EXPECT_EQ(250'000U, QuotaPerSecond(25'000, 100'000));
  EXPECT_EQ(10'000U, QuotaPerSecond(1'000, 1'000'000));
  EXPECT_EQ(256'000'000U, QuotaPerSecond(25'600'000, 100'000));
  EXPECT_THAT(Of("cpu.max", "max 100000"), ElementsAre(Property{"CPUQuotaPerSecUSec", kInfinity},
                                                       Property{"CPUQuotaPeriodUSec", std::uint64_t{100'000}}));
  EXPECT_THAT(Of("cpu.max", "1000 10000"), ElementsAre(Property{"CPUQuotaPerSecUSec", std::uint64_t{100'000}},
                                                       Property{"CPUQuotaPeriodUSec", std::uint64_t{10'000}}));
}

TEST(SystemdUnitsTest, FilesThatSystemdKnowsNothingOfHaveNoProperty) {
  EXPECT_THAT(Of("hugetlb.2MB.max", "0"), IsEmpty());
  EXPECT_THAT(Of("memory.oom.group", "1"), IsEmpty());
  EXPECT_THAT(Of("cgroup.subtree_control", "+cpuset"), IsEmpty());
}

TEST(SystemdUnitsTest, ATextThatIsNoValueOfItsFileIsRefused) {
  EXPECT_FALSE(PropertiesFor("cpuset.cpus", "0-"));
  EXPECT_FALSE(PropertiesFor("memory.max", "much"));
  EXPECT_FALSE(PropertiesFor("cpu.max", "1000 0"));
}

}  // namespace
}  // namespace berth::cgroup
