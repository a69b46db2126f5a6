#include "base/time_text.h"

#include <array>
#include <chrono>
#include <cstdio>

#include "base/text.h"

namespace berth {
namespace {

// Two or four digits at `at`, or -1.
int Digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return -1;
  const auto value = ParseDecimal<unsigned>(text.substr(at, count));
  return value ? static_cast<int>(*value) : -1;
}

// "Z", "+hh:mm" or "-hh:mm".
std::optional<std::chrono::minutes> ParseOffset(std::string_view text) {
  if (text == "Z") return std::chrono::minutes(0);
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const int hours = Digits(text, 1, 2);
  const int minutes = Digits(text, 4, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const std::chrono::minutes offset(hours * 60 + minutes);
  return text[0] == '+' ? offset : -offset;
}

// ".123" taken from the front of `text`.
std::chrono::nanoseconds TakeFraction(std::string_view& text) {
  if (text.empty() || text[0] != '.') return {};
  std::size_t end = text.find_first_not_of("0123456789", 1);
  if (end == std::string_view::npos) end = text.size();
  long nanos = 0;
  for (std::size_t i = 1; i <= 9; ++i) nanos = nanos * 10 + (i < end ? text[i] - '0' : 0);
  if (end > 1) text.remove_prefix(end);
  return std::chrono::nanoseconds(nanos);
}

// Seconds with so many digits behind the point, counted in `Fraction`.
template <class Fraction>
std::string Format(WallTime t, int digits) {
  const auto day = std::chrono::floor<std::chrono::days>(t);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<Fraction>(t - day));
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%0*dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()), digits, static_cast<int>(time.subseconds().count()));
  return text.data();
}

}  // namespace

std::string FormatTime(WallTime t) { return Format<std::chrono::microseconds>(t, 6); }

std::string FormatNanoTime(WallTime t) { return Format<std::chrono::nanoseconds>(t, 9); }

std::optional<WallTime> ParseTime(std::string_view text) {
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':')
    return std::nullopt;
  const int year = Digits(text, 0, 4);
  const int month = Digits(text, 5, 2);
  const int day = Digits(text, 8, 2);
  const int hour = Digits(text, 11, 2);
  const int minute = Digits(text, 14, 2);
  const int second = Digits(text, 17, 2);
  if (year < 1970 || year > 2200 || month < 1 || day < 1) return std::nullopt;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  text.remove_prefix(19);
  const std::chrono::nanoseconds fraction = TakeFraction(text);
  const std::optional<std::chrono::minutes> offset = ParseOffset(text);
  if (!offset) return std::nullopt;
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + fraction - *offset;
}

}  // namespace berth
