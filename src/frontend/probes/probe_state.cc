#include "frontend/probes/probe_state.h"

#include <algorithm>

namespace berth::probes {

void ProbeState::Asked(os::MonoTime now) { next_ = now - next_ < period_ ? next_ + period_ : now + period_; }

std::optional<bool> ProbeState::Take(bool success) {
  const int enough = success ? successes_ : failures_;
  in_a_row_ = last_ == success ? std::min(in_a_row_ + 1, enough) : 1;
  last_ = success;
  return in_a_row_ >= enough ? std::optional(success) : std::nullopt;
}

}  // namespace berth::probes
