// What the runtime says about containers, and what follows from it at once.
#ifndef BERTH_PODS_INTAKE_H_
#define BERTH_PODS_INTAKE_H_

#include <optional>
#include <string>

#include "pods/parts.h"

namespace berth::pods {

/// Thread: the loop's only.
class Intake {
 public:
  explicit Intake(const Parts& parts) : parts_(parts) {}

  /// All that the runtime has to say: containers that changed, notices, groups it made.
  void Poll(os::MonoTime now);
  /// A container's status, from Poll or as the answer to a start.
  void Take(const runtime::ContainerStatus& status, os::MonoTime now);
  /// Containers that ended without a word of the runtime, or that it does not know any more.
  void CompareWithRuntime(os::MonoTime now);

 private:
  void TakeStart(ManagedPod& managed, const runtime::ContainerStatus& status,
                 const std::optional<runtime::ContainerStatus>& earlier);
  void StartCameToNothing(ManagedPod& managed, const runtime::ContainerStatus& status, os::MonoTime now);
  void ReportEnd(const ManagedPod& managed, const runtime::ContainerStatus& status);
  void RemoveOldLogs(const std::string& folder, int attempt) const;

  Parts parts_;
};

}  // namespace berth::pods

#endif  // BERTH_PODS_INTAKE_H_
