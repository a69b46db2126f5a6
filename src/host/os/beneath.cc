#include "host/os/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <string_view>

#include "base/text.h"
#include "host/os/lock_file.h"
#include "host/os/path.h"

namespace berth::os {
namespace {

constexpr unsigned kPrivate = 0700;

Result<UniqueFd> Open(int root, const std::string& root_name, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
  if (fd >= 0) return UniqueFd(static_cast<int>(fd));
  if (errno == EXDEV || errno == ELOOP)
    return Fail(Code::kPermission, "open " + Printable(path) + " below " + root_name + ": it leads out of there");
  return FailErrno("open below " + root_name, path, errno);
}

Result<UniqueFd> OpenRoot(const std::string& root) {
  UniqueFd out(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!out.valid()) return FailErrno("open", root, errno);
  return out;
}

/// Takes off all mounts at `target`.
Result<void> Unmount(const std::string& target) {
  while (::umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
  }
  if (errno == EINVAL || errno == ENOENT) return {};  // no mount (any more)
  return FailErrno("unmount", target, errno);
}

Result<void> MakePlace(const struct stat& of, const std::string& target) {
  if (S_ISDIR(of.st_mode)) return MakeDirs(target, kPrivate);
  BERTH_RETURN_IF_ERROR(MakeDirs(FolderOf(target), kPrivate));
  const UniqueFd file(::open(target.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.valid()) return FailErrno("make", target, errno);
  return {};
}

}  // namespace

Result<UniqueFd> OpenBeneath(const std::string& root, const std::string& path) {
  BERTH_TRY(const UniqueFd top, OpenRoot(root));
  return Open(top.get(), root, path);
}

Result<UniqueFd> MakeDirsBeneath(const std::string& root, const std::string& path, unsigned mode) {
  BERTH_TRY(const UniqueFd top, OpenRoot(root));
  BERTH_TRY(UniqueFd at, Open(top.get(), root, "."));
  std::string so_far;
  for (const std::string_view part : Split(path, '/')) {
    if (part.empty() || part == ".") continue;
    const std::string name(part);
    if (part == "..") return Fail(Code::kInvalid, "make directory " + Printable(path) + ": \"..\" is not allowed");
    if (::mkdirat(at.get(), name.c_str(), mode) != 0 && errno != EEXIST)
      return FailErrno("make directory below " + root, path, errno);
    so_far += (so_far.empty() ? "" : "/") + name;
    BERTH_TRY(at, Open(top.get(), root, so_far));
  }
  return at;
}

Result<void> BindAt(const UniqueFd& what, const std::string& target) {
  struct stat of{};
  if (::fstat(what.get(), &of) != 0) return FailErrno("look at what is to be mounted at", target, errno);
  BERTH_RETURN_IF_ERROR(Unbind(target));
  BERTH_RETURN_IF_ERROR(MakePlace(of, target));
  const std::string source = "/proc/self/fd/" + std::to_string(what.get());
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return FailErrno("mount at", target, errno);
  return {};
}

Result<void> Unbind(const std::string& target) {
  BERTH_RETURN_IF_ERROR(Unmount(target));
  if (::unlink(target.c_str()) == 0 || errno == ENOENT) return {};
  if (errno == EISDIR && ::rmdir(target.c_str()) == 0) return {};
  return FailErrno("remove", target, errno);
}

}  // namespace berth::os
