#include "host/cgroup/observe.h"

#include <gtest/gtest.h>

#include "testing/fake_cgroups.h"
#include "testing/fault_fs.h"

namespace berth::cgroup {
namespace {

TEST(ObserveTest, FindsEveryContainerOfEveryTierAndWhetherItRuns) {
  for (const bool v2 : {false, true}) {
    testkit::MemoryFs fs;
    testkit::FakeCgroups host(fs, {.v2 = v2});
    auto tree = Tree::Open(testkit::Share(fs), *DiscoverLayout(fs), "berth");
    ASSERT_TRUE(tree) << tree.error().message;
    const Names names;
    const std::string pinned = names.Container(names.Pod(QosClass::kGuaranteed, "u1"), "app");
    const std::string shared = names.Container(names.Pod(QosClass::kBurstable, "u2"), "side");
    for (const std::string& path : {pinned, shared, names.Own(), std::string("kubepods/else/x")})
      ASSERT_TRUE((*tree)->Create(path));
    CgroupValues values;
    values.cpus = CpuSet::Range(2, 3);
    ASSERT_TRUE((*tree)->Write(pinned, values));
    ASSERT_TRUE(host.AddProcess("berth/" + pinned, 7));
    fs.ClearLog();
    const auto seen = ObserveRunning(**tree, names);
    ASSERT_TRUE(seen) << seen.error().message;
    ASSERT_EQ(seen->size(), 2U);
    const RunningGroup& second = (*seen)[1];
    EXPECT_EQ((*seen)[0].uid, "u2");
    EXPECT_FALSE((*seen)[0].busy);
    EXPECT_EQ(second.path, pinned);
    EXPECT_EQ(second.name, "app");
    EXPECT_EQ(second.qos, QosClass::kGuaranteed);
    EXPECT_EQ(FormatIds(second.cpus), "2-3");
    EXPECT_TRUE(second.busy);
    EXPECT_TRUE(fs.log().empty()) << "looking writes nothing";
  }
}

}  // namespace
}  // namespace berth::cgroup
