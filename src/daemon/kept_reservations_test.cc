// What is given back to groups of the host, on a kernel played in memory.
#include "daemon/kept_reservations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/units.h"
#include "host/cgroup/systemd.h"
#include "host/cgroup/value_lines.h"
#include "host/os/volatile_file.h"
#include "host/os/whole_file.h"
#include "testing/fake_cgroups.h"
#include "testing/fault_fs.h"
#include "testing/fixtures.h"
#include "testing/memory_fs.h"

namespace berth::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CgroupValues AllReserved(Bytes memory = GiB(1)) {
  CgroupValues out;
  out.shares = 512;
  out.memory_max = memory;
  out.pids_max = 1000;
  return out;
}

std::vector<cgroup::ReservedGroup> ForSystem(CgroupValues values) {
  return {{.what = "System Reserved", .group = "/system", .values = std::move(values), .why = {}}};
}

struct ReservingHost {
  explicit ReservingHost(bool is_v2) : v2(is_v2), kernel(fs, {.v2 = is_v2}) {
    layout = *cgroup::DiscoverLayout(fs);
    for (const cgroup::ControllerMount& mount : layout.controllers) EXPECT_TRUE(fs.MakeDir(mount.mount + "/system"));
  }
  KeptReservations::OpenRoot Root() {
    return [this]() -> Result<std::unique_ptr<os::Fs>> { return testkit::Share(fs); };
  }
  /// As a start of berthd under settings that name these. Returns what could not be given back.
  std::vector<std::string> Start(const std::vector<cgroup::ReservedGroup>& groups) {
    KeptReservations kept(file, cgroup::Driver::kCgroupfs, groups);
    std::vector<std::string> problems = kept.GiveBack(Root(), layout);
    for (const cgroup::ReservedGroup& group : groups) {
      const auto tree = cgroup::OpenTree(cgroup::Driver::kCgroupfs, testkit::Share(fs), layout, group.group);
      EXPECT_TRUE(tree && (*tree)->Write("", cgroup::WithControllersOf(layout, group.values)));
    }
    EXPECT_TRUE(kept.Enforced());
    return problems;
  }
  CgroupValues System() {
    const auto tree = cgroup::Tree::OpenToLook(testkit::Share(fs), layout, "/system");
    EXPECT_TRUE(tree);
    return tree ? (*tree)->Read("").value_or(CgroupValues()) : CgroupValues();
  }
  std::uint64_t SharesOfSystem() { return (v2 ? System().weight : System().shares).value_or(0); }
  std::vector<KeptReservation> Kept() const {
    return ParseReservations(os::TextOf(file)).value_or(std::vector<KeptReservation>());
  }

  bool v2;
  testkit::MemoryFs fs;
  testkit::FakeCgroups kernel;
  cgroup::Layout layout;
  testkit::TempDir temp;
  std::string file = temp / "reserved-groups";
};

class KeptReservationsTest : public ::testing::TestWithParam<bool> {
 protected:
  ReservingHost host_{GetParam()};
  std::uint64_t reserved_ = GetParam() ? 20 : 512;
  std::uint64_t unset_ = GetParam() ? 100 : 1024;
};
INSTANTIATE_TEST_SUITE_P(Versions, KeptReservationsTest, ::testing::Bool());

TEST_P(KeptReservationsTest, AGroupThatIsNotNamedAnyMoreIsAsNew) {
  EXPECT_THAT(host_.Start(ForSystem(AllReserved())), IsEmpty());
  EXPECT_EQ(host_.SharesOfSystem(), reserved_);
  EXPECT_EQ(host_.System().memory_max, GiB(1));
  EXPECT_EQ(host_.System().pids_max, 1000);
  EXPECT_THAT(host_.Kept(), ElementsAre(KeptReservation{.path = "/system", .values = AllReserved()}));

  EXPECT_THAT(host_.Start({}), IsEmpty());
  EXPECT_EQ(host_.SharesOfSystem(), unset_);
  EXPECT_EQ(host_.System().memory_max, Bytes{-1});
  EXPECT_EQ(host_.System().pids_max, -1);
  EXPECT_THAT(host_.Kept(), IsEmpty());
}

TEST_P(KeptReservationsTest, WhatIsNotReservedAnyMoreIsGivenBackAndTheRestStays) {
  EXPECT_THAT(host_.Start(ForSystem(AllReserved())), IsEmpty());
  CgroupValues less;
  less.shares = 512;
  EXPECT_THAT(host_.Start(ForSystem(less)), IsEmpty());
  EXPECT_EQ(host_.SharesOfSystem(), reserved_);
  EXPECT_EQ(host_.System().memory_max, Bytes{-1});
  EXPECT_EQ(host_.System().pids_max, -1);
}

