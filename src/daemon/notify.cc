#include "daemon/notify.h"

#include <systemd/sd-daemon.h>

#include <cstdint>

namespace berth::daemon {

Notifier Notifier::FromEnvironment() {
  Notifier out;
  out.speaks_ = true;
  std::uint64_t usec = 0;
  if (::sd_watchdog_enabled(0, &usec) > 0 && usec >= 2'000) out.watchdog_ = os::Millis(usec / 2'000);
  return out;
}

void Notifier::Send(const std::string& lines) const {
  if (speaks_) ::sd_notify(0, lines.c_str());
}

}  // namespace berth::daemon
