#include "daemon/start_check.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <string_view>

#include "base/text.h"
#include "daemon/cgroup_driver.h"
#include "daemon/host_groups.h"
#include "host/cgroup/cgroup.h"
#include "host/os/fs.h"
#include "host/os/path.h"

namespace berth::daemon {
namespace {

/// 0, or why the file or folder may not be written.
int WhyNotWritable(const std::string& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/// The folder itself, or the lowest one above it that exists.
std::string NearestExisting(std::string path) {
  while (path != "/" && ::faccessat(AT_FDCWD, path.c_str(), F_OK, AT_EACCESS) != 0 && errno == ENOENT)
    path = os::FolderOf(path);
  return path;
}

void CheckFolder(std::string_view what, std::string_view option, const std::string& path,
                 std::vector<std::string>& out) {
  const std::string there = NearestExisting(path);
  if (const int error = WhyNotWritable(there); error != 0)
    out.push_back(fmt::format("{} {}: may not write in {} ({}); run berthd as root, or name a folder of yours with {}",
                              what, path, there, std::strerror(error), option));
}

std::string CureOf(const cgroup::ControllerMount& mount, const std::string& dir) {
  if (mount.v2)
    return "run berthd as root, or have a part of the tree delegated and name it with --cgroup-root (systemd: a unit "
           "with Delegate=yes)";
  return fmt::format(
      "run berthd as root, or have root make a group for it ('mkdir {0}/berth && chown -R {1} {0}/berth') "
      "and name it with --cgroup-root /berth",
      mount.mount == dir ? dir : mount.mount, ::geteuid());
}

std::string IsReadOnly(const cgroup::ControllerMount& mount) {
  return fmt::format(
      "cgroup mount {0} is read-only; 'mount -o remount,rw {0}', or start the container berthd is in with writable "
      "cgroups",
      mount.mount);
}

/// The group may be made, or changed if it is there.
void CheckHierarchy(const cgroup::ControllerMount& mount, const std::string& root, std::vector<std::string>& out) {
  const std::string dir = root == "/" ? mount.mount : mount.mount + root;
  if (mount.read_only) return out.push_back(IsReadOnly(mount));
  const std::string there = NearestExisting(dir);
  std::vector<std::string> needed{there};
  if (there == dir && mount.v2) needed.push_back(dir + "/cgroup.subtree_control");
  for (const std::string& path : needed)
    if (const int error = WhyNotWritable(path); error != 0) {
      out.push_back(fmt::format("cgroups of {}: may not write {} ({}); {}", mount.v2 ? "v2" : mount.controller, path,
                                std::strerror(error), CureOf(mount, dir)));
      return;
    }
}

/// Of groups that are a kubelet's: files of cpusets are written, and where its root is there no group is made. The root
/// of a hierarchy is 0555: the shipped container, whose capabilities are few, could make none there.
void CheckKubeletsHierarchy(const cgroup::ControllerMount& mount, const std::string& root,
                            std::vector<std::string>& out) {
  const std::string dir = root == "/" ? mount.mount : mount.mount + root;
  const std::string there = NearestExisting(dir);
  const std::string needed = there == dir ? there + "/cgroup.procs" : there;
  if (const int error = WhyNotWritable(needed); error != 0)
    out.push_back(fmt::format("cgroups of {}: may not write {} ({}); run berthd as the host's root{}",
                              mount.v2 ? "v2" : mount.controller, needed, std::strerror(error),
                              there == dir ? "" : ", and set cgroupRoot to the kubelet's, there is no " + dir));
}

/// Of the group berthd works in, or of the one that group will be made in.
void CheckControllers(os::Fs& fs, const cgroup::Layout& layout, const std::string& root,
                      std::vector<std::string>& out) {
  const auto mount = std::ranges::find(layout.controllers, true, &cgroup::ControllerMount::v2);
  if (mount == layout.controllers.end()) return;
  const std::string dir = NearestExisting(root == "/" ? mount->mount : mount->mount + root);
  const auto text = fs.Read(dir + "/cgroup.controllers");
  if (!text) return;
  const auto offered = SplitWords(*text);
  std::vector<std::string> missing;
  for (const cgroup::ControllerMount& controller : layout.controllers)
    if (controller.v2 && std::ranges::find(offered, controller.controller) == offered.end())
      missing.push_back(controller.controller);
  if (!missing.empty())
    out.push_back(
        fmt::format("{} offers no controller {}: delegate them from the level above (systemd: "
                    "Delegate={} in the unit, and in those above it)",
                    dir, Join(missing, ", "), Join(missing, " ")));
}

}  // namespace

std::vector<std::string> WhatIsMissing(const Settings& settings) {
  std::vector<std::string> out;
  CheckFolder("state directory", "--state-dir", settings.berth.state_dir, out);
  CheckFolder("run directory", "--run-dir", settings.berth.run_dir, out);
  CheckFolder("folder of the socket", "--socket", os::FolderOf(settings.berth.socket), out);
  if (IsPlayed(settings)) return out;
  const bool kubelets = BesideKubelet(settings);
  if (!kubelets)  // whose containers log as the kubelet says
    CheckFolder("log directory", "--log-dir", PodLogsOf(settings), out);
  auto fs = os::OpenFs("/");
  if (!fs) return out;  // told by whoever needs it
  const auto layout = cgroup::DiscoverLayout(**fs);
  if (!layout) {
    out.push_back(layout.error().message);
    return out;
  }
  const auto driver = FindDriver(**fs, *layout, settings);
  const auto names = driver ? NamesOf(settings, *driver) : std::unexpected(driver.error());
  if (!names) return out;  // likewise
  // systemd makes its groups, and hands them what they need.
  const std::string root = *driver == cgroup::Driver::kSystemd ? "/" : names->root();
  std::set<std::string> seen;
  for (const cgroup::ControllerMount& mount : layout->controllers) {
    const bool first = seen.insert(mount.mount).second;
    if (kubelets) {
      if (first && mount.read_only) out.push_back(IsReadOnly(mount));
      if (mount.controller == "cpuset" && !mount.read_only) CheckKubeletsHierarchy(mount, root, out);
    } else if (first) {
      CheckHierarchy(mount, root, out);
    }
  }
  CheckControllers(**fs, *layout, root, out);
  return out;
}

}  // namespace berth::daemon
