// Detection of a plain HTTP server where TLS was expected.
#ifndef BERTH_FRONTEND_PROBES_PLAIN_HTTP_H_
#define BERTH_FRONTEND_PROBES_PLAIN_HTTP_H_

#include <string_view>

#include "host/os/clock.h"

namespace berth::probes {

/// Says there what begins as TLS does, and sees whether the answer begins as one of HTTP does. `url`: with its port.
/// False also when nobody answers before `deadline`, or `cancel_fd` ends it, as Ask has it. Thread: any that may wait.
bool SpeaksPlainHttp(std::string_view url, os::MonoTime deadline, int cancel_fd);

}  // namespace berth::probes

#endif  // BERTH_FRONTEND_PROBES_PLAIN_HTTP_H_
