// NRI capabilities by version of the runtime, and the back-off before joining it again. Pure.
#ifndef BERTH_RPC_NRI_VERSIONS_H_
#define BERTH_RPC_NRI_VERSIONS_H_

#include <cstdint>
#include <span>

#include "host/os/clock.h"
#include "rpc/nri/nri_values.h"

namespace berth::nri {

/// Bits of the interface: event e is bit e - 1.
std::uint32_t MaskOf(std::span<const Event> events);

/// All events that `runtime` knows. One bit more and it closes the connection, none at all means all of them. By its
/// version of NRI, by its own where it does not say (before NRI 0.12), and the oldest where that cannot be read.
std::uint32_t KnownEvents(const Runtime& runtime);

/// How long to wait before the next try after `failures` in a row: `first`, doubled each time up to 5 s where it is
/// less, and up to a quarter more or less by `random`, so that not all plug-ins of a node come at once.
os::Millis ReconnectDelay(int failures, std::uint32_t random, os::Millis first);

/// How long an answer may take: four fifths of what the runtime waits (2 s where it does not say).
os::Millis AnswerTime(const Runtime& runtime);

}  // namespace berth::nri

#endif  // BERTH_RPC_NRI_VERSIONS_H_
