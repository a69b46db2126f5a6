// One pod of this node, from its manifest to its removal.
#ifndef BERTH_NODE_PODS_MANAGED_POD_H_
#define BERTH_NODE_PODS_MANAGED_POD_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "host/os/clock.h"
#include "model/pod.h"
#include "model/pod_devices.h"
#include "model/trace.h"
#include "node/pods/pod_stage.h"
#include "runtime/lifecycle/pod_lifecycle.h"

namespace berth::pods {

/// Of a pod that was active for longer than activeDeadlineSeconds.
inline constexpr std::string_view kOverdueReason = "DeadlineExceeded";
inline constexpr std::string_view kOverdueMessage = "Pod was active on the node longer than the specified deadline";

/// What others than the runtime have said of a pod whose containers another program starts.
struct Reported {
  bool spec = false;     ///< an API server: its containers are those of its spec
  PodDevices devices{};  ///< its kubelet
  friend bool operator==(const Reported&, const Reported&) = default;
};

/// What its manifest wants to be changed while it runs, and is not done (frontend/static_pods/resizer.h).
struct PendingResize {
  enum class State { kNew, kDeferred, kInfeasible, kInProgress };
  Pod wanted;  ///< as the manifest says it
  State state = State::kNew;
  Why why{};                               ///< of the state; in progress: what stands in its way
  std::uint64_t freed = 0;                 ///< NodeAllocations::freed() of the last decision
  std::optional<os::MonoTime> next_try{};  ///< nothing is tried before it
  std::set<std::string> restarts{};        ///< in progress: ids of attempts that end for it
};

/// What is known about one pod.
struct ManagedPod {
  Pod pod;  ///< as it is in force: amounts of a resize are in it when the ledger has them
  /// False: no manifest is known (yet) for what ledger or runtime hold; `pod` is made up from these. Nothing of it is
  /// started.
  bool claimed = false;
  Stage stage;           ///< begins as a checkpoint or the runtime says; Move leads to others
  std::string file;      ///< manifest
  std::string identity;  ///< of the manifest (pod_sources::Snapshot::identities); "": not known
  std::optional<PendingResize> resize;
  std::uint64_t arrival = 0;    ///< grows from pod to pod in the order in which they were taken in
  Trace trace;                  ///< of the last decision
  std::uint64_t decisions = 0;  ///< how many there were
  /// Its containers: from admission on, and in every stage in which some of them were found running.
  std::optional<runtime::PodLifecycle> lifecycle;
  std::deque<runtime::Action> due;        ///< named by `lifecycle`, not done yet
  std::optional<std::uint64_t> kept;      ///< changes() of `lifecycle` that the next berthd would know
  bool saving = false;                    ///< what it takes or gives back is being made durable
  std::optional<os::MonoTime> remove_at;  ///< the next try to remove its groups
  os::Millis remove_delay{0};             ///< from the last try to that; zero before the first
  Reported reported{};                    ///< of a Foreign one

  template <class S>
  bool Is() const {
    return std::holds_alternative<S>(stage);
  }
  void Move(PodEvent event) { stage = Follow(std::move(stage), std::move(event)); }
  Why why() const { return WhyOf(stage); }
  const std::string& admitted_at() const { return AdmittedAt(stage); }
  bool evicted() const;
  /// Nothing of it runs and it holds nothing.
  bool PlaceIsFree() const;
};

/// No manifest wants the pod any more; called again: nothing changes.
void End(ManagedPod& managed, os::MonoTime now);

inline constexpr std::string_view kEvictedReason = "Evicted";
inline constexpr std::string_view kPreemptingReason = "Preempting";  ///< evicted for the sake of a critical pod
/// Ends a pod that is admitted and has a lifecycle: its containers end within `grace` (nullopt: its own), and it stays
/// rejected.
void Evict(ManagedPod& managed, Why why, std::optional<os::Millis> grace, os::MonoTime now);
/// For the sake of the node.
void Evict(ManagedPod& managed, std::string_view message, std::optional<os::Millis> grace, os::MonoTime now);

/// A container of a pod by its name.
struct FoundContainer {
  const Container* container = nullptr;  ///< nullptr: there is none
  ContainerKind kind = ContainerKind::kApp;
};
FoundContainer FindContainer(const Pod& pod, std::string_view name);

/// "pod/<namespace>/<name>", as events name it.
std::string ObjectOf(const Pod& pod);

}  // namespace berth::pods

#endif  // BERTH_NODE_PODS_MANAGED_POD_H_
