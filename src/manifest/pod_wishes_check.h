// Validation of placement annotations of a pod, before any decision about it.
#ifndef BERTH_MANIFEST_POD_WISHES_CHECK_H_
#define BERTH_MANIFEST_POD_WISHES_CHECK_H_

#include "manifest/field_reader.h"
#include "model/pod.h"

namespace berth::manifest {

/// Notes each annotation that cannot be understood, names no container, or asks for more CPUs than are requested.
void CheckWishes(const Pod& pod, const Path& root, Report& report);

/// Warns of each annotation that begins like Berth's own and is none of them.
void WarnOfUnknownWishes(const Pod& pod, const Path& root, Report& report);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_POD_WISHES_CHECK_H_
