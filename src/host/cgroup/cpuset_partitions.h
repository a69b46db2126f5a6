// Partitions: the kernel itself keeps the CPUs of a container from every other process of the host (v2).
//
// A container is no child of the top, so its partition is a "remote" one: each level above lists the CPUs in
// cpuset.cpus.exclusive, which Linux has from 6.7 on. Levels grow before a partition below them does and shrink after
// it; a level that lists less than a partition below has would end that partition in silence.
#ifndef BERTH_HOST_CGROUP_CPUSET_PARTITIONS_H_
#define BERTH_HOST_CGROUP_CPUSET_PARTITIONS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_set.h"
#include "base/result.h"
#include "host/cgroup/cgroup.h"

namespace berth::cgroup {

struct PartitionPlan {
  std::string kind;                      ///< "root", "isolated"
  std::map<std::string, CpuSet> wanted;  ///< container -> its CPUs, which its cpuset has and nobody else's
  std::vector<std::string> others;       ///< containers that shall be none
  std::vector<std::string> levels;       ///< levels that list CPUs although nothing of `wanted` is below any more
};

struct PartitionOutcome {
  std::vector<std::string> changed;            ///< containers that were not what they shall be
  std::map<std::string, std::string> refused;  ///< container -> why; it keeps its CPUs as a plain member
};

/// Why the kernel has no partitions for containers, asked at a group of Berth's; empty: it has them.
Result<std::string> WhyNoPartitions(Tree& tree, std::string_view path);

/// Ends partitions that are not wanted and lets levels list no more than those wanted need. Before CPUs of ended
/// containers are given to others: the kernel refuses a set that lies within what another group lists.
Result<void> EndPartitions(Tree& tree, const PartitionPlan& plan);

/// Makes everything as planned, writing only what differs. Gone containers are skipped. Errors: of reading, and
/// kBusy (Tree::WaitBehind); what the kernel refuses is in the outcome.
Result<PartitionOutcome> SettlePartitions(Tree& tree, const PartitionPlan& plan);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_CPUSET_PARTITIONS_H_
