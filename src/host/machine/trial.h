// Trial run of a library on foreign input, where it can do no harm.
#ifndef BERTH_HOST_MACHINE_TRIAL_H_
#define BERTH_HOST_MACHINE_TRIAL_H_

#include <functional>

#include "base/result.h"

namespace berth::machine {

/// Runs `work` in a forked child that is killed after some seconds, writes no core file and has no standard error. True
/// when it came back with true. What the child did to memory is lost: then the caller does the same again itself.
/// Requires: `work` does the same each time and takes no locks that other threads may hold.
/// Errors: kExhausted or kIo when no child can be made. Thread: any; waits for its own child only.
Result<bool> ComesBack(const std::function<bool()>& work);

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_TRIAL_H_
