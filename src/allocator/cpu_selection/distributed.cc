#include "allocator/cpu_selection/distributed.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/cpu_selection/combinations.h"
#include "allocator/cpu_selection/cpu_accumulator.h"
#include "allocator/cpu_selection/spread_search.h"

namespace berth::allocator {
namespace {

/// Evaluated combinations after which EveryCombination gives up: the best one so far answers, else the packed
/// algorithm.
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

/// CPUs each of `k` nodes gives before the remainder, if it has them.
int EvenShare(const Distribution& how, int k) { return how.num / k / how.group * how.group; }

constexpr std::uint32_t kSeveralSockets = std::numeric_limits<std::uint32_t>::max();

/// The socket that all free CPUs of a node are of.
std::uint32_t SocketOfNode(const Pool& pool, std::uint32_t node) {
  const CpuTopology& topology = pool.topology();
  const CpuSet free = topology.units(Level::kNuma)[node].cpus & pool.free();
  if (free.empty()) return kSeveralSockets;
  const std::uint32_t out = topology.IndexOf(*free.First(), Level::kSocket);
  return free.IsSubsetOf(topology.units(Level::kSocket)[out].cpus) ? out : kSeveralSockets;
}

/// The search for the set of nodes to spread over as the kubelet does it. Only where nodes of one socket go before even
/// ones, and for machines on which a node comes up twice in the filling order, because it spans two sockets:
/// spread_search.h has the way for all others.
class EveryCombination {
 public:
  EveryCombination(const Pool& pool, std::vector<std::uint32_t> order, const Distribution& how)
      : how_(how), nodes_(std::move(order)), position_(pool.topology().units(Level::kNuma).size()) {
    std::vector<std::uint32_t> unique = nodes_;
    std::sort(unique.begin(), unique.end());
    unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
    for (std::uint32_t node : unique) {
      position_[node] = free_.size();
      free_.push_back(pool.FreeIn(Level::kNuma, node));
      socket_.push_back(SocketOfNode(pool, node));
    }
  }

  /// The best set of k nodes; nullopt if none can hold the request.
  std::optional<Choice> Best(int k) {
    Spread best;
    ForEachCombination(nodes_, static_cast<std::size_t>(k), [&](const SharedList& nodes) {
      const bool perfect = best.balance == 0 && (!how_.within_socket || best.in_one_socket);
      if (perfect || Exceeded()) return false;
      ++evaluated_;
      Spread found{.nodes = nodes, .in_one_socket = InOneSocket(nodes)};
      found.balance = Evaluate(nodes, found.remainder);
      if (found.balance != kNoBalance && Before(found, best)) best = Remembered(std::move(found));
      return true;
    });
    if (best.balance == kNoBalance) return std::nullopt;
    return Choice{ToVector(best.nodes), ToVector(best.remainder)};
  }
  bool Exceeded() const { return evaluated_ > kMostCombinations; }

 private:
  struct Spread {
    double balance = kNoBalance;
    SharedList nodes;
    SharedList remainder;
    bool in_one_socket = false;
  };

  int Free(const std::vector<int>& free, std::uint32_t node) const { return free[position_[node]]; }

  bool InOneSocket(const SharedList& nodes) const {
    const std::uint32_t first = socket_[position_[nodes[0]]];
    for (std::size_t i = 1; i < nodes.size(); ++i)
      if (socket_[position_[nodes[i]]] != first) return false;
    return first != kSeveralSockets;
  }

  /// Requires: `found` can hold the request.
  bool Before(const Spread& found, const Spread& best) const {
    const bool any = best.balance != kNoBalance;
    if (any && how_.within_socket && found.in_one_socket != best.in_one_socket) return found.in_one_socket;
    return found.balance < best.balance;
  }

  Spread Remembered(Spread found) const {
    if (!how_.copy_combinations) return found;
    found.nodes = found.nodes.Copied();
    return found;
  }

  /// What each of the nodes gives before the remainder.
  int Share(const SharedList& nodes) const {
    int out = EvenShare(how_, static_cast<int>(nodes.size()));
    if (!how_.within_socket) return out;
    for (std::size_t i = 0; i < nodes.size(); ++i) out = std::min(out, Free(free_, nodes[i]) / how_.group * how_.group);
    return out;
  }

  double Evaluate(const SharedList& nodes, SharedList& remainder) {
    int sum = 0;
    int groups = 0;
    const int per_node = Share(nodes);
    bool enough = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const int free = Free(free_, nodes[i]);
      sum += free;
      groups += free / how_.group;
      enough = enough && free >= per_node;
    }
    if (sum < how_.num || groups * how_.group < how_.num || !enough) return kNoBalance;
    std::vector<int> left = free_;
    for (std::size_t i = 0; i < nodes.size(); ++i) left[position_[nodes[i]]] -= per_node;
    const int rest = how_.num - per_node * static_cast<int>(nodes.size());
    if (rest == 0) return SpreadBalance(left);
    return BestRemainder(nodes, left, rest, remainder);
  }

