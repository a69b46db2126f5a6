// Pods and containers of a kubelet in the node's pod table, from what the runtime reports and what an API server says
// of them.
#ifndef BERTH_FRONTEND_NRI_AGENT_REPORTED_PODS_H_
#define BERTH_FRONTEND_NRI_AGENT_REPORTED_PODS_H_

#include <string>

#include "frontend/nri_agent/container_key.h"
#include "frontend/nri_agent/known_pod_specs.h"
#include "frontend/nri_agent/nri_session.h"
#include "frontend/nri_agent/pod_departures.h"
#include "frontend/nri_agent/tracked_containers.h"
#include "frontend/nri_agent/watched_runtime.h"
#include "node/core/node_core.h"
#include "node/pods/managed_pod.h"
#include "rpc/nri/nri_values.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::nri_agent {

/// Thread: the loop's only.
class ReportedPods {
 public:
  /// All outlive it.
  ReportedPods(core::Node& node, WatchedRuntime& runtime, TrackedContainers& tracked, NriSession& session,
               PodDepartures& departures)
      : node_(node), runtime_(runtime), tracked_(tracked), session_(session), departures_(departures) {}

  /// The pod is there, first or again.
  pods::ManagedPod& Track(const nri::Pod& pod);
  /// Likewise, and the container is there or asked for, with what its spec says of it, else what the runtime shows.
  TrackedContainer& Track(const nri::Pod& pod, const nri::Container& container);

  /// Of a container that is tracked; others are ignored.
  void SetState(const nri::Pod& pod, const nri::Container& container, runtime::ContainerState state);
  /// One that ran has ended, and the runtime did not tell.
  void SetExited(const ContainerKey& who);
  /// One that runs was there before: its lifecycle goes on. Requires: it is tracked.
  void Recognize(const nri::Pod& pod, const nri::Container& container);

  /// Requires: the uid of `spec` is the one by which the node knows the pod.
  void SetSpec(const Pod& spec);
  void ForgetSpec(const std::string& name_space, const std::string& name) { specs_.Forget(name_space, name); }
  bool HasSpec(const std::string& uid) const { return specs_.Find(uid) != nullptr; }

 private:
  void TakeChanged(pods::ManagedPod& managed, const Pod& before);
  runtime::ContainerStatus StatusOf(const nri::Pod& pod, const nri::Container& container,
                                    runtime::ContainerState state);

  core::Node& node_;
  WatchedRuntime& runtime_;
  TrackedContainers& tracked_;
  NriSession& session_;
  PodDepartures& departures_;
  Specs specs_;
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_REPORTED_PODS_H_
