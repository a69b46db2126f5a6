// The FNV-1a hash of 128 bits.
#ifndef BERTH_BASE_FNV128_H_
#define BERTH_BASE_FNV128_H_

#include <string>
#include <string_view>

namespace berth {

/// As 32 hex digits. Not for secrets: who wants two texts with one hash can make them.
std::string Fnv128(std::string_view text);

}  // namespace berth

#endif  // BERTH_BASE_FNV128_H_
