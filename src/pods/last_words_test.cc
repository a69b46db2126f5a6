#include "pods/last_words.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::pods {
namespace {

TEST(LastWordsTest, APlainProcessHasTheUsualPathForItselfWhereThatIsNamedOrItsRootIsReadOnly) {
  Container container;
  EXPECT_TRUE(LeavesMessageToHost(container));
  container.security.read_only_root = false;
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
