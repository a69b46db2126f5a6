// A node with five pods, value by value in the kernel's files: what a reader of the kubelet's rules would compute by
// hand (docs/rules/cgroups.md), on whichever cgroup version this host has. Memory is only limited, not used,
// so that the node may be larger than the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <variant>

#include "allocator/engine.h"
#include "cgroup_fixture.h"
#include "host/machine/load_machine.h"
#include "model/decision.h"
#include "node/cgroup_manager/enforcer.h"
#include "testing/pods.h"

namespace berth::daemon {
namespace {

using testkit::RealCgroups;

struct Amounts {
  std::string cpu, memory;
};

ResourceList List(const Amounts& a) { return testkit::List({{"cpu", a.cpu}, {"memory", a.memory}}); }

Container Make(const std::string& name, const Amounts& requests, const Amounts& limits) {
  Container out;
  out.name = name;
  out.resources = {.requests = List(requests), .limits = List(limits)};
  return out;
}

Container Make(const std::string& name, const Amounts& both) { return Make(name, both, both); }

Pod MakePod(const std::string& name, std::vector<Container> containers) {
  Pod out;
  out.name = name;
  out.uid = name;
  out.containers = std::move(containers);
  return out;
}

std::vector<Pod> FivePods() {
  return {MakePod("a", {Make("a1", {"10m", "1Gi"}), Make("a2", {"100m", "2Gi"})}),
          MakePod("b", {Make("b1", {"20m", "2Gi"})}),
          MakePod("c", {Make("c1", {"20m", "1Gi"}, {"50m", "2Gi"}), Make("c2", {"100m", "1Gi"})}),
          MakePod("d", {Make("d1", {"10m", "1Gi"}, {"20m", "2Gi"})}),
          MakePod("e", {Make("e1", {}, {}), Make("e2", {}, {})})};
}

/// 8 CPUs and 16Gi as far as the books go; the CPUs are the host's.
allocator::Node SixteenGibNode() {
  auto machine = machine::Load("host");
  EXPECT_TRUE(machine) << machine.error().message;
  machine->memory = GiB(16);
  machine->reported_cpus = 8;
  KubeletConfiguration config;
  config.system_reserved = List({"250m", "512Mi"});
  config.kube_reserved = List({"250m", "512Mi"});
  config.feature_gates["QOSReserved"] = true;
  config.qos_reserved["memory"] = "100%";
  config.pod_pids_limit = 100;
  auto node = allocator::Node::Make(*machine, config);
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

/// What one group should show. Quota and memory: -1 for none; pids: "" for what depends on the host.
struct Row {
  std::string path;
  int shares, weight;
  int quota;
  std::int64_t memory_gib;
  std::string pids;
};

const std::vector<Row> kTree = {
    {"kubepods", 7680, 293, -1, 15, ""},
    {"kubepods/burstable", 133, 5, -1, 10, "max"},  // 15Gi - 5Gi of Guaranteed pods
    {"kubepods/besteffort", 2, 1, -1, 7, "max"},    // less 3Gi of Burstable pods
    {"kubepods/poda", 112, 5, 11000, 3, "100"},
    {"kubepods/poda/a1", 10, 4, 1000, 1, "max"},
    {"kubepods/poda/a2", 102, 17, 10000, 2, "max"},
    {"kubepods/podb", 20, 1, 2000, 2, "100"},
    {"kubepods/podb/b1", 20, 6, 2000, 2, "max"},
    {"kubepods/burstable/podc", 122, 5, 15000, 3, "100"},
    {"kubepods/burstable/podc/c1", 20, 6, 5000, 2, "max"},
    {"kubepods/burstable/podc/c2", 102, 17, 10000, 1, "max"},
    {"kubepods/burstable/podd", 10, 1, 2000, 2, "100"},
    {"kubepods/burstable/podd/d1", 10, 4, 2000, 2, "max"},
    {"kubepods/besteffort/pode", 2, 1, -1, -1, "100"},
    {"kubepods/besteffort/pode/e1", 2, 1, -1, -1, "max"},
    {"kubepods/besteffort/pode/e2", 2, 1, -1, -1, "max"},
};

class CgroupExampleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = RealCgroups::WhyNot()) GTEST_SKIP() << "needs real cgroups: " << *why;
    host_.emplace();
    node_.emplace(SixteenGibNode());
    groups_.emplace(host_->tree(), *node_);
    ledger_ = node_->EmptyLedger();
    ASSERT_TRUE(groups_->Prepare(ledger_, {}));
    ASSERT_EQ("", groups_->qos_cgroups().LimitAllPods());
    for (const Pod& pod : FivePods()) Start(pod);
  }

  void Start(const Pod& pod) {
    const Decision decision = allocator::Decide(*node_, ledger_, pod, {}, nullptr);
    const auto* admitted = std::get_if<Admit>(&decision);
    ASSERT_NE(nullptr, admitted) << pod.name << ": " << std::get<Reject>(decision).message;
    Apply(ledger_, admitted->delta);
    ASSERT_TRUE(groups_->qos_cgroups().Update(ledger_));
    for (const Container& container : pod.containers) {
      const auto made = groups_->pod_groups().MakeContainer(pod, container, ledger_);
      ASSERT_TRUE(made) << made.error().message;
    }
  }

