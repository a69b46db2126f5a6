// A node with a kubelet, for tests of berthd beside it: a real containerd with NRI (the one that BERTH_CONTAINERD
// names) and somebody who does over CRI what a kubelet would.
#ifndef BERTH_TESTS_INTEGRATION_DAEMON_NRI_FIXTURE_H_
#define BERTH_TESTS_INTEGRATION_DAEMON_NRI_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "containerd_fixture.h"
#include "daemon_fixture.h"
#include "runtime/cri/cri_client.h"
#include "testing/seen_groups.h"

namespace berth {

inline constexpr const char* kWait = "trap 'exit 0' TERM; sleep 600 & wait";
inline constexpr std::int64_t kCfsPeriod = 100'000;

/// A containerd with NRI, a client that does over CRI what a kubelet would, and a berthd, which a test starts.
struct DaemonNriTest : testing::Test {
  /// A pod of a kubelet's, with one container "app".
  struct PodOnNode {
    std::string uid;
    cri::SandboxSpec spec;
    std::string sandbox;
    std::string container;
  };

  void SetUp() override {
    for (const auto& why : {testkit::ContainerdFixture::WhyNot(), testkit::DaemonFixture::WhyNot()})
      if (why) GTEST_SKIP() << *why;
    containerd.emplace();
    containerd->Start(testkit::ContainerdFixture::With::kCriAndNri);
    client.emplace(containerd->socket());
    const auto version = client->Handshake();
    ASSERT_TRUE(version) << version.error().message;
    if (version->version.starts_with("1.6.")) GTEST_SKIP() << "containerd 1.6 has no NRI; tools/get_containerd";
    berthd.emplace();
  }
  void TearDown() override { berthd.reset(); }

  void Start(const std::string& settings = "", const std::function<void()>& before_exec = nullptr) {
    std::ofstream(berthd->Dir("berth.yaml"))
        << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nruntime: nri\nnriSocket: " +
               containerd->nri_socket() + "\n" + settings;
    berthd->Start({"--config", berthd->Dir("berth.yaml"), "--socket", berthd->socket(), "--cgroup-root",
                   containerd->cgroup_root()},
                  before_exec);
  }
  void StartAndJoin(const std::string& settings = "") {
    Start(settings);
    ASSERT_TRUE(Joined());
  }
  bool Joined(int times = 1) {
    return berthd->Until("berthd has joined", [&] { return berthd->CountEvents("RuntimeJoined") >= times; });
  }

