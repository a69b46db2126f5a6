// Hooks of containers: what their manifests want done when they have started and before they are asked to end. Run on
// other threads, whichever runtime has the containers.
#ifndef BERTH_FRONTEND_STATIC_PODS_HOOKS_H_
#define BERTH_FRONTEND_STATIC_PODS_HOOKS_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "frontend/probes/ask.h"
#include "frontend/static_pods/static_pod_context.h"
#include "host/event_loop/executor.h"
#include "host/os/pipe.h"
#include "runtime/lifecycle/hook.h"

namespace berth::pods {

/// As the kubelet has them: until a container's postStart is over it is not ready, and nothing else of its pod is
/// started; when that fails the container is ended, and started anew as restartPolicy lets it. A preStop is part of the
/// grace period, and the container is asked to end when it is over, however that was. Any answer to a request will do.
///
/// Thread: the loop's only.
class Hooks {
 public:
  /// The container may be asked to end now.
  using Then = std::function<void(const std::string& uid, const std::string& container, const std::string& id)>;

  /// `executor` runs hooks; each takes a thread for as long as it takes. Both outlive this.
  Hooks(const StaticPodContext& context, event_loop::Executor& executor, Then then)
      : context_(context), node_(context.node()), executor_(executor), then_(std::move(then)) {}

  /// The pod may have changed, or a time has come: begins postStart hooks that are due, and ends what waits.
  void Look(ManagedPod& managed, os::MonoTime now);
  /// Begins the container's preStop hook; `then` is called when it is over, `grace` from now at the latest. `slept`: of
  /// a time to wait, by an earlier berthd. False: it has none.
  bool BeginPreStop(const ManagedPod& managed, const Container& container, const std::string& id,
                    std::chrono::seconds grace, std::chrono::seconds slept, os::MonoTime now);
  /// Ends what is under way; the next berthd begins it anew.
  void Stop();

 private:
  enum class Kind { kPostStart, kPreStop };
  using Job = std::move_only_function<probes::Outcome(os::Millis, int)>;
  using Key = std::pair<std::string, Kind>;  // the runtime's id of the container
  struct Running {
    std::string container;
    std::optional<os::MonoTime> wake;  // of one that only waits
  };
  static std::string_view NameOf(Kind kind);
  void Begin(const ManagedPod& managed, const Container& container, const Key& key, const runtime::Hook& hook,
             os::Millis limit, os::MonoTime now);
  void Run(const std::string& uid, const Key& key, std::string_view pod, Job job, os::Millis limit);
  Result<Job> JobOf(const Pod& pod, const Container& container, const std::string& id, const runtime::Hook& hook) const;
  void Ended(const std::string& uid, const Key& key, const probes::Outcome& outcome);

  const StaticPodContext& context_;
  core::Node& node_;
  event_loop::Executor& executor_;
  Then then_;
  std::map<std::string, std::map<Key, Running>> running_;  // by uid
  std::shared_ptr<os::SocketPair> cancel_;                 // jobs watch `theirs`, which sees the end of `ours`
  bool stopped_ = false;
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_HOOKS_H_
