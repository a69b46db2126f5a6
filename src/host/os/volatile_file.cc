#include "host/os/volatile_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "host/os/unique_fd.h"
#include "host/os/whole_file.h"

namespace berth::os {
namespace {

Result<void> WriteTemp(const std::string& temp, std::string_view bytes, unsigned mode) {
  const UniqueFd fd(::open(temp.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return FailErrno("create", temp, errno);
  if (::fchmod(fd.get(), mode) != 0) return FailErrno("set the mode of", temp, errno);
  return WriteAll(fd.get(), bytes, temp);
}

}  // namespace

Result<void> ReplaceVolatile(const std::string& path, std::string_view bytes, unsigned mode) {
  const std::size_t slash = path.rfind('/') + 1;  // npos + 1 is 0
  const std::string temp = path.substr(0, slash) + "." + path.substr(slash) + ".tmp";
  Result<void> done = WriteTemp(temp, bytes, mode);
  if (done && ::rename(temp.c_str(), path.c_str()) != 0) done = FailErrno("replace", path, errno);
  if (!done) ::unlink(temp.c_str());
  return done;
}

}  // namespace berth::os
