// Runtime event handling: container status changes and notices from the runtime, and what follows from them at once.
#ifndef BERTH_FRONTEND_STATIC_PODS_RUNTIME_EVENTS_H_
#define BERTH_FRONTEND_STATIC_PODS_RUNTIME_EVENTS_H_

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "frontend/static_pods/static_pod_context.h"

namespace berth::pods {

/// Thread: the loop's only.
class RuntimeEvents {
 public:
  /// `context` outlives this.
  explicit RuntimeEvents(const StaticPodContext& context) : context_(context), node_(context.node()) {}

  /// Hears what the runtime has to say: containers that changed, notices, groups it made.
  void Poll();
  /// Does what follows from it, in order, as far as the slice goes. False: there is more.
  bool Work(os::MonoTime now, const os::Slice& slice);
  /// There is more to do at once.
  bool working() const { return polled_; }
  /// A container's status as the answer to a start. Requires: !working().
  void Take(const runtime::ContainerStatus& status, os::MonoTime now);
  /// Containers that ended without a word of the runtime, or that it does not know any more. Requires: !working().
  void CompareWithRuntime(os::MonoTime now);

 private:
  void TakeNotices();
  void TakeSandboxes();
  void TakeStart(ManagedPod& managed, const runtime::ContainerStatus& status,
                 const std::optional<runtime::ContainerStatus>& earlier);
  void StartCameToNothing(ManagedPod& managed, const runtime::ContainerStatus& status, os::MonoTime now);
  void ReportEnd(const ManagedPod& managed, const runtime::ContainerStatus& status);
  void RemoveOldLogs(const std::string& folder, int attempt) const;

  const StaticPodContext& context_;
  core::Node& node_;
  bool polled_ = false;                        // and not all of it was taken
  std::vector<runtime::Notice> notices_;       // that were not taken yet
  std::deque<runtime::ContainerStatus> news_;  // likewise
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_RUNTIME_EVENTS_H_
