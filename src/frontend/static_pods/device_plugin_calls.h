// Device plug-in calls on behalf of pods: GetPreferredAllocation, Allocate and PreStartContainer.
// Design: docs/design/devices.md.
#ifndef BERTH_FRONTEND_STATIC_PODS_DEVICE_PLUGIN_CALLS_H_
#define BERTH_FRONTEND_STATIC_PODS_DEVICE_PLUGIN_CALLS_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "frontend/static_pods/device_questions.h"
#include "frontend/static_pods/static_pod_context.h"
#include "host/event_loop/executor.h"

namespace berth::pods {

/// Asks on other threads; the ends come on the loop's, for pods that are still known, and not within the call.
///
/// Thread: the loop's only.
class DeviceGrants {
 public:
  using Answers = std::vector<ledger::AnsweredDevices>;

  /// `executor` runs the questions: a plug-in that does not answer holds up one of its threads.
  DeviceGrants(StaticPodContext& context, event_loop::Executor& executor)
      : context_(context), node_(context.node()), executor_(executor) {}

  /// What a pod that holds nothing yet asks for and whose plug-in is not there, but is waited for; "": nothing.
  std::string AwaitedBy(const Pod& pod) const;
  /// Likewise of what the pod holds without knowing what it brings.
  std::string AwaitedFor(const std::string& uid) const;
  /// The pod holds devices, in the saved ledger, of which nobody has said yet what they bring.
  bool Lacks(const std::string& uid) const;
  /// Asks what all of these bring (Allocate), and calls `then(ManagedPod&, Result<Answers>)` if the pod still waits for
  /// that.
  void AskWhatTheyBring(ManagedPod& managed, std::function<void(ManagedPod&, Result<Answers>)> then);

  /// Some plug-in wants to be asked which devices a pod that would be admitted with this record should have.
  bool Choosy(const PodRecord& record) const;
  /// Asks that (GetPreferredAllocation), in the same way.
  void AskPreference(ManagedPod& managed, const PodRecord& record,
                     std::function<void(ManagedPod&, Result<Preferences>)> then);

  /// Before a container starts: its plug-ins are asked where they want that (PreStartContainer). False: that goes on,
  /// or a plug-in is waited for; to be called again. Errors: the container cannot be started now.
  Result<bool> MayStart(const ManagedPod& managed, const std::string& container, int attempt);

 private:
  std::string AwaitedOf(const std::set<std::string>& resources) const;
  std::vector<ledger::AnsweredDevices> Unanswered(const std::string& uid) const;
  static std::string QueueOf(const std::set<std::string>& resources);
  /// `State`: that of the pod until then.
  template <class State, class T>
  void Ask(ManagedPod& managed, const std::set<std::string>& resources, std::function<Result<T>()> job,
           std::function<void(ManagedPod&, Result<T>)> then);
  void AskToStart(const ManagedPod& managed, const std::string& container, int attempt,
                  std::vector<DeviceAssignment> wanted);
  Result<std::vector<DeviceAssignment>> WantPreStart(const PodRecord& record, const std::string& container,
                                                     std::string& awaited) const;

  StaticPodContext& context_;
  core::Node& node_;
  event_loop::Executor& executor_;
  std::uint64_t questions_ = 0;
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_DEVICE_PLUGIN_CALLS_H_
