// Deployments and other workloads as the pods of their templates.
#ifndef BERTH_MANIFEST_WORKLOAD_READER_H_
#define BERTH_MANIFEST_WORKLOAD_READER_H_

#include <functional>
#include <string>
#include <string_view>

#include "manifest/document_tree.h"
#include "manifest/field_reader.h"
#include "manifest/pod_options.h"

namespace berth::manifest {

/// Whether it is a kind whose template a controller makes pods of; not CronJob, whose pods a clock makes.
bool IsWorkload(std::string_view kind);

/// Makes the pods of a workload's template (metadata and spec), NAME-0, NAME-1, … as many as it says, one after another
/// until `take` gives false; none when it is refused. What a controller would do beyond that is warned of, or refused
/// where the pods would be something else without it. Pods of an indexed Job get their index, and those of a
/// StatefulSet their names, as Kubernetes does that. `claim` gets the claims of a StatefulSet's volumeClaimTemplates,
/// TEMPLATE-NAME-0, …, before their pods, with the path of the template. Returns what was made, in words; "": not all.
/// Requires: IsWorkload(kind).
std::string MakePodsOfTemplate(std::string_view kind, const Node& workload, const Path& path, const PodOptions& options,
                               Report& report, const std::function<bool(const Node&)>& take,
                               const std::function<void(const Node&, const Path&)>& claim);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_WORKLOAD_READER_H_
