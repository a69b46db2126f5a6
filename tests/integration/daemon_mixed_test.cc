// Containers with CPUs of their own and the shared pool beside, by annotation, on this host's real cgroups.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "daemon_fixture.h"

namespace berth::testkit {
namespace {

struct DaemonMixedTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "needs two CPUs";
    std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\npodPolicies:\n"
                                             "- {name: some, namespaces: [default], cpus: [mixed], maxCpus: 1}\n";
  }
  void Start() { node.Start({"--config", node.Dir("berth.yaml"), "--socket", node.socket()}); }
  /// One container that says what it was told and spins.
  static std::string Manifest(const std::string& name, const std::string& wish, const std::string& cpu) {
    return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n  annotations: {berth.dev/cpus: " + wish +
           "}\nspec:\n  terminationGracePeriodSeconds: 1\n"
           "  containers:\n  - name: main\n    image: none\n"
           "    command: [\"/bin/sh\", \"-c\", \"echo own $BERTH_CPUS_EXCLUSIVE pool $BERTH_CPUS_SHARED now $(cat "
           "$BERTH_CPUS_SHARED_FILE); grep Cpus_allowed_list /proc/self/status; while :; do :; done\"]\n"
           "    resources: {requests: {cpu: " +
           cpu + "}, limits: {cpu: \"2\", memory: 32Mi}}\n";
  }
  /// Nobody but the pod's own container may run on its exclusive CPU, once that runs.
  void ExpectNobodyElseOn(const CpuSet& own, const std::string& group) const {
    for (const SeenProcess& p : node.Processes())
      EXPECT_TRUE(p.cgroup.starts_with(group) || !p.allowed.Intersects(own)) << p.name << " " << p.cgroup;
  }
  DaemonFixture node;
};

TEST_F(DaemonMixedTest, ItHasBothIsToldWhichIsWhichAndNobodyElseIsOnItsOwn) {
  const CpuSet all = OnlineCpus();
  const CpuSet own{CpuId{1}};
  node.AddPod("burst.yaml", SpinnerManifest("burst", ""));
  node.AddPod("mix.yaml", Manifest("mix", "1 exclusive + shared", "1"));
  Start();
  ASSERT_TRUE(node.Until("both run", [&] { return node.Runs("burst") && node.Runs("mix"); }));
  ASSERT_TRUE(node.Until("it has said what it was told", [&] {
    const codec::Json logs = node.Get("/v1/logs/default/mix/main");
    return logs.is_object() && logs["entries"].size() == 2;
  }));
  const codec::Json said = node.Get("/v1/logs/default/mix/main")["entries"];
  const std::string pool = FormatIds(all - own);
  EXPECT_EQ(said[0]["text"], "own 1 pool " + pool + " now " + pool);
  EXPECT_EQ(said[1]["text"], "Cpus_allowed_list:\t" + FormatIds(all));
  const codec::Json place = node.PodNamed("mix")["containers"][0];
  EXPECT_EQ(place["cpus"], "1");
  EXPECT_EQ(place["sharedCpus"], pool);
  const std::string group = place["cgroup"];
  for (int i = 0; i < 20; ++i) ExpectNobodyElseOn(own, node.Plainly(group));
  // A quota would stop its threads on its own CPU too.
  const std::string quota = node.GroupFile("cpu", group, "cpu.cfs_quota_us");
  EXPECT_TRUE(!std::filesystem::exists(quota) || Trim(ReadText(quota)) == "-1") << quota;

  const std::map<std::string, int> pids = node.Pids();
  node.Kill();
  Start();
  ASSERT_TRUE(node.Until("both are known again", [&] { return node.Pids() == pids; })) << "the same processes";
  EXPECT_EQ(Trim(ReadText(node.GroupFile("cpuset", group, "cpuset.cpus"))), FormatIds(all));
  ExpectNobodyElseOn(own, node.Plainly(group));

  node.AddPod("more.yaml", Manifest("more", "shared", "0"));
  ASSERT_TRUE(
      node.Until("the next one is refused", [&] { return node.PodNamed("more")["reason"] == "PodPolicyForbidden"; }));
  node.RemovePod("more.yaml");
  node.RemovePod("mix.yaml");
  ASSERT_TRUE(node.Until("the pool has grown again", [&] {
    return node.PodNamed("mix").is_null() &&
           std::ranges::all_of(node.Processes(), [&](const SeenProcess& p) { return p.allowed == all; });
  }));
}

}  // namespace
}  // namespace berth::testkit
