#include "engine/align/products.h"

#include <algorithm>
#include <cstdint>

namespace berth::engine {
namespace {

/// Above this many nodes a table over all masks is larger than any list the engine makes.
constexpr std::size_t kTableNodes = 16;

std::vector<Mask> Pairwise(const std::vector<Mask>& a, const std::vector<Mask>& b) {
  std::vector<Mask> out;
  out.reserve(a.size() * b.size());
  for (Mask x : a)
    for (Mask y : b)
      if ((x & y) != 0) out.push_back(x & y);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// How many elements of `list` contain each mask.
std::vector<std::uint64_t> Supersets(const std::vector<Mask>& list, std::size_t nodes) {
  std::vector<std::uint64_t> count(std::size_t{1} << nodes);
  for (Mask mask : list) count[mask] = 1;
  for (std::size_t bit = 0; bit < nodes; ++bit)
    for (std::size_t mask = 0; mask < count.size(); ++mask)
      if ((mask >> bit & 1) == 0) count[mask] += count[mask | std::size_t{1} << bit];
  return count;
}

// x & y contains m exactly if both x and y do. So the product of both superset counts is the superset count of all
// pairs' ANDs, and undoing the summation leaves how many pairs give exactly m. Counts stay below 4^nodes: no overflow.
std::vector<Mask> ByTable(const std::vector<Mask>& a, const std::vector<Mask>& b, std::size_t nodes) {
  std::vector<std::uint64_t> count = Supersets(a, nodes);
  const std::vector<std::uint64_t> other = Supersets(b, nodes);
  for (std::size_t mask = 0; mask < count.size(); ++mask) count[mask] *= other[mask];
  for (std::size_t bit = 0; bit < nodes; ++bit)
    for (std::size_t mask = 0; mask < count.size(); ++mask)
      if ((mask >> bit & 1) == 0) count[mask] -= count[mask | std::size_t{1} << bit];
  std::vector<Mask> out;
  for (std::size_t mask = 1; mask < count.size(); ++mask)
    if (count[mask] != 0) out.push_back(mask);
  return out;
}

}  // namespace

std::vector<Mask> AndProducts(const std::vector<Mask>& a, const std::vector<Mask>& b, std::size_t nodes) {
  const std::size_t table_cost = nodes <= kTableNodes ? (4 * nodes) << nodes : ~std::size_t{0};
  return a.size() * b.size() <= table_cost ? Pairwise(a, b) : ByTable(a, b, nodes);
}

}  // namespace berth::engine
