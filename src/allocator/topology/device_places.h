// PCI topology of devices: the bridges above each, its local CPUs and nearest NUMA nodes: rules/devices#closeness.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_DEVICE_PLACES_H_
#define BERTH_ALLOCATOR_TOPOLOGY_DEVICE_PLACES_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/topology/mask.h"
#include "base/id_set.h"
#include "model/device.h"
#include "model/machine.h"

namespace berth::allocator {

/// PCI roots and bridges of a machine as a tree of places, and what hangs on each. Immutable once made.
class DevicePlaces {
 public:
  /// The place above all roots; devices of which nothing is known count as there.
  static constexpr std::size_t kTop = 0;

  /// node_cpus: by position in `nodes`.
  DevicePlaces(const Machine& machine, const NodeIndex& nodes, const std::vector<CpuSet>& node_cpus);

  /// The bridge the device hangs on.
  std::size_t Find(const Device& device) const;
  std::size_t parent(std::size_t place) const { return places_[place].parent; }
  /// "pci0000:3a", "0000:3a:00.0". Requires: not kTop.
  const std::string& name(std::size_t place) const { return places_[place].name; }
  /// Root complex and bridges down to `place`; empty for kTop.
  std::vector<std::size_t> Way(std::size_t place) const;

  /// CPUs the kernel calls local to the device; empty: it names none.
  CpuSet LocalCpus(const Device& device) const;
  /// `nodes` of a device, or, where none of them has a CPU, the nodes with CPUs that are nearest: by its local CPUs,
  /// else by the distances of `nodes`. `nodes` where neither is known.
  Mask Homes(const Device& device, const Mask& nodes) const;

 private:
  struct Place {
    std::size_t parent = kTop;
    std::string name;
  };
  struct Function {
    std::size_t place = kTop;
    CpuSet local;
  };
  std::size_t Below(std::size_t parent, const std::string& name);
  const Function* FunctionOf(const Device& device) const;
  Mask Nearest(std::size_t node) const;

  std::vector<Place> places_;
  std::map<std::pair<std::size_t, std::string>, std::size_t> below_;
  std::map<std::string, Function, std::less<>> functions_;  // by address
  std::vector<CpuSet> node_cpus_;
  Mask cpu_nodes_;
  std::vector<std::vector<unsigned>> distances_;  // by position
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_DEVICE_PLACES_H_
