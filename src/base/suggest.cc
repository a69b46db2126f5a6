#include "base/suggest.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "base/words.h"

namespace berth {
namespace {

constexpr std::size_t kShownWord = 60;

constexpr std::size_t kLongestName = 64;

}  // namespace

std::string_view Nearest(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.size() > kLongestName) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 4) + 1;  // this far is too far
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = EditDistance(name, candidate, LetterCase::kIgnored);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string NotAmong(std::string_view value, std::span<const std::string_view> known) {
  std::string out = "\"" + Printable(value, kShownWord) + "\" is not known (";
  if (const std::string_view near = Nearest(value, known); !near.empty())
    out += "did you mean \"" + std::string(near) + "\"? ";
  out += "there are ";
  for (std::size_t i = 0; i < known.size(); ++i) out += (i == 0 ? "" : ", ") + std::string(known[i]);
  return out + ")";
}

}  // namespace berth
