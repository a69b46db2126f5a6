#include "host/os/append_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "host/os/beneath.h"
#include "host/os/lock_file.h"
#include "host/os/path.h"

namespace berth::os {
namespace {

constexpr unsigned kFolderMode = 0750;

struct Place {
  UniqueFd folder;  // O_PATH
  std::string name;
};

std::unexpected<Error> NotOpened(const std::string& action, const std::string& path, int sys) {
  if (sys != ELOOP) return FailErrno(action, path, sys);
  return Fail(Code::kPermission, action + " " + path + ": a link is in place of the file or of its folder");
}

/// The two folders above a file: what they are below, and their names.
struct OwnFolders {
  std::string below;
  std::string path;
};
OwnFolders OwnFoldersOf(const std::string& file) {
  const std::string folder = FolderOf(file);
  const std::string below = FolderOf(FolderOf(folder));
  return {.below = below, .path = folder.substr(below.size() + (below.ends_with('/') ? 0 : 1))};
}

/// Errors: kNotFound, kPermission (a link), else from the kernel.
Result<Place> PlaceOf(const std::string& action, const std::string& path) {
  const OwnFolders own = OwnFoldersOf(path);
  const UniqueFd top(::open(own.below.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top.valid()) return NotOpened(action, path, errno);
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const std::string below = own.path.empty() ? "." : own.path;
  UniqueFd folder(static_cast<int>(::syscall(SYS_openat2, top.get(), below.c_str(), &how, sizeof how)));
  if (!folder.valid()) return NotOpened(action, path, errno);
  return Place{.folder = std::move(folder), .name = FileNameOf(path)};
}

}  // namespace

Result<void> MakeFolderOf(const std::string& path) {
  const OwnFolders own = OwnFoldersOf(path);
  BERTH_RETURN_IF_ERROR(MakeDirs(own.below, 0755));
  BERTH_RETURN_IF_ERROR(MakeDirsBeneath(own.below, own.path, kFolderMode));
  BERTH_RETURN_IF_ERROR(PlaceOf("make the folder of", path));
  return {};
}

Result<AppendFile> AppendFile::Open(const std::string& path) {
  BERTH_TRY(const Place place, PlaceOf("open", path));
  UniqueFd fd(::openat(place.folder.get(), place.name.c_str(),
                       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640));
  if (!fd.valid()) return NotOpened("open", path, errno);
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
  const auto place = PlaceOf("rotate", path);
  if (!place) return place.error().code == Code::kNotFound ? Result<void>() : std::unexpected(place.error());
  const int folder = place->folder.get();
  if (files <= 1) {
    if (::unlinkat(folder, place->name.c_str(), 0) != 0 && errno != ENOENT) return FailErrno("remove", path, errno);
    return {};
  }
  for (int i = files - 2; i >= 0; --i) {
    const std::string from = GenerationPath(place->name, i);
    if (::renameat(folder, from.c_str(), folder, GenerationPath(place->name, i + 1).c_str()) != 0 && errno != ENOENT)
      return FailErrno("rename", GenerationPath(path, i), errno);
  }
  return {};
}

Result<std::optional<OpenedFile>> OpenedFile::Open(const std::string& path) {
  const auto place = PlaceOf("read", path);
  if (!place && place.error().code == Code::kNotFound) return std::optional<OpenedFile>();
  if (!place) return std::unexpected(place.error());
  UniqueFd fd(::openat(place->folder.get(), place->name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!fd.valid() && errno == ENOENT) return std::optional<OpenedFile>();
  if (!fd.valid()) return NotOpened("read", path, errno);
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
