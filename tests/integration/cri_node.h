// A node for one test: berthd with a containerd of its own, with a relay between them if the test wants one, pods that
// are quickly written, and what all of it may leave behind.
#ifndef BERTH_TESTS_INTEGRATION_CRI_NODE_H_
#define BERTH_TESTS_INTEGRATION_CRI_NODE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "containerd_fixture.h"
#include "cri_relay.h"
#include "daemon_fixture.h"

namespace berth::testkit {

/// Scripts for the shell of a pod's container.
inline constexpr const char* kSpin = "grep Cpus_allowed_list /proc/self/status; while :; do :; done";
inline constexpr const char* kIdle = "trap 'exit 0' TERM; sleep 1000 & wait";

/// A pod of one container "app". Text that goes to places of the manifest as it is.
struct PodText {
  std::string name;
  std::string script = kIdle;  ///< run by /bin/sh
  std::string cpu;             ///< limit, with 32Mi of memory; "": BestEffort
  std::string spec;            ///< whole lines of the pod's spec, indented by 2
  std::string container;       ///< whole lines of the container, indented by 4
  std::string image = kTestImage;
  bool host_network = true;
  std::string command;   ///< in place of the shell and its script: "[/a, b]"
  std::string metadata;  ///< of the pod, beside its name: ", labels: {a: b}"
};
std::string Yaml(const PodText& pod);

/// All CPUs of this host; and all but the one that pods may have for themselves, which is CPU 1.
std::string AllCpus();
std::string OtherCpus();

/// Rounds of a long test: `usual`, or BERTH_CRI_ROUNDS.
int Rounds(int usual);

class CriNodeTest : public testing::Test {
 protected:
  /// Skips without what is needed; containerd runs afterwards.
  void SetUp() override;
  /// Ends everything while what a test's judge looks at is still there.
  void TearDown() override;
  /// From here on berthd is given the relay in place of the runtime.
  void PutRelayBetween();
  /// Lines of berth.yaml beside `runtime: cri`; before Start.
  std::string settings;
  void Start();

  /// Gives pods networks of their own (ContainerdFixture); before Start.
  bool MakeNetwork(const std::string& more = "") {
    return containerd->MakeNetwork(ContainerdFixture::With::kCri, more);
  }

  void Add(const PodText& pod) { berthd->AddPod(pod.name + ".yaml", Yaml(pod)); }
  /// Its manifest; none: nothing happens.
  void Remove(const std::string& pod);
  bool Gone(const std::string& pod) { return !berthd->PodNamed(pod).is_object(); }
  bool Phase(const std::string& pod, const std::string& phase);
  bool NoPods();
  /// Processes of the container "app" of a pod, the shell's children included; not the sandbox's.
  std::vector<SeenProcess> ProcessesOf(const std::string& pod);
  CpuSet CpusOf(const std::string& pod);
  /// Of all pods.
  std::vector<std::filesystem::path> LogFiles();
  /// All that its containers called `container` have written, as in the log files; of all containers with "".
  std::string LogOf(const std::string& pod, const std::string& container = "app");
  /// What it wrote, without times and streams.
  std::string WordsOf(const std::string& pod, const std::string& container = "app");

  /// What pods have left, for when all are gone: pods, the ledger, groups, directories; where nothing of these is, in
  /// the runtime, processes, mounts.
  std::vector<std::string> Leftovers();
  void ExpectNothingLeft();

  std::optional<ContainerdFixture> containerd;
  std::optional<CriRelay> relay;
  std::optional<DaemonFixture> berthd;  // ends first
};

}  // namespace berth::testkit

#endif  // BERTH_TESTS_INTEGRATION_CRI_NODE_H_
