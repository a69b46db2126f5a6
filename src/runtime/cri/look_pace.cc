#include "runtime/cri/look_pace.h"

#include <algorithm>

#include "runtime/lifecycle/backoff.h"

namespace berth::cri {
namespace {

constexpr os::Millis kWhileBusy{200};
constexpr os::Millis kBusyFor{3'000};
constexpr os::Millis kWhileRefused{250};
constexpr os::Millis kLeast{20};  // between two looks, whatever is heard
constexpr runtime::BackoffOptions kWhileAwaited{.initial = kLeast, .max = os::Millis(500)};
constexpr runtime::BackoffOptions kAfterFailure{.initial = os::Millis(500), .max = os::Millis(8'000)};

}  // namespace

void LookPace::Expect(os::MonoTime now) { busy_until_ = now + kBusyFor; }

void LookPace::Answered(os::MonoTime now) {
  last_ = now;
  failures_ = 0;
  awaiting_ = awaited_ ? awaiting_ + 1 : 0;
}

void LookPace::Failed(os::MonoTime now, bool refused) {
  last_ = now;
  refused_ = refused;
  ++failures_;
}

os::MonoTime LookPace::next() const {
  if (failures_ > 0 && refused_) return last_ + kWhileRefused;
  if (failures_ > 0) return last_ + runtime::BackoffDelay(failures_, kAfterFailure);
  if (heard_) return last_ + kLeast;
  const os::Millis pause = last_ < busy_until_ ? std::min(kWhileBusy, usual_) : usual_;
  return last_ + (awaiting_ > 0 ? std::min(pause, runtime::BackoffDelay(awaiting_, kWhileAwaited)) : pause);
}

}  // namespace berth::cri
