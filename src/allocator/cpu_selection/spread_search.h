// NUMA node choice for distributed CPUs (distribute-cpus-across-numa, rules/cpu#distributed): a search that does
// not try every combination.
#ifndef BERTH_ALLOCATOR_CPU_SELECTION_SPREAD_SEARCH_H_
#define BERTH_ALLOCATOR_CPU_SELECTION_SPREAD_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace berth::allocator {

struct SpreadRequest {
  std::vector<int> free;  ///< free CPUs of the nodes in filling order; every node once, all above 0
  int num = 0;            ///< a multiple of `group`
  int group = 1;
  bool copied = false;  ///< what is remembered stays as it was found (KubeletRules::copy_combinations)
};

/// Indexes into SpreadRequest::free.
struct SpreadChoice {
  std::vector<std::size_t> nodes;
  std::vector<std::size_t> remainder;  ///< those that get one more group each, again and again
};

/// Nodes up to which the search always ends with the kubelet's answer.
inline constexpr std::size_t kExactSpreadNodes = 10;
/// Steps of one search on more nodes.
inline constexpr std::int64_t kMostSpreadSteps = std::int64_t{1} << 14;

/// The choice of exactly `k` nodes that leaves the free CPUs of all nodes as even as possible: the first in the
/// kubelet's order among the best, as the kubelet remembers it (rules/cpu#remembered-combinations: unless copied, some
/// of the chosen positions are overwritten). No nodes: none can hold the request. After kMostSpreadSteps the best one
/// found so far, or the fullest nodes. `steps`: counts the steps.
///
/// All choices leave the same sum, so the evenness depends on the sum of squares alone. That is bounded from below by
/// taking the fullest of the remaining nodes and the remainder from wherever most is left; choices that cannot be
/// better are left out, as are those that look like an earlier one.
SpreadChoice BestSpread(const SpreadRequest& request, std::size_t k, std::int64_t* steps = nullptr);

/// Worse than every balance: no choice.
inline constexpr double kNoBalance = std::numeric_limits<double>::infinity();
/// Spread of what would be left per node (population standard deviation around the rounded mean), in thousandths.
double SpreadBalance(const std::vector<int>& left);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_CPU_SELECTION_SPREAD_SEARCH_H_
