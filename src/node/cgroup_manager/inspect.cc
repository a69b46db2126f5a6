#include "node/cgroup_manager/inspect.h"

#include <utility>

#include "node/cgroup_manager/cpu_partitions.h"

namespace berth::cgroup_manager {

std::vector<GroupState> Inspect(cgroup::Tree& tree, const allocator::Node& node, const Picture& picture,
                                const Ledger& ledger, const std::vector<const Pod*>& pods) {
  const Site site(tree, node, picture.site);
  const GroupTable table(site, picture.groups);
  const Planner planner(site, table);
  const CpuPartitions partitions(site, table, planner, picture.partition_kind);
  std::vector<GroupState> out;
  for (PlannedGroup& plan : planner.Plan(ledger, pods)) {
    GroupState state{.plan = std::move(plan), .values = {}, .problem = {}, .ended = false};
    auto found = tree.Read(state.plan.path);
    if (found && found->cpus && state.plan.values.cpus)
      if (const auto added = partitions.Add(state.plan.path, *state.plan.values.cpus, *found->cpus); !added)
        found = std::unexpected(added.error());
    if (!found && found.error().code == Code::kNotFound && table.containers().contains(state.plan.path) &&
        site.names().driver() == cgroup::Driver::kSystemd) {
      state.ended = true;
    } else if (found) {
      state.values = cgroup::Compare(state.plan.values, *found, tree.layout(), state.plan.why, site.options().page);
    } else {
      state.problem = found.error().message;
    }
    out.push_back(std::move(state));
  }
  return out;
}

}  // namespace berth::cgroup_manager
