// Service state messages to systemd (sd_notify). Without systemd every call does nothing.
#ifndef BERTH_DAEMON_NOTIFY_H_
#define BERTH_DAEMON_NOTIFY_H_

#include <optional>
#include <string>

#include "host/os/clock.h"

namespace berth::daemon {

class Notifier {
 public:
  /// Tells the systemd that started this process, by NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  static Notifier FromEnvironment();

  /// Send does nothing.
  Notifier() = default;

  /// How often systemd wants to hear WATCHDOG=1: half its time-out; nullopt: never.
  std::optional<os::Millis> watchdog_period() const { return watchdog_; }

  /// One datagram of "KEY=value" lines: "READY=1", "STATUS=…", "WATCHDOG=1", "STOPPING=1". Failures are ignored:
  /// whether systemd listens is none of the node's business.
  void Send(const std::string& lines) const;

 private:
  bool speaks_ = false;
  std::optional<os::Millis> watchdog_;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_NOTIFY_H_
