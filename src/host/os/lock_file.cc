#include "host/os/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "host/os/path.h"

namespace berth::os {
namespace {

constexpr Millis kRetryStep{20};

std::string OwnerOf(int fd) {
  char text[32];
  const ssize_t n = ::pread(fd, text, sizeof text, 0);
  return n > 0 ? Printable(Trim(std::string_view(text, static_cast<std::size_t>(n)))) : "unknown";
}

/// False: somebody else holds it, even after `patience`.
Result<bool> Lock(int fd, const std::string& path, Hold hold, Millis patience) {
  const MonoTime end = SystemClock().Now() + patience;
  while (::flock(fd, (hold == Hold::kAlone ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return FailErrno("lock", path, errno);
    if (SystemClock().Now() >= end) return false;
    SleepFor(kRetryStep);
  }
  return true;
}

/// Makes a new entry of a folder durable.
Result<void> SyncFolder(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return FailErrno("open directory", path, errno);
  if (::fsync(fd.get()) != 0 && errno != EINVAL)  // EINVAL: a file system that has nothing to sync
    return FailErrno("fsync directory", path, errno);
  return {};
}

}  // namespace

Result<LockFile> LockFile::Take(const std::string& path, Millis patience) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return FailErrno("open lock file", path, errno);
  BERTH_TRY(const bool locked, Lock(fd.get(), path, Hold::kAlone, patience));
  if (!locked) return Fail(Code::kInUse, path + " is held by another process (pid " + OwnerOf(fd.get()) + ")");
  const std::string pid = std::to_string(::getpid()) + "\n";
  // For people only: a full disk is no reason not to start.
  if (::ftruncate(fd.get(), 0) == 0) static_cast<void>(::pwrite(fd.get(), pid.data(), pid.size(), 0));
  return LockFile(std::move(fd));
}

Result<LockFile> LockFile::TakeDirectory(const std::string& path, Hold hold, Millis patience) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return FailErrno("open directory", path, errno);
  BERTH_TRY(const bool locked, Lock(fd.get(), path, hold, patience));
  if (!locked) return Fail(Code::kInUse, path + " is held by another process");
  return LockFile(std::move(fd));
}

bool LockFile::Guards(const std::string& path) const {
  struct stat held{};
  struct stat there{};
  return ::fstat(fd_.get(), &held) == 0 && ::lstat(path.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
         held.st_ino == there.st_ino;
}

Result<void> MakeDirs(const std::string& path, unsigned mode) {
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const bool last = at == std::string::npos;
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), last ? mode : 0755U) == 0) {
      BERTH_RETURN_IF_ERROR(SyncFolder(FolderOf(part)));
    } else if (errno != EEXIST) {
      return FailErrno("make directory", part, errno);
    }
    if (last) return {};
  }
}

}  // namespace berth::os
