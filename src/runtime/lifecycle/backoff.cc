#include "runtime/lifecycle/backoff.h"

#include <algorithm>

namespace berth::runtime {

os::Millis BackoffDelay(int restarts, const BackoffOptions& options) {
  if (restarts <= 0) return os::Millis(0);
  os::Millis delay = std::min(options.initial, options.max);
  for (int i = 1; i < restarts && delay < options.max; ++i) delay = std::min(delay * 2, options.max);
  return delay;
}

bool Backoff::RanFine(os::MonoTime finished) const { return finished - last_restart_ > options_.max * 2; }

os::Millis Backoff::Delay(os::MonoTime finished) const {
  return RanFine(finished) ? os::Millis(0) : BackoffDelay(restarts_, options_);
}

void Backoff::Restarted(os::MonoTime finished, os::MonoTime now) {
  restarts_ = RanFine(finished) ? 1 : restarts_ + 1;
  last_restart_ = now;
}

void Backoff::Recover(int restarts, os::MonoTime last_restart) {
  restarts_ = restarts;
  last_restart_ = last_restart;
}

}  // namespace berth::runtime
