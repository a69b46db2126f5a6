// A lock that one process holds at a time and the kernel gives back when it dies.
#ifndef BERTH_HOST_OS_LOCK_FILE_H_
#define BERTH_HOST_OS_LOCK_FILE_H_

#include <cstdint>
#include <string>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/unique_fd.h"

namespace berth::os {

/// Whether others may hold the same lock with us (each with kTogether).
enum class Hold : std::uint8_t { kAlone, kTogether };

/// Holds flock(2) on a file or directory for as long as it lives. A file holds the owner's pid, for people; it is never
/// removed (removing it would let two processes lock two different files of one name).
class LockFile {
 public:
  /// Creates `path` (0600) if needed.
  /// A busy lock is tried again for up to `patience`: a child of an owner that was killed while it started one holds a
  /// copy until it executes its program.
  /// Errors: kInUse when another process holds it (message names its pid), else from open(2).
  static Result<LockFile> Take(const std::string& path, Millis patience);
  /// The same on a directory that is there: for places where no file can be made (cgroups). Nobody knows its owner.
  static Result<LockFile> TakeDirectory(const std::string& path, Hold hold, Millis patience);
  /// What is locked is what `path` leads to. False: it was removed meanwhile, and others may lock what is there now.
  bool Guards(const std::string& path) const;

 private:
  explicit LockFile(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

/// Makes a directory and its missing parents, durably; the last one gets `mode`, parents 0755. Exists already: success.
Result<void> MakeDirs(const std::string& path, unsigned mode);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_LOCK_FILE_H_
