// Containers that move to another NUMA node on a kernel played in memory, which migrates as long as a test wants.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/fake_node_test.h"
#include "host/cgroup/host_tree.h"
#include "testing/fake_cgroups.h"
#include "testing/fault_fs.h"
#include "testing/memory_fs.h"
#include "testing/queued_executor.h"

namespace berth::daemon {
namespace {

constexpr const char* kPodGroup = "kubepods/poduid-a";
constexpr const char* kGroup = "kubepods/poduid-a/a";

allocator::Node NodeWithPinnedMemory() {
  KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  config.topology_manager_policy = "single-numa-node";
  config.memory_manager_policy = "Static";
  config.reserved_memory = {{NumaId{0}, {{"memory", *Quantity::Parse("100Mi")}}}};
  auto node = allocator::Node::Make(*machine::ParseSynthetic("numa:2(memory=4GB) core:4 pu:1"), config);
  BERTH_CHECK(node.has_value());
  return *std::move(node);
}

/// Pod a runs, on cgroup v1 and v2.
class MovingPodTest : public testing::TestWithParam<bool> {
 protected:
  MovingPodTest() {
    world_.steps.set_check(nullptr);  // it looks at another tree
    world_.pod_options.log_dir = world_.logs.path();
    Boot();
    EXPECT_TRUE(world_.runtime.Runs("uid-a", "a"));
    EXPECT_TRUE(kernel_.AddProcess(kGroup, kPid));
    before_ = *NodeSet::Parse(Value("cpuset.mems"));
    EXPECT_EQ(1U, before_.Count());
  }

