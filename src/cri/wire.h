// gRPC over a unix socket, as little of it as a CRI client needs: one call, one connection.
//
// A connection of its own per call costs about 0.1 ms and saves everything a shared one needs: nothing is left over
// from a runtime that was restarted, a call that hangs holds up no other, and a late answer has nowhere to go.
#ifndef BERTH_CRI_WIRE_H_
#define BERTH_CRI_WIRE_H_

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/clock.h"

namespace berth::cri {

/// Longest message either way, as the kubelet has it.
inline constexpr std::size_t kLongestMessage = std::size_t{16} << 20;

struct CallTarget {
  std::string socket;  ///< absolute path
  std::string method;  ///< "/runtime.v1.RuntimeService/Version"
  /// Readable: the call is given up. -1: none. The descriptor stays the caller's.
  int cancel_fd = -1;
  /// A connection: the call is given up when its other side closes it. -1: none. Likewise.
  int caller_fd = -1;
  /// Neither of these counts before then once the call is made. One that is given up already is not made at all.
  os::MonoTime give_up_from{};
};

/// Sends `request` (an encoded message) and waits for the one message of the answer.
/// Errors: what the runtime answered: kNotFound, kInvalid, kUnsupported (unknown method), kPermission, kExhausted,
/// kInternal (all else), with its text. kUnreachable, errno kept: the runtime cannot be reached; nothing was sent.
/// Whether it was done is not known after kTimeout (no answer before `deadline`), kCancelled (the call was given up)
/// and kUncertain (the connection broke). Thread: any.
Result<std::string> Call(const CallTarget& target, std::string_view request, os::MonoTime deadline);

/// The same for an answer of many messages, until the runtime ends it or `take` returns false (both success).
/// Without a deadline. Errors: as Call.
Result<void> Listen(const CallTarget& target, std::string_view request,
                    const std::function<bool(std::string_view message)>& take);

}  // namespace berth::cri

#endif  // BERTH_CRI_WIRE_H_
