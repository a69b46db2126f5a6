#include "allocator/topology_manager/products.h"

#include <algorithm>
#include <cstdint>

#include "allocator/topology_manager/search.h"

namespace berth::allocator {
namespace {

void SortUnique(std::vector<Mask>& masks) {
  std::sort(masks.begin(), masks.end());
  masks.erase(std::unique(masks.begin(), masks.end()), masks.end());
}

/// Leaves the kMostProducts widest, lowest ones.
void Limit(std::vector<Mask>& masks, bool& complete) {
  SortUnique(masks);
  if (masks.size() <= kMostProducts) return;
  complete = false;
  std::sort(masks.begin(), masks.end(), [](const Mask& a, const Mask& b) {
    const int ca = a.Count();
    const int cb = b.Count();
    return ca != cb ? ca > cb : a < b;
  });
  masks.resize(kMostProducts);
  std::sort(masks.begin(), masks.end());
}

std::vector<Mask> Pairwise(const std::vector<Mask>& a, const std::vector<Mask>& b, bool limited, bool& complete) {
  std::vector<Mask> out;
  for (const Mask& x : a) {
    for (const Mask& y : b)
      if (x.Meets(y)) out.push_back(x & y);
    if (limited && out.size() > 64 * kMostProducts) Limit(out, complete);
  }
  SortUnique(out);
  if (limited) Limit(out, complete);
  return out;
}

/// A few nodes, renumbered without gaps.
class Dense {
 public:
  explicit Dense(const Mask& nodes) {
    nodes.ForEach([&](std::size_t node) { nodes_.push_back(node); });
  }
  std::size_t size() const { return nodes_.size(); }
  std::size_t Code(const Mask& mask) const {
    std::size_t out = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) out |= std::size_t{mask.Has(nodes_[i])} << i;
    return out;
  }
  Mask ToMask(std::size_t code) const {
    Mask out;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if ((code >> i & 1) != 0) out.Add(nodes_[i]);
    return out;
  }

 private:
  std::vector<std::size_t> nodes_;
};

/// How many elements of `list` contain each mask.
std::vector<std::uint64_t> Supersets(const std::vector<Mask>& list, const Dense& dense) {
  std::vector<std::uint64_t> count(std::size_t{1} << dense.size());
  for (const Mask& mask : list) count[dense.Code(mask)] = 1;
  for (std::size_t bit = 0; bit < dense.size(); ++bit)
    for (std::size_t mask = 0; mask < count.size(); ++mask)
      if ((mask >> bit & 1) == 0) count[mask] += count[mask | std::size_t{1} << bit];
  return count;
}

// x & y contains m exactly if both x and y do. So the product of both superset counts is the superset count of all
// pairs' ANDs, and undoing the summation leaves how many pairs give exactly m. Counts stay below 4^nodes: no overflow.
std::vector<Mask> ByTable(const std::vector<Mask>& a, const std::vector<Mask>& b, const Dense& dense) {
  std::vector<std::uint64_t> count = Supersets(a, dense);
  const std::vector<std::uint64_t> other = Supersets(b, dense);
  for (std::size_t mask = 0; mask < count.size(); ++mask) count[mask] *= other[mask];
  for (std::size_t bit = 0; bit < dense.size(); ++bit)
    for (std::size_t mask = 0; mask < count.size(); ++mask)
      if ((mask >> bit & 1) == 0) count[mask] -= count[mask | std::size_t{1} << bit];
  std::vector<Mask> out;
  for (std::size_t mask = 1; mask < count.size(); ++mask)
    if (count[mask] != 0) out.push_back(dense.ToMask(mask));
  return out;
}

Mask UnionOf(const std::vector<Mask>& masks) {
  Mask out;
  for (const Mask& mask : masks) out |= mask;
  return out;
}

}  // namespace

std::vector<Mask> AndProducts(const std::vector<Mask>& a, const std::vector<Mask>& b, bool& complete) {
  const Dense common(UnionOf(a) & UnionOf(b));
  const bool small = common.size() <= kExactNodes;
  const std::size_t table_cost = small ? (4 * common.size()) << common.size() : 0;
  if (small && a.size() * b.size() > table_cost) return ByTable(a, b, common);
  return Pairwise(a, b, !small, complete);
}

}  // namespace berth::allocator
