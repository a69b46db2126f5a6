// Directories behind a pod's volumes, and what its containers mount.
#ifndef BERTH_DAEMON_POD_VOLUMES_H_
#define BERTH_DAEMON_POD_VOLUMES_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "model/pod.h"
#include "runtime/runtime.h"

namespace berth::daemon {

/// What a container mounts; makes the directories of emptyDir volumes: <volume_dir>/<uid>/<volume>, for medium Memory
/// <memory_dir>/<uid>/<volume>. Errors: kInvalid with the cure for a volume that is missing, of a kind Berth does not
/// have, or whose host path is not what its type says.
Result<std::vector<runtime::BoundMount>> MountsOf(const Pod& pod, const Container& container,
                                                  const std::string& volume_dir, const std::string& memory_dir);
/// Removes the emptyDir volumes of a pod. What cannot be removed is left.
void RemoveVolumes(const std::string& uid, const std::string& volume_dir, const std::string& memory_dir);

/// What a container says about its security, completed by what its pod says.
SecurityContext WithPodDefaults(SecurityContext container, const SecurityContext& pod);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_POD_VOLUMES_H_
