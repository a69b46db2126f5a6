// Messages between Berth and its supervisors: short texts over a socket, one of them may carry a descriptor.
#ifndef BERTH_HOST_OS_SUPERVISOR_MESSAGE_H_
#define BERTH_HOST_OS_SUPERVISOR_MESSAGE_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/unique_fd.h"

namespace berth::os {

inline constexpr std::size_t kMaxMessage = 8192;  ///< longer ones are cut

struct Message {
  std::string text;  ///< never empty
  UniqueFd fd;       ///< if one came along
};

/// Sends `text` (not empty), with a copy of `fd` unless it is -1. Errors: kUncertain when the other side is gone, kIo.
Result<void> SendMessage(int socket, std::string_view text, int fd = -1);

/// The next message; nullopt when the other side is gone. `deadline` nullopt: waits without end.
/// Errors: kTimeout when the deadline passed, kIo.
Result<std::optional<Message>> ReceiveMessage(int socket, std::optional<MonoTime> deadline);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_SUPERVISOR_MESSAGE_H_
