// Shared dependencies of everything that drives static pods: the node core, and what only this front end knows.
#ifndef BERTH_FRONTEND_STATIC_PODS_STATIC_POD_CONTEXT_H_
#define BERTH_FRONTEND_STATIC_PODS_STATIC_POD_CONTEXT_H_

#include <map>
#include <string>
#include <vector>

#include "frontend/static_pods/documents.h"
#include "frontend/static_pods/static_pod_options.h"
#include "frontend/static_pods/static_pod_state.h"
#include "model/pod.h"
#include "node/core/node_core.h"
#include "runtime/lifecycle/env.h"
#include "runtime/lifecycle/pod_lifecycle.h"

namespace berth::pods {

/// Thread: the loop's only.
class StaticPodContext {
 public:
  /// `node` outlives this.
  StaticPodContext(core::Node& node, StaticPodOptions options);
  StaticPodContext(const StaticPodContext&) = delete;
  StaticPodContext& operator=(const StaticPodContext&) = delete;

  core::Node& node() const { return node_; }
  const StaticPodOptions& options() const { return options_; }
  DocumentBook& documents() { return documents_; }

  /// Of a pod that this front end drives; empty at first.
  StaticPodState& StateOf(const std::string& uid) { return states_[uid]; }
  /// The pod is gone.
  void Forget(const std::string& uid) { states_.erase(uid); }
  /// Another thread is at its volumes.
  bool Mounts(const std::string& uid) const;
  /// What a container of the pod mounts; nullptr: nobody waits for that.
  Mounting* FindMounting(const std::string& uid, const std::string& container);

  std::string LogFolder(const Pod& pod) const;
  bool IsInNodesNetwork(const Pod& pod) const { return pod.host_network || !node_.runtime().isolates_pods(); }
  /// Of the pod: the runtime's, or the node's where it shares its network. Empty: not known yet.
  std::vector<std::string> AddressesOf(const Pod& pod) const;
  /// What its containers may ask for.
  runtime::NodeFacts FactsFor(const Pod& pod) const;
  /// Pods have volumes and notes on this host's disk. False in a dry run, which neither reads nor writes what is there.
  bool makes_volumes() const { return !options_.notes.empty(); }
  /// Of working out a pod's place and its containers' requests, which nothing but the pod itself can make costly.
  std::string WorkKey(const Pod& pod) const;
  bool IsSetAside(const Pod& pod) const;
  /// For a pod that starts now.
  runtime::PodLifecycle NewLifecycle(const Pod& pod) const;
  /// Notes what the next berthd goes on with, should this one be killed. Requires: it has a lifecycle.
  void Keep(ManagedPod& managed) const;

 private:
  core::Node& node_;
  StaticPodOptions options_;
  DocumentBook documents_;
  std::map<std::string, StaticPodState> states_;  // by uid
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_STATIC_POD_CONTEXT_H_
