// Containers of a runtime as NRI would show them, asked for over CRI. Only reads.
#ifndef BERTH_FRONTEND_NRI_PREFLIGHT_CONTAINERS_H_
#define BERTH_FRONTEND_NRI_PREFLIGHT_CONTAINERS_H_

#include <vector>

#include "base/result.h"
#include "frontend/nri_preflight/preflight_values.h"
#include "host/cgroup/cgroup.h"
#include "host/os/fs.h"
#include "runtime/cri/cri_client.h"

namespace berth::nri_preflight {

/// Name, version and cgroup driver, or why it cannot be asked.
RuntimeFacts AskRuntime(const cri::Client& client);

/// Those that run or are about to, in the order in which their pods were made, with what their groups hold. `tree`:
/// from the top of the hierarchy; null: what containers have now is read from their first process. One that ends
/// meanwhile is left out. Errors: of listing.
Result<std::vector<SeenContainer>> AskContainers(const cri::Client& client, os::Fs& root, cgroup::Tree* tree);

/// Resources as CRI has them. Pure.
nri::Resources AsNriShows(const cri::Resources& resources);

}  // namespace berth::nri_preflight

#endif  // BERTH_FRONTEND_NRI_PREFLIGHT_CONTAINERS_H_
