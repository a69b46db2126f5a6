// NRI agent: answers a kubelet's runtime, which asks where each of its containers goes. Design: docs/design/nri.md.
//
//   create  decided -> ledger saved -> others narrowed in the kernel -> answered: the container is made with its CPUs
//   start   its group is there: what it holds is compared with what it shall hold -> answered: it runs
//   end     its pod's last sandbox has gone -> its groups seen empty -> ledger saved -> the shared pool grows
#ifndef BERTH_FRONTEND_NRI_AGENT_NRI_ALLOCATOR_H_
#define BERTH_FRONTEND_NRI_AGENT_NRI_ALLOCATOR_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontend/nri_agent/awaited_devices.h"
#include "frontend/nri_agent/awaited_specs.h"
#include "frontend/nri_agent/conflict_watch.h"
#include "frontend/nri_agent/container_groups.h"
#include "frontend/nri_agent/container_placer.h"
#include "frontend/nri_agent/device_reports.h"
#include "frontend/nri_agent/inventory_gate.h"
#include "frontend/nri_agent/inventory_sync.h"
#include "frontend/nri_agent/new_groups.h"
#include "frontend/nri_agent/nri_session.h"
#include "frontend/nri_agent/pod_departures.h"
#include "frontend/nri_agent/reported_pods.h"
#include "frontend/nri_agent/tracked_containers.h"
#include "frontend/nri_agent/watched_runtime.h"
#include "host/os/clock.h"
#include "node/core/node_core.h"
#include "rpc/nri/handler.h"

namespace berth::nri_agent {

struct NriAllocatorOptions {
  /// Who cannot have CPUs of his own though he should runs in the shared pool, instead of being refused.
  bool share_unplaced = false;
  /// While a kubelet places containers itself they are left alone.
  bool step_aside = false;
  std::string endpoint;     ///< the runtime's socket, for people
  std::string kubelet_dir;  ///< the kubelet's folder; "": its state files are not looked at
  /// So long a pod's first container waits for what an API server says of the pod; 0: none is asked.
  os::Millis spec_patience{0};
  DeviceSource devices{};  ///< what the kubelet says of those it has given to containers
};

/// Thread: the loop's only.
class NriAllocator {
 public:
  /// Looks at the kubelet's state files. `node` and `runtime` outlive it. `join_anew` leaves the runtime and joins it
  /// again, which then says all there is.
  NriAllocator(core::Node& node, WatchedRuntime& runtime, NriAllocatorOptions options, std::function<void()> join_anew);

  /// Has Confine called for groups that come while no runtime asks. Outlives it; nullptr: the kernel does not tell.
  void set_new_groups(NewGroups* groups) { new_groups_ = groups; }

  void Joined(const nri::Runtime& runtime);
  void Left(const std::string& why);
  void Synchronize(nri::Inventory inventory);
  void Create(nri::Pod pod, nri::Container container, nri::Answer<nri::Creation> answer);
  void Update(nri::Pod pod, nri::Container container, nri::Resources wanted,
              nri::Answer<std::vector<nri::Update>> answer);
  void Start(nri::Pod pod, nri::Container container, nri::Answer<nri::Ready> answer);
  void Stop(nri::Pod pod, nri::Container container);
  void Happened(nri::Event event, nri::Pod pod, std::optional<nri::Container> container);

  /// An API server's word about a pod of this node: first, or anew. Requires: its uid is the one the node knows it by.
  void SetSpec(const Pod& pod) { specs_.Set(pod); }
  void ForgetSpec(const std::string& name_space, const std::string& name) { pods_.ForgetSpec(name_space, name); }
  /// Whether all pods of the node that the API server has were told of, and each new one will be.
  void FollowsSpecs(bool follows) { specs_.Follow(follows); }

  /// A group below a pod's has come, or its CPUs were written, and the table does not have it: a sandbox's, or one made
  /// while no runtime asks. It is kept off the CPUs of others at once, as what it holds there is known, else to the
  /// shared pool.
  void Confine(const std::string& path);
  /// No runtime asks now, or it has not been looked at what it has: groups that come are kept to the shared pool.
  void KeepNewGroups();

  /// Goes on with what was begun: pods that leave, what a runtime said there is, records that are behind.
  void Tick(os::MonoTime now);
  os::MonoTime next_due() const;
  /// What the runtime had when it took berthd in has been looked at; or none has come for five seconds, and there is
  /// nothing to look at.
  bool Started() const { return session_.started(); }
  /// Why no container can be placed now, a sentence each.
  std::vector<std::string> NotReady() const;
  /// What an operator should know now, a sentence each.
  std::vector<std::string> Warnings() const;

 private:
  bool aside() const { return session_.As<Aside>() != nullptr; }
  void StepAside();
  std::string NotJoined() const;
  void EndContainer(const nri::Pod& pod, const nri::Container& container);

  template <class T>
  void Answered(const char* call, const nri::Answer<T>& answer, bool well) {
    runtime_.CountAnswer(call, !well, node_.clock().Now() - answer.asked());
  }

  core::Node& node_;
  WatchedRuntime& runtime_;
  const std::string endpoint_;
  NewGroups* new_groups_ = nullptr;
  TrackedContainers tracked_;
  NriSession session_;
  PodDepartures departures_;
  ReportedPods pods_;
  ContainerGroups groups_;
  ContainerPlacer placer_;
  AwaitedSpecs specs_;
  AwaitedDevices devices_;
  InventoryGate gate_;
  InventorySync sync_;
  ConflictWatch conflicts_;  // last: calls StepAside while it is made
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_NRI_ALLOCATOR_H_
