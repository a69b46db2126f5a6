#include "node/cgroup_manager/enforcer.h"

#include <utility>

namespace berth::cgroup_manager {

Enforcer::Enforcer(cgroup::Tree& tree, const allocator::Node& node, cgroup::Names names, const Ownership& ownership)
    : site_(tree, node, {.names = std::move(names), .ownership = &ownership}),
      table_(site_),
      planner_(site_, table_),
      runtime_groups_(site_, table_, planner_),
      partitions_(site_, table_, planner_),
      qos_cgroups_(site_, table_),
      cpusets_(site_, table_, planner_, partitions_, runtime_groups_),
      pod_groups_(site_, table_, planner_, partitions_),
      discovery_(site_, table_, runtime_groups_),
      values_(site_, table_, planner_) {}

Result<void> Enforcer::Prepare(const Ledger& ledger, const std::set<std::string>& known) {
  BERTH_RETURN_IF_ERROR(qos_cgroups_.Make(ledger));
  return discovery_.Find(ledger, known);
}

Picture Enforcer::picture() const {
  return {.site = site_.facts(), .groups = table_.all(), .partition_kind = partitions_.kind()};
}

Result<std::vector<cgroup::ReservedGroup>> Enforcer::ReservedGroups() const {
  return cgroup::ReservedGroups(site_.node().config(), site_.shares());
}

}  // namespace berth::cgroup_manager
