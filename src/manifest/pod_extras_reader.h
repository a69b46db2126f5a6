// Tree -> what only a container runtime needs of a pod: volumes, mounts, security contexts.
#ifndef BERTH_MANIFEST_POD_EXTRAS_READER_H_
#define BERTH_MANIFEST_POD_EXTRAS_READER_H_

#include "manifest/field_reader.h"
#include "model/pod.h"

namespace berth::manifest {

/// A securityContext of a container, and what one of a pod shares with it.
void ReadSecurityContext(Object& object, SecurityContext& out);
/// That of a pod.
void ReadPodSecurityContext(Object& object, SecurityContext& out);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_POD_EXTRAS_READER_H_
