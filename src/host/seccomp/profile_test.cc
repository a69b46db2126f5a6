#include "host/seccomp/profile.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "testing/fixtures.h"

namespace berth::seccomp {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// What `call` comes to in a process under the filter: 0, or its errno; 1000 and the signal that ended it.
int Under(const os::SeccompProgram& program, const std::function<long()>& call) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    sock_fprog filter{.len = static_cast<unsigned short>(program.size()),
                      .filter = reinterpret_cast<sock_filter*>(const_cast<std::uint64_t*>(program.data()))};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
      ::_exit(255);
    errno = 0;
    ::_exit(call() < 0 ? errno : 0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
int Under(const os::SeccompProgram& program, long number) {
  return Under(program, [number] { return ::syscall(number, -1L, 0L, 0L, 0L, 0L, 0L); });
}

os::SeccompProgram Default(os::CapabilitySet capabilities = 0) {
  auto program = RuntimeDefault(capabilities);
  EXPECT_TRUE(program) << program.error().message;
  return program ? *program : os::SeccompProgram();
}

TEST(RuntimeDefaultTest, DangerousCallsAreDeniedAndUsualOnesAreNot) {
  const os::SeccompProgram filter = Default();
  for (const long call : {SYS_bpf, SYS_perf_event_open, SYS_keyctl, SYS_add_key, SYS_kexec_load, SYS_init_module,
                          SYS_mount, SYS_umount2, SYS_setns, SYS_userfaultfd, SYS_open_by_handle_at, SYS_reboot,
                          SYS_swapon, SYS_process_vm_readv, SYS_io_uring_setup, SYS_move_mount})
    EXPECT_EQ(Under(filter, call), EPERM) << call;
  EXPECT_EQ(Under(filter, [] { return static_cast<long>(::getpid()); }), 0);
  EXPECT_EQ(Under(filter, [] { return static_cast<long>(::open("/dev/null", O_RDONLY)); }), 0);
  EXPECT_EQ(Under(filter, [] { return static_cast<long>(::socket(AF_UNIX, SOCK_STREAM, 0)); }), 0);
  EXPECT_EQ(Under(filter, SYS_close), EBADF) << "the call itself answers";
}

TEST(RuntimeDefaultTest, CallsDependOnTheirArguments) {
  const os::SeccompProgram filter = Default();
  EXPECT_EQ(Under(filter, [] { return static_cast<long>(::unshare(CLONE_NEWUSER)); }), EPERM);
  EXPECT_EQ(Under(filter, [] { return ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0); }), EPERM);
  EXPECT_EQ(Under(filter,
                  [] {
                    const pid_t child = ::fork();
                    if (child == 0) ::_exit(0);
                    return static_cast<long>(child);
                  }),
            0);
  EXPECT_EQ(Under(filter, [] { return static_cast<long>(::socket(AF_VSOCK, SOCK_STREAM, 0)); }), EPERM);
  EXPECT_EQ(Under(filter, [] { return static_cast<long>(::personality(0xffffffff)); }), 0);
  EXPECT_EQ(Under(filter, [] { return static_cast<long>(::personality(ADDR_NO_RANDOMIZE)); }), EPERM);
}

TEST(RuntimeDefaultTest, CallsNobodyKnowsDoNotExist) {
  const os::SeccompProgram filter = Default();
  EXPECT_EQ(Under(filter, SYS_clone3), ENOSYS);
  EXPECT_EQ(Under(filter, 900), ENOSYS);
#if defined(__x86_64__)
  EXPECT_EQ(Under(filter, 0x40000000L + SYS_getpid), ENOSYS) << "x32";
#endif
}

TEST(RuntimeDefaultTest, ACapabilityBringsItsCallsBackAndNoOthers) {
  EXPECT_EQ(Under(Default(), SYS_get_mempolicy), EPERM);
  EXPECT_NE(Under(Default(os::CapabilityBit(CAP_SYS_NICE)), SYS_get_mempolicy), EPERM);
  EXPECT_EQ(Under(Default(os::CapabilityBit(CAP_SYS_NICE)), SYS_process_vm_readv), EPERM);
  EXPECT_EQ(Under(Default(os::kAllCapabilities), SYS_keyctl), EPERM) << "no capability is for it";
}

TEST(ProfileTest, AProfileDoesWhatItSays) {
  const auto filter = CompileProfile(R"({"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86_64"],
    "syscalls": [
      {"names": ["getcwd", "a_call_of_the_future"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
      {"names": ["kill"], "action": "SCMP_ACT_ERRNO", "args": [{"index": 1, "value": 10, "op": "SCMP_CMP_EQ"}]},
      {"names": ["socket"], "action": "SCMP_ACT_ERRNO", "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"},
                                                                 {"index": 0, "value": 2, "op": "SCMP_CMP_EQ"}]},
      {"names": ["acct"], "action": "SCMP_ACT_KILL_PROCESS"},
      {"names": ["mincore"], "action": "SCMP_ACT_ERRNO", "excludes": {"caps": ["CAP_CHOWN"]}},
      {"names": ["madvise"], "action": "SCMP_ACT_ERRNO", "includes": {"caps": ["CAP_CHOWN"], "minKernel": "4.8"}}]})",
                                     os::CapabilityBit(CAP_CHOWN));
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_EQ(Under(*filter, SYS_getcwd), ENOSYS);
  EXPECT_EQ(Under(*filter, [] { return static_cast<long>(::kill(::getpid(), SIGUSR1)); }), EPERM);
  EXPECT_EQ(Under(*filter, [] { return static_cast<long>(::kill(::getpid(), 0)); }), 0);
  EXPECT_EQ(Under(*filter, [] { return static_cast<long>(::socket(AF_UNIX, SOCK_STREAM, 0)); }), EPERM);
  EXPECT_EQ(Under(*filter, [] { return static_cast<long>(::socket(AF_INET, SOCK_STREAM, 0)); }), EPERM);
  EXPECT_EQ(Under(*filter, [] { return static_cast<long>(::socket(AF_NETLINK, SOCK_RAW, 0)); }), 0);
  EXPECT_EQ(Under(*filter, SYS_acct), 1000 + SIGSYS);
  EXPECT_NE(Under(*filter, SYS_mincore), EPERM);
  EXPECT_EQ(Under(*filter, SYS_madvise), EPERM);
}

