#include "berth/stay.h"

#include "host/os/clock.h"
#include "host/os/foreground.h"

namespace berth::cli {

int RunStay() {
  const os::HeldSignals signals;
  while (!signals.Asked(os::Millis(3'600'000))) continue;
  return 0;
}

}  // namespace berth::cli
