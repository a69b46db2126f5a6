// Tree -> Pod: field types and names. Values are checked by ValidatePod.
#ifndef BERTH_MANIFEST_POD_READER_H_
#define BERTH_MANIFEST_POD_READER_H_

#include "manifest/field_reader.h"
#include "model/pod.h"

namespace berth::manifest {

/// Reads a v1.Pod, apiVersion and kind left to the caller. Defaults are not applied. Problems go to `report`; what is
/// wrong keeps the value of an empty Pod. Of containers no more are read than it takes to tell that they are too many
/// (kMostContainers).
Pod ReadPod(const Node& node, const Path& path, Report& report);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_POD_READER_H_
