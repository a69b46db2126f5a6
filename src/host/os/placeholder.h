// A process that only keeps a place: a cgroup that must not be empty before the process it is for comes.
#ifndef BERTH_HOST_OS_PLACEHOLDER_H_
#define BERTH_HOST_OS_PLACEHOLDER_H_

#include "base/result.h"
#include "host/os/unique_fd.h"

namespace berth::os {

/// Does nothing, holds no file of ours, and ends with this object or with this process, however that one ends.
class Placeholder {
 public:
  /// Errors: as pipe(2) and fork(2). Thread: any.
  static Result<Placeholder> Start();
  Placeholder(Placeholder&& other) noexcept;
  Placeholder& operator=(Placeholder&& other) noexcept;
  ~Placeholder();

  int pid() const { return pid_; }  ///< our child, not reaped before the end

 private:
  Placeholder(int pid, UniqueFd life_line) : pid_(pid), life_line_(std::move(life_line)) {}
  void End();

  int pid_ = 0;
  UniqueFd life_line_;  // its other end is all the child reads; closed when we end
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_PLACEHOLDER_H_
