#include "frontend/static_pods/restart.h"

#include <fmt/core.h>

#include "frontend/static_pods/container_starter.h"

namespace berth::pods {
namespace {

/// Those that run, but for init containers, which end by themselves.
Result<std::vector<runtime::ContainerView>> ToRestart(const ManagedPod& managed) {
  const std::string name = managed.pod.namespace_ + "/" + managed.pod.name;
  if (!managed.Is<Admitted>() || !managed.lifecycle || managed.lifecycle->ending())
    return Fail(Code::kConflict, fmt::format("pod {} does not run, or is about to end", name));
  std::vector<runtime::ContainerView> out;
  for (runtime::ContainerView& view : managed.lifecycle->containers()) {
    if (view.state != ContainerPhase::kRunning || view.kind == ContainerKind::kInit || !view.last) continue;
    if (managed.lifecycle->EndsUnhealthy(view.last->id)) continue;  // under way already
    if (!managed.lifecycle->RestartsUnhealthy(view.last->id))
      return Fail(Code::kConflict,
                  fmt::format("container {} of pod {} would not be started again: its restartPolicy is Never. Delete "
                              "the pod and apply it anew",
                              view.name, name));
    out.push_back(std::move(view));
  }
  if (out.empty()) return Fail(Code::kConflict, fmt::format("no container of pod {} runs that could be ended", name));
  return out;
}

}  // namespace

Result<std::vector<std::string>> RestartContainers(core::Node& node, const std::string& uid, os::MonoTime now) {
  const auto found = node.pods().find(uid);
  if (found == node.pods().end()) return Fail(Code::kNotFound, "the pod is gone");
  ManagedPod& managed = found->second;
  BERTH_TRY(const auto running, ToRestart(managed));
  std::vector<std::string> out;
  for (const runtime::ContainerView& view : running) {
    if (!managed.lifecycle->Restart(view.last->id, now)) continue;
    node.events().Normal("Killing", ObjectOf(managed.pod),
                         fmt::format("container {} is restarted because that was asked for", view.name));
    out.push_back(view.name);
  }
  node.agenda().WakeNow();
  return out;
}

}  // namespace berth::pods
