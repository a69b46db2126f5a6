// Constants of the running kernel.
#ifndef BERTH_OS_HOST_H_
#define BERTH_OS_HOST_H_

#include "base/units.h"

namespace berth::os {

/// Size of a page of memory.
Bytes PageSize();

}  // namespace berth::os

#endif  // BERTH_OS_HOST_H_
