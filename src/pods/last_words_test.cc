#include "pods/last_words.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::pods {
namespace {

TEST(LastWordsTest, APlainProcessHasTheUsualPathForItselfUnlessItMayMountOrHasTheHostsDevices) {
  Container container;
  EXPECT_FALSE(LeavesMessageToHost(container));
  container.security.privileged = true;
  EXPECT_TRUE(LeavesMessageToHost(container)) << "what it mounts is the host's";
  container.security.privileged = false;
  container.security.add_capabilities = {"SYS_ADMIN"};
  EXPECT_TRUE(LeavesMessageToHost(container));
  container.security.read_only_root = true;
  EXPECT_FALSE(LeavesMessageToHost(container));
  container.security.read_only_root.reset();
  container.termination_message_path = "/dev/termination-log";
  EXPECT_FALSE(LeavesMessageToHost(container));
  container.mounts.push_back({.name = "devices", .mount_path = "/dev"});
  EXPECT_TRUE(LeavesMessageToHost(container)) << "a mount point would be made on the host";
  container.termination_message_path = "/srv/why";
  EXPECT_FALSE(LeavesMessageToHost(container));
}

}  // namespace
}  // namespace berth::pods
