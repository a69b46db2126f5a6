#include "allocator/cpu_selection/take.h"

#include <algorithm>

#include "allocator/cpu_selection/distributed.h"
#include "allocator/cpu_selection/packed.h"

namespace berth::allocator {
namespace {

Strategy StrategyOf(const TakeRequest& request) {
  if (!request.spread) return Strategy::kPacked;
  return request.rules.one_cpu_per_core ? Strategy::kOnePerCore : Strategy::kSpread;
}

Distribution DistributionOf(const TakeRequest& request) {
  const KubeletRules& rules = request.rules;
  return {.num = request.num,
          .group = std::max(1, request.group),
          .least_nodes = rules.keep_hint_width ? request.hinted_nodes : 0,
          .within_socket = request.by_socket && rules.distribute_within_socket,
          .clip_share = rules.clip_even_share,
          .copy_combinations = rules.copy_combinations};
}

}  // namespace

Result<CpuSet> TakeCpus(const CpuTopology& topology, const TakeRequest& request) {
  if (request.order)
    return TakeOrdered(topology,
                       request.group > 1 ? topology.Whole(request.available, Level::kCore) : request.available,
                       request.num, *request.order);
  PackedStyle style{.strategy = StrategyOf(request),
                    .size = request.rules.real_sizes ? UnitSize::kReal : UnitSize::kAverage};
  if (request.distributed)
    return TakeDistributed(topology, request.available, request.also_free, DistributionOf(request), style);
  style.uncore = request.uncore;
  return TakePacked(topology, request.available, request.also_free, request.num, style);
}

}  // namespace berth::allocator