TEST(ProfileTest, WhatIsNotCarriedOutIsRefusedByName) {
  const auto error = [](const std::string& json) {
    const auto filter = CompileProfile(json, 0);
    return filter ? "no error" : filter.error().message;
  };
  EXPECT_THAT(error("{"), HasSubstr("no JSON"));
  EXPECT_THAT(error("[]"), HasSubstr("no object"));
  EXPECT_THAT(error("{}"), HasSubstr("defaultAction is no text"));
  EXPECT_THAT(error(R"({"defaultAction": "SCMP_ACT_NOTIFY"})"),
              HasSubstr("defaultAction \"SCMP_ACT_NOTIFY\" is not carried"));
  EXPECT_THAT(error(R"({"defaultAction": "SCMP_ACT_ALLOW", "listenerPath": "/x"})"), HasSubstr(".listenerPath"));
  const auto rule = [&](const std::string& text) {
    return error(R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [)" + text + "]}");
  };
  EXPECT_THAT(rule("7"), HasSubstr("syscalls[0] is no object"));
  EXPECT_THAT(rule(R"({"names": [], "action": "SCMP_ACT_ERRNO"})"), HasSubstr("syscalls[0].names is empty"));
  EXPECT_THAT(
      rule(
          R"({"names": ["read"], "action": "SCMP_ACT_ERRNO", "args": [{"index": 6, "value": 0, "op": "SCMP_CMP_EQ"}]})"),
      HasSubstr("index is above 5"));
  EXPECT_THAT(
      rule(
          R"({"names": ["read"], "action": "SCMP_ACT_ERRNO", "args": [{"index": 0, "value": -1, "op": "SCMP_CMP_EQ"}]})"),
      HasSubstr("args.value is no whole number"));
  EXPECT_THAT(error(R"({"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_VAX"]})"), HasSubstr("VAX"));
}

TEST(ProfileTest, AFileIsLookedForBelowItsFolderAndNowhereElse) {
  const testkit::TempDir dir;
  const std::string root = dir / "seccomp";
  fs::create_directories(root + "/apps");
  std::ofstream(root + "/apps/open.json") << R"({"defaultAction": "SCMP_ACT_ALLOW"})";
  std::ofstream(dir / "outside.json") << R"({"defaultAction": "SCMP_ACT_ALLOW"})";
  fs::create_symlink("apps/open.json", root + "/link.json");
  fs::create_symlink("../outside.json", root + "/out.json");
  fs::create_symlink(dir / "outside.json", root + "/far.json");
  EXPECT_TRUE(Localhost(root, "apps/open.json", 0));
  EXPECT_TRUE(Localhost(root, "link.json", 0));
  for (const char* const name : {"out.json", "far.json", "../outside.json", "apps/../../outside.json"}) {
    const auto filter = Localhost(root, name, 0);
    ASSERT_FALSE(filter) << name;
    EXPECT_EQ(filter.error().code, Code::kPermission) << filter.error().message;
  }
  EXPECT_EQ(Localhost(root, "missing.json", 0).error().code, Code::kNotFound);
  EXPECT_THAT(Localhost(root, "apps", 0).error().message, HasSubstr("no regular file"));
  std::ofstream(root + "/broken.json") << "{";
  EXPECT_THAT(Localhost(root, "broken.json", 0).error().message,
              HasSubstr("seccomp/broken.json: seccomp profile: it is"));
}

}  // namespace
}  // namespace berth::seccomp