TEST_P(KeptReservationsTest, WhatSomebodyElseWroteSinceIsHis) {
  EXPECT_THAT(host_.Start(ForSystem(AllReserved())), IsEmpty());
  EXPECT_TRUE(host_.kernel.ForeignWrite("pids", "system", "pids.max", "77"));
  EXPECT_THAT(host_.Start({}), IsEmpty());
  EXPECT_EQ(host_.System().pids_max, 77);
  EXPECT_EQ(host_.System().memory_max, Bytes{-1});
}

TEST_P(KeptReservationsTest, AStartThatIsRefusedForgetsNothing) {
  EXPECT_THAT(host_.Start(ForSystem(AllReserved())), IsEmpty());
  KeptReservations refused(host_.file, cgroup::Driver::kCgroupfs, ForSystem(AllReserved(GiB(2))));
  EXPECT_THAT(refused.GiveBack(host_.Root(), host_.layout), IsEmpty());
  EXPECT_EQ(host_.System().memory_max, GiB(1)) << "it is to have another one";
  EXPECT_THAT(host_.Start({}), IsEmpty());
  EXPECT_EQ(host_.System().memory_max, Bytes{-1});
}

TEST_P(KeptReservationsTest, ARecordThatCannotBeReadIsToldAndNotWrittenOver) {
  EXPECT_THAT(host_.Start(ForSystem(AllReserved())), IsEmpty());
  const std::string away = host_.temp / "away";
  std::filesystem::rename(host_.file, away);
  std::filesystem::create_symlink(host_.file, host_.file);
  for (const auto& groups : {ForSystem(AllReserved(GiB(2))), std::vector<cgroup::ReservedGroup>()}) {
    KeptReservations kept(host_.file, cgroup::Driver::kCgroupfs, groups);
    EXPECT_THAT(kept.GiveBack(host_.Root(), host_.layout),
                ElementsAre(HasSubstr("read " + host_.file + ": Too many levels of symbolic links")));
    EXPECT_FALSE(kept.Enforced());
    EXPECT_EQ(host_.System().memory_max, GiB(1));
    EXPECT_TRUE(std::filesystem::is_symlink(host_.file));
  }
  std::filesystem::rename(away, host_.file);
  EXPECT_THAT(host_.Start({}), IsEmpty());
  EXPECT_EQ(host_.System().memory_max, Bytes{-1});
}

TEST_P(KeptReservationsTest, AGroupThatIsGoneHasNothingToGiveBack) {
  EXPECT_THAT(host_.Start(ForSystem(AllReserved())), IsEmpty());
  for (const cgroup::ControllerMount& mount : host_.layout.controllers)
    host_.fs.Drop(mount.mount.substr(1) + "/system");
  EXPECT_THAT(host_.Start({}), IsEmpty());
  EXPECT_THAT(host_.Kept(), IsEmpty());
}

TEST(KeptReservationsOfV1Test, AGroupThatIsGoneInOneHierarchyIsGivenBackInTheOthers) {
  for (const char* const gone : {"memory", "cpuset"}) {
    ReservingHost host(false);
    EXPECT_THAT(host.Start(ForSystem(AllReserved())), IsEmpty());
    host.fs.Drop(host.kernel.Dir(gone, "system"));
    EXPECT_THAT(host.Start({}), IsEmpty()) << gone;
    EXPECT_EQ(host.SharesOfSystem(), 1024U) << gone;
    EXPECT_EQ(host.kernel.Value("pids", "system", "pids.max"), "max") << gone;
    EXPECT_THAT(host.Kept(), IsEmpty()) << gone;
  }
}

TEST(ReservationRecordTest, HoldsGroupsAndValues) {
  CgroupValues other;
  other.memory_min = GiB(3);
  other.hugetlb.emplace();
  const std::vector<KeptReservation> kept = {{.path = "/system", .values = AllReserved()},
                                             {.path = "/kube", .values = other}};
  const auto read = ParseReservations(FormatReservations(kept));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, kept);
}

TEST(ReservationRecordTest, ADamagedOneIsToldOnceAndMadeAnew) {
  ReservingHost host(true);
  ASSERT_TRUE(os::ReplaceVolatile(host.file, "berth-reserved 1\ngroup /system\n"));
  EXPECT_THAT(host.Start({}), ElementsAre(HasSubstr(host.file + ": no checksum line")));
  EXPECT_THAT(host.Start({}), IsEmpty());
}

}  // namespace
}  // namespace berth::daemon