  /// A berthd on what the last one left.
  void Boot() {
    manager_.reset();
    tree_.reset();
    migrations_.emplace();
    auto tree =
        cgroup::OpenTree(testkit::Share(fs_), *cgroup::DiscoverLayout(fs_), "/",
                         {.kill = [](const auto&, const auto&) { return Result<void>(); }, .wait = [](os::Millis) {}});
    ASSERT_TRUE(tree) << tree.error().message;
    tree_ = *std::move(tree);
    manager_ = std::make_unique<TestManager>(world_.store, *tree_, world_.runtime, world_.events, world_.clock,
                                             world_.steps, world_.node, world_.options, world_.pod_options);
    tree_->WaitBehind(*migrations_, [this] { manager_->core().OnGroupsAnswered(Now()); });
    const auto started = manager_->Start(world_.store.saved, Now());
    ASSERT_TRUE(started) << started.error().message;
    manager_->OnSnapshot(Wanting({MakePod("a", "2")}), Now());
  }
  os::MonoTime Now() { return world_.clock.Now(); }
  void Advance() {
    world_.clock.Advance(os::Millis(2'000));
    manager_->Tick(Now());
  }
  NodeSet Other() const { return before_.Contains(NumaId{0}) ? NodeSet{NumaId{1}} : NodeSet{NumaId{0}}; }
  void MoveTo(const NodeSet& nodes) {
    const auto moved = manager_->core().MakeMove({.uid = "uid-a", .container = "a", .nodes = nodes});
    ASSERT_TRUE(moved) << moved.error().message;
  }
  /// All that the kernel was asked to, and what is asked meanwhile.
  void Migrate() {
    while (migrations_->RunOne()) manager_->Tick(Now());
  }
  std::string Value(const std::string& file) { return kernel_.Value("cpuset", kGroup, file); }
  std::string CpusInLedger() const {
    return FormatIds(manager_->ledger().pods.at("uid-a").placements[0].cpus.value_or(CpuSet()));
  }
  std::string Warnings() const {
    std::string out;
    for (const Event& event : world_.events.events())
      if (event.type == EventType::kWarning) out += event.reason + ": " + event.message + "\n";
    return out;
  }

  static constexpr int kPid = 100;
  FakeNode world_{NodeWithPinnedMemory()};
  testkit::MemoryFs fs_;
  testkit::FakeCgroups kernel_{fs_, {.v2 = GetParam(), .cpus = "0-7"}};
  std::optional<testkit::QueuedExecutor> migrations_;
  std::unique_ptr<cgroup::Tree> tree_;
  std::unique_ptr<TestManager> manager_;
  NodeSet before_;
};

INSTANTIATE_TEST_SUITE_P(Versions, MovingPodTest, testing::Bool(),
                         [](const auto& which) { return which.param ? "V2" : "V1"; });

TEST_P(MovingPodTest, TheLoopGoesOnWhileTheKernelMigrates) {
  MoveTo(Other());
  manager_->Sync(Now());
  EXPECT_EQ(1U, migrations_->waiting());
  EXPECT_EQ(FormatIds(before_), Value("cpuset.mems"));
  EXPECT_EQ(CpusInLedger(), Value("cpuset.cpus")) << "these come first";
  manager_->OnSnapshot(Wanting({MakePod("a", "2"), MakePod("late", "1")}), Now());
  EXPECT_TRUE(manager_->ledger().pods.contains("uid-late"));
  EXPECT_FALSE(world_.runtime.Runs("uid-late", "late")) << "its cpuset cannot be written yet";
  Advance();
  EXPECT_EQ(1U, migrations_->waiting());
  Migrate();
  EXPECT_EQ(FormatIds(Other()), Value("cpuset.mems"));
  EXPECT_TRUE(world_.runtime.Runs("uid-late", "late"));
  Advance();
  EXPECT_EQ(0U, migrations_->waiting());
  EXPECT_EQ("", Warnings());
}

TEST_P(MovingPodTest, AMoveBackIsMadeWhenTheFirstIsOver) {
  MoveTo(Other());
  manager_->Sync(Now());
  const std::string cpus = Value("cpuset.cpus");
  MoveTo(before_);
  manager_->Sync(Now());
  EXPECT_EQ(1U, migrations_->waiting());
  EXPECT_EQ(cpus, Value("cpuset.cpus"));
  ASSERT_TRUE(migrations_->RunOne());
  EXPECT_EQ(FormatIds(Other()), Value("cpuset.mems"));
  manager_->Tick(Now());
  Migrate();
  EXPECT_EQ(FormatIds(before_), Value("cpuset.mems"));
  EXPECT_NE(cpus, Value("cpuset.cpus"));
  EXPECT_EQ(CpusInLedger(), Value("cpuset.cpus"));
  EXPECT_EQ("", Warnings());
}

TEST_P(MovingPodTest, ThePodMayEndMeanwhile) {
  MoveTo(Other());
  manager_->Sync(Now());
  kernel_.EndProcess(kPid);
  manager_->OnSnapshot(Wanting({}), Now());
  manager_->OnRuntime(Now());
  Advance();
  EXPECT_TRUE(fs_.IsDir(kernel_.Dir("cpuset", kPodGroup)));
  Migrate();
  Advance();
  EXPECT_FALSE(fs_.IsDir(kernel_.Dir("cpuset", kPodGroup)));
  EXPECT_TRUE(manager_->ledger().pods.empty());
  EXPECT_EQ("", Warnings());
}

TEST_P(MovingPodTest, WhatABerthdDidNotLiveToMoveIsMovedByTheNext) {
  MoveTo(Other());
  manager_->executor().RunAll();  // the record is on disk, and nothing was written
  EXPECT_EQ(FormatIds(before_), Value("cpuset.mems"));
  Boot();
  Advance();
  EXPECT_EQ(CpusInLedger(), Value("cpuset.cpus"));
  EXPECT_EQ(1U, migrations_->waiting());
  Migrate();
  EXPECT_EQ(FormatIds(Other()), Value("cpuset.mems"));
  if (!GetParam()) {
    EXPECT_EQ("1", Value("cpuset.memory_migrate"));
  }
}

}  // namespace
}  // namespace berth::daemon
