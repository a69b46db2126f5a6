#include "frontend/nri_preflight/cpuset_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/nri_preflight/findings.h"
#include "frontend/nri_preflight/report.h"
#include "host/machine/load_machine.h"
#include "testing/fixtures.h"

namespace berth::nri_preflight {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testkit::Cpus;

/// A container of a pod of its own: `milli` of quota with 32 MiB, none: without limits.
SeenContainer Seen(const std::string& pod, const std::string& tier, int milli, const std::string& cpus = "0-7") {
  SeenContainer out;
  out.pod = {.id = "s-" + pod, .name = pod, .uid = "uid-" + pod, .name_space = "default"};
  out.pod.cgroup_parent = "/kubepods" + (tier.empty() ? "" : "/" + tier) + "/poduid-" + pod;
  out.container = {.id = "c-" + pod, .pod_id = out.pod.id, .name = "app"};
  out.container.resources.cpu_shares = milli > 0 ? milli * 1024 / 1000 : 2;
  if (milli > 0) {
    out.container.resources.cpu_period = 100'000;
    out.container.resources.cpu_quota = milli * 100;
    out.container.resources.memory_limit = 32 << 20;
  }
  out.cpus = Cpus(cpus);
  out.mems = NodeSet{NumaId{0}, NumaId{1}};
  return out;
}

struct PreflightPlanTest : ::testing::Test {
  Plan PlanOf(const std::vector<SeenContainer>& seen) {
    auto machine = machine::Load("pack:2 numa:1 core:4 pu:1");
    EXPECT_TRUE(machine);
    auto config = UsualPlacement(nullptr, *machine);
    auto node = allocator::Node::Make(*std::move(machine), std::move(config));
    EXPECT_TRUE(node) << node.error().message;
    return PlanCpusets(*node, node->EmptyLedger(), {}, seen);
  }
};

TEST_F(PreflightPlanTest, AGuaranteedContainerWithWholeCpusWouldHaveThemAndAllOthersLeave) {
  const Plan plan = PlanOf({Seen("web", "burstable", 500), Seen("db", "", 2000), Seen("job", "besteffort", 0)});
  ASSERT_EQ(plan.changes.size(), 3U);
  EXPECT_EQ(plan.changes[0].pod, "default/db");
  EXPECT_TRUE(plan.changes[0].own);
  EXPECT_EQ(plan.changes[0].cpus_then, Cpus("1-2"));
  EXPECT_EQ(plan.changes[1].qos, QosClass::kBestEffort);
  EXPECT_EQ(plan.changes[1].cpus_then, Cpus("0,3-7"));
  EXPECT_FALSE(plan.changes[2].own);
  EXPECT_EQ(plan.shared, Cpus("0,3-7"));
}

TEST_F(PreflightPlanTest, WhoFindsNoPlaceIsToldOf) {
  Preflight preflight;
  preflight.plan = PlanOf({Seen("a", "", 5000), Seen("b", "", 5000)});
  EXPECT_THAT(preflight.plan->changes[1].why, HasSubstr("stays in the shared pool"));
  EXPECT_EQ(preflight.plan->changes[1].cpus_then, preflight.plan->shared);
  preflight.kubelet.config_file = "/k/config.yaml";
  preflight.nri = {.socket = "/s", .there = true, .version = "0.8"};
  preflight.runtime = {.endpoint = "/c", .name = "containerd", .version = "2.1.9"};
  preflight.findings = Judge(preflight);
  ASSERT_EQ(preflight.findings.size(), 1U);
  EXPECT_THAT(preflight.findings[0].text, HasSubstr("1 containers that should have CPUs of their own"));
  EXPECT_TRUE(preflight.ready());
}

TEST_F(PreflightPlanTest, TheReportHasEachContainerAndItsChange) {
  Preflight preflight;
  preflight.runtime = {.endpoint = "/c", .name = "containerd", .version = "2.1.9"};
  preflight.nri = {.socket = "/s", .there = true, .version = "0.8"};
  preflight.plan = PlanOf({Seen("db", "", 2000)});
  preflight.findings = Judge(preflight);
  const std::string text = FormatReport(preflight, {});
  EXPECT_THAT(text, HasSubstr("containerd 2.1.9 at /c"));
  EXPECT_THAT(text, HasSubstr("default/db  app        Guaranteed  0-7       1-2   0-1         0-1   CPUs of its own"));
  EXPECT_THAT(text, HasSubstr("1 of 1 containers would change"));
  const codec::Json json = ToJson(preflight);
  EXPECT_EQ(json["plan"]["containers"][0]["cpusThen"], "1-2");
  EXPECT_EQ(json["ready"], true);
}

TEST(PreflightFindingsTest, NamesWhatIsInTheWayWithTheCure) {
  Preflight preflight;
  preflight.runtime = {.endpoint = "/c", .name = "containerd", .version = "1.7.24"};
  preflight.nri = {.socket = "/run/nri.sock", .version = "0.3 to 0.8", .config_file = "/etc/c.toml", .disabled = true};
  preflight.kubelet.config_file = "/k/config.yaml";
  preflight.kubelet.cpu_policy = "static";
  preflight.kubelet.cpu_state = {.path = "/k/cpu_manager_state", .policy = "static", .pods = 2};
  preflight.kubelet.memory_state = {.path = "/k/memory_manager_state", .policy = "Static", .pods = 1};
  preflight.rivals = {{.pid = 7, .name = "nri-resource-policy-balloons"}};
  preflight.findings = Judge(preflight);
  EXPECT_FALSE(preflight.ready());
  const std::string text = FormatReport(preflight, {});
  EXPECT_THAT(text, HasSubstr("NRI is off: there is no socket at /run/nri.sock, and /etc/c.toml switches it off"));
  EXPECT_THAT(text, HasSubstr("cpuManagerPolicy is static"));
  EXPECT_THAT(text, HasSubstr("/k/memory_manager_state says that it places containers itself"));
  EXPECT_THAT(text, HasSubstr("nri-resource-policy-balloons (pid 7) gives containers their CPUs"));
  EXPECT_THAT(text, Not(HasSubstr("Nothing stands in the way")));
}

TEST(PreflightFindingsTest, ARuntimeWithoutNriIsNamed) {
  Preflight preflight;
  preflight.runtime = {.endpoint = "/c", .name = "containerd", .version = "1.6.20"};
  preflight.findings = Judge(preflight);
  ASSERT_FALSE(preflight.findings.empty());
  EXPECT_EQ(preflight.findings[0].text, "containerd 1.6.20 has no NRI");
}

}  // namespace
}  // namespace berth::nri_preflight
