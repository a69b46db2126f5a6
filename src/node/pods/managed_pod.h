// One pod of this node, from its manifest to its removal.
#ifndef BERTH_NODE_PODS_MANAGED_POD_H_
#define BERTH_NODE_PODS_MANAGED_POD_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "host/os/clock.h"
#include "model/pod.h"
#include "model/pod_devices.h"
#include "model/trace.h"
#include "node/pods/pod_stage.h"
#include "node/pods/pre_start.h"
#include "runtime/lifecycle/env.h"
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
/// What a container mounts, made on another thread for one attempt.
struct Mounting {
  int attempt = 0;
  std::optional<Result<std::vector<runtime::BoundMount>>> made;  ///< nullopt: under way
};

/// Whether the words of a pod's containers together are within bounds, with what is known of node and documents.
struct WordsLook {
  runtime::NodeFacts facts;
  Result<void> outcome;
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
  Pod pod;                         ///< as it is in force: amounts of a resize are in it when the ledger has them
  std::optional<WordsLook> words;  ///< nullopt: not looked at yet
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
  std::deque<runtime::Action> due;             ///< named by `lifecycle`, not done yet
  std::map<std::string, os::MonoTime> dying;   ///< containers whose leftovers were killed and not seen to end yet
  std::set<std::string> making;                ///< containers for whose groups systemd is being asked
  std::map<std::string, Mounting> mounting;    ///< of containers that wait for what they mount
  std::optional<std::uint64_t> kept;           ///< changes() of `lifecycle` that the next berthd would know
  std::uint64_t documents = 0;                 ///< DocumentBook::revision() its volumes were made of
  bool saving = false;                         ///< what it takes or gives back is being made durable
  std::map<std::string, PreStart> pre_starts;  ///< by container
  std::optional<os::MonoTime> remove_at;       ///< the next try to remove its groups
  os::Millis remove_delay{0};                  ///< from the last try to that; zero before the first
  Reported reported{};                         ///< of a Foreign one

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
  /// Another thread is at its volumes.
  bool Mounts() const;
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
