// The promises of a node, checked on the outside: on states as plain facts, by code that knows nothing of the engine.
#ifndef BERTH_MODEL_PROMISES_H_
#define BERTH_MODEL_PROMISES_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/id_set.h"
#include "base/units.h"
#include "model/device.h"
#include "model/kubelet_config.h"
#include "model/ledger.h"
#include "model/machine.h"

namespace berth {

/// What does not change on a node.
struct NodeFacts {
  CpuSet cpus;               ///< online CPUs that belong to a core
  CpuSet reserved;           ///< never given to a container exclusively
  bool static_cpus = false;  ///< CPU manager policy static: there is a shared pool
  CpuSet apart;              ///< in no shared pool, held by somebody or not
  bool strict = false;       ///< reserved CPUs are not in the shared pool either
  std::map<NumaId, std::map<std::string, Bytes, std::less<>>> allocatable;  ///< memory by type; empty: policy None
  DeviceInventory devices;
};

/// One container and what it holds.
struct HolderFacts {
  std::string pod;
  std::string container;
  ContainerKind kind = ContainerKind::kApp;
  int position = 0;    ///< in the order of starting: init containers and sidecars as written, then the rest
  CpuSet cpus;         ///< exclusive
  std::string pool{};  ///< named pool it runs in; "": none
  std::vector<MemoryBlock> memory;
  std::map<std::string, std::vector<std::string>> devices;  ///< resource -> ids
};

struct StateFacts {
  CpuSet shared;
  std::vector<HolderFacts> holders;
  std::map<NumaId, MemoryNodeState> memory;  ///< the counters; empty: not known
  std::set<std::string> pods;                ///< uids that may hold something
  CpuPools pools{};                          ///< named ones
  bool exact_books =
      true;  ///< blocks add up to what is booked; not on a recorder's books (docs/formats/recorded-cases.md)
};

/// Facts of a machine and configuration. `reserved` is what the node says it keeps back, `apart` what it keeps out of
/// the shared pool.
NodeFacts FactsOf(const Machine& machine, const KubeletConfiguration& config, const CpuSet& reserved,
                  const DeviceInventory& devices, const CpuSet& apart = {});

/// What a ledger says, as facts. `pods`: uids that may hold something.
StateFacts FactsOf(const Ledger& ledger, std::set<std::string> pods);

/// Every promise a state breaks, a sentence each; empty: it keeps all.
///  - an exclusive CPU is online, not reserved, not in the shared pool;
///  - no CPU and no device is held by two pods, or by two containers of a pod that run at the same time;
///  - a named pool has CPUs and a container, each container's pool is there, and its CPUs are online, not reserved, and
///    nobody else's: no other pool's, not shared, not exclusive;
///  - shared pool, named pools and exclusive CPUs are together all CPUs (without the reserved ones when `strict`), and
///    the shared pool is not empty unless `strict` leaves nothing;
///  - memory: no counter is negative, reserved + free = allocatable on each node, blocks of a type add up to what is
///    reserved, on nodes that exist;
///  - a device exists; only pods of `pods` hold anything.
std::vector<std::string> BrokenPromises(const NodeFacts& node, const StateFacts& state);

/// Where a ledger contradicts itself, whatever the node: the promises above as far as they need no machine, and
///  - a record is filed under its own uid, its place in the order of admission is its own and below the next one;
///  - a container has one placement, and what it has for itself is not an empty set, nor nothing where it is mixed;
///  - a node counts as many assignments as there are blocks on it.
/// A shared pool may be empty under CPU policy none only.
std::vector<std::string> Contradictions(const Ledger& ledger);

}  // namespace berth

#endif  // BERTH_MODEL_PROMISES_H_
