// Words for people: how far two spellings are apart, and counts with their noun.
#ifndef BERTH_BASE_WORDS_H_
#define BERTH_BASE_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/id_set.h"

namespace berth {

enum class LetterCase { kMatters, kIgnored };  ///< ASCII letters

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. Cost: the product of the
/// lengths, so callers bound them.
std::size_t EditDistance(std::string_view a, std::string_view b, LetterCase letters);

/// "1 pod", "2 pods"; nouns that take an "s".
std::string Counted(std::int64_t count, std::string_view noun);

/// "node 3", "nodes 0-1", "no node".
std::string NodesText(const NodeSet& nodes);

}  // namespace berth

#endif  // BERTH_BASE_WORDS_H_
