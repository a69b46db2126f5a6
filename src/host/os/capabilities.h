// Linux capabilities by name, as sets of bits.
#ifndef BERTH_HOST_OS_CAPABILITIES_H_
#define BERTH_HOST_OS_CAPABILITIES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::os {

/// Bit n stands for capability n of <linux/capability.h>.
using CapabilitySet = std::uint64_t;

inline constexpr CapabilitySet kAllCapabilities = ~CapabilitySet{0};

/// The number of "NET_ADMIN" or "CAP_NET_ADMIN", in whichever case. nullopt: Linux has none of that name.
std::optional<int> CapabilityNumber(std::string_view name);
/// Upper case, without "CAP_", as the Kubernetes API and CRI write it. Requires: CapabilityNumber returned `number`.
std::string_view CapabilityName(int number);

/// The set with that one in it.
constexpr CapabilitySet CapabilityBit(int number) { return CapabilitySet{1} << static_cast<unsigned>(number); }

/// Capabilities that what this process starts can have at most (its bounding set).
CapabilitySet OwnCapabilities();

}  // namespace berth::os

#endif  // BERTH_HOST_OS_CAPABILITIES_H_
