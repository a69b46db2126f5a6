// Directories behind a pod's volumes, and what its containers mount.
#ifndef BERTH_PODS_VOLUMES_H_
#define BERTH_PODS_VOLUMES_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "model/pod.h"
#include "runtime/runtime.h"

namespace berth::pods {

/// Where volumes live.
struct VolumeFolders {
  std::string disk;    ///< emptyDir: <disk>/<uid>/<volume>
  std::string memory;  ///< the same for medium Memory; on a tmpfs
  std::string pins;    ///< of subPath: <pins>/<uid>/<container>-<n>
};

/// What a container mounts; makes the directories of emptyDir volumes. A subPath is looked up without leaving its
/// volume, made if it is missing, and held by a mount below `pins`: a container that swaps it for a link gains nothing.
/// Errors: kInvalid with the cure for a volume that is missing, of a kind Berth does not have, or whose host path is
/// not what its type says; kPermission for a subPath that leads out of its volume.
Result<std::vector<runtime::BoundMount>> MountsOf(const Pod& pod, const Container& container,
                                                  const VolumeFolders& folders);
/// Takes off the mounts of a pod and removes its emptyDir volumes. Errors: as os::RemoveTree; what a container has
/// mounted in a volume is left.
Result<void> RemoveVolumes(const std::string& uid, const VolumeFolders& folders);

/// What a container says about its security, completed by what its pod says.
SecurityContext WithPodDefaults(SecurityContext container, const SecurityContext& pod);

}  // namespace berth::pods

#endif  // BERTH_PODS_VOLUMES_H_
