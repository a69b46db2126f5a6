// Resource usage of containers, pods, QoS cgroups and the node, read from the kernel for API callers.
#ifndef BERTH_DAEMON_USAGE_READER_H_
#define BERTH_DAEMON_USAGE_READER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "base/loop_thread.h"
#include "base/mutex.h"
#include "base/result.h"
#include "daemon/published.h"
#include "daemon/snapshot_builder.h"
#include "host/cgroup/cgroup.h"
#include "host/os/clock.h"
#include "model/usage.h"
#include "telemetry/metrics/page.h"

namespace berth::daemon {

/// Thread: any but the loop's. However many ask at a time, one of them reads.
class UsageReader {
 public:
  /// How old an answer may be.
  static constexpr os::Millis kFresh{1'000};
  /// Longest time between two looks from which CPU use is worked out.
  static constexpr os::Millis kLongestSpan{120'000};

  using OpenTree = std::function<Result<std::unique_ptr<cgroup::Tree>>()>;

  /// `open`: as TreeDoor::open. `published` and `clock` outlive this.
  UsageReader(const Published<LoopState>& published, OpenTree open, const os::Clock& clock)
      : published_(published), open_(std::move(open)), clock_(clock) {}

  /// Never null. Groups that went meanwhile are left out. Errors: of opening the tree and of reading the host's files.
  Result<std::shared_ptr<const NodeUsage>> Get() BERTH_EXCLUDES(mutex_, loop_thread);

 private:
  Result<std::shared_ptr<const NodeUsage>> Read(const NodeUsage* before) const;

  const Published<LoopState>& published_;
  const OpenTree open_;
  const os::Clock& clock_;
  Mutex mutex_;
  CondVar done_;
  bool reading_ BERTH_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const NodeUsage> last_ BERTH_GUARDED_BY(mutex_);
};

/// Fills in the cores that were used between `before` and `now`.
void AddRates(const GroupUsage* before, std::chrono::nanoseconds span, GroupUsage& now);

/// Of this process.
metrics::ProcessFigures OwnFigures();

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_USAGE_READER_H_
