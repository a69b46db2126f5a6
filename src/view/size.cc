#include "view/size.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace berth::view {

std::string FormatSize(Bytes size) {
  static constexpr std::array<std::string_view, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  const bool negative = size.v < 0;
  const std::uint64_t v = negative ? 0 - static_cast<std::uint64_t>(size.v) : static_cast<std::uint64_t>(size.v);
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && (v >> (10 * unit)) >= 1024) ++unit;
  const unsigned shift = static_cast<unsigned>(10 * unit);
  const std::uint64_t whole = v >> shift;
  const std::uint64_t rest = v - (whole << shift);
  const std::uint64_t half = shift == 0 ? 0 : std::uint64_t{1} << (shift - 1);
  // Tenths are taken from at most 60 bits, so the product below cannot overflow: the rest is below 2^60 / 10 or scaled.
  const unsigned scale = shift > 50 ? shift - 50 : 0;
  std::uint64_t tenths = shift == 0 ? 0 : ((rest >> scale) * 10 + (half >> scale)) >> (shift - scale);
  std::uint64_t shown = whole;
  if (whole >= 100) {
    shown += rest >= half && half != 0 ? 1 : 0;
    tenths = 0;
  } else if (tenths == 10) {
    ++shown;
    tenths = 0;
  }
  std::string out = (negative ? "-" : "") + std::to_string(shown);
  if (tenths != 0) out += "." + std::to_string(tenths);
  return out + " " + std::string(kUnits[unit]);
}

}  // namespace berth::view
