// File system access below one root: kernel files, captured trees and Berth's own state.
//
// Paths are relative to the root an Fs was opened with ("/", "/sys/fs/cgroup", a fixture tree); a leading "/" is
// ignored. ".." as a component is refused (kInvalid). Real trees may hold symbolic links (sysfs does); they are
// followed, and below a root other than "/" they lead nowhere outside it.
#ifndef BERTH_HOST_OS_FS_H_
#define BERTH_HOST_OS_FS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/os/unique_fd.h"

namespace berth::os {

/// Errors everywhere: Code derived from errno (CodeOf), errno kept, message with verb and path.
/// Thread: implementations may be used from several threads on different paths.
class Fs {
 public:
  /// Files larger than this are refused (kInvalid): nothing Berth reads is that big.
  static constexpr std::size_t kMaxFileSize = std::size_t{64} << 20;

  virtual ~Fs() = default;
  virtual Result<std::string> Read(std::string_view path) = 0;  ///< the whole regular file; pipes and devices: kInvalid
  virtual Result<void> Write(std::string_view path, std::string_view s) = 0;  ///< one write(2); never creates
  virtual Result<std::vector<std::string>> List(std::string_view path) = 0;   ///< sorted bytewise, without "." and ".."
  virtual Result<void> MakeDir(std::string_view path) = 0;                    ///< exists already: success; 0755
  virtual Result<void> RemoveDir(std::string_view path) = 0;                  ///< gone already: success
  /// Atomic and durable: temporary file (0600, ".<name>.tmp") in the same directory, fsync, rename, fsync of the
  /// directory. On errors the old file is untouched and no temporary is left, unless only the last fsync failed: then
  /// the new file is in place. A crash may leave one temporary; the next Replace of the same path removes it.
  virtual Result<void> Replace(std::string_view path, std::string_view s) = 0;
  /// Makes `to` another name of the file `from`, in one step, whatever `to` named before. Durable with the next Replace
  /// in that directory. Errors: kNotFound when there is no `from`.
  virtual Result<void> Link(std::string_view from, std::string_view to) = 0;
  virtual Result<void> RemoveFile(std::string_view path) = 0;       ///< gone already: success
  virtual Result<bool> Exists(std::string_view path) = 0;           ///< file or directory; dangling link: no
  virtual Result<std::string> ReadLink(std::string_view path) = 0;  ///< target of a symbolic link
};

/// The real file system below `root`. `most`: bytes that a file to be read may have; reading ends there with kInvalid.
/// Errors: as open(2) of the root.
Result<std::unique_ptr<Fs>> OpenFs(const std::string& root, std::size_t most = Fs::kMaxFileSize);

/// The whole regular file of an absolute path. Errors: as Fs::Read.
Result<std::string> ReadFile(const std::string& path);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_FS_H_
