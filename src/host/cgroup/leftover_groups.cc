#include "host/cgroup/leftover_groups.h"

#include "host/cgroup/mounts.h"

namespace berth::cgroup {
namespace {

constexpr int kDeepest = 16;

void RemoveBelow(os::Fs& root_fs, const std::string& dir, int depth) {
  if (depth > kDeepest) return;
  if (const auto names = root_fs.List(dir))
    for (const std::string& name : *names)
      // Control files hold a dot, groups of pods and containers need not: only what can be listed is a group.
      if (root_fs.Exists(dir + "/" + name + "/cgroup.procs").value_or(false))
        RemoveBelow(root_fs, dir + "/" + name, depth + 1);
  [[maybe_unused]] const auto removed = root_fs.RemoveDir(dir);  // not empty: stays
}

}  // namespace

void RemoveLeftoverGroups(os::Fs& root_fs, const std::string& path) {
  if (path.size() < 2 || !path.starts_with('/')) return;
  const auto mountinfo = root_fs.Read("proc/self/mountinfo");
  const auto mounts = mountinfo ? FindMounts(*mountinfo) : std::unexpected(mountinfo.error());
  if (!mounts) return;
  for (const Mount& mount : *mounts)
    if (mount.root == "/" && root_fs.Exists(mount.point + path).value_or(false))
      RemoveBelow(root_fs, mount.point + path, 0);
}

}  // namespace berth::cgroup
