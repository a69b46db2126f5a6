#include "os/host.h"

#include <unistd.h>

namespace berth::os {

Bytes PageSize() { return {::sysconf(_SC_PAGESIZE)}; }

}  // namespace berth::os
