// A machine as it was described: an immutable value, the same type whatever it was read from.
//
// Index space: everything is an OS index (as the kernel prints it). CoreId is the smallest thread of the core, which is
// unique on the machine, unlike sysfs' core_id. What the kubelet's discovery would see (rules/topology#discovery) is
// kept in `nodes` (order, cores, uncore caches) and in the reported totals; the rest is Berth's own view.
#ifndef BERTH_MODEL_MACHINE_H_
#define BERTH_MODEL_MACHINE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/id_set.h"
#include "base/units.h"

namespace berth {

/// Kind of core on hybrid machines.
enum class CoreKind { kUniform, kPerformance, kEfficiency };

/// One L3 group: cores that share a last-level cache.
struct L3Group {
  CacheId id{};
  Bytes size{};
  CpuSet cpus;
  friend bool operator==(const L3Group&, const L3Group&) = default;
};

/// An uncore cache of a core as the kubelet's discovery reports it (rules/topology#uncore-caches).
struct UncoreCache {
  CacheId id{};
  Bytes size{};
  std::string type;  ///< "Unified"
  int level = 3;
  friend bool operator==(const UncoreCache&, const UncoreCache&) = default;
};

/// A physical core with its online threads, in discovery order (rules/topology#threads-of-a-core).
struct Core {
  std::uint32_t core_id = 0;  ///< sysfs core_id: only unique within a socket and node
  SocketId socket{};
  DieId die{};
  std::vector<CpuId> threads;       ///< online threads, in discovery order; the CoreId is the smallest
  std::vector<UncoreCache> uncore;  ///< first entry decides (rules/topology#cpu-units); empty: none
  CoreKind kind = CoreKind::kUniform;
  friend bool operator==(const Core&, const Core&) = default;
};

struct HugePages {
  Bytes page_size{};
  std::int64_t count = 0;
  friend bool operator==(const HugePages&, const HugePages&) = default;
};

struct NumaNode {
  NumaId id{};
  Bytes memory{};                    ///< MemTotal, huge pages included; 0 if unknown
  std::vector<HugePages> hugepages;  ///< in discovery order
  std::vector<Core> cores;           ///< empty: memory-only (or empty) node
  std::vector<unsigned> distances;   ///< SLIT row as listed: one entry per online node in kernel order; empty: unknown
  friend bool operator==(const NumaNode&, const NumaNode&) = default;
};

struct PciDevice {
  std::string address;         ///< "0000:3b:00.0"
  std::uint32_t class_id = 0;  ///< 24 bits, as in sysfs `class`
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  std::string name;            ///< kernel names behind it ("eth0", "nvme0n1"), comma separated; may be empty
  std::optional<NumaId> node;  ///< nullopt: the kernel names none (-1)
  CpuSet local_cpus;           ///< empty: not named
  /// Root complex ("pci0000:3a") and the bridges below it, down to the one the device hangs on; empty: not known.
  std::vector<std::string> above;
  friend bool operator==(const PciDevice&, const PciDevice&) = default;
};

struct Machine {
  std::string source;           ///< where it was read from, for people: "this host", "sysfs tree m.tar.bz2"
  bool this_host = false;       ///< only then may decisions about it reach the kernel
  std::vector<NumaNode> nodes;  ///< every node, in the kubelet's discovery order (bytewise by directory name)
  CpuSet present;               ///< CPUs the kernel knows, offline ones included
  CpuSet online;
  CpuSet isolated;  ///< isolcpus
  CpuSet nohz_full;
  std::vector<L3Group> l3;           ///< by smallest CPU
  std::vector<PciDevice> pci;        ///< by address
  Bytes memory{};                    ///< memory_capacity: the machine's total
  std::vector<HugePages> hugepages;  ///< machine-wide totals per size
  int reported_cpus = 0;             ///< cAdvisor's num_cores (rules/topology#discovery); 0: discovery failed
  int reported_sockets = 0;  ///< cAdvisor's num_sockets: distinct "physical id" lines, not derived from the cores
  int reported_cores = 0;    ///< cAdvisor's num_physical_cores
  std::string boot_id;       ///< empty unless this_host
  friend bool operator==(const Machine&, const Machine&) = default;
};

/// All online CPUs that belong to a core of a node, i.e. those that decisions can hand out.
CpuSet UsableCpus(const Machine& machine);
/// All node ids.
NodeSet NodeIds(const Machine& machine);
/// Online CPUs of one node; empty for an unknown node.
CpuSet CpusOfNode(const Machine& machine, NumaId node);
/// The id that names a core in decisions. Requires: at least one thread.
CoreId IdOf(const Core& core);

}  // namespace berth

#endif  // BERTH_MODEL_MACHINE_H_
