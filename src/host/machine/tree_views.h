// Berth's own view of a tree, beyond the kubelet's discovery: L3 groups, kinds of cores, PCI devices.
#ifndef BERTH_HOST_MACHINE_TREE_VIEWS_H_
#define BERTH_HOST_MACHINE_TREE_VIEWS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/machine/tree_files.h"
#include "model/machine.h"

namespace berth::machine {

/// Fills present, online, isolated and nohz_full. Missing files: every cpuN folder is present, every present CPU is
/// online, none is isolated. Errors: kInvalid naming the file.
Result<void> ReadCpuSets(TreeFiles& files, Machine& machine);

/// Groups of online CPUs that share a unified cache of level 3. A CPU whose cache files cannot be read,
/// or whose shared_cpu_map does not hold itself, is in no group.
/// A cache without an id file is named by its smallest CPU.
std::vector<L3Group> ReadL3(TreeFiles& files, const CpuSet& online);

/// Sets the kind of every core: from the PMU folders of Intel hybrids (cpu_core, cpu_atom), else from cpu_capacity:
/// below 80 % of the strongest CPU is kEfficiency, the others are kPerformance. All alike: kUniform.
Result<void> ReadCoreKinds(TreeFiles& files, std::vector<NumaNode>& nodes);

/// sys/bus/pci/devices with the kernel's names behind each (network, block, InfiniBand and graphics devices).
/// Fields that are missing or unreadable stay empty.
Result<std::vector<PciDevice>> ReadPci(TreeFiles& files);

/// Whether a link's target leads through a PCI device ("../../devices/pci0000:00/0000:00:03.0/net/eth0").
bool LeadsToPci(std::string_view target);

/// The PCI device it leads through last ("0000:00:03.0"); "": none.
std::string PciBehind(std::string_view target);

/// "0000:3b:00.0": domain of four or more digits, bus, device, function.
bool IsPciAddress(std::string_view text);

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_TREE_VIEWS_H_
