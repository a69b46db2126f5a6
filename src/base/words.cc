#include "base/words.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace berth {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::size_t EditDistance(std::string_view a, std::string_view b, LetterCase letters) {
  const auto same = [&](std::size_t i, std::size_t j) {
    return letters == LetterCase::kIgnored ? Lower(a[i]) == Lower(b[j]) : a[i] == b[j];
  };
  std::vector<std::size_t> before;  // the row before `above`
  std::vector<std::size_t> above(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({row[j - 1] + 1, above[j] + 1, above[j - 1] + (same(i - 1, j - 1) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1)) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(above, std::move(row));
  }
  return above[b.size()];
}

std::string Counted(std::int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string NodesText(const NodeSet& nodes) {
  if (nodes.empty()) return "no node";
  return (nodes.Count() == 1 ? "node " : "nodes ") + FormatIds(nodes);
}

}  // namespace berth
