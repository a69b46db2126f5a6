// Resize detection: the differences between two manifests of a pod that apply while it runs. Pure;
// rules/resize.
#ifndef BERTH_MODEL_RESIZE_CHANGES_H_
#define BERTH_MODEL_RESIZE_CHANGES_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/id_set.h"
#include "base/result.h"
#include "model/pod.h"

namespace berth {

/// The pod without all that may change while it runs: amounts of CPU, memory and huge pages, the annotation
/// berth.dev/keep-cpus, and the numbers in berth.dev/cpus.
/// Two manifests of which this is the same are of one pod.
Pod WithoutAmounts(Pod pod);
/// Puts these of `from`, which is of the same pod, in place of the pod's own.
void TakeAmounts(Pod& pod, const Pod& from);

using AllocatedResources = std::map<std::string, Resources, std::less<>>;  ///< by container
AllocatedResources AllocatedOf(const Pod& pod);
/// The other way; containers that are not named keep what they have.
void SetAllocated(Pod& pod, const AllocatedResources& allocated);

/// These numbers of exclusive CPUs, by container, in place of those its annotation berth.dev/cpus gives; where they are
/// the same, and for containers that have no number there, it stays as it is written.
void SetOwnCpus(Pod& pod, const std::map<std::string, int, std::less<>>& cpus);

/// A field of a manifest that no resize can change, and why.
struct NotResizable {
  std::string path;  ///< "spec.initContainers[0].resources"
  std::string why;
  friend bool operator==(const NotResizable&, const NotResizable&) = default;
};
/// The first that differs. Requires: both are of one pod (WithoutAmounts). nullopt: it is for the node to decide.
std::optional<NotResizable> WhyNotResizable(const Pod& now, const Pod& wanted);

/// The annotation by container; {}: there is none. Errors: kInvalid, saying what it has to look like.
Result<std::map<std::string, CpuSet>> KeptCpus(const Pod& pod);

/// Containers whose amounts of a resource differ that has resizePolicy RestartContainer, by name.
std::map<std::string, std::string> RestartedByResize(const Pod& now, const Pod& wanted);

}  // namespace berth

#endif  // BERTH_MODEL_RESIZE_CHANGES_H_
