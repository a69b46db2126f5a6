#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/seccomp/builder.h"
#include "host/seccomp/profile.h"

namespace berth::seccomp {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kNative = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kNative32 = SCMP_ARCH_X86;
#elif defined(__aarch64__)
constexpr std::uint32_t kNative = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kNative32 = SCMP_ARCH_ARM;
#else
#error "say here which architectures this one's kernel runs"
#endif

constexpr int kNobody = -1;  // no capability is enough

struct Denied {
  std::string_view call;
  int unless;  ///< this capability, or one of the two
  int or_unless = kNobody;
};

// Calls that reach the whole kernel, other processes' memory, or ways into the kernel that had the most holes. As the
// default profiles of container engines.
constexpr std::array kDenied = {
    Denied{"acct", CAP_SYS_PACCT},
    Denied{"add_key", kNobody},
    Denied{"bpf", CAP_SYS_ADMIN, CAP_BPF},
    Denied{"clock_adjtime", CAP_SYS_TIME},
    Denied{"clock_adjtime64", CAP_SYS_TIME},
    Denied{"clock_settime", CAP_SYS_TIME},
    Denied{"clock_settime64", CAP_SYS_TIME},
    Denied{"create_module", kNobody},
    Denied{"delete_module", CAP_SYS_MODULE},
    Denied{"fanotify_init", CAP_SYS_ADMIN},
    Denied{"finit_module", CAP_SYS_MODULE},
    Denied{"fsconfig", CAP_SYS_ADMIN},
    Denied{"fsmount", CAP_SYS_ADMIN},
    Denied{"fsopen", CAP_SYS_ADMIN},
    Denied{"fspick", CAP_SYS_ADMIN},
    Denied{"get_kernel_syms", kNobody},
    Denied{"get_mempolicy", CAP_SYS_NICE},
    Denied{"init_module", CAP_SYS_MODULE},
    Denied{"io_uring_enter", kNobody},
    Denied{"io_uring_register", kNobody},
    Denied{"io_uring_setup", kNobody},
    Denied{"ioperm", CAP_SYS_RAWIO},
    Denied{"iopl", CAP_SYS_RAWIO},
    Denied{"kcmp", CAP_SYS_PTRACE},
    Denied{"kexec_file_load", CAP_SYS_BOOT},
    Denied{"kexec_load", CAP_SYS_BOOT},
    Denied{"keyctl", kNobody},
    Denied{"lookup_dcookie", CAP_SYS_ADMIN},
    Denied{"mbind", CAP_SYS_NICE},
    Denied{"mount", CAP_SYS_ADMIN},
    Denied{"mount_setattr", CAP_SYS_ADMIN},
    Denied{"move_mount", CAP_SYS_ADMIN},
    Denied{"move_pages", CAP_SYS_NICE},
    Denied{"nfsservctl", kNobody},
    Denied{"open_by_handle_at", CAP_DAC_READ_SEARCH},
    Denied{"open_tree", CAP_SYS_ADMIN},
    Denied{"perf_event_open", CAP_SYS_ADMIN, CAP_PERFMON},
    Denied{"pidfd_getfd", CAP_SYS_PTRACE},
    Denied{"pivot_root", CAP_SYS_ADMIN},
    Denied{"process_madvise", CAP_SYS_PTRACE},
    Denied{"process_vm_readv", CAP_SYS_PTRACE},
    Denied{"process_vm_writev", CAP_SYS_PTRACE},
    Denied{"query_module", kNobody},
    Denied{"quotactl", CAP_SYS_ADMIN},
    Denied{"quotactl_fd", CAP_SYS_ADMIN},
    Denied{"reboot", CAP_SYS_BOOT},
    Denied{"request_key", kNobody},
    Denied{"set_mempolicy", CAP_SYS_NICE},
    Denied{"set_mempolicy_home_node", CAP_SYS_NICE},
    Denied{"setdomainname", CAP_SYS_ADMIN},
    Denied{"sethostname", CAP_SYS_ADMIN},
    Denied{"setns", CAP_SYS_ADMIN},
    Denied{"settimeofday", CAP_SYS_TIME},
    Denied{"stime", CAP_SYS_TIME},
    Denied{"swapoff", CAP_SYS_ADMIN},
    Denied{"swapon", CAP_SYS_ADMIN},
    Denied{"_sysctl", kNobody},
    Denied{"sysfs", kNobody},
    Denied{"syslog", CAP_SYS_ADMIN, CAP_SYSLOG},
    Denied{"umount", CAP_SYS_ADMIN},
    Denied{"umount2", CAP_SYS_ADMIN},
    Denied{"unshare", CAP_SYS_ADMIN},
    Denied{"uselib", kNobody},
    Denied{"userfaultfd", kNobody},
    Denied{"ustat", kNobody},
    Denied{"vhangup", CAP_SYS_TTY_CONFIG},
    Denied{"vm86", kNobody},
    Denied{"vm86old", kNobody},
};

constexpr std::uint64_t kNewNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
// Linux itself, that of 32 bits, both with the older layout of addresses, and the question which it is.
constexpr std::array<std::uint64_t, 5> kPersonalities = {0x0, 0x8, 0x20000, 0x20008, 0xffffffff};

constexpr std::uint32_t kEperm = SCMP_ACT_ERRNO(EPERM);
constexpr std::uint32_t kEnosys = SCMP_ACT_ERRNO(ENOSYS);

bool Has(os::CapabilitySet capabilities, int number) {
  return number != kNobody && (capabilities & os::CapabilityBit(number)) != 0;
}

/// How a call may be made: each of the lists is enough.
std::vector<std::vector<ArgumentTest>> Conditions(std::string_view call, os::CapabilitySet capabilities) {
  if (call == "clone" && !Has(capabilities, CAP_SYS_ADMIN))
    return {{{.index = 0, .op = SCMP_CMP_MASKED_EQ, .value = kNewNamespaces, .second = 0}}};
  if (call == "socket") return {{{.index = 0, .op = SCMP_CMP_NE, .value = AF_VSOCK}}};
  if (call == "personality") {
    std::vector<std::vector<ArgumentTest>> out;
    for (const std::uint64_t which : kPersonalities) out.push_back({{.index = 0, .op = SCMP_CMP_EQ, .value = which}});
    return out;
  }
  return {{}};
}

/// clone3 keeps its flags where no filter sees them; C libraries go on with clone where it does not exist.
bool DoesNotExist(std::string_view call, os::CapabilitySet capabilities) {
  return call == "clone3" && !Has(capabilities, CAP_SYS_ADMIN);
}

bool IsDenied(std::string_view call, os::CapabilitySet capabilities) {
  const auto* const row = std::ranges::find(kDenied, call, &Denied::call);
  return row != kDenied.end() && !Has(capabilities, row->unless) && !Has(capabilities, row->or_unless);
}

/// In front of a filter: calls of our own architecture beyond the last that is known do not exist.
void PutUnknownCallsInFront(os::SeccompProgram& program) {
  const std::uint32_t last = LastKnownCall(SCMP_ARCH_NATIVE);
  const std::array<sock_filter, 5> first = {
      sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, arch)},
      sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 3, kNative},
      sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      sock_filter{BPF_JMP | BPF_JGT | BPF_K, 0, 1, last},
      sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
  };
  os::SeccompProgram out;
  for (const sock_filter& instruction : first) out.push_back(std::bit_cast<std::uint64_t>(instruction));
  out.insert(out.end(), program.begin(), program.end());
  program = std::move(out);
}

}  // namespace

Result<os::SeccompProgram> RuntimeDefault(os::CapabilitySet capabilities) {
  BERTH_TRY(Builder builder, Builder::Make(kEperm));
  BERTH_RETURN_IF_ERROR(builder.AddArchitecture(kNative32));
  std::vector<std::string> calls = KnownCalls(SCMP_ARCH_NATIVE);
  for (std::string& call : KnownCalls(kNative32))
    if (std::ranges::find(calls, call) == calls.end()) calls.push_back(std::move(call));
  for (const std::string& call : calls) {
    if (IsDenied(call, capabilities)) continue;
    if (DoesNotExist(call, capabilities)) {
      BERTH_RETURN_IF_ERROR(builder.AddRule(kEnosys, call, {}));
      continue;
    }
    for (const std::vector<ArgumentTest>& tests : Conditions(call, capabilities))
      BERTH_RETURN_IF_ERROR(builder.AddRule(SCMP_ACT_ALLOW, call, tests));
  }
  BERTH_TRY(os::SeccompProgram program, builder.Compile());
  PutUnknownCallsInFront(program);
  return program;
}

}  // namespace berth::seccomp
