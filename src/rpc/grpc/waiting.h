// Waiting for a call, on the thread of whoever made it. For components that carry calls.
#ifndef BERTH_RPC_GRPC_WAITING_H_
#define BERTH_RPC_GRPC_WAITING_H_

#include <optional>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/event_fd.h"

namespace berth::grpc {

/// How long somebody waits for a call.
struct Patience {
  std::optional<os::MonoTime> deadline{};  ///< nullopt: for ever
  int cancel_fd = -1;                      ///< readable: given up. -1: none. The descriptors stay the caller's.
  int caller_fd = -1;                      ///< a connection: given up when its other side closes it. -1: none
  os::MonoTime give_up_from{};             ///< neither of these counts before then
};

/// Until `event` is readable. Errors: kTimeout: the deadline has passed; kCancelled: given up; kUncertain: of poll(2).
Result<void> WaitFor(const os::EventFd& event, const Patience& patience);

/// Given up already, whatever give_up_from says.
bool IsUnwanted(const Patience& patience);

}  // namespace berth::grpc

#endif  // BERTH_RPC_GRPC_WAITING_H_
