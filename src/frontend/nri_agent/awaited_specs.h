// Pod specs that an API server is to tell of: what waits for them, and for how long.
#ifndef BERTH_FRONTEND_NRI_AGENT_AWAITED_SPECS_H_
#define BERTH_FRONTEND_NRI_AGENT_AWAITED_SPECS_H_

#include <string>

#include "frontend/nri_agent/nri_session.h"
#include "frontend/nri_agent/reported_pods.h"
#include "frontend/nri_agent/tracked_containers.h"
#include "frontend/nri_agent/waiting_calls.h"
#include "host/os/clock.h"
#include "model/pod.h"
#include "node/core/node_core.h"

namespace berth::nri_agent {

/// Thread: the loop's only.
class AwaitedSpecs {
 public:
  /// All outlive it. `patience`: as NriAllocatorOptions::spec_patience.
  AwaitedSpecs(core::Node& node, TrackedContainers& tracked, NriSession& session, ReportedPods& pods,
               os::Millis patience)
      : node_(node), tracked_(tracked), session_(session), pods_(pods), patience_(patience) {}

  /// As NriAllocator's.
  void Set(const Pod& pod);
  void Follow(bool follows);

  /// A runtime has said what it has: that waits a little where an API server has not been heard of yet. Calls of an
  /// earlier connection are dropped.
  void OnSynchronize();
  /// Whether `call` is made later, as the spec of its pod may come.
  bool Await(const std::string& uid, Call call);
  /// An API server is asked, and has not told of the pod.
  bool Lacks(const std::string& uid) const { return asks() && !pods_.HasSpec(uid); }
  /// All that waits goes on.
  void End() { calls_.RunAll(); }

  void Tick(os::MonoTime now);
  os::MonoTime next_due() const { return calls_.next_due(); }

 private:
  bool asks() const { return patience_ != os::Millis(0); }
  void TakeExpired(const std::string& uid);

  core::Node& node_;
  TrackedContainers& tracked_;
  NriSession& session_;
  ReportedPods& pods_;
  const os::Millis patience_;
  WaitingCalls calls_;
  bool follows_ = false;
  bool heard_ = false;  // whether they can be followed
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_AWAITED_SPECS_H_
