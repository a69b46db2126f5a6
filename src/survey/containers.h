// Containers of a runtime as NRI would show them, asked for over CRI. Only reads.
#ifndef BERTH_SURVEY_CONTAINERS_H_
#define BERTH_SURVEY_CONTAINERS_H_

#include <vector>

#include "base/result.h"
#include "cgroup/cgroup.h"
#include "cri/cri_client.h"
#include "os/fs.h"
#include "survey/survey_values.h"

namespace berth::survey {

/// Name, version and cgroup driver, or why it cannot be asked.
RuntimeFacts AskRuntime(const cri::Client& client);

/// Those that run or are about to, in the order in which their pods were made, with what their groups hold. `tree`:
/// from the top of the hierarchy; null: what containers have now is read from their first process. One that ends
/// meanwhile is left out. Errors: of listing.
Result<std::vector<SeenContainer>> AskContainers(const cri::Client& client, os::Fs& root, cgroup::Tree* tree);

/// Resources as CRI has them. Pure.
nri::Resources AsNriShows(const cri::Resources& resources);

}  // namespace berth::survey

#endif  // BERTH_SURVEY_CONTAINERS_H_
