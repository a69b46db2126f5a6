#include "host/os/capabilities.h"

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>

namespace berth::os {
namespace {

// In the order of their numbers.
constexpr std::array<std::string_view, 41> kCapabilityNames = {"CHOWN",
                                                               "DAC_OVERRIDE",
                                                               "DAC_READ_SEARCH",
                                                               "FOWNER",
                                                               "FSETID",
                                                               "KILL",
                                                               "SETGID",
                                                               "SETUID",
                                                               "SETPCAP",
                                                               "LINUX_IMMUTABLE",
                                                               "NET_BIND_SERVICE",
                                                               "NET_BROADCAST",
                                                               "NET_ADMIN",
                                                               "NET_RAW",
                                                               "IPC_LOCK",
                                                               "IPC_OWNER",
                                                               "SYS_MODULE",
                                                               "SYS_RAWIO",
                                                               "SYS_CHROOT",
                                                               "SYS_PTRACE",
                                                               "SYS_PACCT",
                                                               "SYS_ADMIN",
                                                               "SYS_BOOT",
                                                               "SYS_NICE",
                                                               "SYS_RESOURCE",
                                                               "SYS_TIME",
                                                               "SYS_TTY_CONFIG",
                                                               "MKNOD",
                                                               "LEASE",
                                                               "AUDIT_WRITE",
                                                               "AUDIT_CONTROL",
                                                               "SETFCAP",
                                                               "MAC_OVERRIDE",
                                                               "MAC_ADMIN",
                                                               "SYSLOG",
                                                               "WAKE_ALARM",
                                                               "BLOCK_SUSPEND",
                                                               "AUDIT_READ",
                                                               "PERFMON",
                                                               "BPF",
                                                               "CHECKPOINT_RESTORE"};

constexpr int kMostCapabilities = 64;  // as many as the kernel's sets have room for

}  // namespace

std::optional<int> CapabilityNumber(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (upper.starts_with("CAP_")) upper.erase(0, 4);
  const auto found = std::ranges::find(kCapabilityNames, upper);
  if (found == kCapabilityNames.end()) return std::nullopt;
  return static_cast<int>(found - kCapabilityNames.begin());
}

std::string_view CapabilityName(int number) { return kCapabilityNames.at(static_cast<std::size_t>(number)); }

CapabilitySet OwnCapabilities() {
  CapabilitySet out = 0;
  for (int number = 0; number < kMostCapabilities; ++number)
    if (::prctl(PR_CAPBSET_READ, number, 0, 0, 0) == 1) out |= CapabilityBit(number);
  return out;
}

}  // namespace berth::os
