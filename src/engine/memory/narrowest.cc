#include "engine/memory/narrowest.h"

#include <algorithm>
#include <functional>

namespace berth::engine {
namespace {

/// Search for masks of exactly `count` nodes, highest node decided first and left out where possible: the first one
/// found is the numerically smallest.
class Search {
 public:
  Search(const Amounts& amounts, Mask allowed, Mask required) : amounts_(amounts), required_(required) {
    ForEachBit(allowed, [&](std::size_t node) { nodes_.push_back(node); });
    best_.resize(amounts.needs.size());
    for (std::size_t type = 0; type < best_.size(); ++type) best_[type] = BestSums(type);
    for (std::size_t n = 0; n < nodes_.size(); ++n) kinds_.push_back(KindOf(n));
    taken_.resize(nodes_.size());
  }

  std::int64_t steps() const { return steps_; }
  bool Exceeded() const { return steps_ >= kMostNarrowestSteps; }

  std::optional<Mask> Exactly(int count) {
    std::vector<std::int64_t> missing = amounts_.needs;
    Mask mask = 0;
    if (Walk(nodes_.size(), count, missing, mask)) return mask;
    return std::nullopt;
  }

 private:
  using Sums = std::vector<std::vector<std::int64_t>>;

  /// [n][k]: most of the type that k of the first n nodes have together.
  Sums BestSums(std::size_t type) const {
    Sums out(nodes_.size() + 1);
    std::vector<std::int64_t> sorted;
    for (std::size_t n = 0; n <= nodes_.size(); ++n) {
      if (n > 0) {
        const std::int64_t value = amounts_.amounts[type][nodes_[n - 1]];
        sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), value, std::greater<>()), value);
      }
      out[n].assign(1, 0);
      for (std::int64_t value : sorted) out[n].push_back(out[n].back() + value);
    }
    return out;
  }

  /// The first of the nodes that is exchangeable with this one.
  std::size_t KindOf(std::size_t n) const {
    const auto required = [&](std::size_t i) { return (required_ >> nodes_[i] & 1) != 0; };
    for (std::size_t other = 0; other < n; ++other) {
      const bool equal = std::all_of(amounts_.amounts.begin(), amounts_.amounts.end(),
                                     [&](const auto& row) { return row[nodes_[other]] == row[nodes_[n]]; });
      if (equal && required(other) == required(n)) return other;
    }
    return n;
  }

  bool Hopeless(std::size_t n, int left, const std::vector<std::int64_t>& missing) const {
    if (left < 0 || left > static_cast<int>(n)) return true;
    for (std::size_t type = 0; type < missing.size(); ++type)
      if (best_[type][n][static_cast<std::size_t>(left)] < missing[type]) return true;
    return false;
  }

  bool Walk(std::size_t n, int left, std::vector<std::int64_t>& missing, Mask& mask) {
    if (Exceeded() || Hopeless(n, left, missing)) return false;
    ++steps_;
    if (n == 0) return true;
    const std::size_t node = nodes_[n - 1];
    const Mask bit = Mask{1} << node;
    // Leaving this one out after an equal, higher one was taken gives no numerically smallest mask.
    int& taken = taken_[kinds_[n - 1]];
    if ((required_ & bit) == 0 && taken == 0 && Walk(n - 1, left, missing, mask)) return true;
    for (std::size_t type = 0; type < missing.size(); ++type) missing[type] -= amounts_.amounts[type][node];
    mask |= bit;
    ++taken;
    if (Walk(n - 1, left - 1, missing, mask)) return true;
    --taken;
    mask &= ~bit;
    for (std::size_t type = 0; type < missing.size(); ++type) missing[type] += amounts_.amounts[type][node];
    return false;
  }

  const Amounts& amounts_;
  Mask required_;
  std::vector<std::size_t> nodes_;
  std::vector<Sums> best_;          // by type
  std::vector<std::size_t> kinds_;  // by position in nodes_
  std::vector<int> taken_;          // by kind
  std::int64_t steps_ = 0;
};

/// `mask` without every node that can be left out, highest first.
Mask Shrunk(const Amounts& amounts, Mask mask, Mask required, int min_nodes) {
  for (std::size_t node = kMaskNodes; node-- > 0;) {
    const Mask fewer = mask & ~(Mask{1} << node);
    if ((required & ~fewer) == 0 && CountOf(fewer) >= min_nodes && amounts.Enough(fewer)) mask = fewer;
  }
  return mask;
}

}  // namespace

bool Amounts::Enough(Mask mask) const {
  for (std::size_t type = 0; type < needs.size(); ++type) {
    std::int64_t sum = 0;
    ForEachBit(mask, [&](std::size_t node) { sum += amounts[type][node]; });
    if (sum < needs[type]) return false;
  }
  return true;
}

std::optional<Mask> NarrowestEnough(const Amounts& amounts, Mask allowed, Mask required, int min_nodes,
                                    std::int64_t* steps) {
  const int fewest = std::max({min_nodes, CountOf(required), 1});
  if ((required & ~allowed) != 0 || CountOf(allowed) < fewest || !amounts.Enough(allowed)) return std::nullopt;
  Search search(amounts, allowed, required);
  std::optional<Mask> out;
  for (int count = fewest; count <= CountOf(allowed) && !out && !search.Exceeded(); ++count)
    out = search.Exactly(count);
  if (steps != nullptr) *steps = search.steps();
  return out ? out : Shrunk(amounts, allowed, required, fewest);
}

}  // namespace berth::engine
