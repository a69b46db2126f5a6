#include "os/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace berth::os {

Result<AppendFile> AppendFile::Open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640));
  if (!fd.valid()) return FailErrno("open", path, errno);
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return FailErrno("open", path, errno);
  if (!S_ISREG(st.st_mode)) return Fail(Code::kInvalid, "open " + path + ": not a regular file");
  return AppendFile(std::move(fd), path, static_cast<std::uint64_t>(st.st_size));
}

Result<void> AppendFile::Append(std::string_view bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t n = ::write(fd_.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int sys = n < 0 ? errno : EIO;
      // If even this fails a torn line stays; readers skip it.
      if (rest.size() != bytes.size() && ::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0)
        size_ += bytes.size() - rest.size();
      return FailErrno("write", path_, sys);
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  size_ += bytes.size();
  return {};
}

std::string GenerationPath(const std::string& path, int generation) {
  return generation == 0 ? path : path + "." + std::to_string(generation);
}

Result<void> RotateFiles(const std::string& path, int files) {
  if (files <= 1) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return FailErrno("remove", path, errno);
    return {};
  }
  for (int i = files - 2; i >= 0; --i) {
    const std::string from = GenerationPath(path, i);
    if (::rename(from.c_str(), GenerationPath(path, i + 1).c_str()) != 0 && errno != ENOENT)
      return FailErrno("rename", from, errno);
  }
  return {};
}

Result<std::optional<FileTail>> ReadTail(const std::string& path, std::size_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid() && errno == ENOENT) return std::optional<FileTail>();
  if (!fd.valid()) return FailErrno("read", path, errno);
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return FailErrno("read", path, errno);
  if (!S_ISREG(st.st_mode)) return Fail(Code::kInvalid, "read " + path + ": not a regular file");
  const auto size = static_cast<std::size_t>(st.st_size);
  FileTail tail{.bytes = std::string(std::min(size, limit), '\0'),
                .whole = size <= limit,
                .device = st.st_dev,
                .inode = st.st_ino};
  std::size_t used = 0;
  while (used < tail.bytes.size()) {
    const ssize_t n = ::pread(fd.get(), tail.bytes.data() + used, tail.bytes.size() - used,
                              static_cast<off_t>(size - tail.bytes.size() + used));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FailErrno("read", path, errno);
    if (n == 0) break;  // cut meanwhile
    used += static_cast<std::size_t>(n);
  }
  tail.bytes.resize(used);
  return tail;
}

}  // namespace berth::os
