// Names of cgroups on disk (rules/cgroups#names).
#include "host/cgroup/cgroup_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cgroup {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kUid = "1a2b3c4d-0000-1111-2222-333344445555";

Names Make(Driver driver, std::string_view root = "/", bool per_qos = true) {
  auto names = Names::Make(driver, root, per_qos);
  EXPECT_TRUE(names);
  return names ? *names : Names();
}

TEST(NamesTest, CgroupfsPathsAreTheComponents) {
  const Names names = Make(Driver::kCgroupfs, "/foo-bar");
  EXPECT_EQ("/foo-bar", names.root());
  EXPECT_EQ("kubepods", names.Qos(QosClass::kGuaranteed));
  EXPECT_EQ("kubepods/burstable", names.Qos(QosClass::kBurstable));
  EXPECT_EQ("kubepods/besteffort/podu-1", names.Pod(QosClass::kBestEffort, "u-1"));
  EXPECT_EQ("kubepods/podu-1/web", names.Container(names.Pod(QosClass::kGuaranteed, "u-1"), "web"));
  EXPECT_EQ("berth", names.Own());
}

TEST(NamesTest, SystemdNestsSlicesAndWritesDashesAsUnderscores) {
  const Names names = Make(Driver::kSystemd);
  EXPECT_EQ("/", names.root());
  const std::string pod = names.Pod(QosClass::kBurstable, kUid);
  EXPECT_EQ(
      "kubepods.slice/kubepods-burstable.slice/"
      "kubepods-burstable-pod1a2b3c4d_0000_1111_2222_333344445555.slice",
      pod);
  EXPECT_EQ("kubepods.slice/kubepods-pod1a2b3c4d_0000_1111_2222_333344445555.slice",
            names.Pod(QosClass::kGuaranteed, kUid));
  EXPECT_EQ(pod + "/berth-" + std::string(kUid) + "-web.scope", names.Container(pod, "web"));
  EXPECT_EQ("berth.scope", names.Own());
}

TEST(NamesTest, ARootBecomesPartOfEverySlice) {
  const Names names = Make(Driver::kSystemd, "/foo-bar");
  EXPECT_EQ("/foo_bar.slice", names.root());
  EXPECT_EQ("foo_bar-kubepods.slice", names.Qos(QosClass::kGuaranteed));
  EXPECT_EQ("foo_bar-kubepods.slice/foo_bar-kubepods-besteffort.slice", names.Qos(QosClass::kBestEffort));
  EXPECT_EQ("berth-foo_bar.scope", names.Own());
}

TEST(NamesTest, WithoutLevelsPerQosPodsLieBelowTheRoot) {
  EXPECT_EQ("", Make(Driver::kCgroupfs, "/", false).Qos(QosClass::kBurstable));
  EXPECT_EQ("podu", Make(Driver::kCgroupfs, "/", false).Pod(QosClass::kBurstable, "u"));
  EXPECT_EQ("foo-podu.slice", Make(Driver::kSystemd, "/foo", false).Pod(QosClass::kGuaranteed, "u"));
}

TEST(NamesTest, SettingsNameTheGroupsOfBerthdAndSupervisorsByTheirWholePath) {
  Names names = Make(Driver::kCgroupfs, "/a/b");
  EXPECT_FALSE(names.own_is_named());
  ASSERT_TRUE(names.NameOwn("/a/b/system/kubelet"));
  EXPECT_EQ("system/kubelet", names.Own());
  EXPECT_EQ("system/kubelet", names.Runtime());
  EXPECT_TRUE(names.own_is_named());
  ASSERT_TRUE(names.NameRuntime("a/b/runtime/"));
  EXPECT_EQ("runtime", names.Runtime());
  EXPECT_EQ("system/kubelet", names.Own());
}

