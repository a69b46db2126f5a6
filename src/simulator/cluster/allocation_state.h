// Allocation state of a fleet's nodes: all that a decision may look at on a node, but for the sums of its pods. Held
// once for all nodes where it is equal.
#ifndef BERTH_SIMULATOR_CLUSTER_ALLOCATION_STATE_H_
#define BERTH_SIMULATOR_CLUSTER_ALLOCATION_STATE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/id_set.h"
#include "model/ledger.h"
#include "simulator/cluster/kind.h"

namespace berth::cluster {

/// What pods of a node have that its pool and memory do not tell.
struct Held {
  /// By resource. One that is held with no device of it is there too.
  std::map<std::string, std::set<std::string>, std::less<>> devices;
  CpuSet apart;  ///< of allocator::Node::apart_cpus
};
void AddHeld(const Kind& kind, const PodRecord& record, Held& held);

/// A ledger that a decision reads as it would read the node's, but for sums and number of pods: there is one pod at
/// most, which holds all of `held`.
Ledger BooksOf(CpuSet shared, std::map<NumaId, MemoryNodeState> memory, const Held& held);

/// CPUs that nobody has for itself, reserved ones among them.
CpuSet FreeCpus(const Kind& kind, const Ledger& books);

/// What is left on a NUMA node.
struct ZoneSpare {
  int cpus = 0;              ///< that a container could have for itself; under full-pcpus-only of free cores
  std::int64_t memory = -1;  ///< bytes; -1: nobody keeps account of it
};

struct Spare {
  std::vector<ZoneSpare> zones;  ///< as Kind::zones
  int available = 0;             ///< CPUs that are free, and not reserved
};
Spare SpareOf(const Kind& kind, const Ledger& books);

struct State {
  std::uint64_t id = 0;  ///< no other state of the fleet has or had it
  KindRef kind;
  Ledger books;  ///< as BooksOf
  Spare spare;

  cluster::Held Held() const;
  bool Holds(std::string_view resource) const;
};

using StateRef = std::shared_ptr<const State>;

/// All states in use.
class States {
 public:
  StateRef Find(const KindRef& kind, Ledger books);
  /// A node leaves a state, which is forgotten when no other node is in it.
  void Leave(StateRef state);
  std::size_t Count() const { return known_.size(); }

 private:
  std::unordered_multimap<std::size_t, StateRef> known_;
  std::uint64_t next_id_ = 1;
};

}  // namespace berth::cluster

#endif  // BERTH_SIMULATOR_CLUSTER_ALLOCATION_STATE_H_
