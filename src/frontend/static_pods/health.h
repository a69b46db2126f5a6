// Probes of running containers: asked when they are due, on other threads, and what comes of them told to the pods'
// lifecycles. Design: docs/design/daemon.md.
#ifndef BERTH_FRONTEND_STATIC_PODS_HEALTH_H_
#define BERTH_FRONTEND_STATIC_PODS_HEALTH_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/probes/ask.h"
#include "frontend/probes/probe_state.h"
#include "frontend/static_pods/static_pod_context.h"
#include "host/os/pipe.h"

namespace berth::pods {

/// What a probe is for.
enum class ProbeKind { kStartup, kLiveness, kReadiness };
std::string_view Name(ProbeKind kind);  ///< "Startup", ...: as the kubelet's events have it

/// Which probes are asked, by what a pod's lifecycle says: the startup probe of a container that is not started, else
/// liveness and readiness; of a pod that ends only readiness. A probe that ends its container is not asked again.
///
/// Thread: the loop's only.
class Health {
 public:
  /// `executor` runs what asks; a probe is under way once at a time.
  Health(const StaticPodContext& context, event_loop::Executor& executor)
      : context_(context), node_(context.node()), executor_(executor) {}

  /// The pod may have changed: compares what is asked with what is to be asked.
  void Look(const ManagedPod& managed, os::MonoTime now);
  /// Asks what is due.
  void Tick(os::MonoTime now);
  os::MonoTime next_due() const { return due_.empty() ? os::MonoTime::max() : due_.begin()->first; }
  /// Ends what is under way; nothing is asked from now on.
  void Stop();

 private:
  struct Watch {
    std::string uid;
    std::string container;
    std::string id;  // the runtime's
    ProbeKind kind = ProbeKind::kLiveness;
    probes::ProbeState state;
  };
  /// Of one pod.
  struct Known {
    std::uint64_t version = 0;                  // of its lifecycle, when it was looked at
    std::map<std::string, os::MonoTime> since;  // containers that run, by id: from when initialDelaySeconds count
    std::set<std::string> found;                // ids of those that ran when the pod was first looked at
    std::vector<std::uint64_t> watches;
  };
  using Wanted = std::pair<std::string, ProbeKind>;  // a container's id, and what for

  void LookAt(const ManagedPod& managed, Known& known, os::MonoTime now);
  void Begin(const ManagedPod& managed, Known& known, const runtime::ContainerView& view, ProbeKind kind,
             os::MonoTime now);
  void End(std::uint64_t watch);
  void Ask(std::uint64_t key, Watch& watch, const ManagedPod& managed, const Container& container, const Probe& probe,
           os::MonoTime now);
  Result<probes::Target> TargetFor(const ManagedPod& managed, const Watch& watch, const Container& container,
                                   const Probe& probe);
  void Forget(const std::string& uid);
  void Answered(std::uint64_t key, const probes::Outcome& outcome);
  void Tell(ManagedPod& managed, const Watch& watch, const probes::Outcome& outcome);
  void Conclude(ManagedPod& managed, const Watch& watch, bool success);

  const StaticPodContext& context_;
  core::Node& node_;
  event_loop::Executor& executor_;
  std::map<std::string, Known> pods_;                     // by uid; those with probes
  std::map<std::uint64_t, Watch> watches_;                // never the same key twice
  std::set<std::pair<os::MonoTime, std::uint64_t>> due_;  // of those that are not under way
  std::uint64_t last_ = 0;
  std::shared_ptr<os::SocketPair> cancel_;  // jobs watch `theirs`, which sees the end of `ours`
  bool stopped_ = false;
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_HEALTH_H_
