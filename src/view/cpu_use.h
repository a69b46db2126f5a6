// CPU states of a machine (reserved, shared, pool, exclusive, ...) with their holders, and options of the CPU map.
#ifndef BERTH_VIEW_CPU_USE_H_
#define BERTH_VIEW_CPU_USE_H_

#include <string>
#include <string_view>
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
/// kExclusive even if it is reserved. kPool: of a named pool, also one that it leaves idle.
enum class CpuUse { kOffline, kReserved, kShared, kPool, kExclusive, kIdle };
std::string_view Name(CpuUse use);  ///< "offline", "reserved", "shared", "pool", "exclusive", "idle"

/// One CPU of the machine and who holds it.
struct CpuState {
  CpuId cpu{};
  CpuUse use = CpuUse::kIdle;  ///< kIdle: online, but neither shared nor held
  bool isolated = false;
  /// "namespace/pod/container" with exclusive use, in order of admission; then "CPU pool NAME".
  std::vector<std::string> holders;
  friend bool operator==(const CpuState&, const CpuState&) = default;
};
/// Every present or online CPU, in ascending order.
std::vector<CpuState> DescribeCpus(const Machine& machine, const Ledger& ledger, const CpuSet& reserved);

}  // namespace berth::view

#endif  // BERTH_VIEW_CPU_USE_H_
