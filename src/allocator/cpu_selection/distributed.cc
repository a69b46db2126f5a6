#include "allocator/cpu_selection/distributed.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "allocator/cpu_selection/combinations.h"
#include "allocator/cpu_selection/packed.h"
#include "allocator/cpu_selection/spread_search.h"

namespace berth::allocator {
namespace {

/// Evaluated combinations after which EveryCombination gives up and the packed algorithm answers.
constexpr int kMostCombinations = 1 << 14;

int CeilDiv(int a, int b) { return (a + b - 1) / b; }

/// NUMA unit indexes: the nodes to spread over, and those that get one more group each.
struct Choice {
  std::vector<std::uint32_t> nodes;
  std::vector<std::uint32_t> remainder;
};

std::vector<std::uint32_t> ToVector(const SharedList& list) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < list.size(); ++i) out.push_back(list[i]);
  return out;
}

/// The search for the set of nodes to spread over as the kubelet does it. Only for machines on which a node comes up
/// twice in the filling order, because it spans two sockets: spread_search.h has the way for all others.
class EveryCombination {
 public:
  EveryCombination(const Pool& pool, std::vector<std::uint32_t> order, int num, int group)
      : num_(num), group_(group), nodes_(std::move(order)), position_(pool.topology().units(Level::kNuma).size()) {
    std::vector<std::uint32_t> unique = nodes_;
    std::sort(unique.begin(), unique.end());
    unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
    for (std::uint32_t node : unique) {
      position_[node] = free_.size();
      free_.push_back(pool.FreeIn(Level::kNuma, node));
    }
  }

  /// CPUs each of `k` nodes gives before the remainder.
  int PerNode(int k) const { return num_ / k / group_ * group_; }

  /// The best set of k nodes; nullopt if none can hold the request.
  std::optional<Choice> Best(int k) {
    double best = kNoBalance;
    SharedList best_nodes;
    SharedList best_remainder;
    ForEachCombination(nodes_, static_cast<std::size_t>(k), [&](const SharedList& nodes) {
      if (best == 0 || Exceeded()) return false;
      ++evaluated_;
      SharedList remainder;
      const double balance = Evaluate(nodes, remainder);
      if (balance < best) best = balance, best_nodes = nodes, best_remainder = remainder;
      return true;
    });
    if (best == kNoBalance) return std::nullopt;
    return Choice{ToVector(best_nodes), ToVector(best_remainder)};
  }
  bool Exceeded() const { return evaluated_ > kMostCombinations; }

 private:
  int Free(const std::vector<int>& free, std::uint32_t node) const { return free[position_[node]]; }

  double Evaluate(const SharedList& nodes, SharedList& remainder) {
    int sum = 0;
    int groups = 0;
    const int per_node = PerNode(static_cast<int>(nodes.size()));
    bool enough = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const int free = Free(free_, nodes[i]);
      sum += free;
      groups += free / group_;
      enough = enough && free >= per_node;
    }
    if (sum < num_ || groups * group_ < num_ || !enough) return kNoBalance;
    std::vector<int> left = free_;
    for (std::size_t i = 0; i < nodes.size(); ++i) left[position_[nodes[i]]] -= per_node;
    const int rest = num_ - per_node * static_cast<int>(nodes.size());
    if (rest == 0) return SpreadBalance(left);
    return BestRemainder(nodes, left, rest, remainder);
  }

  double BestRemainder(const SharedList& nodes, const std::vector<int>& left, int rest, SharedList& remainder) {
    std::vector<std::uint32_t> candidates;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (Free(left, nodes[i]) >= group_) candidates.push_back(nodes[i]);
    double best = kNoBalance;
    for (std::size_t j = candidates.size(); j >= 1; --j) {
      ForEachCombination(candidates, j, [&](const SharedList& subset) {
        ++evaluated_;
        const double balance = EvaluateRemainder(subset, left, rest);
        if (balance < best) best = balance, remainder = subset;
        return !Exceeded();
      });
    }
    return best;
  }

  double EvaluateRemainder(const SharedList& subset, std::vector<int> left, int rest) const {
    int sum = 0;
    for (std::size_t i = 0; i < subset.size(); ++i) sum += Free(left, subset[i]);
    if (sum < rest) return kNoBalance;
    while (rest > 0) {
      const int before = rest;
      for (std::size_t i = 0; i < subset.size() && rest > 0; ++i) {
        int& free = left[position_[subset[i]]];
        if (free < group_) continue;
        free -= group_;
        rest -= group_;
      }
      // Only parts of groups are left: the kubelet never returns from here (docs/differences.md).
      if (rest == before) return kNoBalance;
    }
    return SpreadBalance(left);
  }

  int num_;
  int group_;
  std::vector<std::uint32_t> nodes_;   // in filling order; a node may appear twice
  std::vector<std::size_t> position_;  // NUMA unit index -> position in free_
  std::vector<int> free_;              // by ascending node id
  int evaluated_ = 0;
};

