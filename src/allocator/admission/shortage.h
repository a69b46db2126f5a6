// Resource shortages of a request: which resource, where and by how much, in the present allocation state.
#ifndef BERTH_ALLOCATOR_ADMISSION_SHORTAGE_H_
#define BERTH_ALLOCATOR_ADMISSION_SHORTAGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/demand/demand.h"
#include "allocator/reason/observation.h"

namespace berth::allocator {

/// A request of one container or of a whole pod (container: "").
struct Request {
  std::string_view container;
  int cpus = 0;
  const std::vector<MemoryNeed>* memory = nullptr;
  const std::vector<DeviceNeed>* devices = nullptr;
};

/// The machine as a whole if it is short; else the nodes that together would be enough if they were free: every single
/// node (under single-numa-node in any case), or the fullest-stocked ones where one node could never do. Memory that is
/// short by neither (nodes that may not be tied together, types that are free on different nodes): every set of nodes
/// that may be booked.
std::vector<Shortage> ShortagesOf(PodBooks& books, const Request& request);

/// Of a request for which nothing is short, what no `width` nodes could ever have, on those with the most of it: every
/// single node, or the fullest-stocked ones.
std::vector<Shortage> TooWide(PodBooks& books, const Request& request, int width);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_ADMISSION_SHORTAGE_H_