  double BestRemainder(const SharedList& nodes, const std::vector<int>& left, int rest, SharedList& remainder) {
    std::vector<std::uint32_t> candidates;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (Free(left, nodes[i]) >= how_.group) candidates.push_back(nodes[i]);
    double best = kNoBalance;
    for (std::size_t j = candidates.size(); j >= 1; --j) {
      ForEachCombination(candidates, j, [&](const SharedList& subset) {
        ++evaluated_;
        const double balance = EvaluateRemainder(subset, left, rest);
        if (balance < best) best = balance, remainder = how_.copy_combinations ? subset.Copied() : subset;
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
        if (free < how_.group) continue;
        free -= how_.group;
        rest -= how_.group;
      }
      // Only parts of groups are left: the kubelet never returns from here (docs/differences.md).
      if (rest == before) return kNoBalance;
    }
    return SpreadBalance(left);
  }

  const Distribution& how_;
  std::vector<std::uint32_t> nodes_;   // in filling order; a node may appear twice
  std::vector<std::size_t> position_;  // NUMA unit index -> position in the lists below
  std::vector<int> free_;              // by ascending node id
  std::vector<std::uint32_t> socket_;  // likewise; kSeveralSockets
  int evaluated_ = 0;
};

int CountDistinct(std::vector<std::uint32_t> units) {
  std::sort(units.begin(), units.end());
  return static_cast<int>(std::unique(units.begin(), units.end()) - units.begin());
}

std::optional<Choice> SpreadOver(const Pool& pool, const std::vector<std::uint32_t>& order, const Distribution& how,
                                 int k) {
  SpreadRequest request{.free = {}, .num = how.num, .group = how.group, .copied = how.copy_combinations};
  for (std::uint32_t node : order) request.free.push_back(pool.FreeIn(Level::kNuma, node));
  const SpreadChoice best = BestSpread(request, static_cast<std::size_t>(k));
  if (best.nodes.empty()) return std::nullopt;
  Choice out;
  for (std::size_t i : best.nodes) out.nodes.push_back(order[i]);
  for (std::size_t i : best.remainder) out.remainder.push_back(order[i]);
  return out;
}

/// Takes up to `num` CPUs of one node; nothing if it has fewer, as the kubelet ignores that error.
void TakeFromNode(Pool& pool, std::uint32_t node, int num, const PackedStyle& style) {
  const CpuTopology& topology = pool.topology();
  auto cpus = TakePacked(topology, topology.units(Level::kNuma)[node].cpus & pool.free(), pool.AllFree(), num, style);
  if (cpus) pool.Take(*cpus);
}

/// nullopt: the remainder found no place, which keeps the kubelet in an endless loop.
std::optional<Result<CpuSet>> TakeChoice(Pool& pool, const Choice& choice, const Distribution& how,
                                         const PackedStyle& style) {
  const int group = how.group;
  const int chosen = static_cast<int>(choice.nodes.size());
  int per_node = EvenShare(how, chosen);
  if (how.clip_share)
    for (std::uint32_t node : choice.nodes)
      per_node = std::min(per_node, pool.FreeIn(Level::kNuma, node) / group * group);
  for (std::uint32_t node : choice.nodes) TakeFromNode(pool, node, per_node, style);
  for (int rest = how.num - per_node * chosen; rest > 0;) {
    const int before = rest;
    for (std::size_t i = 0; i < choice.remainder.size() && rest > 0; ++i) {
      if (pool.FreeIn(Level::kNuma, choice.remainder[i]) < group) continue;
      TakeFromNode(pool, choice.remainder[i], group, style);
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

Result<CpuSet> TakeDistributed(const CpuTopology& topology, const CpuSet& available, const CpuSet& also_free,
                               const Distribution& how, const PackedStyle& style) {
  const int num = how.num;
  if (num % how.group != 0) return TakePacked(topology, available, also_free, num, style);
  Pool pool(topology, available, also_free, num, style.size);
  if (pool.Done()) return CpuSet();
  if (num > pool.free().Count()) return NotEnoughCpus(num, available.Count());

  const std::vector<std::uint32_t> order = pool.Order(Level::kNuma);
  const int nodes = CountDistinct(order);
  const bool repeated = nodes < static_cast<int>(order.size());
  std::optional<EveryCombination> every;
  if (repeated || how.within_socket) every.emplace(pool, order, how);
  const int groups_per_node = CeilDiv(CeilDiv(topology.cpus().Count(), how.group), topology.num_numa());
  const int groups_needed = CeilDiv(num, how.group);
  const int most = std::min(groups_needed, nodes);
  int least = CeilDiv(groups_needed, groups_per_node);
  if (how.least_nodes <= most) least = std::max(least, how.least_nodes);
  for (int k = least; k <= most; ++k) {
    const std::optional<Choice> choice = every ? every->Best(k) : SpreadOver(pool, order, how, k);
    if (!choice) continue;
    auto taken = TakeChoice(pool, *choice, how, style);
    if (taken) return *std::move(taken);
    break;
  }
  return TakePacked(topology, available, also_free, num, style);
}

}  // namespace berth::allocator
