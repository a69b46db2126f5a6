// Tree -> security contexts of a pod and of its containers.
#ifndef BERTH_MANIFEST_POD_EXTRAS_READER_H_
#define BERTH_MANIFEST_POD_EXTRAS_READER_H_

#include "manifest/field_reader.h"
#include "model/pod.h"

namespace berth::manifest {

/// A securityContext of a container. Fields that only a pod's has are warned of and not read; likewise below.
void ReadSecurityContext(Object& object, SecurityContext& out);
/// That of a pod.
void ReadPodSecurityContext(Object& object, SecurityContext& out);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_POD_EXTRAS_READER_H_
