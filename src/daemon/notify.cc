#include "daemon/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "base/text.h"
#include "os/unique_fd.h"

namespace berth::daemon {

Notifier Notifier::FromEnvironment() {
  const auto take = [](const char* name) {
    const char* value = std::getenv(name);
    std::string out = value != nullptr ? value : "";
    ::unsetenv(name);
    return out;
  };
  const std::string socket = take("NOTIFY_SOCKET");
  const auto usec = ParseDecimal<std::int64_t>(take("WATCHDOG_USEC"));
  const std::string pid = take("WATCHDOG_PID");
  std::optional<os::Millis> watchdog;
  if (usec && *usec >= 2000 && (pid.empty() || pid == std::to_string(::getpid()))) watchdog = os::Millis(*usec / 2000);
  return {socket, watchdog};
}

Notifier::Notifier(std::string socket, std::optional<os::Millis> watchdog)
    : socket_(std::move(socket)), watchdog_(socket_.empty() ? std::nullopt : watchdog) {}

void Notifier::Send(std::string_view lines) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  std::ranges::copy(socket_, address.sun_path);
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // abstract socket
  const os::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  // The socket API takes every address family through this one pointer type.
  [[maybe_unused]] const ssize_t sent =
      ::sendto(fd.get(), lines.data(), lines.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), size);
}

}  // namespace berth::daemon
