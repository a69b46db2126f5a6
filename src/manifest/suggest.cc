#include "manifest/suggest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace berth::manifest {
namespace {

constexpr std::size_t kLongestName = 64;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Edit distance (insert, delete, replace, swap two neighbours), case ignored.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;  // the row before `above`
  std::vector<std::size_t> above(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto same = [&](std::size_t x, std::size_t y) { return Lower(a[i - x]) == Lower(b[j - y]); };
      row[j] = std::min({row[j - 1] + 1, above[j] + 1, above[j - 1] + (same(1, 1) ? 0 : 1)});
      if (i > 1 && j > 1 && same(1, 2) && same(2, 1)) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::move(above);
    above = std::move(row);
  }
  return above[b.size()];
}

}  // namespace

std::string_view Nearest(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.size() > kLongestName) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 4) + 1;  // this far is too far
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = Distance(name, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

}  // namespace berth::manifest
