#include "host/os/identity.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "host/os/children.h"
#include "host/os/pipe.h"
#include "host/os/process.h"
#include "testing/fixtures.h"

namespace berth::os {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint32_t kSomebody = 12345;
constexpr std::uint32_t kSomeGroup = 54321;

struct IdentityTest : testing::Test {
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  }
  /// What a program says, on both outputs, as `identity`.
  static std::string Say(const Identity& identity, const std::string& script, const std::string& folder = "") {
    const Result<Pipe> pipe = MakePipe();
    ProcessSpec spec{.argv = {"/bin/sh", "-c", script}, .identity = identity};
    spec.working_dir = folder;
    spec.stdout_fd = spec.stderr_fd = pipe->write_end.get();
    Result<Process> process = Spawn(spec);
    if (!process) return process.error().message;
    if (process->refused) return process->refused->message;
    EXPECT_THAT(process->warnings, testing::IsEmpty());
    ReapChild(process->pid);  // what it says fits into the pipe
    std::string out;
    std::array<char, 4096> chunk;
    for (ssize_t n = 0; (n = ::read(pipe->read_end.get(), chunk.data(), chunk.size())) > 0;)
      out.append(chunk.data(), static_cast<std::size_t>(n));
    return out;
  }
  static std::string Status(const Identity& identity) { return Say(identity, "cat /proc/self/status"); }
};

TEST(CapabilitiesTest, NamesAreThoseOfTheKernelWithAndWithoutPrefix) {
  EXPECT_EQ(CapabilityNumber("CHOWN"), CAP_CHOWN);
  EXPECT_EQ(CapabilityNumber("CAP_NET_ADMIN"), CAP_NET_ADMIN);
  EXPECT_EQ(CapabilityNumber("cap_checkpoint_restore"), CAP_CHECKPOINT_RESTORE);
  EXPECT_EQ(CapabilityNumber("ALL"), std::nullopt);
  EXPECT_EQ(CapabilityNumber("CAP_"), std::nullopt);
  EXPECT_EQ(CapabilityNumber("CAP_CAP_CHOWN"), std::nullopt);
  EXPECT_EQ(CapabilityName(CAP_NET_ADMIN), "NET_ADMIN");
}

TEST_F(IdentityTest, AUserHasItsNumbersAndNoCapabilities) {
  const std::string status =
      Status({.user = kSomebody, .group = kSomeGroup, .groups = std::vector<std::uint32_t>{7, 8}});
  EXPECT_THAT(status, HasSubstr("Uid:\t12345\t12345\t12345\t12345\n"));
  EXPECT_THAT(status, HasSubstr("Gid:\t54321\t54321\t54321\t54321\n"));
  EXPECT_THAT(status, HasSubstr("Groups:\t7 8 \n"));
  for (const char* const set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
    EXPECT_THAT(status, HasSubstr(std::string(set) + ":\t0000000000000000\n"));
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t0\n"));
}

TEST_F(IdentityTest, RootKeepsTheCapabilitiesItIsLeftInTheSetsARuntimeFills) {
  const CapabilitySet two = CapabilityBit(CAP_CHOWN) | CapabilityBit(CAP_KILL);
  const std::string status = Status({.capabilities = two});
  for (const char* const set : {"CapPrm", "CapEff", "CapBnd"})
    EXPECT_THAT(status, HasSubstr(std::string(set) + ":\t0000000000000021\n"));
  for (const char* const set : {"CapInh", "CapAmb"})
    EXPECT_THAT(status, HasSubstr(std::string(set) + ":\t0000000000000000\n"));
  const std::string none = Status({.user = 0, .capabilities = 0});
  for (const char* const set : {"CapPrm", "CapEff", "CapBnd"})
    EXPECT_THAT(none, HasSubstr(std::string(set) + ":\t0000000000000000\n"));
}

TEST_F(IdentityTest, ASetuidProgramGivesBackOnlyWhatWasNotDroppedAndNothingAgainstNoNewPrivileges) {
  const testkit::TempDir dir;
  fs::permissions(dir.path(), fs::perms(0755));
  const std::string program = dir / "cat";
  fs::copy_file("/bin/cat", program);
  ASSERT_EQ(::chmod(program.c_str(), 04755), 0);
  const std::string script = program + " /proc/self/status";
  const CapabilitySet one = CapabilityBit(CAP_CHOWN);
  Identity identity{
      .user = kSomebody, .group = kSomeGroup, .groups = std::vector<std::uint32_t>(), .capabilities = one};
  const std::string open = Say(identity, script);
  EXPECT_THAT(open, HasSubstr("Uid:\t12345\t0\t0\t0\n")) << "is " << dir.path() << " mounted nosuid?";
  EXPECT_THAT(open, HasSubstr("CapEff:\t0000000000000001\n"));
  identity.no_new_privileges = true;
  const std::string sealed = Say(identity, script);
  EXPECT_THAT(sealed, HasSubstr("Uid:\t12345\t12345\t12345\t12345\n"));
  EXPECT_THAT(sealed, HasSubstr("CapEff:\t0000000000000000\n"));
  EXPECT_THAT(sealed, HasSubstr("NoNewPrivs:\t1\n"));
}

TEST_F(IdentityTest, TheWorkingDirectoryIsEnteredAsThatUser) {
  const testkit::TempDir dir;
  fs::permissions(dir.path(), fs::perms(0700));
  const Identity somebody{.user = kSomebody, .group = kSomeGroup, .groups = std::vector<std::uint32_t>()};
  EXPECT_THAT(Say(somebody, "pwd", dir.path()), HasSubstr("change to working directory " + dir.path()));
  EXPECT_THAT(Say(somebody, "pwd", dir.path()), HasSubstr("Permission denied"));
  EXPECT_EQ(Say({}, "pwd", dir.path()), dir.path() + "\n");
}

TEST_F(IdentityTest, ItsOutputsCanBeOpenedByTheirNames) {
  EXPECT_EQ(Say({.user = kSomebody, .group = kSomeGroup}, "echo one > /dev/stdout; echo two > /dev/stderr"),
            "one\ntwo\n");
}

TEST_F(IdentityTest, WhatTheCallerCannotGiveIsARefusalThatNamesTheStep) {
  // A filter that is none.
  const Identity broken{.seccomp = SeccompProgram{0xffff}};
  EXPECT_THAT(Say(broken, "true"), HasSubstr("install the seccomp profile"));
}

}  // namespace
}  // namespace berth::os
