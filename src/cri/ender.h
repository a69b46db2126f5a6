// Stopping and removing: containers, sandboxes, pods.
#ifndef BERTH_CRI_ENDER_H_
#define BERTH_CRI_ENDER_H_

#include <string>

#include "base/result.h"
#include "cri/shared.h"
#include "runtime/runtime.h"

namespace berth::cri {

/// Thread: any number at a time; all but StopContainer for one pod one after another.
class Ender {
 public:
  explicit Ender(Shared& shared) : shared_(shared) {}

  /// Blocks until the container has ended, its grace period at most.
  void StopContainer(const runtime::StopRequest& request);
  /// Stops the pod's sandboxes. Containers that were made and never started are removed first: no call that comes late
  /// shall start them.
  void StopPod(const std::string& uid);
  /// Stops a sandbox and removes it with all its containers. Errors: as Client.
  Result<void> RemoveSandbox(const std::string& id) const;
  void RemoveContainer(const std::string& id);
  /// Removes the pod's sandboxes with all containers, unless it is wanted again.
  void RemovePod(const std::string& uid);

 private:
  void RunPreStop(const runtime::StopRequest& request);
  void SleepBeforeStop(const std::string& id, os::Millis time);
  bool EndsSoon(const std::string& id) const;
  Result<void> TryStopPod(const std::string& uid);
  Result<void> TryRemovePod(const std::string& uid);

  Shared& shared_;
};

}  // namespace berth::cri

#endif  // BERTH_CRI_ENDER_H_
