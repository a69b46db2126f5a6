#include "os/trusted_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>

namespace berth::os {
namespace {

Result<void> CheckOne(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return FailErrno("look at", path, errno);
  if (info.st_uid != 0 && info.st_uid != ::geteuid())
    return Fail(Code::kPermission, path + " belongs to user " + std::to_string(info.st_uid) +
                                       ", who could change it; if it is meant: chown root " + path);
  const bool others_write = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (others_write && !(S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0))
    return Fail(Code::kPermission, path + " is writable for others than its owner; if it is meant: chmod go-w " + path);
  return {};
}

/// The directories on the way to `path`, links not followed, from the top.
Result<void> CheckWay(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    struct stat info{};
    const std::string part = path.substr(0, end);
    // A link can only be made or replaced by who can write to its directory, which is looked at too.
    if (::lstat(part.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) continue;
    BERTH_RETURN_IF_ERROR(CheckOne(part));
  }
  return {};
}

}  // namespace

Result<void> CheckTrusted(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (real == nullptr) return FailErrno("look at", path, errno);
  if (path.starts_with('/')) BERTH_RETURN_IF_ERROR(CheckWay(path));
  BERTH_RETURN_IF_ERROR(CheckWay(real.get()));
  return CheckOne(real.get());
}

}  // namespace berth::os
