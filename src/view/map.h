// The machine as a picture: sockets, NUMA nodes, L3 groups, cores and threads, and who holds what.
#ifndef BERTH_VIEW_MAP_H_
#define BERTH_VIEW_MAP_H_

#include <string>
#include <vector>

#include "base/id_set.h"
#include "model/ledger.h"
#include "model/machine.h"

namespace berth::view {

struct MapOptions {
  int width = 100;      ///< columns to use, 40 at least; lines are never longer
  bool color = false;   ///< ANSI colours; without them letters tell holders apart
  bool unicode = true;  ///< bars and dots as drawn characters; false: plain ASCII
  int lines = 120;      ///< detail is lowered while the picture is longer than this
};

/// What a CPU is used for. A shared CPU that is reserved for the system is kReserved; a CPU held exclusively is
/// kExclusive even if it is reserved.
enum class CpuUse { kOffline, kReserved, kShared, kExclusive, kIdle };
std::string_view Name(CpuUse use);  ///< "offline", "reserved", "shared", "exclusive", "idle"

/// One CPU of the machine and who holds it.
struct CpuState {
  CpuId cpu{};
  CpuUse use = CpuUse::kIdle;  ///< kIdle: online, but neither shared nor held
  bool isolated = false;
  std::vector<std::string> holders;  ///< "namespace/pod/container" with exclusive use, in order of admission
};
/// Every present or online CPU, in ascending order.
std::vector<CpuState> DescribeCpus(const Machine& machine, const Ledger& ledger, const CpuSet& reserved);

/// The picture, ending in a newline: a column is a core, its threads stand below each other, every CPU has its number
/// and the mark of its holder. Larger machines lose the numbers, then the threads. Pods with CPUs of their own have
/// letters, in order of admission. A ledger without a shared pool (CPU policy none) shows all usable CPUs as shared.
std::string RenderMap(const Machine& machine, const Ledger& ledger, const CpuSet& reserved,
                      const MapOptions& options = {});

}  // namespace berth::view

#endif  // BERTH_VIEW_MAP_H_
