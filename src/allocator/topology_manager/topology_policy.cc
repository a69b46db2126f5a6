#include "allocator/topology_manager/topology_policy.h"

#include <array>
#include <utility>

namespace berth::allocator {
namespace {

constexpr std::array<std::pair<TopologyPolicy, std::string_view>, 4> kPolicies{{
    {TopologyPolicy::kNone, "none"},
    {TopologyPolicy::kBestEffort, "best-effort"},
    {TopologyPolicy::kRestricted, "restricted"},
    {TopologyPolicy::kSingleNumaNode, "single-numa-node"},
}};

}  // namespace

std::optional<TopologyPolicy> ParseTopologyPolicy(std::string_view name) {
  for (const auto& [policy, text] : kPolicies)
    if (text == name) return policy;
  return std::nullopt;
}

std::string_view Name(TopologyPolicy policy) {
  for (const auto& [known, text] : kPolicies)
    if (known == policy) return text;
  return "";
}

}  // namespace berth::allocator
