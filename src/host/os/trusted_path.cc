#include "host/os/trusted_path.h"

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

bool OthersCanRead(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  struct stat file{};
  if (real == nullptr || ::stat(real.get(), &file) != 0) return false;
  bool others = (file.st_mode & S_IROTH) != 0;
  bool group = file.st_gid != 0 && (file.st_mode & S_IRGRP) != 0;
  const std::string whole = real.get();
  for (std::size_t end = whole.find('/', 1); end != std::string::npos && (others || group);
       end = whole.find('/', end + 1)) {
    struct stat folder{};
    if (::stat(whole.substr(0, end).c_str(), &folder) != 0) return false;
    const bool all_enter = (folder.st_mode & S_IXOTH) != 0;
    others = others && all_enter;
    group = group && (folder.st_gid == file.st_gid ? (folder.st_mode & S_IXGRP) != 0 : all_enter);
  }
  return others || group;
}

}  // namespace berth::os
