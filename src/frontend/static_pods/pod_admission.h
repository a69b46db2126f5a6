// Decisions about pods: may it run here, and where; what came of it.
#ifndef BERTH_FRONTEND_STATIC_PODS_POD_ADMISSION_H_
#define BERTH_FRONTEND_STATIC_PODS_POD_ADMISSION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "frontend/static_pods/device_plugin_calls.h"
#include "frontend/static_pods/pod_queue.h"
#include "frontend/static_pods/static_pod_context.h"
#include "node/core/node_core.h"

namespace berth::pods {

/// Thread: the loop's only.
class Admission {
 public:
  /// Both outlive this.
  Admission(StaticPodContext& context, DeviceGrants& grants)
      : context_(context), node_(context.node()), grants_(grants), queue_(context) {}

  /// Decides a pod that waits. Its place is taken when it is saved; nothing more is done before that.
  void Admit(ManagedPod& managed, os::MonoTime now);
  /// Decides a rejected pod again. One that is admitted now goes on as if it was new, with an event; of one that is
  /// not, only the reasons are the newest. Requires: MayReconsider.
  void Reconsider(ManagedPod& managed, os::MonoTime now);
  /// It was rejected for want of something, and what was given back since may let it in.
  bool MayReconsider(const ManagedPod& managed) const;
  Queue& queue() { return queue_; }
  const Queue& queue() const { return queue_; }

 private:
  bool FinishedEarlier(ManagedPod& managed, os::MonoTime now);
  bool MustWait(ManagedPod& managed, os::MonoTime now);
  bool OthersAreEnding(const ManagedPod& managed) const;
  void Reject(ManagedPod& managed, const berth::Reject& reject, os::MonoTime now);
  void NoRoom(ManagedPod& managed, const berth::Reject& reject, os::MonoTime now);
  void WaitForRoom(ManagedPod& managed, const berth::Reject& reject);
  void Preempt(ManagedPod& managed, const Removal& victims, os::MonoTime now);
  bool WaitsAllTheSame(ManagedPod& managed, const berth::Reject& reject, os::MonoTime now);
  std::variant<ledger::Proposal, berth::Reject> Propose(const ManagedPod& managed, const allocator::Inputs& inputs,
                                                        Trace* trace);
  void Decide(ManagedPod& managed, const allocator::Inputs& inputs, bool asked, os::MonoTime now);
  void Decided(ManagedPod& managed, const Result<void>& saved);
  bool AwaitsPlugin(ManagedPod& managed, const std::string& resource) const;
  void Preferred(ManagedPod& managed, Result<Preferences> answer);
  void Grant(ManagedPod& managed);
  void Granted(ManagedPod& managed, const Result<DeviceGrants::Answers>& answers, std::uint64_t asked);
  void GiveBack(ManagedPod& managed, const Error& why);
  void RefusedByPlugin(ManagedPod& managed, const Error& why);
  std::optional<berth::Reject> WhyNotHere(const ManagedPod& managed) const;
  void NotSaved(ManagedPod& managed) const;

  const StaticPodContext& context_;
  core::Node& node_;
  DeviceGrants& grants_;
  Queue queue_;
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_POD_ADMISSION_H_
