// A pod's fields held to the field table: what is refused and what is warned of.
#ifndef BERTH_MANIFEST_FIELD_CHECK_H_
#define BERTH_MANIFEST_FIELD_CHECK_H_

#include "manifest/document_tree.h"
#include "manifest/field_reader.h"
#include "manifest/pod_options.h"

namespace berth::manifest {

/// Puts a problem (or, if options.refuse_unsupported is false, a warning) into `report` for each kind of field that the
/// runtime of `options` refuses, and a warning for each that has no effect: with the path of the first one and how many
/// more there are. Says nothing if nobody will run the pod, and of fields that v1.Pod does not have. `path`: of `pod`.
void CheckFields(const Node& pod, const Path& path, const PodOptions& options, Report& report);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_FIELD_CHECK_H_
