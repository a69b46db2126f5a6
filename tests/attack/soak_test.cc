// Pods, kills and attacks together, at random: in the end everything is as it was.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "api/local_api/api_client.h"
#include "attack_fixture.h"
#include "base/text.h"
#include "testing/raw_server.h"
#include "testing/seen_groups.h"

namespace berth::testkit {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::int64_t NumberFrom(const char* variable, std::int64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : ParseDecimal<std::int64_t>(text).value_or(otherwise);
}

struct SoakTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "needs two CPUs";
  }

  /// What must be the same when all pods are gone.
  struct Left {
    std::vector<std::string> groups;
    std::size_t processes = 0;
    std::vector<std::string> descriptors;  // what they lead to; connections, which come and go, without their number
    std::size_t mounts = 0;
    std::vector<std::string> run_files;
    int resident_kib = 0;

    /// A worker opens it a little after the start.
    bool HasHistory() const {
      return std::ranges::count_if(descriptors, [](const std::string& file) {
               return file.ends_with("/events.db-shm") || file.ends_with("/events.db-wal");
             }) == 2;
    }
    /// Some of them may have been closed since.
    bool HasNoMoreDescriptorsThan(const Left& other) const {
      return std::ranges::includes(other.descriptors, descriptors);
    }
    bool Like(const Left& other) const {
      return groups == other.groups && processes == other.processes && HasNoMoreDescriptorsThan(other) &&
             mounts == other.mounts && run_files == other.run_files && resident_kib < other.resident_kib + 16 * 1024;
    }
  };
  static std::vector<std::string> DescriptorsOf(pid_t pid) {
    std::vector<std::string> out;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd", error)) {
      const std::string leads_to = fs::read_symlink(entry.path(), error).string();
      if (!error) out.push_back(leads_to.substr(0, leads_to.find('[')));
    }
    std::ranges::sort(out);
    return out;
  }
  static std::size_t MountsOf(pid_t pid) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/mountinfo");
    std::string line;
    std::size_t out = 0;
    while (std::getline(in, line)) ++out;
    return out;
  }
  /// Files and sockets in the run directory. Counts of deaths may stay.
  std::vector<std::string> RunFiles() const {
    std::vector<std::string> out;
    std::error_code error;
    for (const fs::directory_entry& entry : testkit::EntriesBelow(node.Dir("run")))
      if (!entry.is_directory(error) && entry.path().filename() != "set-aside") out.push_back(entry.path().string());
    std::ranges::sort(out);
    return out;
  }
  Left Look() const {
    return {.groups = node.Groups(),
            .processes = node.Processes().size(),
            .descriptors = DescriptorsOf(node.pid()),
            .mounts = MountsOf(node.pid()),
            .run_files = RunFiles(),
            .resident_kib = StatusKib(node.pid(), "VmRSS")};
  }

  int Random(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  std::string PodFile() { return "p" + std::to_string(Random(12)); }
  void Add() {
    const std::string name = PodFile();
    const char* const scripts[] = {"while :; do sleep 1; done", "trap '' TERM; while :; do sleep 1; done",
                                   "sleep 0.3; exit 1", "yes | head -n 20000; sleep 1000", "exit 0"};
    node.AddPod(name + ".yaml", ScriptPod(name, scripts[Random(5)], Random(3) == 0 ? "1" : "",
                                          Random(3) == 0 ? "  restartPolicy: Never\n" : ""));
  }
  void Restart() {
    if (!restarts_) return;
    if (Random(2) == 0)
      node.Kill();
    else
      EXPECT_EQ(node.Stop(), 0);
    node.Start();
  }
  void KillSome(std::string_view name, int signal) {
    for (const SeenProcess& process : node.Processes())
      if (process.name == name && Random(3) == 0) ::kill(process.pid, signal);
  }
  void Attack() {
    switch (Random(4)) {
      case 0: node.AddPod("bad.yaml", std::string(100'000, '[')); return;
      case 1: node.AddPod("bad.yaml", "a: &a [*a]\n"); return;
      case 2: std::ignore = api::Call(node.socket(), "POST", "/v1/pods", std::string(1'000'000, '{')); return;
      default: std::ignore = api::Call(node.socket(), "GET", "/v1/logs/default/" + PodFile() + "/app"); return;
    }
  }
  void Step() {
    switch (Random(10)) {
      case 0:
      case 1:
      case 2:
      case 3: return Add();
      case 4:
      case 5: return node.RemovePod(PodFile() + ".yaml");
      case 6: return Restart();
      case 7: return KillSome("sh", SIGKILL);
      case 8: return KillSome("berth-shim", Random(2) == 0 ? SIGKILL : SIGSTOP);
      default: return Attack();
    }
  }
  /// Nobody is allowed on the CPUs of a pod that has some for itself and had them before and after the look.
  void ExpectNoOverlap() {
    std::map<int, SeenProcess> owners;
    for (const SeenProcess& p : node.Processes())
      if (p.cgroup.starts_with("kubepods/pod")) owners.emplace(p.pid, p);
    const std::vector<SeenProcess> seen = node.Processes();
    for (const SeenProcess& after : node.Processes()) {
      const auto owner = owners.find(after.pid);
      if (owner == owners.end() || owner->second.allowed != after.allowed) continue;
      for (const SeenProcess& other : seen) {
        if (other.cgroup.starts_with(after.cgroup)) continue;
        EXPECT_FALSE(other.allowed.Intersects(after.allowed)) << other.name << " is on a CPU of " << after.cgroup;
      }
      ++looks_;
    }
  }

  DaemonFixture node;
  std::mt19937 random_{static_cast<unsigned>(NumberFrom("BERTH_SEED", 20260114))};
  int looks_ = 0;
  bool restarts_ = true;
};

TEST_F(SoakTest, AfterRandomPodsKillsAndAttacksEverythingIsAsBefore) {
  const std::chrono::seconds time(NumberFrom("BERTH_SOAK_SECONDS", 90));
  std::cout << "seed " << NumberFrom("BERTH_SEED", 20260114) << ", " << time.count() << " s\n";
  node.Start();
  Left before;
  ASSERT_TRUE(node.Until("it is ready", [&] {
    before = Look();
    return node.Get("/v1/pods").is_object() && before.HasHistory();
  }));
  const codec::Json ledger = node.Get("/v1/ledger")["pods"];
  const auto start = Clock::now();
  int steps = 0;
  int most_memory = 0;
  for (; Clock::now() < start + time && !HasFailure(); ++steps) {
    restarts_ = Clock::now() < start + time * 2 / 3;  // who looks at the end has lived through the last third
    Step();
    ::usleep(static_cast<useconds_t>(Random(150'000)));
    ExpectNoOverlap();
    most_memory = std::max(most_memory, StatusKib(node.pid(), "VmHWM"));
  }
  for (int i = 0; i < 12; ++i) node.RemovePod("p" + std::to_string(i) + ".yaml");
  node.RemovePod("bad.yaml");
  for (int i = 0; i < 3 && !node.Get("/v1/pods")["pods"].empty(); ++i)
    node.Until("all pods are gone", [&] { return node.Get("/v1/pods")["pods"].empty(); });
  Left after;  // what a berthd that was killed left of pods goes with the next reconciling
  for (int i = 0; i < 2 && !after.Like(before); ++i)
    node.Until("all is as before", [&] { return node.Leftovers().empty() && (after = Look()).Like(before); });
  EXPECT_TRUE(node.Leftovers().empty()) << Join(node.Leftovers(), "\n");
  EXPECT_EQ(after.groups, before.groups);
  EXPECT_EQ(after.processes, before.processes);
  EXPECT_TRUE(after.HasNoMoreDescriptorsThan(before)) << Join(after.descriptors, "\n") << "\nbefore:\n"
                                                      << Join(before.descriptors, "\n");
  EXPECT_EQ(after.mounts, before.mounts);
  EXPECT_EQ(after.run_files, before.run_files);
  EXPECT_EQ(node.Get("/v1/ledger")["pods"], ledger);
  EXPECT_GT(looks_, 10) << "too few looks met a pod with CPUs of its own";
  EXPECT_LT(most_memory, 128 * 1024);
  EXPECT_LT(after.resident_kib, before.resident_kib + 16 * 1024);
  std::cout << steps << " steps, " << looks_ << " looks at exclusive CPUs, berthd held at most " << most_memory
            << " KiB; before/after: " << before.processes << "/" << after.processes << " processes, "
            << before.descriptors.size() << "/" << after.descriptors.size() << " descriptors, " << before.mounts << "/"
            << after.mounts << " mounts, " << before.run_files.size() << "/" << after.run_files.size() << " files, "
            << before.resident_kib << "/" << after.resident_kib << " KiB\n";
}

}  // namespace
}  // namespace berth::testkit
