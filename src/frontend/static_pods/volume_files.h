// Files of a pod's configMap, secret, downwardAPI and projected volumes. Pure.
#ifndef BERTH_FRONTEND_STATIC_PODS_VOLUME_FILES_H_
#define BERTH_FRONTEND_STATIC_PODS_VOLUME_FILES_H_

#include <cstddef>

#include "base/result.h"
#include "host/os/file_set.h"
#include "model/pod.h"
#include "runtime/lifecycle/env.h"

namespace berth::pods {

/// Bytes of all files in the volumes of one pod together, and kCostOfFile more for each: a file without content takes
/// memory too.
inline constexpr std::size_t kCostOfFile = 1024;
inline constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;

/// The files of a volume of kind kFiles; of several sources with one path the last one counts. Errors: kNotFound for a
/// document or key that is not there and not optional; kInvalid when the pod's volumes come to more than
/// kMostFileBytes.
Result<os::FileSet> FilesOf(const Pod& pod, const Volume& volume, const runtime::NodeFacts& node);

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_VOLUME_FILES_H_
