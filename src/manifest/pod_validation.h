// ValidatePod's findings with their paths kept apart.
#ifndef BERTH_MANIFEST_POD_VALIDATION_H_
#define BERTH_MANIFEST_POD_VALIDATION_H_

#include <cstddef>

#include "manifest/field_reader.h"
#include "model/pod.h"

namespace berth::manifest {

/// Of one pod, init containers included: each costs groups, a supervisor and descriptors, and a pod is decided and
/// given up as one.
inline constexpr std::size_t kMostContainers = 250;
/// Of one pod, names and values together, as an API server has it: they are kept with the pod, and told to its runtime.
inline constexpr std::size_t kMostAnnotationBytes = std::size_t{256} << 10;

/// As ValidatePod; `root` is the path of the pod in its document.
void CheckPod(const Pod& pod, const Path& root, Report& report);

/// For plain processes: one that is not to be root has another user; no image could name one.
void CheckUsers(const Pod& pod, const Path& root, Report& report);

/// For plain processes: each container says what to run. Without a command its image would, and of an image nothing is
/// taken; its arguments alone name no program.
void CheckCommands(const Pod& pod, const Path& root, Report& report);

/// For container runtimes: each container has an image.
void CheckImages(const Pod& pod, const Path& root, Report& report);

/// The part of it that decisions rest on: container names are there and unique, no amount is negative. For recorded
/// cases, which need not have passed an API server.
void CheckRecordedPod(const Pod& pod, const Path& root, Report& report);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_POD_VALIDATION_H_
