// Attacks by pods that run as root, and on what supervises them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include "attack_fixture.h"
#include "base/text.h"
#include "testing/seen_groups.h"

namespace berth::testkit {
namespace {

namespace fs = std::filesystem;

struct PodAttackTest : AttackTest {
  std::string Text(const std::string& file) const { return ReadIfThere(node.Dir(file)); }
  bool Gone(const std::string& pod) { return node.PodNamed(pod).is_null(); }
  int PidOf(const std::string& pod) {
    for (const auto& [container, pid] : node.Pids())
      if (container.starts_with(pod + "-n1/")) return pid;
    return -1;
  }
  /// Processes of that name in Berth's own group, but for berthd.
  std::vector<int> Supervisors() const {
    std::vector<int> out;
    for (const SeenProcess& process : node.Processes())
      if (process.name == "berth-shim") out.push_back(process.pid);
    return out;
  }
};

TEST_F(PodAttackTest, AProcessThatLeavesItsGroupAndIgnoresTermIsKilledWithItsPod) {
  struct Runaway {  // nobody else finds it when the test fails
    int pid = -1;
    ~Runaway() {
      if (pid > 0) ::kill(pid, SIGKILL);
    }
  } runaway;
  // On v1 each hierarchy has a root of its own; on v2 there is one.
  const std::string escape =
      "trap '' TERM; echo $$$$ > " + node.Dir("pid") +  // two of them are one in a manifest
      "; for t in /sys/fs/cgroup/*/tasks /sys/fs/cgroup/cgroup.procs; do [ -e $t ] && echo 0 > $t; done; echo > " +
      node.Dir("out") + "; while :; do :; done";
  node.AddPod("runaway.yaml", ScriptPod("runaway", escape) + "    securityContext: {privileged: true}\n");
  const bool out = node.Until("it is out", [&] { return node.Runs("runaway") && fs::exists(node.Dir("out")); });
  std::ifstream(node.Dir("pid")) >> runaway.pid;
  ASSERT_TRUE(out);
  ASSERT_EQ(runaway.pid, PidOf("runaway"));
  node.RemovePod("runaway.yaml");
  ASSERT_TRUE(node.Until("the pod is gone", [&] { return Gone("runaway"); }));
  const bool lives = Lives(runaway.pid);
  EXPECT_FALSE(lives) << "it runs on without its pod";
  if (!lives) runaway.pid = -1;
}

TEST_F(PodAttackTest, AStoppedSupervisorDoesNotKeepADeadPodRunning) {
  node.AddPod("short.yaml", ScriptPod("short", "sleep 1000", "", "  restartPolicy: Never\n"));
  ASSERT_TRUE(node.Until("it runs", [&] { return node.Runs("short"); }));
  const int pid = PidOf("short");
  for (const int shim : Supervisors()) ::kill(shim, SIGSTOP);
  ::kill(pid, SIGKILL);
  EXPECT_TRUE(node.Until("its end is seen", [&] { return !node.Runs("short"); }));
  node.RemovePod("short.yaml");
  EXPECT_TRUE(node.Until("it is gone", [&] { return Gone("short"); }));
  for (const int shim : Supervisors()) ::kill(shim, SIGCONT);
}

TEST_F(PodAttackTest, ALogFolderThatBecomesALinkLeadsNobodyAnywhere) {
  fs::create_directories(node.Dir("victim"));
  node.Configure("");
  const std::string logs = node.Dir("log/pods");
  // The shell finds its own folder by its name, puts a link there, and then writes more than one file holds.
  node.AddPod("planter.yaml",
              ScriptPod("planter", "cd " + logs + "/default_planter-n1_*; mv app aside; ln -s " + node.Dir("victim") +
                                       " app; yes 0123456789012345678901234567890123456789 | head -n 400000; echo > " +
                                       node.Dir("planted") + "; sleep 1000"));
  ASSERT_TRUE(node.Until("it has written", [&] { return fs::exists(node.Dir("planted")); }));
  EXPECT_TRUE(fs::is_empty(node.Dir("victim")));
  node.RemovePod("planter.yaml");
  ASSERT_TRUE(node.Until("it is gone", [&] { return Gone("planter"); }));
  EXPECT_TRUE(fs::exists(node.Dir("victim"))) << "the link was removed, not what it leads to";
}

/// Lines as fast as they can be written, one line that never ends, and both at once: supervisors and berthd share one
/// CPU with them, and the logs are read meanwhile.
TEST_F(PodAttackTest, OutputWithoutAnEndFillsItsFilesAndNoMore) {
  const std::map<std::string, std::string> loud = {{"lines", "exec yes"}, {"both", "cat /dev/zero >&2 & exec yes"}};
  for (const auto& [name, script] : loud) node.AddPod(name + ".yaml", ScriptPod(name, script));
  for (const auto& [name, script] : loud) {
    ASSERT_TRUE(node.Until(name + " has filled two files", [&] {
      return node.Runs(name) && fs::exists(node.PodNamed(name)["containers"][0]["logPath"].get<std::string>() + ".2");
    }));
    EXPECT_FALSE(node.Get("/v1/logs/default/" + name + "/app?tail=100000")["entries"].empty());
  }
  for (const auto& [name, script] : loud) {
    std::uintmax_t bytes = 0;
    const fs::path log = node.PodNamed(name)["containers"][0]["logPath"].get<std::string>();
    for (const auto& entry : fs::directory_iterator(log.parent_path())) {
      std::error_code gone;  // rotated away meanwhile
      const std::uintmax_t size = entry.file_size(gone);
      if (!gone) bytes += size;
    }
    EXPECT_LT(bytes, std::uintmax_t{5 * 10 + 10} << 20) << name;  // containerLogMaxFiles of containerLogMaxSize
    node.RemovePod(name + ".yaml");
  }
  for (const auto& [name, script] : loud) EXPECT_TRUE(node.Until(name + " is gone", [&] { return Gone(name); }));
}

TEST_F(PodAttackTest, SupervisorsStoppedAndKilledDuringStartsDelayPodsAndLoseNone) {
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 5; ++i) {
      const std::string name = "p" + std::to_string(round * 5 + i);
      node.AddPod(name + ".yaml", ScriptPod(name, "while :; do sleep 1; done"));
    }
    const std::vector<int> steady = Supervisors();
    for (int look = 0; look < 20; ++look) {
      for (const int shim : Supervisors())
        if (std::ranges::find(steady, shim) == steady.end()) ::kill(shim, look % 2 == 0 ? SIGSTOP : SIGKILL);
      ::usleep(20'000);
    }
  }
  for (const int shim : Supervisors()) ::kill(shim, SIGCONT);
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(node.Until("all run", [&] { return node.Runs("p" + std::to_string(i)); })) << i;
}

struct ManyPodsTest : AttackTest {
  bool starts_itself() const override { return true; }
};

/// A thousand, or BERTH_MANY_PODS.
TEST_F(ManyPodsTest, AThousandAtOnceStartAndGoWhileTheApiAnswers) {
  constexpr int kMany = 1000;
  const char* const wanted = std::getenv("BERTH_MANY_PODS");
  const int many = wanted == nullptr ? kMany : ParseDecimal<int>(wanted).value_or(kMany);
  node.Configure("maxPods: 1100\n");
  Begin(Memory::kOfManySupervisors);  // their supervisors are in the group too
  std::string pods;
  for (int i = 0; i < many; ++i) pods += ScriptPod("p" + std::to_string(i), "exec sleep 10000") + "---\n";
  node.AddPod("many.yaml", pods);
  const auto running = [&] {
    int count = 0;
    const codec::Json answer = node.Get("/v1/pods");
    for (const codec::Json& pod : answer["pods"]) count += pod["phase"] == "Running" ? 1 : 0;
    return count;
  };
  // In steps, each with the patience of the fixture: how long all of them take is the host's affair.
  constexpr int kStep = 100;
  for (int wanted_now = 1; wanted_now < many + 1 && !HasFailure();) {
    wanted_now = std::min(wanted_now + kStep, many + 1);
    node.Until(std::to_string(wanted_now) + " run", [&] { return running() >= wanted_now; });
  }
  node.RemovePod("many.yaml");
  for (int left = many + 1; left > 1 && !HasFailure();) {
    left = std::max(left - kStep, 1);
    node.Until(std::to_string(left) + " are left",
               [&] { return static_cast<int>(node.Get("/v1/pods")["pods"].size()) <= left; });
  }
}

}  // namespace
}  // namespace berth::testkit
