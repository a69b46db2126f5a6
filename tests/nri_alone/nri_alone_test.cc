// A program of the node core and the NRI front end alone: what else Berth has is not linked, and a container gets its
// CPUs all the same.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "allocator/testing/builders.h"
#include "frontend/nri_agent/nri_allocator.h"
#include "frontend/nri_agent/watched_runtime.h"
#include "host/cgroup/host_tree.h"
#include "host/os/clock.h"
#include "node/checkpoint/store.h"
#include "node/core/node_core.h"
#include "rpc/nri/handler.h"
#include "rpc/nri/nri_values.h"
#include "telemetry/events/event_log.h"
#include "testing/fake_cgroups.h"
#include "testing/fault_fs.h"
#include "testing/fixtures.h"
#include "testing/memory_fs.h"
#include "testing/queued_executor.h"

namespace berth {
namespace {

using testkit::Cpus;

allocator::Node EightCpus() {
  const allocator::testing::Shape shape{.cores_per_node = 8, .threads = 1};
  auto node = allocator::Node::Make(allocator::testing::MakeMachine(shape), allocator::testing::StaticConfig("0"),
                                    {.node_fit = false});
  EXPECT_TRUE(node) << node.error().message;
  return *std::move(node);
}

/// Of a guaranteed pod, with two CPUs.
nri::Container TwoCpus(const nri::Pod& pod) {
  nri::Container out{.id = "c-" + pod.name, .pod_id = pod.id, .name = "app"};
  out.resources.cpu_shares = 2048;
  out.resources.cpu_period = 100'000;
  out.resources.cpu_quota = 200'000;
  out.resources.memory_limit = 32 << 20;
  return out;
}

template <class T>
nri::Answer<T> Asked() {
  return nri::Answer<T>(os::SystemClock().Now() + std::chrono::seconds(10));
}

TEST(NriAloneTest, AContainerIsPlacedWithoutAnotherFrontEnd) {
  const testkit::ManualClock clock;
  testkit::QueuedExecutor executor;
  events::EventLog events(clock, nullptr, 100);
  testkit::MemoryFs disk;
  testkit::FakeCgroups kernel(disk, {.v2 = true, .cpus = "0-7", .mems = "0"});
  const std::unique_ptr<checkpoint::Store> store = checkpoint::Store::Make(testkit::Share(disk));
  const auto layout = cgroup::DiscoverLayout(disk);
  ASSERT_TRUE(layout) << layout.error().message;
  const auto tree = cgroup::OpenTree(testkit::Share(disk), *layout, "", {});
  ASSERT_TRUE(tree) << tree.error().message;
  const allocator::Node machine = EightCpus();
  auto opened = nri_agent::WatchedRuntime::Open();
  ASSERT_TRUE(opened) << opened.error().message;
  const std::unique_ptr<nri_agent::WatchedRuntime> runtime = *std::move(opened);
  core::NodeOptions options{.pods = {.node_name = "n1"}, .boot = {.boot_id = "boot", .machine_fingerprint = "m"}};
  options.LeaveToKubelet();
  core::Node node(
      {.store = *store, .tree = **tree, .runtime = *runtime, .events = events, .clock = clock, .executor = executor},
      machine, options);
  const auto recovered = node.Recover(std::nullopt, clock.Now());
  ASSERT_TRUE(recovered) << recovered.error().message;
  nri_agent::NriAllocator agent(node, *runtime, {}, [] {});

  nri::Pod pod{.id = "s-db", .name = "db", .uid = "uid-db", .name_space = "default"};
  pod.cgroup_parent = "/kubepods/poduid-db";
  const std::string groups = pod.cgroup_parent.substr(1) + "/";
  const nri::Container container = TwoCpus(pod);
  ASSERT_TRUE((*tree)->Create(groups + pod.id));
  const auto creation = Asked<nri::Creation>();
  agent.Create(pod, container, creation);
  executor.RunAll();
  const auto created = creation.Wait();
  ASSERT_TRUE(created);
  ASSERT_TRUE(*created) << created->error().message;
  EXPECT_EQ((*created)->adjustment.resources.cpus, "1-2");
  const auto saved = store->Load(nullptr);
  ASSERT_TRUE(saved && *saved);
  EXPECT_TRUE((*saved)->ledger.pods.contains(pod.uid));

  ASSERT_TRUE((*tree)->Create(groups + container.id));
  const auto start = Asked<nri::Ready>();
  agent.Start(pod, container, start);
  executor.RunAll();
  const auto started = start.Wait();
  ASSERT_TRUE(started);
  ASSERT_TRUE(*started) << started->error().message;
  EXPECT_EQ(kernel.EffectiveCpus(groups + container.id), Cpus("1-2"));
  EXPECT_EQ(kernel.EffectiveCpus(groups + pod.id), Cpus("0,3-7"));
}

}  // namespace
}  // namespace berth
