// Message texts about placements and rejections, and validation of the names that a runtime gives over NRI.
#ifndef BERTH_FRONTEND_NRI_AGENT_PLACEMENT_TEXTS_H_
#define BERTH_FRONTEND_NRI_AGENT_PLACEMENT_TEXTS_H_

#include <string>
#include <string_view>

#include "model/decision.h"
#include "model/ledger.h"
#include "rpc/nri/nri_values.h"

namespace berth::nri_agent {

/// Of Kubernetes: what a runtime shows comes from elsewhere, and names go into events, the ledger and what people see.
bool IsName(std::string_view text);
bool IsSane(const nri::Pod& pod);
bool IsSane(const nri::Pod& pod, const nri::Container& container);

std::string TextOf(const Reject& reject);
/// From a container that sees the host's processes the host's files are below /proc/1/root; people know them without.
std::string WithoutHostRoot(std::string text);

/// "CPUs 1-2 for itself, memory of nodes 0".
std::string DescribePlace(const Ledger& ledger, const Placement& placement, const CpuSet& shared);

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_PLACEMENT_TEXTS_H_
