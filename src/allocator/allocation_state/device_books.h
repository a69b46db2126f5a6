// Device allocation state (devices there are, and those taken), as one decision changes it: docs/rules/devices.md.
#ifndef BERTH_ALLOCATOR_ALLOCATION_STATE_DEVICE_BOOKS_H_
#define BERTH_ALLOCATOR_ALLOCATION_STATE_DEVICE_BOOKS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/allocation_state/inputs.h"
#include "allocator/node/node_tables.h"
#include "allocator/topology/mask.h"
#include "model/ledger.h"

namespace berth::allocator {

/// One resource's devices by ascending id.
struct DevicePool {
  bool registered = false;  ///< reported by a plugin or configuration; false: only taken ones are known
  bool topology = false;    ///< some device names nodes
  std::vector<const Device*> devices;
  std::vector<Mask> nodes;          ///< by device; empty: none
  std::vector<std::size_t> places;  ///< by device; empty: the node does not look at them
  std::vector<char> taken;          ///< by device
  std::vector<char> reusable;       ///< by device; left by an init container of this pod
  /// All devices in the order in which equally near ones are taken; empty: by id. A BookKeeper may set it.
  std::vector<std::size_t> order;

  int Healthy() const;
  /// Healthy and not taken.
  bool Available(std::size_t i) const { return devices[i]->healthy && taken[i] == 0; }
};

/// Opens a resource's pool when it is first asked for.
class DeviceBooks {
 public:
  DeviceBooks(const NodeTables& tables, const Ledger& ledger, const Inputs& inputs)
      : tables_(&tables), ledger_(&ledger), inputs_(&inputs) {}

  /// nullptr: nobody reported or holds such a resource, so it is none of the engine's business.
  DevicePool* Find(std::string_view resource);
  const std::vector<std::string>* Preferred(std::string_view resource) const;
  /// Marks devices as taken or free; ids that are not known are ignored.
  void SetTaken(std::string_view resource, const std::vector<std::string>& ids, bool taken);
  /// Calls visit(resource, pool) for every pool that was asked for so far.
  template <class Visit>
  void ForEachOpen(const Visit& visit) const {
    for (const auto& [resource, pool] : pools_) visit(resource, pool);
  }

 private:
  DevicePool Open(std::string_view resource) const;

  const NodeTables* tables_;
  const Ledger* ledger_;
  const Inputs* inputs_;
  std::map<std::string, DevicePool, std::less<>> pools_;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_ALLOCATION_STATE_DEVICE_BOOKS_H_
