#include "base/duration.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "base/text.h"

namespace berth {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr std::array<Unit, 8> kUnits{{{"ns", 1},
                                      {"us", 1'000},
                                      {"\xc2\xb5s", 1'000},  // micro sign
                                      {"\xce\xbcs", 1'000},  // Greek mu
                                      {"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"m", 60'000'000'000},
                                      {"h", 3'600'000'000'000}}};

std::unexpected<Error> BadDuration(std::string_view text, std::string_view why) {
  return Fail(Code::kInvalid, "bad duration \"" + Printable(text, 60) + "\": " + std::string(why));
}

std::string_view TakeWhile(std::string_view& text, std::string_view set, bool in_set) {
  const std::size_t end = std::min(in_set ? text.find_first_not_of(set) : text.find_first_of(set), text.size());
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(end);
  return out;
}

/// Nanoseconds of one "digits [. digits] unit"; sums stay exact because overflow is refused at once.
Result<std::int64_t> TakePart(std::string_view whole, std::string_view& rest) {
  constexpr std::string_view kDigits = "0123456789";
  const std::string_view digits = TakeWhile(rest, kDigits, true);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = TakeWhile(rest, kDigits, true);
  }
  if (digits.empty() && fraction.empty())
    return BadDuration(whole, "a number is missing; write for example 10s or 1m30s");
  const std::string_view unit_text = TakeWhile(rest, "0123456789.", false);
  for (const Unit& unit : kUnits) {
    if (unit.name != unit_text) continue;
    const auto count = digits.empty() ? 0 : ParseDecimal<std::int64_t>(digits);
    std::int64_t total = 0;
    if (!count || __builtin_mul_overflow(*count, unit.nanoseconds, &total)) return BadDuration(whole, "too long");
    std::int64_t step = unit.nanoseconds;
    for (const char c : fraction) {
      // A digit's share; what is left of the step after twelve digits is nothing.
      if (__builtin_add_overflow(total, step / 10 * (c - '0') + step % 10 * (c - '0') / 10, &total))
        return BadDuration(whole, "too long");
      step /= 10;
    }
    return total;
  }
  if (unit_text.empty()) return BadDuration(whole, "the unit is missing; use ns, us, ms, s, m or h");
  return BadDuration(whole, "unknown unit '" + Printable(unit_text, 20) + "'; use ns, us, ms, s, m or h");
}

}  // namespace

Result<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  if (text.empty()) return BadDuration(text, "it is empty; write for example 10s or 1m30s");
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return std::chrono::nanoseconds(0);
  std::int64_t total = 0;
  do {
    BERTH_TRY(const std::int64_t part, TakePart(text, rest));
    if (__builtin_add_overflow(total, part, &total)) return BadDuration(text, "too long");
  } while (!rest.empty());
  return std::chrono::nanoseconds(negative ? -total : total);
}

}  // namespace berth
