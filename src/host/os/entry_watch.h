// An inotify watch on entries of some folders: made, written to and removed.
#ifndef BERTH_HOST_OS_ENTRY_WATCH_H_
#define BERTH_HOST_OS_ENTRY_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/os/unique_fd.h"

namespace berth::os {

class EntryWatch {
 public:
  /// Watches nothing yet. Errors: as inotify_init1(2).
  static Result<EntryWatch> Open();

  /// The entries of `folder`, not of its sub-folders, until it is removed. Again: success; where another folder has its
  /// place now, that one instead. Errors: as inotify_add_watch(2) (kNotFound: no folder).
  Result<void> Add(const std::string& folder);
  /// It is not watched any more. For folders that were removed too: in cgroupfs the kernel keeps watches of them.
  void Remove(const std::string& folder);
  /// No folder is watched any more.
  void Clear();

  int fd() const { return fd_.get(); }  ///< readable when Take has something

  enum class What : std::uint8_t { kMade, kWritten, kRemoved };
  struct Entry {
    std::string folder;
    std::string name;
    What what = What::kMade;
  };
  struct News {
    std::vector<Entry> list;  ///< in the order in which it happened
    bool lost = false;        ///< there was more than the kernel keeps
  };
  /// All since the last call.
  News Take();

 private:
  explicit EntryWatch(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
  std::map<int, std::string> folders_;
  std::map<std::string, int, std::less<>> ids_;  // of the same
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_ENTRY_WATCH_H_
