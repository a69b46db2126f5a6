#include "host/os/identity.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace berth::os {
namespace {

static_assert(sizeof(sock_filter) == sizeof(SeccompProgram::value_type));

// The raw calls change the calling thread only, which is the child's only one; the C library's would look for others.

int Install(const SeccompProgram& program) {
  if (program.empty()) return 0;
  // The kernel copies it, and does not look at its type.
  sock_fprog filter{.len = static_cast<unsigned short>(program.size()),
                    .filter = reinterpret_cast<sock_filter*>(const_cast<std::uint64_t*>(program.data()))};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0 ? 0 : errno;
}

int LimitCapabilities(CapabilitySet most) {
  for (int number = 0; number < 64; ++number) {
    const int has = ::prctl(PR_CAPBSET_READ, number, 0, 0, 0);
    if (has < 0) break;  // the kernel has no more
    if (has == 1 && (most & CapabilityBit(number)) == 0 && ::prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0) return errno;
  }
  return 0;
}

int DropCapabilities(CapabilitySet most) {
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL) return errno;
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return errno;
  for (std::size_t half = 0; half < sets.size(); ++half) {
    const auto bits = static_cast<std::uint32_t>(most >> (32 * half));
    sets[half].effective &= bits;
    sets[half].permitted &= bits;
    sets[half].inheritable = 0;  // as container runtimes: what is inheritable, a program's file could bring back
  }
  return ::syscall(SYS_capset, &header, sets.data()) == 0 ? 0 : errno;
}

}  // namespace

std::string_view Name(IdentityStep step) {
  switch (step) {
    case IdentityStep::kSeccomp: return "install the seccomp profile";
    case IdentityStep::kGroups: return "set supplementary groups";
    case IdentityStep::kGroup: return "become its group";
    case IdentityStep::kUser: return "become its user";
    case IdentityStep::kCapabilities: return "drop capabilities";
    case IdentityStep::kNoNewPrivileges: return "keep it from new privileges";
  }
  return "";
}

IdentityFailure TakeOn(const Identity& identity) {
  if (!identity.no_new_privileges)
    if (const int sys = Install(identity.seccomp); sys != 0) return {.step = IdentityStep::kSeccomp, .sys = sys};
  const int limited = LimitCapabilities(identity.capabilities);
  if (limited != 0 && (limited != EPERM || identity.must_drop))
    return {.step = IdentityStep::kCapabilities, .sys = limited};
  if (identity.groups && ::syscall(SYS_setgroups, identity.groups->size(), identity.groups->data()) != 0)
    return {.step = IdentityStep::kGroups, .sys = errno};
  if (identity.group && ::syscall(SYS_setresgid, *identity.group, *identity.group, *identity.group) != 0)
    return {.step = IdentityStep::kGroup, .sys = errno};
  if (identity.user && ::syscall(SYS_setresuid, *identity.user, *identity.user, *identity.user) != 0)
    return {.step = IdentityStep::kUser, .sys = errno};
  const int dropped = DropCapabilities(identity.capabilities);
  return {.step = IdentityStep::kCapabilities, .sys = dropped != 0 ? dropped : limited};
}

IdentityFailure Seal(const Identity& identity) {
  if (!identity.no_new_privileges) return {};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return {.step = IdentityStep::kNoNewPrivileges, .sys = errno};
  return {.step = IdentityStep::kSeccomp, .sys = Install(identity.seccomp)};
}

bool LacksTheRight(const IdentityFailure& failure) {
  return failure.step == IdentityStep::kCapabilities && failure.sys == EPERM;
}

}  // namespace berth::os
