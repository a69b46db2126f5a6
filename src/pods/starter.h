// One start of a container: its group, its request, and the runtime's answer.
#ifndef BERTH_PODS_STARTER_H_
#define BERTH_PODS_STARTER_H_

#include <optional>
#include <string>
#include <string_view>

#include "pods/parts.h"

namespace berth::pods {

/// A container of a pod by its name.
struct FoundContainer {
  const Container* container = nullptr;  ///< nullptr: there is none
  ContainerKind kind = ContainerKind::kApp;
};
FoundContainer FindContainer(const Pod& pod, std::string_view name);

/// Thread: the loop's only.
class Starter {
 public:
  explicit Starter(const Parts& parts) : parts_(parts) {}

  /// Starts an attempt. nullopt: what an earlier one left is still dying, or systemd is being asked for the groups; to
  /// be tried again in a moment. Errors: why it cannot be started now.
  Result<std::optional<runtime::ContainerStatus>> Start(ManagedPod& managed, const FoundContainer& found, int attempt,
                                                        os::MonoTime now);

 private:
  Result<runtime::StartRequest> RequestFor(const Pod& pod, const FoundContainer& found, int attempt) const;
  Result<void> FillPlace(const Pod& pod, const Container& container, runtime::StartRequest& request);
  Result<std::optional<runtime::ContainerStatus>> LaterIfUnderWay(const Error& error, os::MonoTime now);
  Result<bool> KillLeftovers(ManagedPod& managed, const std::string& container, os::MonoTime now);

  Parts parts_;
};

}  // namespace berth::pods

#endif  // BERTH_PODS_STARTER_H_
