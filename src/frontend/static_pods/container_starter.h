// One start of a container: its group, its request, and the runtime's answer.
#ifndef BERTH_FRONTEND_STATIC_PODS_CONTAINER_STARTER_H_
#define BERTH_FRONTEND_STATIC_PODS_CONTAINER_STARTER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/static_pods/static_pod_context.h"

namespace berth::pods {

/// Thread: the loop's only.
class Starter {
 public:
  /// `context` outlives this.
  explicit Starter(StaticPodContext& context) : context_(context), node_(context.node()) {}

  /// Starts an attempt. nullopt: what an earlier one left is still dying, systemd is being asked for the groups, or
  /// what it mounts is being made; to be tried again in a moment. Errors: why it cannot be started now.
  Result<std::optional<runtime::ContainerStatus>> Start(const ManagedPod& managed, const FoundContainer& found,
                                                        int attempt, os::MonoTime now);

 private:
  Result<bool> TakeMounts(const ManagedPod& managed, const Container& container, runtime::StartRequest& request);
  void Mount(const ManagedPod& managed, const Container& container, const runtime::StartRequest& request);
  Result<void> CheckWords(const Pod& pod) const;
  Result<runtime::StartRequest> RequestFor(const Pod& pod, const FoundContainer& found, int attempt) const;
  void FillPlace(const Pod& pod, runtime::Place& place) const;
  const Placement* PlacementOf(const Pod& pod, const Container& container) const;
  CpuSet SharedNow() const;
  Result<DeviceAnswer> DevicesOf(const Pod& pod, const Container& container) const;
  void TellConflicts(const Pod& pod, const Container& container, const std::vector<std::string>& conflicts) const;
  Result<std::optional<runtime::ContainerStatus>> LaterIfUnderWay(const Error& error, os::MonoTime now);
  Result<bool> KillLeftovers(const Pod& pod, const std::string& container, os::MonoTime now);

  StaticPodContext& context_;
  core::Node& node_;
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_CONTAINER_STARTER_H_
