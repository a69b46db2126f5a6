#include "host/os/own_mounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "testing/fixtures.h"

namespace berth::os {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// Where things are mounted is worked out without any rights; that it happens is
// tests/integration/runtime_volume_test.cc.
struct PlanMountsTest : testing::Test {
  void SetUp() override {
    fs::create_directories(temp.path() + "/volume/below");
    fs::create_directories(temp.path() + "/host/there");
    std::ofstream(temp.path() + "/host/file") << "x";
  }
  Volume At(const std::string& target) const {
    return {.source = temp.path() + "/volume", .target = temp.path() + "/host" + target};
  }
  std::string ErrorAt(const std::string& target) const {
    const auto plan = PlanMounts({{.source = temp.path() + "/volume", .target = target}}, false);
    return plan ? "no error" : plan.error().message;
  }
  testkit::TempDir temp;
};

TEST_F(PlanMountsTest, WhatIsThereIsMountedOnAndNothingIsCovered) {
  const auto plan = PlanMounts({At("//there/./")}, false);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(plan->mirrors.empty());
  ASSERT_EQ(plan->volumes.size(), 1U);
  EXPECT_EQ(plan->volumes[0].path, fs::canonical(temp.path()).string() + "/host/there");
  EXPECT_TRUE(PlanMounts({}, false)->empty());
  EXPECT_FALSE(PlanMounts({}, true)->empty());
}

TEST_F(PlanMountsTest, WhatIsMissingIsAddedToACopyOfItsDirectoryOnce) {
  const auto plan = PlanMounts({At("/new/deep"), At("/new/other"), At("/there/x")}, false);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->mirrors.size(), 2U);
  const OwnMounts::Mirror& mirror = plan->mirrors[0];
  std::vector<std::string> entries;
  std::vector<std::string> points;
  for (const auto& entry : mirror.entries) entries.push_back(entry.name);
  for (const auto& point : mirror.points) points.push_back(point.name);
  EXPECT_THAT(entries, testing::UnorderedElementsAre("there", "file"));
  EXPECT_THAT(points, ElementsAre("new", "new/deep", "new/other"));
  EXPECT_THAT(plan->mirrors[1].path, testing::EndsWith("/host/there")) << "parents first";
}

TEST_F(PlanMountsTest, AVolumeInAVolumeIsRelativeToIt) {
  const auto plan = PlanMounts({At("/there/below/x"), At("/there")}, false);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->volumes.size(), 2U);
  EXPECT_EQ(plan->volumes[0].inside, -1);
  EXPECT_EQ(plan->volumes[1].inside, 0);
  EXPECT_THAT(plan->volumes[1].parts, ElementsAre("below", "below/x"));
  EXPECT_TRUE(plan->mirrors.empty());
}

TEST_F(PlanMountsTest, WhatCannotBeSaysWhy) {
  EXPECT_THAT(ErrorAt("/"), HasSubstr("mount below it"));
  EXPECT_THAT(ErrorAt("/proc/sys/x"), HasSubstr("/proc is the kernel's"));
  EXPECT_THAT(ErrorAt("/sys"), HasSubstr("/sys is the kernel's"));
  EXPECT_THAT(ErrorAt(temp.path() + "/host/file"), HasSubstr("it is a file on this host"));
  EXPECT_THAT(ErrorAt(temp.path() + "/host/file/x"), HasSubstr("is no directory"));
  EXPECT_THAT(PlanMounts({At("/there"), At("/there/")}, false).error().message, HasSubstr("two volumes"));
  for (int i = 0; i < 1001; ++i) fs::create_directory(temp.path() + "/host/there/" + std::to_string(i));
  EXPECT_THAT(ErrorAt(temp.path() + "/host/there/x"), HasSubstr("make it on the host"));
  EXPECT_EQ(ErrorAt(temp.path() + "/host/there/7"), "no error");
}

}  // namespace
}  // namespace berth::os
