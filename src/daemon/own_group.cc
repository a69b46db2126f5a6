#include "daemon/own_group.h"

#include <algorithm>

#include "base/text.h"
#include "host/cgroup/membership.h"

namespace berth::daemon {
namespace {

std::string DirOf(const cgroup::ControllerMount& mount, std::string_view proc_self_cgroup) {
  for (const std::string_view line : Split(proc_self_cgroup, '\n')) {
    const auto group = cgroup::ParseMembership(line);
    if (!group || !cgroup::IsOf(*group, mount)) continue;
    const auto path = cgroup::WithinMount(mount, group->path);
    return !path || *path == "/" ? mount.mount : mount.mount + std::string(*path);
  }
  return mount.mount;
}

}  // namespace

std::vector<std::string> CurrentGroups(const cgroup::Layout& layout, std::string_view proc_self_cgroup) {
  std::vector<std::string> out;
  std::vector<cgroup::ControllerMount> mounts = layout.controllers;
  if (layout.accounting && !layout.accounting->read_only) mounts.push_back(*layout.accounting);
  for (const cgroup::ControllerMount& mount : mounts) {
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
