#include "berth/nearest_word.h"

#include <algorithm>
#include <cstddef>

#include "base/words.h"

namespace berth::cli {

std::string Nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 128;
  if (word.size() > kLongest) return {};
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::string nearest;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = EditDistance(word, candidate, LetterCase::kMatters);
    if (distance >= best) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string ListSome(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) out += (i > 0 ? ", " : "") + names[i];
  return names.size() > kShown ? out + ", and " + std::to_string(names.size() - kShown) + " more" : out;
}

}  // namespace berth::cli