TEST(NamesTest, UnderSystemdAGroupOfBerthsOwnIsAScopeInItsSlices) {
  Names names = Make(Driver::kSystemd, "/");
  ASSERT_TRUE(names.NameOwn("/berthd.scope"));
  EXPECT_EQ("berthd.scope", names.Own());
  Names below = Make(Driver::kSystemd, "/a");
  ASSERT_TRUE(below.NameRuntime("/a.slice/a-host.slice/shims.scope"));
  EXPECT_EQ("a-host.slice/shims.scope", below.Runtime());
  for (const char* path : {"/kubelet", "/host.slice", "/host.slice/kubelet.service", "/host/kubelet.scope",
                           "/host.slice/other.slice/x.scope", "/host-x.slice/x.scope",
                           "/host.slice/host-.slice/x.scope", "/host.slice/.scope"})
    EXPECT_THAT(names.NameOwn(path).error().message, HasSubstr("is no scope")) << path;
  EXPECT_THAT(below.NameOwn("/b.slice/x.scope").error().message, HasSubstr("below the cgroup root /a.slice"));
}

TEST(NamesTest, GroupsThatCannotBeBerthsAreRefusedWithTheCure) {
  Names below = Make(Driver::kCgroupfs, "/a");
  EXPECT_THAT(below.NameOwn("/kubelet").error().message, HasSubstr("below the cgroup root /a"));
  EXPECT_THAT(below.NameOwn("/a").error().message, HasSubstr("name one there"));
  EXPECT_THAT(below.NameOwn("/a/kubepods/x").error().message, HasSubstr("groups of pods"));
  EXPECT_THAT(below.NameOwn("/a/../b").error().message, HasSubstr("lead elsewhere"));
  EXPECT_EQ("berth", below.Own());
  Names flat = Make(Driver::kCgroupfs, "/", false);
  EXPECT_THAT(flat.NameRuntime("/pod1").error().message, HasSubstr("groups of pods"));
  EXPECT_TRUE(flat.NameRuntime("/kubepods"));
}

TEST(NamesTest, NamesFoundOnDiskAreReadBack) {
  const Names files = Make(Driver::kCgroupfs);
  EXPECT_EQ("u-1", files.PodUid("podu-1"));
  EXPECT_EQ("apodb", files.PodUid("podapodb")) << "a uid may contain 'pod'";
  EXPECT_EQ(std::nullopt, files.PodUid("burstable"));
  EXPECT_EQ("web", files.ContainerName("u-1", "web"));

  const Names units = Make(Driver::kSystemd);
  EXPECT_EQ(kUid, units.PodUid("kubepods-burstable-pod1a2b3c4d_0000_1111_2222_333344445555.slice"));
  EXPECT_EQ(std::nullopt, units.PodUid("kubepods-burstable.slice"));
  EXPECT_EQ(std::nullopt, units.PodUid("podx.scope"));
  EXPECT_EQ("a-b", units.ContainerName("u-1", "berth-u-1-a-b.scope"));
  EXPECT_EQ(std::nullopt, units.ContainerName("u-2", "berth-u-1-a-b.scope"));
}

TEST(NamesTest, ComponentsOfASliceAreItsLastNames) {
  EXPECT_THAT(
      ComponentsOf(Driver::kSystemd, "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podabc.slice"),
      ElementsAre("kubepods", "besteffort", "podabc"));
  EXPECT_THAT(ComponentsOf(Driver::kSystemd, "/system.slice"), ElementsAre("system"));
  EXPECT_THAT(ComponentsOf(Driver::kCgroupfs, "//a/b/"), ElementsAre("a", "b"));
}

TEST(NamesTest, ComponentsThatCannotBeNamedAreAnError) {
  const auto bad = PathOf(Driver::kSystemd, {"kubepods", "podx_y"});
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("'podx_y'"));
  const auto root = Names::Make(Driver::kSystemd, "/a_b", true);
  ASSERT_FALSE(root);
  EXPECT_THAT(root.error().message, HasSubstr("cgroup root '/a_b'"));
  EXPECT_EQ("/a_b", Make(Driver::kCgroupfs, "/a_b").root()) << "a directory may be called so";
}

}  // namespace
}  // namespace berth::cgroup