  std::string Cpu(const std::string& path, const char* v1, const char* v2) {
    return host_->Value("cpu", path, host_->v2("cpu") ? v2 : v1);
  }

  std::optional<RealCgroups> host_;
  std::optional<allocator::Node> node_;
  std::optional<cgroup_manager::Enforcer> groups_;
  Ledger ledger_;
};

TEST_F(CgroupExampleTest, EveryLevelHoldsWhatTheFormulasSay) {
  constexpr const char* kUnlimited = "9223372036854771712";
  for (const Row& row : kTree) {
    SCOPED_TRACE(row.path);
    EXPECT_EQ(std::to_string(host_->v2("cpu") ? row.weight : row.shares), Cpu(row.path, "cpu.shares", "cpu.weight"));
    if (host_->v2("cpu")) {
      const std::string quota = row.quota < 0 ? "max" : std::to_string(row.quota);
      EXPECT_EQ(quota + " 100000", host_->Value("cpu", row.path, "cpu.max"));
    } else {
      EXPECT_EQ(std::to_string(row.quota), host_->Value("cpu", row.path, "cpu.cfs_quota_us"));
    }
    const bool v2 = host_->v2("memory");
    const std::string none = v2 ? "max" : kUnlimited;
    EXPECT_EQ(row.memory_gib < 0 ? none : std::to_string(row.memory_gib << 30),
              host_->Value("memory", row.path, v2 ? "memory.max" : "memory.limit_in_bytes"));
    if (!row.pids.empty()) {
      EXPECT_EQ(row.pids, host_->Value("pids", row.path, "pids.max"));
    }
  }
}

TEST_F(CgroupExampleTest, NothingIsWrittenWhenNothingChanged) {
  std::vector<Pod> pods = FivePods();
  const std::uint64_t before = host_->tree().writes();
  ASSERT_TRUE(groups_->qos_cgroups().Update(ledger_));
  ASSERT_EQ("", groups_->qos_cgroups().LimitAllPods());
  ASSERT_TRUE(groups_->cpusets().Apply(ledger_));
  std::vector<cgroup_manager::Repaired> repaired;
  for (const Pod& pod : pods) ASSERT_TRUE(groups_->values().Repair(ledger_, pod, {}, repaired));
  EXPECT_TRUE(repaired.empty());
  EXPECT_EQ(before, host_->tree().writes());
}

TEST_F(CgroupExampleTest, ClassesFollowTheirPodsAndReservedMemoryComesBack) {
  for (const char* uid : {"a", "d"}) Apply(ledger_, allocator::Release(*node_, ledger_, uid, nullptr));
  ASSERT_TRUE(groups_->qos_cgroups().Update(ledger_));
  const bool v2 = host_->v2("memory");
  const char* limit = v2 ? "memory.max" : "memory.limit_in_bytes";
  EXPECT_EQ(host_->v2("cpu") ? "5" : "122", Cpu("kubepods/burstable", "cpu.shares", "cpu.weight"));
  EXPECT_EQ(std::to_string(std::int64_t{13} << 30), host_->Value("memory", "kubepods/burstable", limit));
  EXPECT_EQ(std::to_string(std::int64_t{11} << 30), host_->Value("memory", "kubepods/besteffort", limit));
}

TEST_F(CgroupExampleTest, AForeignWriteToAnyValueIsPutRightAndNamed) {
  const bool v2 = host_->v2("cpu");
  const std::string path = "kubepods/burstable/podc";
  host_->ForeignWrite("cpu", path, v2 ? "cpu.weight" : "cpu.shares", "77");
  const std::vector<Pod> pods = FivePods();
  std::vector<cgroup_manager::Repaired> repaired;
  ASSERT_TRUE(groups_->values().Repair(ledger_, pods[2], {}, repaired));
  ASSERT_EQ(1U, repaired.size());
  EXPECT_EQ(path, repaired.front().path);
  EXPECT_EQ(v2 ? "cpu.weight was 77, must be 5" : "cpu.shares was 77, must be 122", repaired.front().what);
  EXPECT_EQ(v2 ? "5" : "122", Cpu(path, "cpu.shares", "cpu.weight"));
}

TEST_F(CgroupExampleTest, AClassIsNeverLimitedBelowWhatItUses) {
  constexpr std::string_view kContainer = "kubepods/besteffort/pode/e1";
  const int pid = host_->StartSleeper(kContainer, {.children = 0, .touch_mib = 64});
  ASSERT_GT(pid, 0);
  PodRecord large;
  large.uid = "large";
  large.qos = QosClass::kGuaranteed;
  large.requests = List({"1", "15Gi"});
  ledger_.pods.emplace("large", large);
  const auto updated = groups_->qos_cgroups().Update(ledger_);
  ASSERT_TRUE(updated) << updated.error().message;
  const auto now = host_->tree().Read("kubepods/besteffort");
  ASSERT_TRUE(now);
  EXPECT_GE(*now->memory_max, MiB(64)) << "nothing is left for the class, but it has this";
  EXPECT_LT(*now->memory_max, GiB(1));
  ASSERT_TRUE(host_->tree().Kill("kubepods"));
  RealCgroups::Reap(pid);
}

}  // namespace
}  // namespace berth::daemon
