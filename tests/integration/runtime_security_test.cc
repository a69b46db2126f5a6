// What a security context does to a process of the host, as the kernel and the process itself see it.
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "host/os/capabilities.h"
#include "host/os/children.h"
#include "host/os/fs.h"
#include "host/os/pidfd.h"
#include "host/os/process.h"
#include "runtime/process/process_spec.h"
#include "runtime_fixture.h"

namespace berth::runtime {
namespace {

namespace fs = std::filesystem;

class RuntimeSecurityTest : public RuntimeTest {
 protected:
  /// What a container with that security context says of itself in /proc.
  std::string Told(SecurityContext security) {
    StartRequest request = Request({"/bin/cat", "/proc/self/status"});
    request.container.security = std::move(security);
    const ContainerStatus status = Run(request);
    EXPECT_EQ(status.exit_code, 0) << status.message;
    EXPECT_EQ(status.warnings, std::vector<std::string>());
    return Output(request);
  }
  static std::string Line(const std::string& status, const std::string& key) {
    const std::size_t at = status.rfind(key + ":\t");  // logs are appended to
    return at == std::string::npos ? "none"
                                   : status.substr(at + key.size() + 2, status.find('\n', at) - at - key.size() - 2);
  }
  static os::CapabilitySet Set(const std::string& status, const std::string& key) {
    return std::stoull(Line(status, key), nullptr, 16);
  }
};

constexpr os::CapabilitySet kMeans = os::CapabilityBit(CAP_SYS_ADMIN) | os::CapabilityBit(CAP_SYS_PTRACE);

TEST_F(RuntimeSecurityTest, AContainerRunsAsTheUserAndGroupsOfItsManifest) {
  const std::string told = Told({.run_as_user = 12345,
                                 .run_as_group = 54321,
                                 .run_as_non_root = true,
                                 .fs_group = 4321,
                                 .supplemental_groups = {17}});
  EXPECT_EQ(Line(told, "Uid"), "12345\t12345\t12345\t12345");
  EXPECT_EQ(Line(told, "Gid"), "54321\t54321\t54321\t54321");
  EXPECT_EQ(Line(told, "Groups"), "17 4321 ");
  for (const char* const set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) EXPECT_EQ(Set(told, set), 0U) << set;
  EXPECT_EQ(Set(told, "CapBnd"), os::OwnCapabilities() & ~kMeans);
}

TEST_F(RuntimeSecurityTest, AUserTheHostDoesNotKnowIsInNobodysGroupAndOneItKnowsInItsOwn) {
  EXPECT_EQ(Line(Told({.run_as_user = 12345}), "Gid"), "65534\t65534\t65534\t65534");
  EXPECT_EQ(Line(Told({.run_as_user = 12345}), "Groups"), " ");
  // Of Debian: games:x:5:60.
  if (testkit::ReadText("/etc/passwd").find("games:x:5:60:") != std::string::npos) {
    EXPECT_EQ(Line(Told({.run_as_user = 5}), "Gid"), "60\t60\t60\t60");
  }
}

TEST_F(RuntimeSecurityTest, CapabilitiesAreDroppedAndAddedInEverySet) {
  const os::CapabilitySet own = os::OwnCapabilities();
  const auto expect = [&](SecurityContext security, os::CapabilitySet wanted) {
    const std::string told = Told(std::move(security));
    for (const char* const set : {"CapPrm", "CapEff", "CapBnd"}) EXPECT_EQ(Set(told, set), wanted) << set;
    for (const char* const set : {"CapInh", "CapAmb"}) EXPECT_EQ(Set(told, set), 0U) << set;
  };
  expect({}, own & ~kMeans);
  expect({.drop_capabilities = {"ALL"}}, 0);
  expect({.add_capabilities = {"NET_BIND_SERVICE"}, .drop_capabilities = {"ALL"}},
         os::CapabilityBit(CAP_NET_BIND_SERVICE));
  expect({.add_capabilities = {"CAP_SYS_PTRACE"}, .drop_capabilities = {"chown"}},
         (own & ~kMeans & ~os::CapabilityBit(CAP_CHOWN)) | os::CapabilityBit(CAP_SYS_PTRACE));
  expect({.add_capabilities = {"ALL"}, .drop_capabilities = {"CAP_MKNOD"}}, own & ~os::CapabilityBit(CAP_MKNOD));
  expect({.privileged = true, .drop_capabilities = {"ALL"}}, own);
}

TEST_F(RuntimeSecurityTest, WhatCannotBeIsRefusedWithTheCure) {
  const auto refusal = [&](SecurityContext security) {
    StartRequest request = Request({"/bin/true"});
    request.container.security = std::move(security);
    const Result<ContainerStatus> started = Start(request);
    return started ? started->message : started.error().message;
  };
  EXPECT_NE(refusal({.run_as_non_root = true}).find("set runAsUser"), std::string::npos);
  EXPECT_NE(refusal({.run_as_user = 0, .run_as_non_root = true}).find("runAsUser is root"), std::string::npos);
  EXPECT_NE(refusal({.drop_capabilities = {"EVERYTHING"}}).find("no capability \"EVERYTHING\""), std::string::npos);
  EXPECT_EQ(refusal({.run_as_user = 7, .run_as_non_root = true}), "");
}

TEST_F(RuntimeSecurityTest, NoNewPrivilegesHoldsAgainstSetuidPrograms) {
  EXPECT_EQ(Line(Told({}), "NoNewPrivs"), "0");
  const std::string program = temp_ / "cat";
  fs::permissions(temp_.path(), fs::perms(0755));
  fs::copy_file("/bin/cat", program);
  ASSERT_EQ(::chmod(program.c_str(), 04755), 0);
  StartRequest request = Request({program, "/proc/self/status"});
  request.container.security = {.run_as_user = 12345, .allow_privilege_escalation = false};
  EXPECT_EQ(Run(request).exit_code, 0);
  EXPECT_EQ(Line(Output(request), "Uid"), "12345\t12345\t12345\t12345");
  EXPECT_EQ(Line(Output(request), "NoNewPrivs"), "1");
}

TEST_F(RuntimeSecurityTest, AWorkingDirectoryItsUserCannotEnterIsARefusal) {
  fs::create_directory(temp_ / "closed");
  fs::permissions(temp_ / "closed", fs::perms(0700));
  StartRequest request = Request({"/bin/true"});
  request.container.working_dir = temp_ / "closed";
  EXPECT_EQ(Run(request).exit_code, 0);
  request.container.security = {.run_as_user = 12345};
  const ContainerStatus status = Run(request);
  EXPECT_EQ(status.exit_code, kStartErrorExitCode);
  EXPECT_NE(status.message.find("Permission denied"), std::string::npos) << status.message;
}

TEST_F(RuntimeSecurityTest, TheDefaultProfileIsInForceBesideTheOneThatKeepsItFromNamespaces) {
  const std::string without = Told({});
  const std::string with = Told({.seccomp = "RuntimeDefault"});
  EXPECT_EQ(Line(without, "Seccomp_filters"), "1");
  EXPECT_EQ(Line(with, "Seccomp_filters"), "2");
  EXPECT_EQ(Line(Told({.seccomp = "Unconfined"}), "Seccomp_filters"), "1");
  EXPECT_EQ(Line(Told({.privileged = true, .seccomp = "RuntimeDefault"}), "Seccomp"), "0");
  // A call that needs no capability, and that the filter of every container lets through; guests have no program for
  // it.
  if (::access("/usr/bin/setarch", X_OK) != 0) return;
  StartRequest request = Request({"/usr/bin/setarch", "-R", "/bin/true"});
  EXPECT_EQ(Run(request).exit_code, 0);
  for (const bool escalation : {true, false}) {
    request.container.security = {
        .allow_privilege_escalation = escalation, .add_capabilities = {"SYS_PTRACE"}, .seccomp = "RuntimeDefault"};
    EXPECT_NE(Run(request).exit_code, 0);
    EXPECT_NE(Output(request, "stderr").find("Operation not permitted"), std::string::npos);
  }
}

TEST_F(RuntimeSecurityTest, AProfileOfTheNodeIsInForceAndNoneFromElsewhere) {
  fs::create_directory(temp_ / "seccomp");
  std::ofstream(temp_ / "seccomp/no-links.json") <<
      R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["symlink", "symlinkat"],
                         "action": "SCMP_ACT_ERRNO", "errnoRet": 122}]})";
  std::ofstream(temp_ / "outside.json") << R"({"defaultAction": "SCMP_ACT_ALLOW"})";
  fs::create_symlink(temp_ / "outside.json", temp_ / "seccomp/out.json");
  StartRequest request = Request({"/bin/ln", "-s", "/nowhere", temp_ / "link"});
  request.container.security = {.seccomp = "Localhost", .seccomp_localhost = "no-links.json"};
  EXPECT_EQ(Run(request).exit_code, 1);
  EXPECT_NE(Output(request, "stderr").find("Disk quota exceeded"), std::string::npos) << Output(request, "stderr");
  for (const char* const name : {"../outside.json", "out.json", "missing.json"}) {
    request.container.security.seccomp_localhost = name;
    const Result<ContainerStatus> status = Start(request);
    EXPECT_FALSE(status) << name;
  }
}

