// A host that cannot be relied on: its clock is set, its disk fails.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>

#include "api/codec/node_state_json.h"
#include "attack_fixture.h"
#include "kubernetes/node_publisher/fake_store_test.h"
#include "lies.h"

namespace berth::testkit {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr std::int64_t kTenYears = 10 * 365 * 86'400;

std::int64_t MillisSince(Clock::time_point begin) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - begin).count();
}

/// Lies that a berthd is told which is started with before_exec().
class Liar {
 public:
  explicit Liar(const DaemonFixture& node) : path_(node.Dir("lies")) {
    const os::UniqueFd fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::ftruncate(fd.get(), sizeof(Lies)), 0);
    void* const at = ::mmap(nullptr, sizeof(Lies), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    EXPECT_NE(at, MAP_FAILED);
    lies_ = new (at) Lies();
    const std::string state = std::filesystem::weakly_canonical(node.state_dir).string() + "/";
    state.copy(lies_->disk, sizeof lies_->disk - 1);
  }
  ~Liar() { ::munmap(lies_, sizeof(Lies)); }
  Liar(const Liar&) = delete;
  Liar& operator=(const Liar&) = delete;
  Lies* operator->() const { return lies_; }
  std::function<void()> before_exec() const {
    return [this] {
      ::setenv("LD_PRELOAD", LYING_HOST, 1);
      ::setenv("BERTH_LIES", path_.c_str(), 1);
    };
  }

 private:
  std::string path_;
  Lies* lies_ = nullptr;
};

struct ClockAttackTest : AttackTest {
  std::function<void()> before_exec() const override { return liar.before_exec(); }
  Liar liar{node};
};

/// A pod that does not heed TERM.
std::string Stubborn(const std::string& name, int grace_s, const std::string& terms) {
  std::string pod = ScriptPod(name, "trap 'echo term >> " + terms + "' TERM; while :; do sleep 0.1; done");
  const std::string grace = "terminationGracePeriodSeconds: ";
  return pod.replace(pod.find(grace) + grace.size(), 1, std::to_string(grace_s));
}

