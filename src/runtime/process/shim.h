// The supervisor of one container (program berth-shim): starts its process, keeps its log, reaps it, records its end.
//
// Talks to the daemon that started it over one socket (descriptor 3), then lives on its own: the daemon may come and
// go.
#ifndef BERTH_RUNTIME_PROCESS_SHIM_H_
#define BERTH_RUNTIME_PROCESS_SHIM_H_

#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::runtime {

/// Messages over the socket, in this order. Only kGo is the daemon's; the end of the socket before it means "never
/// mind".
inline constexpr std::string_view kMessageReady = "ready";  ///< state is recorded, nothing started
inline constexpr std::string_view kMessageGo = "go";
inline constexpr std::string_view kMessageRunning = "running";  ///< with a pidfd of the container's process
inline constexpr std::string_view kMessageRefused = "refused";  ///< could not be executed; the state says why
/// Anything else is the node's fault, as FormatFailure.
std::string FormatFailure(const Error& error);
Error ParseFailure(std::string_view text);

/// Runs the container described in `dir` to its end. `socket` is closed. Returns the exit status for main().
int RunShim(const std::string& dir, int socket);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_PROCESS_SHIM_H_
