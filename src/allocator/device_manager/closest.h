// Of the devices that would do, those that lie closest together: rules/devices#closeness.
#ifndef BERTH_ALLOCATOR_DEVICE_MANAGER_CLOSEST_H_
#define BERTH_ALLOCATOR_DEVICE_MANAGER_CLOSEST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/topology/device_places.h"

namespace berth::allocator {

/// One resource: devices that are given anyway, and those of which `need` more are chosen. As places.
struct CloseResource {
  std::vector<std::size_t> fixed;
  std::vector<std::size_t> candidates;  ///< in the order in which equally close ones are taken
  std::size_t need = 0;                 ///< at most as many as there are candidates
};

struct CloseChoice {
  /// By resource: positions in its candidates, place by place, so that the first ones of all resources belong together.
  std::vector<std::vector<std::size_t>> chosen;
  /// For every pair of devices that are given, of whatever resource: the roots and bridges they have in common.
  std::int64_t closeness = 0;
};

/// The choice with the greatest closeness. Of several: among the parts of each place, in the order of their first
/// candidates (of the first resource, then of the next), as many as possible from the first one, then from the next; of
/// the first resource before the next. nullopt: too many to be compared.
std::optional<CloseChoice> ChooseClosest(const DevicePlaces& places, const std::vector<CloseResource>& resources);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_DEVICE_MANAGER_CLOSEST_H_
