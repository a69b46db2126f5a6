// CPU lists for containers with exclusive CPUs and the shared pool: environment variables,
// and a file that follows the pool. The file is one for all of them: the pool is the node's, so a change of it costs
// one write, however many containers read it. rules/own#mixed.
#ifndef BERTH_NODE_PODS_MIXED_CPUS_H_
#define BERTH_NODE_PODS_MIXED_CPUS_H_

#include <string>

#include "model/ledger.h"
#include "node/pods/pod_table.h"
#include "runtime/lifecycle/env.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::pods {

inline constexpr const char* kExclusiveVariable = "BERTH_CPUS_EXCLUSIVE";
inline constexpr const char* kSharedVariable = "BERTH_CPUS_SHARED";  ///< as it was when the container was started
inline constexpr const char* kSharedFileVariable = "BERTH_CPUS_SHARED_FILE";

/// Whether a container with this place is told.
bool IsTold(const PodOptions& options, const Placement* placement);
/// Whether anybody is.
bool IsAnyoneTold(const PodOptions& options, const Ledger& ledger);

/// Adds the variables, but for those that the container's own manifest gives.
void AddMixedCpus(const Placement& placement, const CpuSet& shared, const std::string& file, runtime::Environment& env);

/// Where the container finds the file.
std::string FileOfPool(const PodOptions& options, const runtime::Runtime& runtime);
/// The folder with the file, for a container with mounts of its own: read-only.
runtime::BoundMount MountOfPool(const PodOptions& options);

/// "0-1,4-7\n" for all to read. Makes the folder. Errors: as mkdir(2) and os::ReplaceVolatile.
Result<void> WritePool(const PodOptions& options, const CpuSet& shared);

}  // namespace berth::pods

#endif  // BERTH_NODE_PODS_MIXED_CPUS_H_
