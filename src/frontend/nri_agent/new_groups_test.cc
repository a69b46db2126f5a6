#include "frontend/nri_agent/new_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "testing/fixtures.h"

namespace berth::nri_agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// Folders as those of a cpuset hierarchy.
struct NewGroupsTest : testing::Test {
  void SetUp() override {
    Make("kubepods/burstable/pod1/old");
    auto opened = NewGroups::Open(
        temp.path(), [this](const std::string& path) { return known.contains(path); },
        [this](const std::string& path) { came.push_back(path); },
        [this](const std::string& message) { problems.push_back(message); });
    ASSERT_TRUE(opened) << opened.error().message;
    new_groups.emplace(*std::move(opened));
  }
  void Make(const std::string& path) { std::filesystem::create_directories(temp / path); }
  void Write(const std::string& path) { std::ofstream(temp / path) << "0-1"; }
  std::vector<std::string> Taken() {
    new_groups->Take();
    return std::exchange(came, {});
  }

  testkit::TempDir temp;
  std::set<std::string> known;
  std::vector<std::string> came;
  std::vector<std::string> problems;
  std::optional<NewGroups> new_groups;
};

TEST_F(NewGroupsTest, WhatWasThereIsLeftAndWhatComesIsTold) {
  new_groups->Begin(false);
  EXPECT_THAT(Taken(), IsEmpty());
  Make("kubepods/burstable/pod1/new");
  EXPECT_THAT(Taken(), ElementsAre("kubepods/burstable/pod1/new"));
  Make("kubepods/pod2");
  Taken();
  Make("kubepods/pod2/sandbox");
  EXPECT_THAT(Taken(), ElementsAre("kubepods/pod2/sandbox"));
  new_groups->End();
  Make("kubepods/pod2/later");
  EXPECT_THAT(Taken(), IsEmpty());
}

/// Nobody has looked between the two.
TEST_F(NewGroupsTest, APodThatCameWithItsContainersAndWithItsClassIsLookedInto) {
  new_groups->Begin(false);
  Make("kubepods/besteffort/pod3/app");
  EXPECT_THAT(Taken(), ElementsAre("kubepods/besteffort/pod3/app"));
  Make("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod4.slice/cri-containerd-1.scope");
  EXPECT_THAT(Taken(), ElementsAre("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod4.slice/"
                                   "cri-containerd-1.scope"));
}

TEST_F(NewGroupsTest, WhoeverWritesItsCpusIsToldOfAsOftenAsThatHappens) {
  new_groups->Begin(false);
  Make("kubepods/burstable/pod1/new");
  Taken();
  Write("kubepods/burstable/pod1/new/cpuset.mems");
  EXPECT_THAT(Taken(), IsEmpty());
  Write("kubepods/burstable/pod1/new/cpuset.cpus");
  EXPECT_THAT(Taken(), ::testing::Contains("kubepods/burstable/pod1/new"));
  Write("kubepods/burstable/pod1/old/cpuset.cpus");
  EXPECT_THAT(Taken(), IsEmpty());
  Write("kubepods/burstable/pod1/cgroup.subtree_control");
  EXPECT_THAT(Taken(), ::testing::Contains("kubepods/burstable/pod1/new"));
}

TEST_F(NewGroupsTest, WhereAllIsKnownWhatIsThereAndNotKnownIsToldToo) {
  known = {"kubepods/burstable/pod1/old"};
  Make("kubepods/burstable/pod1/unseen");
  new_groups->Begin(true);
  EXPECT_THAT(std::exchange(came, {}), ElementsAre("kubepods/burstable/pod1/unseen"));
}

TEST_F(NewGroupsTest, WhatCameBeforeItIsBegunAgainIsNewAllTheSame) {
  new_groups->Begin(false);
  Make("kubepods/burstable/pod1/new");
  new_groups->Begin(false);
  EXPECT_THAT(Taken(), ElementsAre("kubepods/burstable/pod1/new"));
  new_groups->Begin(false);
  Write("kubepods/burstable/pod1/new/cpuset.cpus");
  EXPECT_THAT(Taken(), Contains("kubepods/burstable/pod1/new")) << "it is followed still";
  new_groups->Begin(true);
  EXPECT_THAT(std::exchange(came, {}), Contains("kubepods/burstable/pod1/old")) << "it should be known now";
}

