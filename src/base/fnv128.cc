#include "base/fnv128.h"

#include <cstddef>

namespace berth {

std::string Fnv128(std::string_view text) {
  __extension__ using Uint128 = unsigned __int128;
  constexpr Uint128 kPrime = (Uint128{1} << 88) + 0x13b;
  Uint128 hash = (Uint128{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= kPrime;
  }
  std::string out(32, '0');
  for (std::size_t i = 0; i < 32; ++i) out[31 - i] = "0123456789abcdef"[static_cast<unsigned>(hash >> (4 * i)) & 15U];
  return out;
}

}  // namespace berth
