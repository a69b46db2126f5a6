#include "host/os/host.h"

#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>

namespace berth::os {

Bytes PageSize() { return {::sysconf(_SC_PAGESIZE)}; }

Result<std::string> ReadAttribute(const std::string& path, const std::string& name) {
  std::array<char, 256> value{};
  const ssize_t size = ::getxattr(path.c_str(), name.c_str(), value.data(), value.size());
  if (size >= 0) return std::string(value.data(), static_cast<std::size_t>(size));
  if (errno == ENODATA || errno == ENOTSUP) return FailErrno("read attribute " + name + " of", path, ENOENT);
  return FailErrno("read attribute " + name + " of", path, errno);
}

bool HasAppArmor() {
  std::ifstream file("/sys/module/apparmor/parameters/enabled");
  return file.get() == 'Y';
}

bool HasSeLinux() { return ::access("/sys/fs/selinux/enforce", F_OK) == 0; }

}  // namespace berth::os
