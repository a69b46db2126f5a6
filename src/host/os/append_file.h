// Files that grow at their end, are rotated by number and read from their end: logs.
//
// The two folders above a file are a pod's and a container's, and a container that runs as root may put something else
// in their place. No link in them is followed, nor one in place of the file: kPermission. Those above are followed.
#ifndef BERTH_HOST_OS_APPEND_FILE_H_
#define BERTH_HOST_OS_APPEND_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "host/os/unique_fd.h"

namespace berth::os {

/// Makes the folder of the file `path` and the one above (0750: what containers write is not for every user), with
/// their parents (0755). Errors: as mkdir(2); kPermission when a link is in place of one of the two.
Result<void> MakeFolderOf(const std::string& path);

class AppendFile {
 public:
  /// Opens or creates (0640) `path`. Errors: as open(2).
  static Result<AppendFile> Open(const std::string& path);

  /// All of `bytes` or, after an error, nothing of it (what was written is cut off again).
  /// Errors: kExhausted (disk full), kIo.
  Result<void> Append(std::string_view bytes);
  std::uint64_t size() const { return size_; }

 private:
  AppendFile(UniqueFd fd, std::string path, std::uint64_t size)
      : fd_(std::move(fd)), path_(std::move(path)), size_(size) {}
  UniqueFd fd_;
  std::string path_;
  std::uint64_t size_;
};

/// "name" of generation 0 is path, of generation n path.n.
std::string GenerationPath(const std::string& path, int generation);

/// Renames path to path.1, path.1 to path.2 ...; of `files` generations (path included) the oldest is removed. Missing
/// ones are skipped. Requires: files >= 1. Errors: as rename(2), with the older ones renamed already.
Result<void> RotateFiles(const std::string& path, int files);

/// A regular file, readable at any place, also after it was renamed or removed.
class OpenedFile {
 public:
  /// nullopt when there is no such file. Errors: as open(2); kInvalid when it is no regular file.
  static Result<std::optional<OpenedFile>> Open(const std::string& path);

  /// At most `limit` bytes from `offset` on; fewer only at the end. Errors: as read(2).
  Result<std::string> Read(std::uint64_t offset, std::size_t limit) const;
  /// Errors: as fstat(2).
  Result<std::uint64_t> Size() const;
  std::uint64_t device() const { return device_; }
  std::uint64_t inode() const { return inode_; }

 private:
  OpenedFile(UniqueFd fd, std::string path, std::uint64_t device, std::uint64_t inode)
      : fd_(std::move(fd)), path_(std::move(path)), device_(device), inode_(inode) {}
  UniqueFd fd_;
  std::string path_;
  std::uint64_t device_;
  std::uint64_t inode_;
};

/// The end of a file.
struct FileTail {
  std::string bytes;
  std::uint64_t offset = 0;  ///< of the first of them; 0: bytes is the whole file
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};
/// At most the last `limit` bytes. nullopt when there is no such file. Errors: as OpenedFile.
Result<std::optional<FileTail>> ReadTail(const std::string& path, std::size_t limit);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_APPEND_FILE_H_
