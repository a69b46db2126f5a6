#include "host/os/confine.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "host/os/children.h"
#include "host/os/pidfd.h"
#include "host/os/process.h"
#include "testing/fixtures.h"

namespace berth::os {
namespace {

using testing::HasSubstr;
using testing::Not;

struct ConfineTest : testing::Test {
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root has what is taken";
    const auto works = Spawn({.argv = {"/bin/true"}, .confinement = Confinement()});
    ASSERT_TRUE(works) << works.error().message;
    ReapChild(works->pid);
    if (!works->warnings.empty() && works->warnings.front().starts_with("give it a mount namespace"))
      GTEST_SKIP() << works->warnings.front();
  }
  /// What a confined program says, on both outputs.
  static std::string Say(std::vector<std::string> argv, const std::vector<std::string>& keep = {}) {
    std::array<int, 2> fds{};
    EXPECT_EQ(::pipe2(fds.data(), O_CLOEXEC), 0);
    ProcessSpec spec{.argv = std::move(argv)};
    spec.stdout_fd = spec.stderr_fd = fds[1];
    spec.confinement = *PlanConfinement();
    spec.identity.capabilities &= ~(CapabilityBit(CAP_SYS_ADMIN) | CapabilityBit(CAP_SYS_PTRACE));
    for (const std::string& name : keep) spec.identity.capabilities |= CapabilityBit(*CapabilityNumber(name));
    const Result<Process> process = Spawn(spec);
    ::close(fds[1]);
    EXPECT_TRUE(process) << process.error().message;
    EXPECT_THAT(process->warnings, testing::IsEmpty());
    std::string out;
    std::array<char, 4096> chunk;
    for (ssize_t n = 0; (n = ::read(fds[0], chunk.data(), chunk.size())) > 0;)
      out.append(chunk.data(), static_cast<std::size_t>(n));
    ::close(fds[0]);
    ReapChild(process->pid);
    return out;
  }
  static std::string Script(const std::string& script, const std::vector<std::string>& keep = {}) {
    return Say({"/bin/sh", "-c", script}, keep);
  }
};

TEST_F(ConfineTest, NoCgroupMountCanBeWrittenAndOursStaysAsItIs) {
  const Confinement plan = *PlanConfinement();
  ASSERT_FALSE(plan.mounts.empty());
  for (const Confinement::CgroupMount& mount : plan.mounts) {
    const bool writable = ::access(mount.path.c_str(), W_OK) == 0;
    EXPECT_THAT(Script("mkdir " + mount.path + "/berth-test-confine"), HasSubstr("Read-only file system"));
    EXPECT_EQ(::access(mount.path.c_str(), W_OK) == 0, writable) << mount.path;
    EXPECT_THAT(Script("mount -o remount,rw,bind " + mount.path + "; umount " + mount.path + "; mkdir " + mount.path +
                       "/berth-test-confine"),
                HasSubstr("Read-only file system"));
  }
}

TEST_F(ConfineTest, CapabilitiesAreGoneForGoodButThoseKept) {
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd"}) {
    const auto bits = [&](const std::vector<std::string>& keep) {
      const std::string line = Script(std::string("grep ") + set + " /proc/self/status", keep);
      return std::stoull(line.substr(line.find('\t')), nullptr, 16);
    };
    EXPECT_EQ(bits({}) & (1ULL << CAP_SYS_ADMIN | 1ULL << CAP_SYS_PTRACE), 0U) << set;
    EXPECT_EQ(bits({"SYS_PTRACE"}) & (1ULL << CAP_SYS_ADMIN), 0U) << set;
  }
  EXPECT_THAT(Script("grep CapEff /proc/self/status", {"SYS_PTRACE"}),
              Not(testing::StrEq(Script("grep CapEff /proc/self/status"))));
}

TEST_F(ConfineTest, TheCallersFilesAreOutOfReachThroughProc) {
  EXPECT_THAT(Script("ls /proc/" + std::to_string(::getpid()) + "/root/"), HasSubstr("Permission denied"));
}

TEST_F(ConfineTest, NoUserNamespaceCanBeMadeAndNoNamespaceEntered) {
  EXPECT_THAT(Script("unshare -U true"), HasSubstr("Operation not permitted"));
  EXPECT_THAT(Script("unshare -Urm true"), HasSubstr("Operation not permitted"));
  EXPECT_THAT(Script("nsenter --net=/proc/self/ns/net true"), HasSubstr("Operation not permitted"));
}

// Run confined by the test after them.
TEST(ConfinedHelper, ThreadsCanBeMade) {
  std::thread([] { std::puts("a thread ran"); }).join();
}
#if defined(__x86_64__)
TEST(ConfinedHelper, UnshareByTheCallOf32Bits) {
  if (::getenv("BERTH_CONFINED") == nullptr) return;
  constexpr long kUnshare = 310;
  long out = kUnshare;
  asm volatile("int $0x80" : "+a"(out) : "b"(static_cast<long>(CLONE_NEWUSER)) : "memory", "r8", "r9", "r10", "r11");
  std::printf("answer %d\n", static_cast<int>(out));
}
#endif

TEST_F(ConfineTest, ThreadsAreMadeByTheOlderCall) {
  const std::string self = "/proc/" + std::to_string(::getpid()) + "/exe";
  std::array<char, 4096> path{};
  ASSERT_GT(::readlink(self.c_str(), path.data(), path.size() - 1), 0);
  EXPECT_THAT(Say({path.data(), "--gtest_filter=ConfinedHelper.Threads*"}), HasSubstr("a thread ran"));
#if defined(__x86_64__)
  // Without such calls in the kernel it is a signal, and no answer.
  EXPECT_THAT(Script("BERTH_CONFINED=1 " + std::string(path.data()) + " --gtest_filter=ConfinedHelper.Unshare*"),
              Not(HasSubstr("answer 0")));
#endif
}

/// An empty file system at `path`, for as long as this lives.
class Mounted {
 public:
  explicit Mounted(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(::mount("none", path_.c_str(), "tmpfs", 0, nullptr), 0) << path_;
  }
  ~Mounted() { ::umount2(path_.c_str(), MNT_DETACH); }
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;

 private:
  std::string path_;
};

TEST_F(ConfineTest, WhatIsMountedLaterArrives) {
  const testkit::TempDir temp;
  const std::string& dir = temp.path();
  const Mounted shared(dir);
  ASSERT_EQ(::mount(nullptr, dir.c_str(), nullptr, MS_SHARED, nullptr), 0);
  ProcessSpec spec{.argv = {"/bin/sh", "-c", "while [ ! -e " + dir + "/late/file ]; do sleep 0.02; done"}};
  spec.confinement = *PlanConfinement();
  const Result<Process> process = Spawn(spec);
  ASSERT_TRUE(process) << process.error().message;
  const std::string late = dir + "/late";
  ASSERT_EQ(::mkdir(late.c_str(), 0700), 0);
  const Mounted later(late);
  const int file = ::creat((late + "/file").c_str(), 0600);
  ::close(file);
  EXPECT_TRUE(WaitEnd(process->pidfd.get(), Millis(30'000)));
  ::kill(process->pid, SIGKILL);
  ReapChild(process->pid);
}

}  // namespace
}  // namespace berth::os