TEST_F(RuntimeSecurityTest, ACommandRunInAContainerIsNoMoreThanTheContainer) {
  StartRequest request = Request({"/bin/sleep", "600"});
  request.container.security = {.run_as_user = 12345,
                                .run_as_group = 54321,
                                .allow_privilege_escalation = false,
                                .drop_capabilities = {"ALL"},
                                .seccomp = "RuntimeDefault"};
  const Result<ContainerStatus> status = Start(request);
  ASSERT_TRUE(status) << status.error().message;
  const auto files = os::OpenFs(temp_ / "run/containers/" + status->id);
  ASSERT_TRUE(files) << files.error().message;
  const Result<ShimRequest> record = ParseRequest(*(*files)->Read(kRequestFile));
  ASSERT_TRUE(record) << record.error().message;
  const Result<os::UniqueFd> pidfd = os::OpenPidfd(status->pid, *os::StartTicksOf(status->pid));
  ASSERT_TRUE(pidfd);
  Result<InsideSpec> inside =
      SpecInside(*record, status->pid, *pidfd, {"/bin/sh", "-c", "cat /proc/self/status; readlink /proc/self/ns/mnt"});
  ASSERT_TRUE(inside) << inside.error().message;
  const std::string said = temp_ / "said";
  const os::UniqueFd file(::creat(said.c_str(), 0666));
  ::fchmod(file.get(), 0666);
  fs::permissions(temp_.path(), fs::perms(0755));
  inside->spec.stdout_fd = inside->spec.stderr_fd = file.get();
  const Result<os::Process> process = os::Spawn(inside->spec);
  ASSERT_TRUE(process) << process.error().message;
  ASSERT_FALSE(process->refused) << process->refused->message;
  os::ReapChild(process->pid);
  const std::string told = testkit::ReadText(said);
  EXPECT_NE(told.find(fs::read_symlink("/proc/" + std::to_string(status->pid) + "/ns/mnt").string()), std::string::npos)
      << told;
  EXPECT_EQ(Line(told, "Uid"), "12345\t12345\t12345\t12345");
  EXPECT_EQ(Line(told, "Gid"), "54321\t54321\t54321\t54321");
  EXPECT_EQ(Line(told, "NoNewPrivs"), "1");
  EXPECT_EQ(Line(told, "Seccomp_filters"), "2");
  EXPECT_EQ(Set(told, "CapBnd"), 0U);
  EXPECT_TRUE(runtime_->Signal(status->id, SIGKILL));
  WaitEnd(status->id);
  EXPECT_FALSE(SpecInside(*record, status->pid, *pidfd, {"/bin/true"})) << "it has ended";
}

}  // namespace
}  // namespace berth::runtime
