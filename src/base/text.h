// Small text helpers: splitting, trimming, strict numbers, safe printing. Pure, no locale.
#ifndef BERTH_BASE_TEXT_H_
#define BERTH_BASE_TEXT_H_

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// Pieces between separators; "" gives one empty piece, "a," gives "a" and "". The views point into `text`.
std::vector<std::string_view> Split(std::string_view text, char separator);

/// Pieces between runs of white space; never empty ones.
std::vector<std::string_view> SplitWords(std::string_view text);

/// Without blanks, tabs, carriage returns and newlines at both ends.
std::string_view Trim(std::string_view text);

std::string Join(const std::vector<std::string>& parts, std::string_view separator);

/// Text from outside, fit for a message: control characters as \xNN, cut to `limit` bytes with "...".
std::string Printable(std::string_view text, std::size_t limit = 120);

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// The whole of `text` as a decimal number, nothing before or after (no sign for unsigned types, no "+").
/// nullopt for empty, junk and overflow.
template <std::integral Int>
std::optional<Int> ParseDecimal(std::string_view text) {
  Int value{};
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [ptr, ec] = std::from_chars(begin, end, value);
  if (text.empty() || ec != std::errc() || ptr != end) return std::nullopt;
  return value;
}

}  // namespace berth

#endif  // BERTH_BASE_TEXT_H_
