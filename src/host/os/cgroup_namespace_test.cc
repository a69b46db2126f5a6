#include "host/os/cgroup_namespace.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

namespace berth::os {
namespace {

std::string NamespaceOf(const std::string& task) {
  return std::filesystem::read_symlink("/proc/" + task + "/ns/cgroup").string();
}

TEST(CgroupNamespaceTest, AThreadSeesGroupsAsProcessOneDoes) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can enter another namespace";
  if (std::error_code hidden; std::filesystem::read_symlink("/proc/1/ns/cgroup", hidden).empty())
    GTEST_SKIP() << "this system hides process 1, from root too: " << hidden.message();
  std::thread([] {
    ASSERT_EQ(0, ::unshare(CLONE_NEWCGROUP));
    ASSERT_NE(NamespaceOf("1"), NamespaceOf("thread-self"));
    const auto entered = EnterCgroupNamespaceOfInit();
    ASSERT_TRUE(entered) << entered.error().message;
    EXPECT_TRUE(*entered);
    EXPECT_EQ(NamespaceOf("1"), NamespaceOf("thread-self"));
    const auto again = EnterCgroupNamespaceOfInit();
    EXPECT_TRUE(again && !*again);
  }).join();
}

}  // namespace
}  // namespace berth::os
