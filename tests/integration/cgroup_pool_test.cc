// What a change of the shared pool costs in writes, with many containers, on this host's cgroups.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iostream>

#include "allocator/engine.h"
#include "cgroup_fixture.h"
#include "host/machine/load_machine.h"
#include "node/cgroup_manager/enforcer.h"

namespace berth::daemon {
namespace {

using testkit::RealCgroups;

allocator::Node StaticNode() {
  auto machine = machine::Load("host");
  EXPECT_TRUE(machine) << machine.error().message;
  KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = FormatIds(CpuSet{*UsableCpus(*machine).First()});
  auto node = allocator::Node::Make(*machine, config);
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

Pod BestEffort(int number) {
  Pod pod;
  pod.name = pod.uid = "p" + std::to_string(number);
  pod.containers.emplace_back().name = "c";
  return pod;
}

class CgroupPoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = RealCgroups::WhyNot()) GTEST_SKIP() << "needs real cgroups: " << *why;
    host_.emplace();
    node_.emplace(StaticNode());
    if (node_->all_cpus().Count() < 2) GTEST_SKIP() << "needs two CPUs";
    groups_.emplace(host_->tree(), *node_);
    ledger_ = node_->EmptyLedger();
    ASSERT_TRUE(groups_->Prepare(ledger_, {}));
    ASSERT_TRUE(groups_->cpusets().Apply(ledger_));
  }
  void Make(const Pod& pod) {
    const auto made = groups_->pod_groups().MakeContainer(pod, pod.containers.front(), ledger_);
    ASSERT_TRUE(made) << made.error().message;
  }
  /// All but the first that is not reserved.
  CpuSet Fewer() const {
    const CpuSet all = node_->all_cpus();
    return all - CpuSet{*(all - node_->reserved_cpus()).First()};
  }

  std::optional<RealCgroups> host_;
  std::optional<allocator::Node> node_;
  std::optional<cgroup_manager::Enforcer> groups_;
  Ledger ledger_;
};

class CgroupPoolTestOfSize : public CgroupPoolTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    CgroupPoolTest::SetUp();
    for (int i = 0; !IsSkipped() && !HasFailure() && i < GetParam(); ++i) Make(BestEffort(i));
  }
  /// Gives the pool `shared` and says how many writes and how long it took.
  int Change(const CpuSet& shared) {
    ledger_.shared = shared;
    const std::uint64_t before = host_->tree().writes();
    const auto began = std::chrono::steady_clock::now();
    const auto done = groups_->cpusets().Apply(ledger_);
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_TRUE(done && *done);
    const auto writes = static_cast<int>(host_->tree().writes() - before);
    std::cout << GetParam() << " containers, shared pool " << FormatIds(shared) << ": " << writes << " writes, "
              << std::chrono::duration_cast<std::chrono::microseconds>(took).count() << " us\n";
    return writes;
  }
};

INSTANTIATE_TEST_SUITE_P(Containers, CgroupPoolTestOfSize, ::testing::Values(1, 10, 100, 500));

TEST_P(CgroupPoolTestOfSize, AChangeOfThePoolCostsOneWriteAGroupThatChanges) {
  const CpuSet all = node_->all_cpus();
  const CpuSet fewer = Fewer();
  // v2: the group of each class, and Berth's own. v1 has no inheritance: each container, and Berth's own.
  const int expected = host_->v2("cpuset") ? 3 : GetParam() + 1;
  EXPECT_EQ(expected, Change(fewer));
  EXPECT_EQ(fewer, *host_->tree().ReadCpus("kubepods/besteffort/podp0/c"));
  EXPECT_EQ(0, Change(fewer)) << "nothing changed";
  EXPECT_EQ(expected, Change(all));
  EXPECT_EQ(all, *host_->tree().ReadCpus("kubepods/besteffort/podp0/c"));
}

TEST_P(CgroupPoolTestOfSize, AContainerThatWasTakenFromThePoolComesBack) {
  const CpuSet one{*node_->all_cpus().First()};
  host_->ForeignWrite("cpuset", "kubepods/besteffort/podp0/c", "cpuset.cpus", FormatIds(one));
  const auto repaired = groups_->cpusets().Repair(ledger_);
  ASSERT_TRUE(repaired && *repaired);
  ASSERT_EQ(1U, (*repaired)->size());
  EXPECT_EQ("kubepods/besteffort/podp0/c", (*repaired)->front().path);
  EXPECT_EQ(node_->all_cpus(), *host_->tree().ReadCpus("kubepods/besteffort/podp0/c"));
}

TEST_F(CgroupPoolTest, GroupsSomebodyMadeBelowAPodOrContainerAreNoObstacleAndGetNoMoreThanThat) {
  Pod pod = BestEffort(1);
  pod.containers.front().resources.limits = pod.containers.front().resources.requests = {
      {"cpu", *Quantity::Parse("100m")}, {"memory", *Quantity::Parse("32Mi")}};
  ASSERT_EQ(QosOf(pod), QosClass::kGuaranteed);
  Make(pod);
  const std::vector<std::string> theirs{"kubepods/podp1/theirs", "kubepods/podp1/theirs/below",
                                        "kubepods/podp1/c/inner"};
  for (const std::string& made : theirs) {
    for (const std::string& dir : host_->tree().Dirs(made).dirs)
      ASSERT_TRUE(std::filesystem::create_directory(dir)) << dir;
    // v1: empty until somebody fills it; then the kernel refuses to take CPUs from those above.
    if (!host_->v2("cpuset")) host_->ForeignWrite("cpuset", made, "cpuset.cpus", FormatIds(node_->all_cpus()));
  }
  for (const std::string& dir : host_->tree().Dirs("kubepods/podp1").dirs)
    ASSERT_TRUE(std::filesystem::create_directory(dir + "/user@0.service")) << "no name that Berth could give";
  ledger_.shared = Fewer();
  auto done = groups_->cpusets().Apply(ledger_);
  for (int again = 0; done && !*done && again < 10; ++again) done = groups_->cpusets().Apply(ledger_);
  ASSERT_TRUE(done && *done);
  for (const char* own : {"kubepods/podp1", "kubepods/podp1/c"}) EXPECT_EQ(Fewer(), *host_->tree().ReadCpus(own));
  for (const std::string& made : theirs) {
    const auto cpus = host_->tree().ReadCpus(made);
    // v2: nobody handed the controller down to those further below, so they have the cpuset above them.
    if (host_->v2("cpuset") && made != theirs.front()) {
      EXPECT_FALSE(cpus) << made;
    } else {
      ASSERT_TRUE(cpus) << cpus.error().message;
      EXPECT_EQ(Fewer(), *cpus) << made;
    }
  }
  for (const std::string& dir : host_->tree().Dirs("kubepods/podp1").dirs)
    std::filesystem::remove(dir + "/user@0.service");
}

}  // namespace
}  // namespace berth::daemon
