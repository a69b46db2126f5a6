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

Result<std::optional<OpenedFile>> OpenedFile::Open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid() && errno == ENOENT) return std::optional<OpenedFile>();
  if (!fd.valid()) return FailErrno("read", path, errno);
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return FailErrno("read", path, errno);
  if (!S_ISREG(st.st_mode)) return Fail(Code::kInvalid, "read " + path + ": not a regular file");
  return OpenedFile(std::move(fd), path, st.st_dev, st.st_ino);
}

Result<std::string> OpenedFile::Read(std::uint64_t offset, std::size_t limit) const {
  std::string bytes(limit, '\0');
  std::size_t used = 0;
  while (used < limit) {
    const ssize_t n = ::pread(fd_.get(), bytes.data() + used, limit - used, static_cast<off_t>(offset + used));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FailErrno("read", path_, errno);
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
  }
  bytes.resize(used);
  return bytes;
}

Result<std::uint64_t> OpenedFile::Size() const {
  struct stat st{};
  if (::fstat(fd_.get(), &st) != 0) return FailErrno("read", path_, errno);
  return static_cast<std::uint64_t>(st.st_size);
}

Result<std::optional<FileTail>> ReadTail(const std::string& path, std::size_t limit) {
  BERTH_TRY(const std::optional<OpenedFile> file, OpenedFile::Open(path));
  if (!file) return std::optional<FileTail>();
  BERTH_TRY(const std::uint64_t size, file->Size());
  FileTail tail{.bytes = {},
                .offset = size - std::min<std::uint64_t>(size, limit),
                .device = file->device(),
                .inode = file->inode()};
  BERTH_TRY(tail.bytes, file->Read(tail.offset, static_cast<std::size_t>(size - tail.offset)));
  return tail;
}

}  // namespace berth::os
