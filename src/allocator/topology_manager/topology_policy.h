// Topology manager policies and their names.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_MANAGER_TOPOLOGY_POLICY_H_
#define BERTH_ALLOCATOR_TOPOLOGY_MANAGER_TOPOLOGY_POLICY_H_

#include <optional>
#include <string_view>

namespace berth::allocator {

enum class TopologyPolicy { kNone, kBestEffort, kRestricted, kSingleNumaNode };

/// "none", "best-effort", "restricted", "single-numa-node"; nullopt for anything else.
std::optional<TopologyPolicy> ParseTopologyPolicy(std::string_view name);
std::string_view Name(TopologyPolicy policy);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_MANAGER_TOPOLOGY_POLICY_H_
