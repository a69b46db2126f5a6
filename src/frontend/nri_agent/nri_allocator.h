// Placement of a kubelet's containers over NRI: decides when the runtime asks, and keeps them on their CPUs. Design:
// docs/design/nri.md.
//
//   create  decided -> ledger saved -> others narrowed in the kernel -> answered: the container is made with its CPUs
//   start   its group is there: what it holds is compared with what it shall hold -> answered: it runs
//   end     its pod's last sandbox has gone -> its groups seen empty -> ledger saved -> the shared pool grows
#ifndef BERTH_FRONTEND_NRI_AGENT_NRI_ALLOCATOR_H_
#define BERTH_FRONTEND_NRI_AGENT_NRI_ALLOCATOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "frontend/nri_agent/device_reports.h"
#include "frontend/nri_agent/known_pod_specs.h"
#include "frontend/nri_agent/new_groups.h"
#include "frontend/nri_agent/nri_session.h"
#include "frontend/nri_agent/placement_conflicts.h"
#include "frontend/nri_agent/tracked_containers.h"
#include "frontend/nri_agent/watched_runtime.h"
#include "host/event_loop/task_scope.h"
#include "host/os/clock.h"
#include "model/decision.h"
#include "model/kubelet_version.h"
#include "node/core/node_core.h"
#include "node/ledger/placement_request.h"
#include "node/pods/managed_pod.h"
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
  void SetSpec(const Pod& pod);
  void ForgetSpec(const std::string& name_space, const std::string& name);
  /// Whether all pods of the node that the API server has were told of, and each new one will be.
  void FollowsSpecs(bool follows);

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
  static constexpr os::Millis kBetweenLooksAtKubelet{10'000};
  /// "": it may be made; else why not.
  using Placed = std::function<void(const std::string& why_not)>;
  using Call = std::move_only_function<void()>;
  /// A call that waits for what somebody else says of its pod.
  struct Awaiting {
    enum class What { kSpec, kDevices };
    std::string uid;
    What what;
    os::MonoTime until;
    Call call;
  };

  Synchronizing* looking() { return session_.As<Synchronizing>(); }
  const Synchronizing* looking() const { return session_.As<Synchronizing>(); }
  bool deciding() const { return looking() && !looking()->saved; }
  bool aside() const { return session_.As<Aside>() != nullptr; }
  bool Waits(Call call);
  bool PassesLook(const nri::Pod& pod, const nri::Container& container);
  bool PassedLook(const nri::Pod& pod, const nri::Container& container) const;
  bool AwaitsSpec(const std::string& uid, Call call);
  void EndAwaiting(const std::function<bool(const Awaiting&)>& over);
  void EndAwaiting(const std::string& uid, Awaiting::What what);
  void EndAwaitingInVain(os::MonoTime now);
  void TellSpecUnknown(const std::string& uid);
  bool AwaitsDevices(const nri::Pod& pod, const nri::Container& container, Call call);
  bool HasPlacement(const std::string& uid, const std::string& name) const;
  void TakeDevices(const std::string& uid, std::optional<PodDevices> devices);
  void AskForAllDevices();
  void TakeAllDevices(DevicesByPod all);
  void TakeChanged(pods::ManagedPod& managed, const Pod& before);
  pods::ManagedPod& Know(const nri::Pod& pod);
  TrackedContainer& Know(const nri::Pod& pod, const nri::Container& container);
  runtime::ContainerStatus StatusOf(const nri::Pod& pod, const nri::Container& container,
                                    runtime::ContainerState state);
  void Tell(const nri::Pod& pod, const nri::Container& container, runtime::ContainerState state);
  void Place(const std::string& uid, const std::string& name, Placed then);
  void Saved(const std::string& uid, const std::string& name, bool own, const Result<void>& saved, const Placed& then);
  std::string Unplaced(pods::ManagedPod& managed, const std::string& name, const Reject& reject);
  void KeepReason(const std::string& uid, pods::Why why);
  void ClearReason(const std::string& uid, const std::string& name);
  static bool HasWish(const Pod& pod, const std::string& name);
  bool ShallHaveOwn(const Pod& pod, const std::string& name) const;
  void FindGroups(const nri::Pod& pod, const std::vector<std::string>* listed = nullptr);
  const std::string* PathOf(const std::string& uid, const std::string& name) const;
  void PutInPlace(const std::string& uid, const std::string& name, cgroup_manager::Runs runs);
  bool HasOwn(const std::string& uid, const std::string& name) const;
  std::string NotInForce() const;
  std::string NotJoined() const;
  bool KeepApart();
  void TellOdd(const nri::Container& container);
  void HasEnded(const nri::Pod& pod, const nri::Container& container);
  void TellConflict(PlacementConflict how, const nri::Pod& pod, std::string what, const std::string& message);
  void TellNotMade(const nri::Pod& pod, const nri::Container& container);
  CpuSet Wanted(const std::string& uid, const std::string& name) const;
  std::string WhyNotResized(const std::string& uid, const nri::Container& container,
                            const nri::Resources& wanted) const;
  nri::Resources ResourcesOf(const std::string& uid, const std::string& name) const;

  template <class T>
  void Answered(const char* call, const nri::Answer<T>& answer, bool well) {
    runtime_.CountAnswer(call, !well, node_.clock().Now() - answer.asked());
  }

  void TakeSandboxGone(const nri::Pod& pod);
  void Leave(const std::string& uid);
  void LookForLost(os::MonoTime now);
  void LookAtEnded(os::MonoTime now);
  bool HasLostAll(const std::string& uid, const TrackedPod& pod) const;
  void LookAtLeaving(os::MonoTime now);
  bool HasLeft(const std::string& uid) const;
  void Release(const std::string& uid);
  void Forget(const std::string& uid);

  void GoOnLooking(os::MonoTime now);
  void LookAt(const nri::Pod& pod, const nri::Container& container);
  void Recognize(const nri::Pod& pod, const nri::Container& container);
  bool SandboxLives(const nri::Pod& pod, const std::string& path, const Result<std::vector<std::string>>& groups) const;
  void LookAtPod(std::size_t index);
  bool LacksItsCpus(const std::string& uid, const nri::Container& container) const;
  void EndOthers();
  void EndUnlisted(const std::set<std::string>& there);
  void BeginLooking();
  void TakeIntoLook(const std::string& uid, const std::string& name);
  void EndLooking();
  void LookedAt(const Result<void>& saved);
  void PutDecidedInForce(const os::Slice& slice);
  void RetainCheckpoints();
  void RunWaiting();

  void LookAtKubelet(os::MonoTime now);
  void TakeKubelet(KubeletPlaces now);
  void TakeKubeletVersion(std::optional<KubeletVersion> now);
  void StepAside();
  void GiveAllBack();

  ledger::PlacementRequest RequestFor(const pods::ManagedPod& managed, const std::string& name,
                                      const allocator::Node& node, Trace* trace) const;
  std::variant<ledger::Proposal, Reject> Propose(const pods::ManagedPod& managed, const std::string& name,
                                                 Trace* trace);
  void TellIgnored(const Pod& pod, const std::string& name);
  bool MayTryUnplaced() const;
  void TryUnplaced(os::MonoTime now);
  void TryAgain(const ContainerKey& who);
  void PlaceLater(const ContainerKey& who);
  void TellLate(const ContainerKey& late, std::string_view how);

  core::Node& node_;
  WatchedRuntime& runtime_;
  NriAllocatorOptions options_;
  std::function<void()> join_anew_;
  NewGroups* new_groups_ = nullptr;
  TrackedContainers tracked_;
  NriSession session_;
  std::deque<Call> waiting_;  // until what the runtime has was looked at
  std::vector<Awaiting> awaiting_;
  Specs specs_;
  bool follows_specs_ = false;
  bool heard_of_specs_ = false;    // whether they can be followed
  std::set<std::string> leaving_;  // uids
  /// Pods of which the last container has ended: when it is looked whether the sandbox has gone too, and the next wait.
  std::map<std::string, std::pair<os::MonoTime, os::Millis>> ended_;
  std::set<ContainerKey> unplaced_;  // run in the shared pool though they should not
  bool retry_unplaced_ = false;      // the ledger could not be saved for one of them
  os::MonoTime next_look_for_lost_{};
  std::uint64_t freed_ = 0;  // NodeAllocations::freed() when they were tried last
  PlacementConflicts conflicts_;
  DeviceReports device_reports_;
  os::MonoTime next_look_at_kubelet_{};
  std::optional<KubeletVersion> files_version_;  // by the kubelet's state files
  event_loop::TaskScope tasks_{node_.executor()};
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_NRI_ALLOCATOR_H_
