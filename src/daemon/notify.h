// Tells systemd how berthd is doing (sd_notify protocol). Without systemd every call does nothing.
#ifndef BERTH_DAEMON_NOTIFY_H_
#define BERTH_DAEMON_NOTIFY_H_

#include <optional>
#include <string>
#include <string_view>

#include "os/clock.h"

namespace berth::daemon {

class Notifier {
 public:
  /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and takes them out of the environment, so that no child
  /// inherits them.
  static Notifier FromEnvironment();

  /// Not connected: Send does nothing.
  Notifier() = default;
  Notifier(std::string socket, std::optional<os::Millis> watchdog);

  /// How often systemd wants to hear WATCHDOG=1: half its time-out; nullopt: never.
  std::optional<os::Millis> watchdog_period() const { return watchdog_; }

  /// One datagram of "KEY=value" lines: "READY=1", "STATUS=…", "WATCHDOG=1", "STOPPING=1". Failures are ignored:
  /// whether systemd listens is none of the node's business.
  void Send(std::string_view lines) const;

 private:
  std::string socket_;
  std::optional<os::Millis> watchdog_;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_NOTIFY_H_
