// Facts of a machine that follow from other facts; shared by the five sources.
#ifndef BERTH_HOST_MACHINE_DERIVE_H_
#define BERTH_HOST_MACHINE_DERIVE_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "model/machine.h"

namespace berth::machine {

/// L3 groups as the cores' uncore caches of level 3 name them: one group per cache id, by smallest CPU.
std::vector<L3Group> L3FromUncore(const std::vector<NumaNode>& nodes);

/// Adds `more` to `totals`, size by size; new sizes go to the end.
void AddHugePages(std::vector<HugePages>& totals, const std::vector<HugePages>& more);

/// Cores of all nodes.
int CountPhysicalCores(const std::vector<NumaNode>& nodes);
/// Distinct sockets of all cores.
int CountSockets(const std::vector<NumaNode>& nodes);
/// Threads of all cores: cAdvisor's num_cores on machines with NUMA directories.
int CountThreads(const std::vector<NumaNode>& nodes);

/// Sorts L3 groups by smallest CPU and PCI devices by address, drops L3 groups without CPUs.
void SortViews(Machine& machine);

/// What every decision relies on: node ids differ, every core has a thread, no CPU belongs to two cores.
/// Errors: kInvalid saying which node, core or CPU is wrong.
Result<void> CheckNodes(const std::vector<NumaNode>& nodes);

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_DERIVE_H_
