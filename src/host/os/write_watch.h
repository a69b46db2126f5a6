// A watch of writes to the files of some folders (fanotify): which file, and the writing process.
#ifndef BERTH_HOST_OS_WRITE_WATCH_H_
#define BERTH_HOST_OS_WRITE_WATCH_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/unique_fd.h"

namespace berth::os {

/// A program wrote to a file.
struct FileWrite {
  std::string path;  ///< absolute, as this process sees it
  int pid = 0;       ///< of the writer; 0: not known (another pid namespace)
  std::string who;   ///< "sh (pid 812, /usr/bin/dash)", as far as it could still be seen; "" for an unknown writer
};

/// Only writes through this mount's file system are seen: a cgroup namespace's own mount is another one.
class WriteWatch {
 public:
  /// Errors: kPermission (needs CAP_SYS_ADMIN), kUnsupported (a kernel without fanotify).
  static Result<WriteWatch> Open();

  /// The files of `folder`, not of its sub-folders; until it is removed. Again: success.
  /// Errors: as fanotify_mark(2).
  Result<void> Add(const std::string& folder);

  int fd() const { return fd_.get(); }  ///< readable when Take has something

  struct Writes {
    std::vector<FileWrite> list;  ///< own writes are left out
    bool lost = false;            ///< there were more than the kernel keeps
  };
  /// What there is, as far as the slice goes; for the rest the descriptor stays readable.
  Writes Take(const Slice& slice = {});

 private:
  explicit WriteWatch(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_WRITE_WATCH_H_
