// Changes of the files of a folder, by inotify(7).
#ifndef BERTH_HOST_OS_FOLDER_WATCH_H_
#define BERTH_HOST_OS_FOLDER_WATCH_H_

#include <set>
#include <string>

#include "base/result.h"
#include "host/os/unique_fd.h"

namespace berth::os {

class FolderWatch {
 public:
  /// Watches the entries of `folder`, not its sub-folders. Errors: as inotify_add_watch(2) (kNotFound: no folder).
  static Result<FolderWatch> Open(const std::string& folder);

  int fd() const { return fd_.get(); }  ///< readable when Take has something

  struct Changes {
    std::set<std::string> names;    ///< entries made, written, renamed or removed
    std::set<std::string> removed;  ///< those of them that were removed (not renamed), whatever came after that
    std::set<std::string> arrived;  ///< those of them that were renamed to this name last, and not touched since
    bool lost = false;              ///< events were dropped or the folder itself went away: look at everything again
    bool gone = false;              ///< the folder was removed or renamed: this watch is dead
  };
  /// All changes since the last call; empty when there were none.
  Changes Take();

 private:
  explicit FolderWatch(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_FOLDER_WATCH_H_
