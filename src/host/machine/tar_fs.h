// A tarball as a read-only file system in memory; nothing is ever unpacked to disk.
#ifndef BERTH_HOST_MACHINE_TAR_FS_H_
#define BERTH_HOST_MACHINE_TAR_FS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/os/fs.h"

namespace berth::machine {

/// What a tarball may hold; a captured machine has a few thousand small files.
struct TarLimits {
  std::size_t entries = 400'000;
  std::size_t file_bytes = os::Fs::kMaxFileSize;
  std::size_t total_bytes = std::size_t{512} << 20;  ///< unpacked, links and names included
};

/// Read-only os::Fs: every change fails with EROFS. Symbolic links are followed inside the tree; a link that leads out
/// of it is dangling. Thread: any.
class TarFs final : public os::Fs {
 public:
  /// Unpacks `bytes`: a tar file, plain or compressed with gzip, bzip2, xz or zstd. Errors: kInvalid naming `name` and
  /// the entry: not a tar file, cut short, beyond the limits, a path with "..".
  static Result<std::unique_ptr<TarFs>> Parse(std::string_view bytes, const std::string& name,
                                              const TarLimits& limits = {});

  /// The folder that holds "sys": "" or the tarball's single top folder. Errors: kInvalid when there is none.
  Result<std::string> FindRoot() const;
  /// Makes `root` (a folder inside) the root of all further paths.
  void SetRoot(std::string root) { root_ = std::move(root); }

  Result<std::string> Read(std::string_view path) override;
  Result<std::vector<std::string>> List(std::string_view path) override;
  Result<bool> Exists(std::string_view path) override;
  Result<std::string> ReadLink(std::string_view path) override;
  Result<void> Write(std::string_view path, std::string_view s) override;
  Result<void> MakeDir(std::string_view path) override;
  Result<void> RemoveDir(std::string_view path) override;
  Result<void> Replace(std::string_view path, std::string_view s) override;
  Result<void> Link(std::string_view from, std::string_view to) override;
  Result<void> RemoveFile(std::string_view path) override;

 private:
  enum class Kind { kFile, kFolder, kLink };
  struct Node {
    Kind kind = Kind::kFolder;
    std::string text;  ///< content or target
    std::map<std::string, std::unique_ptr<Node>, std::less<>> children;
  };
  struct Place {
    const Node* node = nullptr;  ///< nullptr: does not exist
    int sys = 0;                 ///< errno that says why
  };

  TarFs() = default;
  friend class TarReader;
  /// The node at `parts` for a new entry, folders above it made. nullptr: a file is in the way.
  Node* Make(const std::vector<std::string_view>& parts);
  Place Find(std::string_view path, bool follow_last) const;
  Result<const Node*> Need(std::string_view doing, std::string_view path, bool follow_last) const;

  Node top_;
  std::string root_;
};

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_TAR_FS_H_
