#include "frontend/static_pods/termination_messages.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "testing/fixtures.h"

namespace berth::pods {
namespace {

TEST(TerminationMessagesTest, APlainProcessHasTheUsualPathForItselfUnlessItMayMountOrHasTheHostsDevices) {
  Container container;
  EXPECT_FALSE(LeavesMessageToHost(container));
  container.security.privileged = true;
  EXPECT_TRUE(LeavesMessageToHost(container)) << "what it mounts is the host's";
  container.security.privileged = false;
  for (const char* const name : {"SYS_ADMIN", "sys_admin", "CAP_SYS_ADMIN", "ALL"}) {
    container.security.add_capabilities = {name};
    EXPECT_TRUE(LeavesMessageToHost(container)) << name;
  }
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

TEST(TerminationMessagesTest, FilesOfTheLastTwoAttemptsAreKept) {
  const testkit::TempDir temp;
  const VolumeFolders folders{.disk = temp / "", .memory = "", .pins = ""};
  Pod pod;
  pod.uid = "u";
  Container container;
  container.name = "app";
  container.termination_message_path = "/srv/why";
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto mount = MessageMount(pod, container, attempt, folders, true);
    ASSERT_TRUE(mount && *mount);
    EXPECT_TRUE(std::filesystem::exists((*mount)->host_path));
  }
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(temp / "")))
    files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 2);
}

}  // namespace
}  // namespace berth::pods
