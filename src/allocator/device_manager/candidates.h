// Device candidates of a request: devices it gets for sure, and those it may choose from: rules/devices#choice.
#ifndef BERTH_ALLOCATOR_DEVICE_MANAGER_CANDIDATES_H_
#define BERTH_ALLOCATOR_DEVICE_MANAGER_CANDIDATES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "allocator/allocation_state/device_books.h"
#include "allocator/demand/demand.h"
#include "allocator/topology_manager/hints.h"

namespace berth::allocator {

/// Devices by their position in the pool.
struct Candidates {
  /// Left by init containers, then, where more are needed than there are on the hinted nodes, all of those.
  std::vector<std::size_t> fixed;
  std::size_t reused = 0;         ///< how many of `fixed` are from init containers
  std::vector<std::size_t> open;  ///< the rest is chosen from these, in this order
  std::int64_t left = 0;          ///< how many
  std::int64_t available = 0;     ///< healthy and not taken, without those that are reused
};

/// `reuse`: what init containers left comes first. `preferred`: what a plug-in prefers, or nullptr.
Candidates CandidatesFor(const DevicePool& pool, const DeviceNeed& need, const MaskHint& hint, bool reuse,
                         const std::vector<std::string>* preferred);

/// Puts those of `first` that are in `devices` before the others, in its order.
void PutFirst(const std::vector<std::size_t>& first, std::vector<std::size_t>& devices);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_DEVICE_MANAGER_CANDIDATES_H_
