// The machine as a picture: sockets, NUMA nodes, L3 groups, cores and threads, and who holds what.
#ifndef BERTH_VIEW_MAP_H_
#define BERTH_VIEW_MAP_H_

#include <string>

#include "base/id_set.h"
#include "model/ledger.h"
#include "model/machine.h"
#include "view/cpu_use.h"

namespace berth::view {

/// The picture, ending in a newline: a column is a core, its threads stand below each other, every CPU has its number
/// and the mark of its holder. An L3 of several nodes stands above them, once. Larger machines lose the numbers, then
/// the threads. Pods with CPUs of their own have letters, in order of admission. A ledger without a shared pool (CPU
/// policy none) shows all usable CPUs as shared.
std::string RenderMap(const Machine& machine, const Ledger& ledger, const CpuSet& reserved,
                      const MapOptions& options = {});

}  // namespace berth::view

#endif  // BERTH_VIEW_MAP_H_
