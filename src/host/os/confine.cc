#include "host/os/confine.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mntent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <utility>

namespace berth::os {
namespace {

// ---- the filter of system calls ----

// Numbers of one architecture's calls; `other` is what the same kernel also runs, programs of 32 bits.
struct CallNumbers {
  std::uint32_t arch;
  std::uint32_t clone;
  std::uint32_t unshare;
  std::uint32_t setns;
  std::uint32_t clone3;
};
#if defined(__x86_64__)
constexpr CallNumbers kOwn{AUDIT_ARCH_X86_64, SYS_clone, SYS_unshare, SYS_setns, SYS_clone3};
constexpr CallNumbers kOther{AUDIT_ARCH_I386, 120, 310, 346, 435};
constexpr std::uint32_t kVariant = 0x40000000;  // x32 marks its numbers with it
#elif defined(__aarch64__)
constexpr CallNumbers kOwn{AUDIT_ARCH_AARCH64, SYS_clone, SYS_unshare, SYS_setns, SYS_clone3};
constexpr CallNumbers kOther{AUDIT_ARCH_ARM, 120, 337, 375, 435};
constexpr std::uint32_t kVariant = 0;
#else
#error "say here which numbers this architecture's system calls have"
#endif

constexpr sock_filter Load(std::size_t offset) {
  return {.code = BPF_LD | BPF_W | BPF_ABS, .jt = 0, .jf = 0, .k = static_cast<std::uint32_t>(offset)};
}
/// Goes on `then` instructions further when equal, else with the next one.
constexpr sock_filter IfEqual(std::uint32_t value, std::uint8_t then) {
  return {.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = then, .jf = 0, .k = value};
}
constexpr sock_filter Return(std::uint32_t action) { return {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = action}; }

// Arguments are 64 bits wide; both architectures are little-endian.
constexpr std::size_t kFlagsOffset = offsetof(seccomp_data, args);

// No user namespace is made and no namespace entered. clone3 keeps its flags in memory, where a filter does not see
// them: it does not exist then, and C libraries fall back on clone.
constexpr std::array kFilter = {
    Load(offsetof(seccomp_data, arch)),
    IfEqual(kOwn.arch, 8),
    IfEqual(kOther.arch, 1),
    Return(SECCOMP_RET_ALLOW),
    // 4: the other architecture
    Load(offsetof(seccomp_data, nr)),
    IfEqual(kOther.clone, 11),
    IfEqual(kOther.unshare, 10),
    IfEqual(kOther.setns, 12),
    IfEqual(kOther.clone3, 12),
    Return(SECCOMP_RET_ALLOW),
    // 10: our own
    Load(offsetof(seccomp_data, nr)),
    sock_filter{.code = BPF_ALU | BPF_AND | BPF_K, .jt = 0, .jf = 0, .k = ~kVariant},
    IfEqual(kOwn.clone, 4),
    IfEqual(kOwn.unshare, 3),
    IfEqual(kOwn.setns, 5),
    IfEqual(kOwn.clone3, 5),
    Return(SECCOMP_RET_ALLOW),
    // 17: either one's clone and unshare
    Load(kFlagsOffset),
    sock_filter{.code = BPF_JMP | BPF_JSET | BPF_K, .jt = 1, .jf = 0, .k = CLONE_NEWUSER},
    Return(SECCOMP_RET_ALLOW),
    // 20
    Return(SECCOMP_RET_ERRNO | EPERM),
    Return(SECCOMP_RET_ERRNO | ENOSYS),
};

// ---- child side: async-signal-safe only ----

int Filter() {
  const sock_fprog program{.len = kFilter.size(), .filter = const_cast<sock_filter*>(kFilter.data())};
  // Speculation is left as it is: this filter guards nothing a program could read, and slow it must not be.
  constexpr unsigned kFlags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &program) == 0 ? 0 : errno;
}

int MakeReadOnly(const Confinement::CgroupMount& mount) {
  if (::mount(nullptr, mount.path.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | mount.flags, nullptr) == 0)
    return 0;
  // Something else was mounted over it, or over what leads to it: no path leads there.
  return errno == EINVAL || errno == ENOENT || errno == ENOTDIR ? 0 : errno;
}

ConfineFailure MakeNamespace(const Confinement& confinement) {
  if (::unshare(CLONE_NEWNS) != 0) return {.step = ConfineStep::kMountNamespace, .sys = errno};
  // EINVAL: / is no mount of its own (a chroot). Nothing goes out then either: without CAP_SYS_ADMIN it mounts nothing.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0 && errno != EINVAL)
    return {.step = ConfineStep::kPropagation, .sys = errno};
  for (const Confinement::CgroupMount& mount : confinement.mounts)
    if (const int sys = MakeReadOnly(mount); sys != 0) return {.step = ConfineStep::kReadOnly, .sys = sys};
  return {};
}

// ---- parent side ----

unsigned long FlagsOf(const mntent& mount) {
  constexpr std::array<std::pair<const char*, unsigned long>, 6> kFlags = {{{"nosuid", MS_NOSUID},
                                                                            {"nodev", MS_NODEV},
                                                                            {"noexec", MS_NOEXEC},
                                                                            {"noatime", MS_NOATIME},
                                                                            {"nodiratime", MS_NODIRATIME},
                                                                            {"relatime", MS_RELATIME}}};
  unsigned long out = 0;
  for (const auto& [name, flag] : kFlags)
    if (::hasmntopt(&mount, name) != nullptr) out |= flag;
  return out;
}

Result<std::vector<Confinement::CgroupMount>> CgroupMounts() {
  constexpr const char* kMounts = "/proc/self/mounts";
  const std::unique_ptr<FILE, int (*)(FILE*)> file(::setmntent(kMounts, "re"), &::endmntent);
  if (file == nullptr) return FailErrno("open", kMounts, errno);
  std::vector<Confinement::CgroupMount> out;
  std::vector<char> line(std::size_t{64} << 10);
  mntent entry{};
  while (::getmntent_r(file.get(), &entry, line.data(), static_cast<int>(line.size())) != nullptr) {
    const std::string_view type = entry.mnt_type;
    if (type == "cgroup" || type == "cgroup2") out.push_back({.path = entry.mnt_dir, .flags = FlagsOf(entry)});
  }
  return out;
}

}  // namespace

Result<Confinement> PlanConfinement() {
  Confinement out;
  BERTH_TRY(out.mounts, CgroupMounts());
  return out;
}

std::string_view Name(ConfineStep step) {
  switch (step) {
    case ConfineStep::kMountNamespace: return "give it a mount namespace";
    case ConfineStep::kEnter: return "enter its mount namespace";
    case ConfineStep::kPropagation: return "keep its mounts to itself";
    case ConfineStep::kReadOnly: return "make cgroups read-only";
    case ConfineStep::kSeccomp: return "keep it from user namespaces";
  }
  return "";
}

ConfineFailure Confine(const Confinement& confinement) {
  if (confinement.enter_fd >= 0) {
    if (::setns(confinement.enter_fd, CLONE_NEWNS) != 0) return {.step = ConfineStep::kEnter, .sys = errno};
  } else if (const ConfineFailure failure = MakeNamespace(confinement); failure.sys != 0) {
    return failure;
  }
  if (!confinement.bar_namespaces) return {};
  return {.step = ConfineStep::kSeccomp, .sys = Filter()};
}

bool CannotConfine(const ConfineFailure& failure) {
  if (failure.step == ConfineStep::kEnter) return false;
  return failure.sys == EPERM || failure.sys == EACCES || failure.sys == EINVAL || failure.sys == ENOSYS;
}

}  // namespace berth::os
