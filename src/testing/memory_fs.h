// A file system in memory for tests: files, directories and symbolic links in a map, a log of every change, and hooks
// with which a test can play the kernel (refuse a write, fill a new directory, let files appear or change).
//
// Namespace testkit, not testing: inside berth:: the latter would hide GoogleTest's.
#ifndef BERTH_TESTING_MEMORY_FS_H_
#define BERTH_TESTING_MEMORY_FS_H_

#include <functional>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/os/fs.h"

namespace berth::testkit {

/// Same contract as os::Fs. Thread: any, one operation at a time; hooks run inside it and may use the same MemoryFs.
class MemoryFs final : public os::Fs {
 public:
  /// Each may refuse (its error is returned, nothing changes) or do more. Empty: nothing special. Called with normal
  /// paths: no leading "/".
  struct Hooks {
    std::function<Result<void>(const std::string& path, std::string_view bytes)> before_write;  ///< Write only
    std::function<void(const std::string& path)> after_write;
    std::function<Result<void>(const std::string& path)> before_make_dir;
    std::function<void(const std::string& path)> after_make_dir;
    /// With this set RemoveDir takes the files of a directory along, as cgroupfs does; subdirectories still refuse.
    std::function<Result<void>(const std::string& path)> before_remove_dir;
    std::function<std::optional<std::string>(const std::string& path)> on_read;  ///< a value replaces the content
  };

  MemoryFs() = default;
  /// Files with their content; directories above them are made.
  MemoryFs(std::initializer_list<std::pair<std::string_view, std::string_view>> files);

  // For tests, not logged.
  void AddFile(std::string_view path, std::string_view content);  ///< new or overwritten, directories above are made
  void AddDir(std::string_view path);
  void AddLink(std::string_view path, std::string_view target);
  void Drop(std::string_view path);  ///< with everything below
  std::optional<std::string> Content(std::string_view path) const;
  bool IsDir(std::string_view path) const;
  std::vector<std::string> Files() const;  ///< all files, sorted
  void set_hooks(Hooks hooks) { hooks_ = std::move(hooks); }

  /// Changes that succeeded: "write p bytes", "mkdir p", "rmdir p", "replace p", "link p q", "unlink p".
  std::vector<std::string> log() const;
  void ClearLog();

  Result<std::string> Read(std::string_view path) override;
  Result<void> Write(std::string_view path, std::string_view s) override;
  Result<std::vector<std::string>> List(std::string_view path) override;
  Result<void> MakeDir(std::string_view path) override;
  Result<void> RemoveDir(std::string_view path) override;
  Result<void> Replace(std::string_view path, std::string_view s) override;
  /// A copy, which is the same to readers: nothing here writes through one name of a file and reads by another.
  Result<void> Link(std::string_view from, std::string_view to) override;
  Result<void> RemoveFile(std::string_view path) override;
  Result<bool> Exists(std::string_view path) override;
  Result<std::string> ReadLink(std::string_view path) override;

 private:
  enum class Kind { kFile, kDir, kLink };
  struct Node {
    Kind kind = Kind::kFile;
    std::string text;  ///< content or target
  };
  /// The normal path without links. Errors: kInvalid for "..", ELOOP. The last component need not exist;
  /// `follow_last` decides whether it may be a link.
  Result<std::string> Resolve(std::string_view path, bool follow_last = true) const;
  const Node* Find(const std::string& normal) const;
  bool HasChildren(const std::string& normal, bool directories_only) const;
  void DropTree(const std::string& normal);
  Result<std::string> ResolveNew(std::string_view path, std::string_view doing) const;

  mutable std::recursive_mutex mutex_;
  std::map<std::string, Node> nodes_;  ///< by normal path; the root is implied
  bool has_links_ = false;             ///< or had
  std::vector<std::string> log_;
  Hooks hooks_;
};

}  // namespace berth::testkit

#endif  // BERTH_TESTING_MEMORY_FS_H_
