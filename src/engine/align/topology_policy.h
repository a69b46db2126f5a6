// Topology manager policies and their names.
#ifndef BERTH_ENGINE_ALIGN_TOPOLOGY_POLICY_H_
#define BERTH_ENGINE_ALIGN_TOPOLOGY_POLICY_H_

#include <optional>
#include <string_view>

namespace berth::engine {

enum class TopologyPolicy { kNone, kBestEffort, kRestricted, kSingleNumaNode };

/// "none", "best-effort", "restricted", "single-numa-node"; nullopt for anything else.
std::optional<TopologyPolicy> ParseTopologyPolicy(std::string_view name);
std::string_view Name(TopologyPolicy policy);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_ALIGN_TOPOLOGY_POLICY_H_