  /// The root of groups is as that of a hierarchy, in which a kubelet's pods usually are: without CAP_DAC_OVERRIDE
  /// nobody makes a group there. Requires: somebody has made one.
  void CloseRoot() const {
    for (const std::string& hierarchy : testkit::CgroupMounts()) {
      const std::string dir = hierarchy + containerd->cgroup_root();
      if (std::filesystem::exists(dir)) std::filesystem::permissions(dir, std::filesystem::perms(0555));
    }
  }
  /// As a kubelet calls the group of a pod; `tier`: "", "burstable", "besteffort".
  std::string GroupOf(const std::string& uid, const std::string& tier) const {
    const std::string& root = containerd->cgroup_root();
    if (!root.ends_with(".slice")) return root + "/kubepods" + (tier.empty() ? "" : "/" + tier) + "/pod" + uid;
    const std::string stem = root.substr(1, root.size() - 7);
    std::string out = root;
    std::string name = stem;
    for (const std::string& level : {std::string("kubepods"), tier, "pod" + uid}) {
      if (level.empty()) continue;
      name += "-" + level;
      out += "/" + name + ".slice";
    }
    return out;
  }
  cri::SandboxSpec SpecOf(const std::string& uid, const std::string& tier, bool privileged = false) const {
    return {.name = uid + "-n1",  // as the fixture looks for it
            .namespace_ = "default",
            .uid = uid,
            .hostname = uid,
            .log_directory = containerd->Dir("logs"),
            .cgroup_parent = GroupOf(uid, tier),
            .namespaces = {.host_network = true},
            .privileged = privileged};
  }
  PodOnNode RunPod(const std::string& uid, const std::string& tier, bool privileged = false,
                   const cri::Labels& annotations = {}) {
    PodOnNode pod{.uid = uid, .spec = SpecOf(uid, tier, privileged), .sandbox = "", .container = ""};
    pod.spec.annotations = annotations;
    std::filesystem::create_directories(containerd->Dir("logs/" + uid));
    const auto sandbox = client->RunSandbox(pod.spec);
    EXPECT_TRUE(sandbox) << sandbox.error().message;
    pod.sandbox = sandbox.value_or("");
    return pod;
  }
  /// `milli`: limit; 0: none. With it the container has 32 MiB.
  Result<std::string> Create(const PodOnNode& pod, const std::string& name, int milli, const std::string& script,
                             int attempt = 0, std::vector<std::string> command = {}) {
    cri::Resources resources{.cpu_shares = std::max(2, milli * 1024 / 1000), .oom_score_adj = milli > 0 ? -997 : 1000};
    if (milli > 0) {
      resources.cpu_period_us = kCfsPeriod;
      resources.cpu_quota_us = std::max<std::int64_t>(1000, milli * kCfsPeriod / 1000);
      resources.memory_limit = 32 << 20;
    }
    cri::ContainerSpec spec{.name = name,
                            .attempt = static_cast<std::uint32_t>(attempt),
                            .image = testkit::kTestImage,
                            .user_image = testkit::kTestImage,
                            .command = command.empty() ? std::vector<std::string>{"/bin/sh", "-c", script} : command,
                            .annotations = {{"io.kubernetes.container.restartCount", std::to_string(attempt)}},
                            .log_path = pod.uid + "/" + name + ".log",
                            .resources = resources};
    if (!command.empty()) {
      spec.mounts = {{.container_path = "/hostproc", .host_path = "/proc", .read_only = true},
                     {.container_path = "/overlap_probe", .host_path = BERTH_OVERLAP_PROBE, .read_only = true}};
      spec.security.privileged = true;
    }
    return client->Create(pod.sandbox, spec, pod.spec);
  }
  std::string Run(const PodOnNode& pod, const std::string& name, int milli, const std::string& script = kWait) {
    const auto id = Create(pod, name, milli, script);
    EXPECT_TRUE(id) << id.error().message << berthd->output();
    if (!id) return "";
    const auto started = client->Start(*id);
    EXPECT_TRUE(started) << started.error().message;
    return *id;
  }
  PodOnNode RunWhole(const std::string& uid, const std::string& tier, int milli, const std::string& script = kWait) {
    PodOnNode pod = RunPod(uid, tier);
    pod.container = Run(pod, "app", milli, script);
    return pod;
  }
  void End(const PodOnNode& pod) {
    EXPECT_TRUE(client->StopSandbox(pod.sandbox));
    EXPECT_TRUE(client->RemoveSandbox(pod.sandbox));
  }
  std::string CpusOf(const std::string& id) const { return containerd->Value("cpuset", id, "cpuset.cpus"); }
  bool Becomes(const std::string& id, const std::string& cpus) {
    return berthd->Until("the container has CPUs " + cpus, [&] { return CpusOf(id) == cpus; });
  }
  std::string LogOf(const PodOnNode& pod, const std::string& name = "app") const {
    return testkit::ReadText(containerd->Dir("logs/" + pod.uid + "/" + name + ".log"));
  }
  /// berthd answers the runtime before others can see what it has noted.
  bool ToldOnce(const std::string& reason, const std::string& text) {
    return berthd->Until(reason + " is told", [&] { return berthd->CountEvents(reason, text) == 1; });
  }
  bool Gone(const std::string& uid) { return !berthd->PodNamed(uid).is_object(); }

  std::optional<testkit::ContainerdFixture> containerd;
  std::optional<cri::Client> client;
  std::optional<testkit::DaemonFixture> berthd;  // ends first
};

}  // namespace berth

#endif  // BERTH_TESTS_INTEGRATION_DAEMON_NRI_FIXTURE_H_
