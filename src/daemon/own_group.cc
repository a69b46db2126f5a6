#include "daemon/own_group.h"

#include <algorithm>

#include "base/text.h"

namespace berth::daemon {
namespace {

/// Path in a line "12:cpu,cpuacct:/path" that stands for the controller; v2 lines are "0::/path".
bool LineIsFor(std::string_view controllers, const cgroup::ControllerMount& mount) {
  if (mount.v2) return controllers.empty();
  const std::vector<std::string_view> names = Split(controllers, ',');
  return std::ranges::find(names, mount.controller) != names.end();
}

std::string DirOf(const cgroup::ControllerMount& mount, std::string_view proc_self_cgroup) {
  for (const std::string_view line : Split(proc_self_cgroup, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    if (!LineIsFor(line.substr(first + 1, second - first - 1), mount)) continue;
    std::string_view path = line.substr(second + 1);
    if (mount.root != "/") {  // the mount point shows a part of the tree only
      if (!path.starts_with(mount.root)) return mount.mount;
      path.remove_prefix(mount.root.size());
    }
    return path == "/" || path.contains("/..") ? mount.mount : mount.mount + std::string(path);
  }
  return mount.mount;
}

}  // namespace

std::vector<std::string> CurrentGroups(const cgroup::Layout& layout, std::string_view proc_self_cgroup) {
  std::vector<std::string> out;
  for (const cgroup::ControllerMount& mount : layout.controllers) {
    std::string dir = DirOf(mount, proc_self_cgroup);
    if (std::ranges::find(out, dir) == out.end()) out.push_back(std::move(dir));
  }
  return out;
}

Result<void> MoveSelf(os::Fs& root, const std::vector<std::string>& dirs) {
  for (const std::string& dir : dirs) BERTH_RETURN_IF_ERROR(root.Write(dir + "/cgroup.procs", "0"));
  return {};
}

}  // namespace berth::daemon
