// Pods that share a named CPU pool, by annotation, on this host's real cgroups.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include "daemon_fixture.h"

namespace berth::testkit {
namespace {

struct DaemonPoolTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "needs two CPUs";
    std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\ncpuPools:\n"
                                             "- {name: batch, namespaces: [default], maxCpus: 1}\n";
  }
  void Start() { node.Start({"--config", node.Dir("berth.yaml"), "--socket", node.socket()}); }
  /// One container that spins.
  static std::string Manifest(const std::string& name, const std::string& cpu) {
    return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name +
           "\n  annotations: {berth.dev/pool: batch}\nspec:\n  terminationGracePeriodSeconds: 1\n"
           "  containers:\n  - name: main\n    image: none\n"
           "    command: [\"/bin/sh\", \"-c\", \"while :; do :; done\"]\n"
           "    resources: {requests: {cpu: " +
           cpu + ", memory: 16Mi}}\n";
  }
  std::string GroupOf(const std::string& name) { return node.PodNamed(name)["containers"][0]["cgroup"]; }
  /// Whoever is on the CPU belongs to one of the two.
  void ExpectOnlyThePoolOn(const CpuSet& cpus) {
    const std::string one = node.Plainly(GroupOf("one"));
    const std::string two = node.Plainly(GroupOf("two"));
    for (const SeenProcess& p : node.Processes())
      EXPECT_TRUE(p.cgroup.starts_with(one) || p.cgroup.starts_with(two) || !p.allowed.Intersects(cpus))
          << p.name << " " << p.cgroup;
  }
  DaemonFixture node;
};

TEST_F(DaemonPoolTest, TwoPodsShareItAndNobodyElseIsOnIt) {
  const CpuSet all = OnlineCpus();
  const CpuSet pool{CpuId{1}};
  node.AddPod("burst.yaml", SpinnerManifest("burst", ""));
  node.AddPod("one.yaml", Manifest("one", "500m"));
  node.AddPod("two.yaml", Manifest("two", "400m"));
  Start();
  ASSERT_TRUE(node.Until("all run", [&] { return node.Runs("burst") && node.Runs("one") && node.Runs("two"); }));
  for (const char* const name : {"one", "two"}) {
    const codec::Json place = node.PodNamed(name)["containers"][0];
    EXPECT_EQ(place["cpus"], "1");
    EXPECT_EQ(place["pool"], "batch");
    EXPECT_EQ(place["exclusive"], false);
  }
  for (int i = 0; i < 20; ++i) ExpectOnlyThePoolOn(pool);
  EXPECT_EQ(node.Get("/v1/ledger")["shared"], FormatIds(all - pool));

  const std::map<std::string, int> pids = node.Pids();
  node.Kill();
  Start();
  ASSERT_TRUE(node.Until("all are known again", [&] { return node.Pids() == pids; })) << "the same processes";
  ExpectOnlyThePoolOn(pool);

  node.AddPod("more.yaml", Manifest("more", "200m"));
  ASSERT_TRUE(node.Until("a third is too much", [&] { return node.PodNamed("more")["reason"] == "CPUPoolError"; }));
  node.RemovePod("more.yaml");
  node.RemovePod("one.yaml");
  ASSERT_TRUE(node.Until("one is gone", [&] { return node.PodNamed("one").is_null(); }));
  EXPECT_EQ(node.Get("/v1/ledger")["pools"]["batch"]["cpus"], "1") << "the other is still in it";
  node.RemovePod("two.yaml");
  ASSERT_TRUE(node.Until("the shared pool has grown again", [&] {
    return node.PodNamed("two").is_null() &&
           std::ranges::all_of(node.Processes(), [&](const SeenProcess& p) { return p.allowed == all; });
  }));
}

}  // namespace
}  // namespace berth::testkit
