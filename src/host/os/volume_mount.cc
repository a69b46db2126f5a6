#include "host/os/volume_mount.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "base/mutex.h"
#include "host/os/lock_file.h"
#include "host/os/unique_fd.h"
#include "host/os/whole_file.h"

namespace berth::os {
namespace {

constexpr unsigned kForRoot = 0700;

Result<void> MountAt(const char* kind, const std::string& target, unsigned long flags, const std::string& options) {
  if (::mount(kind, target.c_str(), kind, flags, options.c_str()) == 0) return {};
  return FailErrno(std::string("mount a ") + kind + " at", target, errno);
}

std::string SizeOption(const std::optional<Bytes>& size) { return size ? ",size=" + std::to_string(size->v) : ""; }

bool HoldsNothing(const std::string& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto names = NamesIn(fd.get(), folder);
  return names && names->empty();
}

/// The line of /proc/self/mountinfo says "shared:".
bool IsShared(const std::string& path) {
  struct statx is{};
  if (::statx(AT_FDCWD, path.c_str(), AT_NO_AUTOMOUNT, STATX_MNT_ID, &is) != 0 || (is.stx_mask & STATX_MNT_ID) == 0)
    return false;
  const std::string start = std::to_string(is.stx_mnt_id) + " ";
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);)
    if (line.starts_with(start)) return line.substr(0, line.find(" - ")).contains(" shared:");
  return false;
}

Result<void> ShareMountsBelow(const std::string& path) {
  BERTH_RETURN_IF_ERROR(MakeDirs(path, kForRoot));
  if (IsShared(path)) return {};
  if (!IsMountPoint(path) && ::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return FailErrno("mount on itself", path, errno);
  if (::mount(nullptr, path.c_str(), nullptr, MS_SHARED, nullptr) != 0)
    return FailErrno("share the mounts of", path, errno);
  return {};
}

/// While a folder is made in a shared one, and while that is looked at for being empty.
Mutex& SharingLock() {
  static Mutex lock;
  return lock;
}

}  // namespace

Result<void> MakeSharedFolder(const std::string& above, const std::string& name) {
  const MutexLock lock(SharingLock());
  BERTH_RETURN_IF_ERROR(ShareMountsBelow(above));
  return MakeDirs(above + "/" + name, kForRoot);
}

void DropSharing(const std::string& above) {
  const MutexLock lock(SharingLock());
  struct stat is{};
  struct stat parent{};
  const bool itself = ::lstat(above.c_str(), &is) == 0 && ::stat((above + "/..").c_str(), &parent) == 0 &&
                      is.st_dev == parent.st_dev && IsMountPoint(above);
  // Lazily: a namespace that is just going may hold it.
  if (itself && HoldsNothing(above)) ::umount2(above.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
}

bool IsMountPoint(const std::string& target) {
  struct statx is{};
  if (::statx(AT_FDCWD, target.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &is) != 0)
    return false;
  if ((is.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) return (is.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  struct statx above{};  // before Linux 5.8
  if (::statx(AT_FDCWD, (target + "/..").c_str(), AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &above) != 0) return false;
  return is.stx_dev_major != above.stx_dev_major || is.stx_dev_minor != above.stx_dev_minor;
}

Result<void> MountMemory(const std::string& target, std::optional<Bytes> size, bool own) {
  BERTH_RETURN_IF_ERROR(MakeDirs(target, kForRoot));
  if (IsMountPoint(target)) return {};
  const std::string options = "mode=0755" + SizeOption(size);
  if (!own) return MountAt("tmpfs", target, 0, options);
  if (MountAt("tmpfs", target, MS_NOSUID | MS_NODEV, options + ",noswap")) return {};
  return MountAt("tmpfs", target, MS_NOSUID | MS_NODEV, options);
}

Result<void> MountHugePages(const std::string& target, Bytes page, std::optional<Bytes> size) {
  BERTH_RETURN_IF_ERROR(MakeDirs(target, kForRoot));
  if (IsMountPoint(target)) return {};
  return MountAt("hugetlbfs", target, 0, "mode=0755,pagesize=" + std::to_string(page.v) + SizeOption(size));
}

}  // namespace berth::os
