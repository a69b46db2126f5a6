// Pods as an API server has them, and as their node knows them.
#ifndef BERTH_MANIFEST_MIRROR_POD_H_
#define BERTH_MANIFEST_MIRROR_POD_H_

#include <string>

#include "model/pod.h"

namespace berth::manifest {

/// The uid by which the pod's node knows it: of a static pod's mirror that is the static pod's, not the mirror's own.
std::string UidOnNode(const Pod& pod);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_MIRROR_POD_H_
