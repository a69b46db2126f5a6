// Process credentials and privileges at exec: user, groups, bounds of capabilities, no_new_privs, and a seccomp filter
// of system calls.
#ifndef BERTH_HOST_OS_IDENTITY_H_
#define BERTH_HOST_OS_IDENTITY_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "host/os/capabilities.h"

namespace berth::os {

/// A filter of system calls as the kernel takes it: struct sock_filter, one in each number.
using SeccompProgram = std::vector<std::uint64_t>;

struct Identity {
  std::optional<std::uint32_t> user;                 ///< nullopt: the caller's
  std::optional<std::uint32_t> group;                ///< nullopt: the caller's
  std::optional<std::vector<std::uint32_t>> groups;  ///< supplementary; nullopt: the caller's
  /// The most it and whatever it executes can have of what the caller has. Root has them all, another user has none
  /// until it executes a program that brings some.
  CapabilitySet capabilities = kAllCapabilities;
  bool must_drop = false;  ///< somebody asked for it; else a caller without the right to drop them gives a warning
  /// Nothing it executes gives it anything it has not: setuid and file capabilities are without effect.
  bool no_new_privileges = false;
  SeccompProgram seccomp;  ///< empty: none
};

enum class IdentityStep : std::int32_t { kSeccomp, kGroups, kGroup, kUser, kCapabilities, kNoNewPrivileges };
std::string_view Name(IdentityStep step);  ///< for people: what it does

/// What went wrong; `sys` 0: nothing.
struct IdentityFailure {
  IdentityStep step = IdentityStep::kSeccomp;
  int sys = 0;
};

// For the child between clone and exec, with one thread: both make system calls only.

/// All but no_new_privileges and what needs it. A filter without them takes CAP_SYS_ADMIN, so it is first; the calls
/// that follow until the program runs go through it.
IdentityFailure TakeOn(const Identity& identity);
/// The rest, last before exec.
IdentityFailure Seal(const Identity& identity);

/// Whether capabilities stay for want of the right to take them. What comes after them was done.
bool LacksTheRight(const IdentityFailure& failure);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_IDENTITY_H_
