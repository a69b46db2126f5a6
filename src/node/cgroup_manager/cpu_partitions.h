// Exclusive CPUs as partitions of the kernel's (cpuPartition).
#ifndef BERTH_NODE_CGROUP_MANAGER_CPU_PARTITIONS_H_
#define BERTH_NODE_CGROUP_MANAGER_CPU_PARTITIONS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "node/cgroup_manager/planner.h"
#include "node/cgroup_manager/site.h"

namespace berth::cgroup_manager {

/// Thread: the loop's only.
class CpuPartitions {
 public:
  CpuPartitions(const Site& site, const GroupTable& table, const Planner& planner, std::string kind = "none")
      : site_(site), table_(table), planner_(planner), kind_(std::move(kind)) {}

  /// From now on containers with CPUs of their own are partitions of `kind` ("root", "isolated"; "none": they are not).
  /// Returns why the kernel cannot do that; empty: it can. Requires: berthd's own group is there.
  Result<std::string> Use(const std::string& kind, const Ledger& ledger);
  const std::string& kind() const { return kind_; }
  /// Ends those that stand in the way of other cpusets. Before cpusets change.
  Result<void> End(const Ledger& ledger);
  /// Makes those that should be; returns containers that were not what they shall be.
  Result<std::vector<std::string>> Settle(const Ledger& ledger);
  /// Adds to the effective CPUs `cpus` of a level above containers what partitions below it take: it is not among
  /// them, and still its own. `wanted`: what the level should have.
  Result<void> Add(const std::string& path, const CpuSet& wanted, CpuSet& cpus) const;

  /// Containers that the kernel refused as partitions since Use, and why. They have their CPUs all the same.
  const std::map<std::string, std::string>& problems() const { return problems_; }
  /// The pod's group is gone.
  void Forget(const std::string& pod_path);

 private:
  const Site& site_;
  const GroupTable& table_;
  const Planner& planner_;
  std::string kind_;
  std::map<std::string, std::string> problems_;  // path -> why
};

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_CPU_PARTITIONS_H_
