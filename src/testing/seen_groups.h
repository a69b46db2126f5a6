// This host's real cgroup directories and processes, as a test sees them from outside: they may go at any moment.
#ifndef BERTH_TESTING_SEEN_GROUPS_H_
#define BERTH_TESTING_SEEN_GROUPS_H_

#include <filesystem>
#include <string>
#include <vector>

namespace berth::testkit {

inline constexpr const char* kCgroupMounts = "/sys/fs/cgroup";

/// Text of a file; "" when it is not there (any more).
std::string ReadIfThere(const std::string& path);
/// Files and folders below `top`, folders before what is in them; links are not followed. What goes meanwhile may be
/// left out, and nothing else is.
std::vector<std::filesystem::directory_entry> EntriesBelow(const std::filesystem::path& top);
/// Mount points of the hierarchies below kCgroupMounts (v1, hybrid), or that itself (v2).
std::vector<std::string> CgroupMounts();
/// Whether groups are systemd's units here, so that both berthd and runtimes work with the systemd driver.
bool SystemdMakesGroups();
/// `top` and all groups below it, parents before children; nothing when there is no `top`.
std::vector<std::string> GroupsBelow(const std::string& top);
/// Processes of one group.
std::vector<int> PidsIn(const std::string& group);

}  // namespace berth::testkit

#endif  // BERTH_TESTING_SEEN_GROUPS_H_
