#include "base/quantity.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/text.h"

namespace berth {
namespace {

__extension__ using Int128 = __int128;

constexpr Int128 kNanoPerUnit = 1'000'000'000;
constexpr Int128 kNanoPerMilli = 1'000'000;
constexpr Int128 kMaxNano = Int128{std::numeric_limits<std::int64_t>::max()} * kNanoPerUnit;
constexpr std::int64_t kMaxNanoDigits = 28;  // decimal digits of kMaxNano
constexpr std::int64_t kNanoExponent = 9;
constexpr std::int64_t kMinWritableTenExponent = -9;
/// Exponents beyond this only say "beyond every cap"; keeps sums with digit counts far from overflow.
constexpr std::int64_t kExponentLimit = 1'000'000'000'000;

struct Suffix {
  std::string_view text;
  int two = 0;  // factor 2^two
  int ten = 0;  // factor 10^ten
};
constexpr std::array<Suffix, 16> kSuffixes{{{"", 0, 0},
                                            {"n", 0, -9},
                                            {"u", 0, -6},
                                            {"m", 0, -3},
                                            {"k", 0, 3},
                                            {"M", 0, 6},
                                            {"G", 0, 9},
                                            {"T", 0, 12},
                                            {"P", 0, 15},
                                            {"E", 0, 18},
                                            {"Ki", 10, 0},
                                            {"Mi", 20, 0},
                                            {"Gi", 30, 0},
                                            {"Ti", 40, 0},
                                            {"Pi", 50, 0},
                                            {"Ei", 60, 0}}};

/// digits * 10^ten * 2^two, negated if `negative`.
struct Scanned {
  bool negative = false;
  std::string digits;  // most significant first, may be empty
  std::int64_t ten = 0;
  int two = 0;
  Quantity::Format format = Quantity::Format::kDecimalSi;
};

std::unexpected<Error> Bad(std::string_view text, std::string_view why) {
  return Fail(Code::kInvalid, "bad quantity \"" + Printable(text, 60) + "\": " + std::string(why));
}

/// The leading digits of `text`, removed from it.
std::string_view TakeDigits(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, IsDigit);
  const auto count = static_cast<std::size_t>(end - text.begin());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

Int128 Power(Int128 base, std::int64_t exponent) {
  Int128 out = 1;
  for (; exponent > 0; --exponent) out *= base;
  return out;
}

/// "e3", "E-6": the exponent; nullopt if it is no whole number.
std::optional<std::int64_t> ParseExponent(std::string_view suffix) {
  suffix.remove_prefix(1);
  if (suffix.starts_with('+')) {
    suffix.remove_prefix(1);
    if (suffix.starts_with('-')) return std::nullopt;
  }
  return ParseDecimal<std::int64_t>(suffix);
}

std::string WhyBadSuffix(std::string_view suffix) {
  if (suffix.find_first_of(" \t\r\n") != std::string_view::npos)
    return "white space is not allowed; write a number such as 2, 500m or 1.5Gi";
  if (suffix.starts_with('.')) return "a second decimal point; write a number such as 2, 500m or 1.5Gi";
  if (suffix.starts_with('e') || (suffix.starts_with('E') && suffix.size() > 1))
    return "the exponent '" + Printable(suffix, 20) + "' is not a whole number; write one such as e3 or E-6";
  return "unknown suffix '" + Printable(suffix, 20) +
         "'; use one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei, an exponent such as e3, or none";
}

Result<void> ApplySuffix(std::string_view text, std::string_view suffix, Scanned& out) {
  for (const Suffix& known : kSuffixes) {
    if (known.text != suffix) continue;
    out.ten += known.ten;
    out.two = known.two;
    if (known.two != 0) out.format = Quantity::Format::kBinarySi;
    return {};
  }
  const bool exponent = suffix.size() > 1 && (suffix.front() == 'e' || suffix.front() == 'E');
  const auto value = exponent ? ParseExponent(suffix) : std::nullopt;
  if (!value) return Bad(text, WhyBadSuffix(suffix));
  out.ten += std::clamp(*value, -kExponentLimit, kExponentLimit);
  out.format = Quantity::Format::kDecimalExponent;
  return {};
}

Result<Scanned> Scan(std::string_view text) {
  if (text.empty()) return Bad(text, "it is empty; write a number such as 2, 500m or 1.5Gi");
  Scanned out;
  std::string_view rest = text;
  if (rest.front() == '-' || rest.front() == '+') {
    out.negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  out.digits = TakeDigits(rest);
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    const std::string_view fraction = TakeDigits(rest);
    out.digits += fraction;
    out.ten = -static_cast<std::int64_t>(fraction.size());
  }
  if (out.digits.empty()) return Bad(text, "no digits; write a number such as 2, 500m or 1.5Gi");
  BERTH_RETURN_IF_ERROR(ApplySuffix(text, rest, out));
  return out;
}

/// Multiplies decimal text by 1024, exactly, whatever its length.
void MultiplyBy1024(std::string& digits) {
  int carry = 0;
  for (auto it = digits.rbegin(); it != digits.rend(); ++it) {
    const int product = (*it - '0') * 1024 + carry;
    *it = static_cast<char>('0' + product % 10);
    carry = product / 10;
  }
  if (carry != 0) digits.insert(0, std::to_string(carry));
}

/// Nanos of |scanned|: rounded up, capped.
Int128 MagnitudeInNano(Scanned scanned) {
  std::string& digits = scanned.digits;
  for (int left = scanned.two; left > 0; left -= 10) MultiplyBy1024(digits);
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  const std::size_t significant = digits.find_last_not_of('0') + 1;  // npos + 1 is 0
  if (significant == 0) return 0;
  std::int64_t ten = scanned.ten + kNanoExponent + static_cast<std::int64_t>(digits.size() - significant);
  digits.resize(significant);

  const std::int64_t length = static_cast<std::int64_t>(digits.size()) + ten;  // decimal digits of the result
  if (length > kMaxNanoDigits) return kMaxNano;
  if (length <= 0) return 1;
  const bool rounds = ten < 0;  // what is cut off is not zero: its last digit is not
  Int128 nano = 0;
  for (const char c : std::string_view(digits).substr(0, static_cast<std::size_t>(length)))
    nano = nano * 10 + (c - '0');
  if (ten > 0) nano *= Power(10, ten);
  return std::min(rounds ? nano + 1 : nano, kMaxNano);
}

/// Rounded away from zero, capped at int64.
std::int64_t DivideUp(Int128 nano, Int128 by) {
  Int128 out = nano / by;
  if (nano % by != 0) out += nano < 0 ? -1 : 1;
  constexpr Int128 kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(out, -kMax - 1, kMax));
}

std::string FormatInt(Int128 value) {
  if (value == static_cast<std::int64_t>(value)) return std::to_string(static_cast<std::int64_t>(value));
  const bool negative = value < 0;
  if (negative) value = -value;
  std::string out;
  for (; value != 0; value /= 10) out += static_cast<char>('0' + static_cast<int>(value % 10));
  if (negative) out += '-';
  std::ranges::reverse(out);
  return out;
}

/// Suffix of 10^ten or 2^two; "" for an amount of neither kind.
std::string_view SuffixFor(int ten, int two) {
  const auto* const it = std::ranges::find_if(kSuffixes, [&](const Suffix& s) { return s.ten == ten && s.two == two; });
  return it == kSuffixes.end() ? "" : it->text;
}

std::string FormatDecimal(Int128 nano, bool as_exponent) {
  int ten = kMinWritableTenExponent;
  for (; nano % 1000 == 0; nano /= 1000) ten += 3;  // the cap keeps this at 18 (E) or below
  if (as_exponent) return FormatInt(nano) + (ten == 0 ? "" : "e" + std::to_string(ten));
  return FormatInt(nano) + std::string(SuffixFor(ten, 0));
}

std::string FormatBinary(Int128 units) {
  int two = 0;
  for (; units % 1024 == 0; units /= 1024) two += 10;  // the cap keeps this at 60 (Ei) or below
  return FormatInt(units) + std::string(SuffixFor(0, two));
}

}  // namespace

