// Pods, kills and attacks together, at random: in the end everything is as it was.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "api/client.h"
#include "attack_fixture.h"
#include "base/text.h"
#include "testing/raw_server.h"

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
    std::size_t descriptors = 0;
    std::vector<std::string> run_files;
  };
  static std::size_t CountIn(const std::string& folder) {
    std::error_code error;
    return static_cast<std::size_t>(std::distance(fs::recursive_directory_iterator(folder, error), {}));
  }
  /// Files and sockets in the run directory. Counts of deaths may stay.
  std::vector<std::string> RunFiles() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(node.Dir("run")))
      if (!entry.is_directory() && entry.path().filename() != "set-aside") out.push_back(entry.path().string());
    std::ranges::sort(out);
    return out;
  }
  Left Look() const {
    return {.groups = node.Groups(),
            .processes = node.Processes().size(),
            .descriptors = CountIn("/proc/" + std::to_string(node.pid()) + "/fd"),
            .run_files = RunFiles()};
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
};

TEST_F(SoakTest, AfterRandomPodsKillsAndAttacksEverythingIsAsBefore) {
  const std::chrono::seconds time(NumberFrom("BERTH_SOAK_SECONDS", 120));
  std::cout << "seed " << NumberFrom("BERTH_SEED", 20260114) << ", " << time.count() << " s\n";
  node.Start();
  ASSERT_TRUE(node.Until("it is ready", [&] { return node.Get("/v1/pods").is_object(); }));
  const Left before = Look();
  const codec::Json ledger = node.Get("/v1/ledger")["pods"];
  const auto end = Clock::now() + time;
  int steps = 0;
  int most_memory = 0;
  for (; Clock::now() < end && !HasFailure(); ++steps) {
    Step();
    ::usleep(static_cast<useconds_t>(Random(150'000)));
    ExpectNoOverlap();
    most_memory = std::max(most_memory, StatusKib(node.pid(), "VmHWM"));
  }
  for (int i = 0; i < 12; ++i) node.RemovePod("p" + std::to_string(i) + ".yaml");
  node.RemovePod("bad.yaml");
  for (int i = 0; i < 3 && !node.Get("/v1/pods")["pods"].empty(); ++i)
    node.Until("all pods are gone", [&] { return node.Get("/v1/pods")["pods"].empty(); });
  EXPECT_TRUE(node.Until("nothing is left", [&] { return node.Leftovers().empty() && Look().groups == before.groups; }))
      << Join(node.Leftovers(), "\n");
  node.Kill();
  node.Start();  // descriptors are those of a berthd of this age
  ASSERT_TRUE(node.Until("it is ready", [&] { return node.Get("/v1/pods").is_object(); }));
  Left after;  // what a berthd that was killed left of pods goes with the next reconciling
  node.Until("all is as before", [&] {
    after = Look();
    return after.groups == before.groups && after.run_files == before.run_files;
  });
  EXPECT_EQ(after.groups, before.groups);
  EXPECT_EQ(after.processes, before.processes);
  EXPECT_LE(after.descriptors, before.descriptors + 2);
  EXPECT_EQ(after.run_files, before.run_files);
  EXPECT_EQ(node.Get("/v1/ledger")["pods"], ledger);
  EXPECT_GT(looks_, 10) << "too few looks met a pod with CPUs of its own";
  EXPECT_LT(most_memory, 128 * 1024);
  std::cout << steps << " steps, " << looks_ << " looks at exclusive CPUs, berthd held at most " << most_memory
            << " KiB; before/after: " << before.processes << "/" << after.processes << " processes, "
            << before.descriptors << "/" << after.descriptors << " descriptors, " << before.run_files.size() << "/"
            << after.run_files.size() << " files\n";
}

}  // namespace
}  // namespace berth::testkit
