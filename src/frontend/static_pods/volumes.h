// Directories behind a pod's volumes, and what its containers mount.
#ifndef BERTH_FRONTEND_STATIC_PODS_VOLUMES_H_
#define BERTH_FRONTEND_STATIC_PODS_VOLUMES_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/pod.h"
#include "runtime/lifecycle/env.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::pods {

/// Where volumes live.
struct VolumeFolders {
  std::string disk;    ///< emptyDir: <disk>/<uid>/<volume>
  std::string memory;  ///< where volumes with a file system of their own are mounted: <memory>/<uid>/<volume>
  std::string pins;    ///< of subPath: <pins>/<uid>/<container>-<n>
};

/// Of the executor: what is done to one pod's volumes is done one after another, and a path of the host that hangs
/// holds up others than its own pod, but not all of them.
std::string VolumeQueue(std::string_view uid);

/// What volumes are made of.
struct VolumeParts {
  const VolumeFolders& folders;
  const runtime::NodeFacts& node;   ///< documents, and what the node has to give
  const runtime::Environment& env;  ///< of the container, for subPathExpr
};

/// What a container mounts. Makes what is not there yet: directories of emptyDir volumes, a tmpfs or hugetlbfs of its
/// own for those of medium Memory or HugePages, and one with their files for volumes of documents, which are mounted
/// read-only. A subPath is looked up without leaving its volume, made if it is missing, and held by a mount below
/// `pins`: a container that swaps it for a link gains nothing.
/// Errors: kNotFound for a document or key that is not there and not optional; kInvalid with the cure for a volume that
/// is missing, of a kind Berth does not have, or whose host path is not what its type says; kPermission for a subPath
/// that leads out of its volume.
Result<std::vector<runtime::BoundMount>> MountsOf(const Pod& pod, const Container& container, const VolumeParts& parts);
/// Brings the documents' files in what volumes the pod has to what `node` says now, each volume at once. Those that
/// cannot be keep their content: returns why, a sentence each.
std::vector<std::string> RefreshVolumes(const Pod& pod, const VolumeFolders& folders, const runtime::NodeFacts& node);
/// Whether variables or volumes of the pod are made of documents.
bool TakesDocuments(const Pod& pod);
/// Takes off the mounts of a pod and removes its volumes. Errors: as os::RemoveTree; what a container has mounted in a
/// volume on disk is left.
Result<void> RemoveVolumes(const std::string& uid, const VolumeFolders& folders);

/// What a container says about its security, completed by what its pod says.
SecurityContext WithPodDefaults(SecurityContext container, const SecurityContext& pod);

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_VOLUMES_H_
