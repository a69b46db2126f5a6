// The CPUs a thread asked to run on (sched_setaffinity(2)), within those of its cpuset.
#ifndef BERTH_HOST_OS_AFFINITY_H_
#define BERTH_HOST_OS_AFFINITY_H_

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace berth::os {

/// A bit for each CPU, the lowest of the first word is CPU 0.
using AffinityMask = std::vector<std::uint64_t>;

/// Of any thread, by its id. Errors: kNotFound when there is none.
Result<AffinityMask> AffinityOf(int thread);

/// Errors: kNotFound; kPermission when it is another user's; kInvalid when its cpuset has none of these CPUs.
Result<void> SetAffinity(int thread, const AffinityMask& mask);

/// Every CPU there may ever be.
AffinityMask AnyCpu();

}  // namespace berth::os

#endif  // BERTH_HOST_OS_AFFINITY_H_
