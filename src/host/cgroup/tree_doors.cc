#include "host/cgroup/tree_doors.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "host/os/pidfd.h"
#include "host/os/unique_fd.h"

namespace berth::cgroup {
namespace {

/// Handles are opened first, then the list is read again: a pid that is still listed is the process of the handle, or
/// that one is dead and the signal goes nowhere. A reused pid is never hit.
Result<void> KillListed(const std::vector<int>& pids, const std::function<Result<std::vector<int>>()>& still_there) {
  std::vector<std::pair<int, os::UniqueFd>> handles;
  for (const int pid : pids) {
    const auto start = os::StartTicksOf(pid);
    auto handle = start ? os::OpenPidfd(pid, *start) : Result<os::UniqueFd>(std::unexpected(start.error()));
    if (handle) {
      handles.emplace_back(pid, *std::move(handle));
    } else if (handle.error().code != Code::kNotFound) {
      return std::unexpected(std::move(handle).error());
    }
  }
  BERTH_TRY(const std::vector<int> there, still_there());
  for (const auto& [pid, handle] : handles)
    if (std::binary_search(there.begin(), there.end(), pid)) {
      BERTH_RETURN_IF_ERROR(os::SendSignal(handle.get(), SIGKILL));
    }
  return {};
}

}  // namespace

TreeDoors HostDoors() { return {.kill = KillListed, .wait = os::SleepFor}; }

}  // namespace berth::cgroup
