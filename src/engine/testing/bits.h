// Masks written as numbers, for tests.
#ifndef BERTH_ENGINE_TESTING_BITS_H_
#define BERTH_ENGINE_TESTING_BITS_H_

#include <cstdint>

#include "engine/topology/mask.h"

namespace berth::engine::testing {

/// The nodes whose bits are set.
inline Mask Bits(std::uint64_t bits) {
  Mask out;
  for (std::size_t i = 0; i < 64; ++i)
    if ((bits >> i & 1) != 0) out.Add(i);
  return out;
}

}  // namespace berth::engine::testing

#endif  // BERTH_ENGINE_TESTING_BITS_H_
