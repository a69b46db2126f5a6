// So many calls a second, and some at once after a rest.
#ifndef BERTH_KUBERNETES_POD_RESOURCES_TOKEN_BUCKET_H_
#define BERTH_KUBERNETES_POD_RESOURCES_TOKEN_BUCKET_H_

#include <algorithm>
#include <chrono>
#include <optional>

#include "host/os/clock.h"

namespace berth::pod_resources {

/// Not thread-safe. Requires: times do not go back.
class TokenBucket {
 public:
  /// Full at first.
  TokenBucket(double per_second, double burst) : per_second_(per_second), burst_(burst), tokens_(burst) {}

  /// False: too many in too short a time.
  bool Take(os::MonoTime now) {
    if (last_) tokens_ = std::min(burst_, tokens_ + std::chrono::duration<double>(now - *last_).count() * per_second_);
    last_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  double per_second_;
  double burst_;
  double tokens_;
  std::optional<os::MonoTime> last_;
};

}  // namespace berth::pod_resources

#endif  // BERTH_KUBERNETES_POD_RESOURCES_TOKEN_BUCKET_H_
