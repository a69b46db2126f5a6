// A connection over TCP, made in a bounded time.
#ifndef BERTH_FRONTEND_PROBES_CONNECT_H_
#define BERTH_FRONTEND_PROBES_CONNECT_H_

#include <string>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/unique_fd.h"

namespace berth::probes {

/// `host`: an address, or a name, which is looked up in the time the system's resolver takes. Errors: kTimeout,
/// kCancelled (`cancel_fd`, as Ask has it), kUnreachable: nobody answers there. Thread: any.
Result<os::UniqueFd> Connect(const std::string& host, const std::string& port, os::MonoTime deadline, int cancel_fd);

}  // namespace berth::probes

#endif  // BERTH_FRONTEND_PROBES_CONNECT_H_
