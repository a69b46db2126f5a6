#include "host/os/whole_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <tuple>
#include <utility>

#include "host/os/unique_fd.h"

namespace berth::os {

Result<void> WriteAll(int fd, std::string_view bytes, std::string_view path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return FailErrno("write", path, n < 0 ? errno : EIO);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<std::vector<std::string>> NamesIn(int directory, std::string_view path) {
  UniqueFd listed(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (!listed.valid()) return FailErrno("list", path, errno);
  DIR* const dir = ::fdopendir(listed.get());
  if (dir == nullptr) return FailErrno("list", path, errno);
  std::ignore = listed.release();  // the stream's now
  ::rewinddir(dir);                // the duplicate shares its place with what was read before
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  const int sys = errno;
  ::closedir(dir);
  if (sys != 0) return FailErrno("list", path, sys);
  std::ranges::sort(names);
  return names;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream out;
  out << file.rdbuf();
  return std::move(out).str();
}

}  // namespace berth::os
