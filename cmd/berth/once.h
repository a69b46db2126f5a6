// A berthd for `berth run --once`: started by the first who needs it, shared with those who come meanwhile, stopped by
// the last.
#ifndef BERTH_CMD_BERTH_ONCE_H_
#define BERTH_CMD_BERTH_ONCE_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "host/os/lock_file.h"

namespace berth::cli {

/// All of it is below /run/berth-once, its groups below /berth-once: the static CPU policy with half a CPU reserved,
/// alignment by topology where it can be had, no eviction.
class OnceDaemon {
 public:
  /// Joins the one that runs, or starts one with the program berthd beside this one or in PATH.
  /// Errors: kPermission (takes root), kNotFound (no berthd), kTimeout with what it said.
  static Result<OnceDaemon> Join();
  OnceDaemon(OnceDaemon&&) = default;
  OnceDaemon& operator=(OnceDaemon&&) = delete;
  /// Stops it when nobody else needs it, and removes all of it.
  ~OnceDaemon();

  static std::string Socket();

 private:
  explicit OnceDaemon(os::LockFile user) : user_(std::make_unique<os::LockFile>(std::move(user))) {}
  std::unique_ptr<os::LockFile> user_;  // null: moved from
};

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_ONCE_H_