int CountDistinct(std::vector<std::uint32_t> units) {
  std::sort(units.begin(), units.end());
  return static_cast<int>(std::unique(units.begin(), units.end()) - units.begin());
}

std::optional<Choice> SpreadOver(const Pool& pool, const std::vector<std::uint32_t>& order, int num, int group, int k) {
  SpreadRequest request{.free = {}, .num = num, .group = group};
  for (std::uint32_t node : order) request.free.push_back(pool.FreeIn(Level::kNuma, node));
  const SpreadChoice best = BestSpread(request, static_cast<std::size_t>(k));
  if (best.nodes.empty()) return std::nullopt;
  Choice out;
  for (std::size_t i : best.nodes) out.nodes.push_back(order[i]);
  for (std::size_t i : best.remainder) out.remainder.push_back(order[i]);
  return out;
}

/// Takes up to `num` CPUs of one node; nothing if it has fewer, as the kubelet ignores that error.
void TakeFromNode(Pool& pool, std::uint32_t node, int num, Strategy strategy) {
  const CpuTopology& topology = pool.topology();
  auto cpus =
      TakePacked(topology, topology.units(Level::kNuma)[node].cpus & pool.free(), pool.AllFree(), num, strategy, false);
  if (cpus) pool.Take(*cpus);
}

/// nullopt: the remainder found no place, which keeps the kubelet in an endless loop.
std::optional<Result<CpuSet>> TakeChoice(Pool& pool, const Choice& choice, int per_node, int rest, int group,
                                         Strategy strategy) {
  for (std::uint32_t node : choice.nodes) TakeFromNode(pool, node, per_node, strategy);
  while (rest > 0) {
    const int before = rest;
    for (std::size_t i = 0; i < choice.remainder.size() && rest > 0; ++i) {
      if (pool.FreeIn(Level::kNuma, choice.remainder[i]) < group) continue;
      TakeFromNode(pool, choice.remainder[i], group, strategy);
      rest -= group;
    }
    if (rest == before) return std::nullopt;
  }
  const std::string left = ", remaining: " + std::to_string(pool.need());
  if (pool.need() > 0) return Fail(Code::kExhausted, "accounting error, not enough CPUs allocated" + left);
  if (pool.need() < 0) return Fail(Code::kExhausted, "accounting error, too many CPUs allocated" + left);
  return pool.result();
}

}  // namespace

Result<CpuSet> TakeDistributed(const CpuTopology& topology, const CpuSet& available, const CpuSet& also_free, int num,
                               int group, Strategy strategy) {
  if (num % group != 0) return TakePacked(topology, available, also_free, num, strategy, false);
  Pool pool(topology, available, also_free, num);
  if (pool.Done()) return CpuSet();
  if (num > pool.free().Count()) return NotEnoughCpus(num, available.Count());

  const std::vector<std::uint32_t> order = pool.Order(Level::kNuma);
  const int nodes = CountDistinct(order);
  const bool repeated = nodes < static_cast<int>(order.size());
  std::optional<EveryCombination> every;
  if (repeated) every.emplace(pool, order, num, group);
  const int groups_per_node = CeilDiv(CeilDiv(topology.cpus().Count(), group), topology.num_numa());
  const int groups_needed = CeilDiv(num, group);
  const int most = std::min(groups_needed, nodes);
  for (int k = CeilDiv(groups_needed, groups_per_node); k <= most; ++k) {
    const std::optional<Choice> choice = every ? every->Best(k) : SpreadOver(pool, order, num, group, k);
    if (!choice) continue;
    const int per_node = num / k / group * group;
    auto taken = TakeChoice(pool, *choice, per_node, num - per_node * k, group, strategy);
    if (taken) return *std::move(taken);
    break;
  }
  return TakePacked(topology, available, also_free, num, strategy, false);
}

}  // namespace berth::allocator
