// Signals by the names people give them.
#ifndef BERTH_HOST_OS_SIGNAL_NAMES_H_
#define BERTH_HOST_OS_SIGNAL_NAMES_H_

#include <optional>
#include <string_view>

namespace berth::os {

/// "SIGUSR1", "SIGRTMIN+3", "SIGRTMAX-1"; nullopt: this system has none of that name. Pure. Thread: any.
std::optional<int> SignalNumber(std::string_view name);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_SIGNAL_NAMES_H_
