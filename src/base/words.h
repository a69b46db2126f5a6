// Words for people: how far two spellings are apart, and counts with their noun.
#ifndef BERTH_BASE_WORDS_H_
#define BERTH_BASE_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth {

enum class LetterCase { kMatters, kIgnored };  ///< ASCII letters

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. Cost: the product of the
/// lengths, so callers bound them.
std::size_t EditDistance(std::string_view a, std::string_view b, LetterCase letters);

/// "1 pod", "2 pods"; nouns that take an "s".
std::string Counted(std::int64_t count, std::string_view noun);

}  // namespace berth

#endif  // BERTH_BASE_WORDS_H_
