// The CPUs of a machine, indexed for choosing among them: rules/topology#cpu-units.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_CPU_TOPOLOGY_H_
#define BERTH_ALLOCATOR_TOPOLOGY_CPU_TOPOLOGY_H_

#include <array>
#include <cstdint>
#include <vector>

#include "base/id_set.h"
#include "base/result.h"
#include "model/machine.h"

namespace berth::allocator {

/// Levels CPUs are grouped by.
enum class Level : std::uint8_t { kNuma, kSocket, kUncore, kCore };
inline constexpr int kLevels = 4;

/// All CPUs that share an id at a level.
struct Unit {
  std::uint32_t id = 0;
  CpuSet cpus;
};

/// Immutable once made. Units are held by ascending id; "index" is the position there.
class CpuTopology {
 public:
  /// Errors: kInvalid with the kubelet's words when the machine has no CPUs or a core is malformed.
  static Result<CpuTopology> Make(const Machine& machine);

  const CpuSet& cpus() const { return cpus_; }
  const std::vector<Unit>& units(Level level) const { return units_[Slot(level)]; }
  /// Index of the unit of a CPU. Requires: cpus().Contains(cpu).
  std::uint32_t IndexOf(CpuId cpu, Level level) const { return index_[Slot(level)][Raw(cpu)]; }

  /// CPUs of `cpus` in units of `level` that lie wholly in it.
  CpuSet Whole(const CpuSet& cpus, Level level) const;

  /// All CPUs of the units of `level` that have some of `cpus`.
  CpuSet Around(const CpuSet& cpus, Level level) const;

  /// CPUs of the smallest unit.
  int smallest(Level level) const { return smallest_[Slot(level)]; }

  // The kubelet's totals and the averages it derives from them (0 when the divisor is 0).
  int num_cpus() const { return num_cpus_; }
  int num_sockets() const { return num_sockets_; }  ///< as /proc/cpuinfo says, not derived from the CPUs
  int num_cores() const { return num_cores_; }      ///< core entries of all nodes
  int num_numa() const { return static_cast<int>(units(Level::kNuma).size()); }  ///< nodes that own a CPU
  int num_uncore() const { return static_cast<int>(units(Level::kUncore).size()); }
  int cpus_per_core() const { return Average(num_cores_); }
  int cpus_per_socket() const { return Average(num_sockets_); }
  int cpus_per_uncore() const { return Average(num_uncore()); }

 private:
  static constexpr std::size_t Slot(Level level) { return static_cast<std::size_t>(level); }
  int Average(int parts) const { return parts == 0 ? 0 : num_cpus_ / parts; }

  CpuSet cpus_;
  std::array<std::vector<Unit>, kLevels> units_;
  std::array<std::vector<std::uint32_t>, kLevels> index_;  // [level][cpu id] -> unit index
  std::array<int, kLevels> smallest_{};
  int num_cpus_ = 0;
  int num_sockets_ = 0;
  int num_cores_ = 0;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_CPU_TOPOLOGY_H_
