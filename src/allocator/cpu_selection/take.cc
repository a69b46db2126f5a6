#include "allocator/cpu_selection/take.h"

#include <algorithm>

#include "allocator/cpu_selection/distributed.h"
#include "allocator/cpu_selection/packed.h"

namespace berth::allocator {

Result<CpuSet> TakeCpus(const CpuTopology& topology, const TakeRequest& request) {
  if (request.order)
    return TakeOrdered(topology,
                       request.group > 1 ? topology.Whole(request.available, Level::kCore) : request.available,
                       request.num, *request.order);
  const Strategy strategy = request.spread ? Strategy::kSpread : Strategy::kPacked;
  if (request.distributed)
    return TakeDistributed(topology, request.available, request.also_free, request.num, std::max(1, request.group),
                           strategy);
  return TakePacked(topology, request.available, request.also_free, request.num, strategy, request.uncore);
}

}  // namespace berth::allocator
