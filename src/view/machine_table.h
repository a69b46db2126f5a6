// A machine as text for people: what it is made of, node by node.
#ifndef BERTH_VIEW_MACHINE_TABLE_H_
#define BERTH_VIEW_MACHINE_TABLE_H_

#include <optional>
#include <string>

#include "model/machine.h"
#include "view/table.h"

namespace berth::view {

/// A summary, then tables of NUMA nodes, distances (up to 16 nodes), L3 groups and PCI devices that workloads use.
/// Fits 100 columns unless CPU lists are longer; `options.width` cuts those. Ends in a newline.
std::string MachineTable(const Machine& machine, const TableOptions& options = {});

/// "23.4 GiB (the kernel's MemTotal), 24 GiB on its NUMA nodes"; nullopt: people see one size, or one is not known.
std::optional<std::string> TwoMemorySizes(const Machine& machine);

}  // namespace berth::view

#endif  // BERTH_VIEW_MACHINE_TABLE_H_
