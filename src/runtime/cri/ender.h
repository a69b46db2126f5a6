// Stopping and removing: containers, sandboxes, pods.
#ifndef BERTH_RUNTIME_CRI_ENDER_H_
#define BERTH_RUNTIME_CRI_ENDER_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/cri/shared.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::cri {

/// Thread: any number at a time; all but StopContainer for one pod one after another.
class Ender {
 public:
  explicit Ender(Shared& shared) : shared_(shared) {}

  /// Blocks until the container has ended, its grace period at most.
  void StopContainer(const runtime::StopRequest& request);
  /// The same for several, beside each other.
  void StopContainers(const std::vector<runtime::StopRequest>& requests);
  /// Stops the pod's sandboxes. Containers that were made and never started are removed first: no call that comes late
  /// shall start them.
  void StopPod(const std::string& uid);
  void RemoveContainer(const std::string& id);
  /// Removes a container that was made and that nobody waits for: its call was given up before it was done. What waits
  /// for its name is tried again at once.
  void RemoveLateContainer(const std::string& id, const std::string& uid);
  /// The same for a sandbox beside the one its pod has.
  void RemoveLateSandbox(const Sandbox& sandbox);
  /// Removes the pod's sandboxes with all containers; of one that is wanted (again) those of no use.
  void RemovePod(const std::string& uid);
  /// Removes one sandbox. What the runtime refuses with, "" when it is gone; nothing of it runs in either case.
  Result<std::string> RemoveSandbox(const Sandbox& sandbox);
  struct Refusal {
    Sandbox sandbox;
    std::string words;
  };
  /// What RemoveSandbox answered for sandboxes of one pod: told once, and tried again until the runtime does it.
  void TakeRefusals(const std::vector<Refusal>& of_pod);

 private:
  bool PauseBefore(os::MonoTime end);
  bool EndsBySignal(const runtime::StopRequest& request, os::MonoTime end);
  bool Stopping() BERTH_EXCLUDES(shared_.mutex);
  bool EndsSoon(const std::string& id) const;
  Result<std::string> StopSandbox(const Sandbox& sandbox);
  Result<bool> NothingRunsOf(const Sandbox& sandbox) const;
  Result<void> TryStopPod(const std::string& uid);
  Result<bool> TryRemovePod(const std::string& uid);

  Shared& shared_;
};

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_ENDER_H_
