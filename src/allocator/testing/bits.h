// Masks written as numbers, for tests.
#ifndef BERTH_ALLOCATOR_TESTING_BITS_H_
#define BERTH_ALLOCATOR_TESTING_BITS_H_

#include <cstdint>

#include "allocator/topology/mask.h"

namespace berth::allocator::testing {

/// The nodes whose bits are set.
inline Mask Bits(std::uint64_t bits) {
  Mask out;
  for (std::size_t i = 0; i < 64; ++i)
    if ((bits >> i & 1) != 0) out.Add(i);
  return out;
}

}  // namespace berth::allocator::testing

#endif  // BERTH_ALLOCATOR_TESTING_BITS_H_
