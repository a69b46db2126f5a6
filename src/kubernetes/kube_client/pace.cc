#include "kubernetes/kube_client/pace.h"

#include <algorithm>
#include <cstdint>

namespace berth::kube {

os::Millis Pace::Failed(os::MonoTime now, double chance) {
  if (next_ == os::Millis(0) || now - last_ > options_.forget) next_ = options_.first;
  last_ = now;
  const os::Millis pause = next_ + os::Millis(static_cast<std::int64_t>(static_cast<double>(next_.count()) * chance));
  next_ = std::min(next_ * 2, options_.most);
  return pause;
}

}  // namespace berth::kube