TEST_F(NewGroupsTest, WhileARuntimeAsksWhatComesIsToldUntilItIsKnown) {
  new_groups->Begin(false);
  new_groups->Settle();
  Make("kubepods/burstable/pod1/new");
  EXPECT_THAT(Taken(), ElementsAre("kubepods/burstable/pod1/new"));
  Write("kubepods/burstable/pod1/new/cpuset.cpus");
  EXPECT_THAT(Taken(), Contains("kubepods/burstable/pod1/new"));
  known = {"kubepods/burstable/pod1/old", "kubepods/burstable/pod1/new"};
  Write("kubepods/burstable/pod1/new/cpuset.cpus");
  EXPECT_THAT(Taken(), IsEmpty());
  new_groups->Begin(true);
  Make("kubepods/burstable/pod1/later");
  known.insert("kubepods/burstable/pod1/later");
  Write("kubepods/burstable/pod1/later/cpuset.cpus");
  EXPECT_THAT(Taken(), Contains("kubepods/burstable/pod1/later")) << "nobody asks about it";
}

/// The kernel has dropped what there was more than it keeps.
TEST_F(NewGroupsTest, WhatCameWhileEventsWereLostIsTold) {
  new_groups->Begin(false);
  Make("kubepods/burstable/pod1/before");
  Taken();
  int limit = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> limit;
  ASSERT_GT(limit, 0);
  std::ofstream one(temp / "kubepods/burstable/pod1/one"), other(temp / "kubepods/burstable/pod1/other");
  for (int i = 0; i <= limit / 2; ++i) one << "1" << std::flush, other << "1" << std::flush;
  Make("kubepods/burstable/pod1/new");
  EXPECT_THAT(Taken(), UnorderedElementsAre("kubepods/burstable/pod1/before", "kubepods/burstable/pod1/new"));
  Write("kubepods/burstable/pod1/new/cpuset.cpus");
  EXPECT_THAT(Taken(), Contains("kubepods/burstable/pod1/new"));
}

TEST_F(NewGroupsTest, WhatCannotBeWatchedIsToldToo) {
  new_groups->Begin(false);
  for (const char* const name : {"first", "second"})  // links to themselves: the kernel refuses to watch them
    std::filesystem::create_symlink(name, temp / ("kubepods/burstable/pod1/" + std::string(name)));
  EXPECT_THAT(Taken(), ElementsAre("kubepods/burstable/pod1/first", "kubepods/burstable/pod1/second"));
  EXPECT_THAT(problems, ElementsAre(HasSubstr("fs.inotify.max_user_watches"))) << "once";
  Write("kubepods/burstable/pod1/file");
  Make("kubepods/burstable/pod1/new");
  EXPECT_THAT(Taken(), ElementsAre("kubepods/burstable/pod1/new")) << "a file is no group";
}

TEST_F(NewGroupsTest, AGroupThatHasGoneIsForgotten) {
  new_groups->Begin(false);
  Make("kubepods/burstable/pod1/new");
  Make("kubepods/burstable/pod2/app");
  Taken();
  std::filesystem::remove(temp / "kubepods/burstable/pod1/new");
  std::filesystem::remove_all(temp / "kubepods/burstable/pod2");
  EXPECT_THAT(Taken(), IsEmpty());
  Write("kubepods/burstable/pod1/cgroup.subtree_control");
  EXPECT_THAT(Taken(), IsEmpty()) << "nothing is below it";
  Make("kubepods/burstable/pod2/app");
  Make("kubepods/burstable/pod1/new");
  EXPECT_THAT(Taken(), UnorderedElementsAre("kubepods/burstable/pod2/app", "kubepods/burstable/pod1/new"));
}

TEST_F(NewGroupsTest, PodsBelowACgroupRootOfTheKubeletsAreFound) {
  Make("kubelet/kubepods/burstable/pod5/old");
  new_groups->Begin(false);
  Make("kubelet/kubepods/burstable/pod5/app");
  Make("kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod6.slice/cri-1.scope");
  EXPECT_THAT(Taken(), UnorderedElementsAre("kubelet/kubepods/burstable/pod5/app",
                                            "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod6.slice/"
                                            "cri-1.scope"));
}

}  // namespace
}  // namespace berth::nri_agent
