// One container of the process runtime: what was asked for, what its supervisor recorded, what is watched of it.
#ifndef BERTH_RUNTIME_PROCESS_HELD_H_
#define BERTH_RUNTIME_PROCESS_HELD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/unique_fd.h"
#include "runtime/lifecycle/runtime.h"
#include "runtime/process/record.h"

namespace berth::runtime {

inline constexpr std::size_t kMaxId = 200;  ///< of a container's id, which names a directory

/// Thread: that of the runtime.
struct Held {
  ShimRequest request;  // once it is recorded without the words of its program: they may be long, and are there
  ShimState state;
  ContainerStatus status;        // as last returned or reported
  bool creating = false;         // it is being started by another thread
  int pending_signal = 0;        // came meanwhile
  os::UniqueFd shim;             // not valid once the supervisor has ended
  os::UniqueFd main;             // not valid once the process has ended
  std::uint64_t token = 0;       // of the supervisor in the set of watched handles; without one, of the process
  std::uint64_t main_token = 0;  // of the process beside its supervisor
  std::optional<os::MonoTime> silent_since;  // the process has ended, and the supervisor was not seen to end yet
  bool roused = false;                       // it was told to go on
};

/// Errors: kInvalid for what cannot be a process, naming container and cure.
Result<void> CheckRequest(const StartRequest& request);
/// Unique over all attempts, also when a pod comes back with the same uid.
std::string MakeId(const StartRequest& request);
ShimRequest MakeShimRequest(const StartRequest& request, std::string id);

/// Leaves out what only its supervisor and a command run in it need: argv, env and the filter of system calls.
void DropWords(ShimRequest& request);

ContainerStatus StatusOf(const Held& held);
/// The end of a container nobody saw.
void Lose(Held& held, std::string message);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_PROCESS_HELD_H_