TEST_F(ClockAttackTest, NothingWaitsByAClockThatIsSetBackAndForth) {
  node.AddPod("stubborn.yaml", Stubborn("stubborn", 4, node.Dir("terms")));
  ASSERT_TRUE(node.Until("it runs", [&] { return node.Runs("stubborn"); }));
  node.AddPod("fails.yaml", ScriptPod("fails", "echo tried; exit 1"));
  Clock::time_point restarted = Clock::now();  // not before that
  ASSERT_TRUE(node.Until("it failed twice", [&] {
    const Clock::time_point look = Clock::now();
    const bool again = node.PodNamed("fails")["containers"][0]["restarts"] == 1;
    if (!again) restarted = look;
    return again;
  }));
  const int pid = node.Pids().at("stubborn-n1/app");
  const Clock::time_point begin = Clock::now();
  node.RemovePod("stubborn.yaml");
  const std::array<std::int64_t, 5> offsets = {kTenYears, -kTenYears, 3600, -3600, 0};
  for (std::size_t i = 0; Lives(pid) && MillisSince(begin) < 60'000; ++i) {
    liar->clock_offset_s = offsets[i % offsets.size()];
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_GE(MillisSince(begin), 3'500);
  EXPECT_FALSE(Lives(pid));
  ASSERT_TRUE(node.Until("it is gone", [&] { return node.PodNamed("stubborn").is_null(); }));
  // The next pause is of 10 s, by whatever clock the last end was recorded.
  liar->clock_offset_s = kTenYears;
  const int restarts = node.PodNamed("fails")["containers"][0]["restarts"];
  EXPECT_TRUE(restarts == 1 || MillisSince(restarted) >= 9'000) << restarts;
  EXPECT_TRUE(node.Until("it is tried again",
                         [&] { return node.PodNamed("fails")["containers"][0]["restarts"].get<int>() >= 2; }));
  EXPECT_GE(MillisSince(restarted), 9'000);
  ASSERT_TRUE(
      node.Until("its log has a line", [&] { return !node.Get("/v1/logs/default/fails/app")["entries"].empty(); }));
  EXPECT_EQ(node.Get("/v1/logs/default/fails/app?since=10m")["entries"].size(), 0U) << "that was ten years ago";
  liar->clock_offset_s = -kTenYears;
  EXPECT_GE(node.Get("/v1/logs/default/fails/app?since=10m")["entries"].size(), 1U);
}

struct HostAttackTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "needs two CPUs";
  }
  void Start() { node.Start({}, liar.before_exec()); }
  DaemonFixture node;
  Liar liar{node};
};

TEST_F(HostAttackTest, WhatIsPublishedFollowsTheNodeWhateverTheClockSays) {
  node_publisher::Store store;
  std::ofstream(node.Dir("cluster.conf")) << kube::KubeconfigOf(store.access());
  std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n"
                                           "publish: {kubeconfig: cluster.conf, topology: false}\n";
  const auto pods = [&] {
    const auto state = codec::ReadNodeState(store.At(node_publisher::kStates).dump());
    return state ? static_cast<int>(state->ledger.pods.size()) : -1;
  };
  node.Start({"--config", node.Dir("berth.yaml"), "--socket", node.socket()}, liar.before_exec());
  ASSERT_TRUE(node.Until("it is published", [&] { return pods() == 0; }));
  int expected = 0;
  for (const std::int64_t offset : {kTenYears, -kTenYears, std::int64_t{0}}) {
    liar->clock_offset_s = offset;
    const std::string name = "p" + std::to_string(++expected);
    node.AddPod(name + ".yaml", ScriptPod(name, "sleep 1000"));
    ASSERT_TRUE(node.Until("it is right again", [&] { return pods() == expected; })) << offset;
  }
}

TEST_F(HostAttackTest, AGracePeriodOverARestartIsKeptWhateverTheClockSaysThen) {
  liar->clock_offset_s = kTenYears;
  node.AddPod("stubborn.yaml", Stubborn("stubborn", 5, node.Dir("terms")));
  Start();
  ASSERT_TRUE(node.Until("it runs", [&] { return node.Runs("stubborn"); }));
  const int pid = node.Pids().at("stubborn-n1/app");
  const Clock::time_point begin = Clock::now();
  node.RemovePod("stubborn.yaml");
  ASSERT_TRUE(node.Until("it got TERM, and the next berthd knows", [&] {
    return std::filesystem::exists(node.Dir("terms")) && node.CountEvents("Killing") > 0;
  }));
  node.Kill();
  liar->clock_offset_s = -kTenYears;
  Start();
  ASSERT_TRUE(node.Until("it was killed", [&] { return !Lives(pid); }));
  EXPECT_GE(MillisSince(begin), 4'000);
  std::ifstream terms(node.Dir("terms"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(terms), {}), "term\n");
}

/// While the disk fails no pod comes that would have to be remembered and none is forgotten; nothing else happens.
TEST_F(HostAttackTest, ADiskThatFailsOrBecomesReadOnlyRefusesPodsAndLosesNothing) {
  node.AddPod("first.yaml", ScriptPod("first", "while :; do sleep 1; done"));
  Start();
  ASSERT_TRUE(node.Until("first runs", [&] { return node.Runs("first"); }));
  for (const int error : {EIO, EROFS}) {
    const codec::Json ledger = node.Get("/v1/ledger");
    const std::string name = "own" + std::to_string(error);
    liar->disk_error = error;
    node.AddPod(name + ".yaml", ScriptPod(name, "while :; do sleep 1; done", "1"));
    ASSERT_TRUE(node.Until("it is refused", [&] {
      const codec::Json pod = node.PodNamed(name);
      return pod.is_object() && pod["reason"] == "LedgerNotSaved";
    })) << node.output();
    EXPECT_THAT(node.PodNamed(name)["message"].get<std::string>(), HasSubstr(::strerror(error)));
    EXPECT_EQ(node.Get("/v1/ledger"), ledger);
    EXPECT_TRUE(node.Runs("first"));
    liar->disk_error = 0;
    ASSERT_TRUE(node.Until("it runs when the disk works", [&] { return node.Runs(name); }));
    const codec::Json with = node.Get("/v1/ledger");

    liar->disk_error = error;
    node.RemovePod(name + ".yaml");
    ASSERT_TRUE(node.Until("it has ended", [&] { return !node.Runs(name); }));
    node.Kill();  // what was on the disk before is there
    liar->disk_error = 0;
    Start();
    ASSERT_TRUE(node.Until("it is gone", [&] { return node.PodNamed(name).is_null(); }));
    ASSERT_TRUE(node.Until("first runs", [&] { return node.Runs("first"); }));
  }
  EXPECT_EQ(node.CountEvents("LedgerDamaged"), 0);
}

/// A file system of its own, in a file, with errors=remount-ro as its kind does it.
class Disk {
 public:
  Disk(std::string file, std::string folder) : file_(std::move(file)), folder_(std::move(folder)) {
    const os::UniqueFd fd(::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::ftruncate(fd.get(), 32 << 20), 0);
    std::filesystem::create_directories(folder_);
  }
  ~Disk() { ::umount2(folder_.c_str(), MNT_DETACH); }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  bool Make() const { return Does("mkfs.ext4 -q -F " + file_); }
  bool Mount() const { return Does("mount -o loop " + file_ + " " + folder_); }
  /// As after an error of the disk, with files open for writing and all.
  bool BecomeReadOnly() const { return Does("mount -o remount,abort " + folder_); }
  bool Unmount() const { return ::umount2(folder_.c_str(), 0) == 0; }
  /// Not what statvfs says: since Linux 6.16 that does not tell it.
  bool is_read_only() const {
    const std::string probe = folder_ + "/probe";
    const os::UniqueFd fd(::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const int error = fd.valid() ? 0 : errno;
    ::unlink(probe.c_str());
    return error == EROFS;
  }

 private:
  static bool Does(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }
  std::string file_;
  std::string folder_;
};

/// What the kernel does to a file system with errors, and not what a library loaded before says.
TEST(ReadOnlyDiskTest, RefusesPodsUntilTheStateIsOnADiskThatWorksAndLosesNothing) {
  if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
  if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "needs two CPUs";
  DaemonFixture node;
  const Disk disk(node.Dir("disk"), node.state_dir);
  if (!disk.Make() || !disk.Mount()) GTEST_SKIP() << "there are no loop devices with ext4";
  // Unconfined: a mount namespace of its own would keep the file system mounted.
  const std::string more = "    securityContext: {privileged: true}\n";
  node.AddPod("first.yaml", ScriptPod("first", "while :; do sleep 1; done", "1") + more);
  node.Start();
  ASSERT_TRUE(node.Until("first runs", [&] { return node.Runs("first"); }));
  const codec::Json ledger = node.Get("/v1/ledger");
  const std::map<std::string, int> pids = node.Pids();

  ASSERT_TRUE(disk.BecomeReadOnly());
  ASSERT_TRUE(disk.is_read_only());
  node.AddPod("second.yaml", ScriptPod("second", "while :; do sleep 1; done") + more);
  ASSERT_TRUE(node.Until("it is refused", [&] {
    const codec::Json pod = node.PodNamed("second");
    return pod.is_object() && pod["reason"] == "LedgerNotSaved";
  })) << node.output();
  EXPECT_THAT(node.PodNamed("second")["message"].get<std::string>(), HasSubstr(::strerror(EROFS)));
  EXPECT_EQ(node.Get("/v1/ledger"), ledger);
  EXPECT_EQ(node.Pids(), pids);

  node.Kill();
  ASSERT_TRUE(disk.Unmount()) << ::strerror(errno);
  ASSERT_TRUE(disk.Mount());
  ASSERT_FALSE(disk.is_read_only());
  node.Start();
  ASSERT_TRUE(node.Until("both run", [&] { return node.Runs("first") && node.Runs("second"); }));
  EXPECT_EQ(node.Pids().at("first-n1/app"), pids.at("first-n1/app"));
  EXPECT_EQ(node.CountEvents("LedgerDamaged"), 0);
}

}  // namespace
}  // namespace berth::testkit