Quantity Quantity::FromUnits(std::int64_t units, Format format) {
  Quantity out;
  out.nano_ = std::clamp(Int128{units} * kNanoPerUnit, -kMaxNano, kMaxNano);
  out.format_ = format;
  return out;
}

Quantity Quantity::FromMilli(std::int64_t milli, Format format) {
  Quantity out;
  out.nano_ = Int128{milli} * kNanoPerMilli;
  out.format_ = format;
  return out;
}

Result<Quantity> Quantity::Parse(std::string_view text) {
  BERTH_TRY(Scanned scanned, Scan(text));
  Quantity out;
  out.format_ = scanned.format;
  const bool negative = scanned.negative;
  out.nano_ = MagnitudeInNano(std::move(scanned));
  // A fraction of one unit reads best in decimal ("0.5Ki" is 512, but "0.0001Ki" is 102400u).
  if (out.format_ == Format::kBinarySi && out.nano_ < kNanoPerUnit) out.format_ = Format::kDecimalSi;
  if (negative) out.nano_ = -out.nano_;
  return out;
}

std::int64_t Quantity::Value() const { return DivideUp(nano_, kNanoPerUnit); }
std::int64_t Quantity::MilliValue() const { return DivideUp(nano_, kNanoPerMilli); }
bool Quantity::IsInteger() const { return nano_ % kNanoPerUnit == 0; }

std::string Quantity::ToString() const {
  if (nano_ == 0) return "0";
  const Int128 units = nano_ / kNanoPerUnit;
  if (format_ == Format::kBinarySi && IsInteger() && (units >= 1024 || units <= -1024)) return FormatBinary(units);
  return FormatDecimal(nano_, format_ == Format::kDecimalExponent);
}

Quantity& Quantity::operator+=(const Quantity& o) {
  if (nano_ == 0) format_ = o.format_;
  nano_ = std::clamp(nano_ + o.nano_, -kMaxNano, kMaxNano);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& o) {
  if (nano_ == 0) format_ = o.format_;
  nano_ = std::clamp(nano_ - o.nano_, -kMaxNano, kMaxNano);
  return *this;
}

}  // namespace berth
