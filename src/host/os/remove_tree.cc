#include "host/os/remove_tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "host/os/path.h"
#include "host/os/unique_fd.h"
#include "host/os/whole_file.h"

namespace berth::os {
namespace {

constexpr int kDeepest = 200;     // each level holds a descriptor
constexpr int kNameTries = 1000;  // somebody may have made files of such names

class Remover {
 public:
  explicit Remover(const std::string& path) : path_(path) {}

  Result<void> Run() {
    const UniqueFd folder(::open(FolderOf(path_).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (folder.valid()) {
      Remove(folder.get(), FileNameOf(path_), 0);
    } else if (errno != ENOENT) {
      Note(FailErrno("open the folder of", path_, errno));
    }
    return std::move(first_);
  }

 private:
  void Note(std::unexpected<Error> error) {
    if (first_) first_ = std::move(error);
  }

  void Remove(int folder, const std::string& name, int depth) {
    if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return;
    if (errno != EISDIR && errno != EPERM) return Note(FailErrno("remove '" + name + "' of", path_, errno));
    if (depth == kDeepest) return MoveUp(folder, name);
    if (!RemoveBelow(folder, name, depth)) return;
    if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
      Note(FailErrno("remove '" + name + "' of", path_, errno));
  }

  /// False: it is not to be removed.
  bool RemoveBelow(int folder, const std::string& name, int depth) {
    open_how how{};
    how.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    how.resolve = RESOLVE_NO_XDEV | RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    const UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how)));
    if (!fd.valid()) {
      if (errno == EXDEV) {
        Note(Fail(Code::kBusy, "remove " + path_ + ": something is mounted at '" + name + "' in it"));
      } else if (errno != ENOENT) {
        Note(FailErrno("open '" + name + "' of", path_, errno));
      }
      return false;
    }
    if (depth == 0) top_ = fd.get();
    do {
      if (depth == 0) moved_ = false;
      auto names = NamesIn(fd.get(), path_);
      if (!names) {
        Note(std::unexpected(std::move(names).error()));
        return false;
      }
      for (const std::string& below : *names) Remove(fd.get(), below, depth + 1);
    } while (depth == 0 && moved_);
    return true;
  }

  /// What lies too deep goes to the top, and is removed from there.
  void MoveUp(int folder, const std::string& name) {
    for (int i = 0; i < kNameTries; ++i) {
      const std::string above = "berth-deep-" + std::to_string(next_++);
      if (::renameat2(folder, name.c_str(), top_, above.c_str(), RENAME_NOREPLACE) == 0) {
        moved_ = true;
        return;
      }
      if (errno != EEXIST) break;
    }
    Note(FailErrno("move up '" + name + "' of", path_, errno));
  }

  const std::string& path_;
  int top_ = -1;  // path_, while it is emptied
  bool moved_ = false;
  int next_ = 0;
  Result<void> first_;
};

}  // namespace

Result<void> RemoveTree(const std::string& path) { return Remover(path).Run(); }

}  // namespace berth::os
