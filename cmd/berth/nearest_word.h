// Nearest known word to a wrong one, and lists of names cut short.
#ifndef BERTH_CMD_BERTH_NEAREST_WORD_H_
#define BERTH_CMD_BERTH_NEAREST_WORD_H_

#include <string>
#include <string_view>
#include <vector>

namespace berth::cli {

/// The known word nearest to `word` by insertions, deletions, replacements and swaps of neighbours; "" when none is
/// near enough to be a slip (a third of the word's length, one at least). The first of equals wins.
std::string Nearest(std::string_view word, const std::vector<std::string>& known);

/// "a, b, c": five at most, and how many more there are.
std::string ListSome(const std::vector<std::string>& names);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_NEAREST_WORD_H_
