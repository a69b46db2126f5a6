// A node with a kubelet for tests of the NRI agent: they are its runtime.
#ifndef BERTH_DAEMON_NRI_ALLOCATOR_NODE_TEST_H_
#define BERTH_DAEMON_NRI_ALLOCATOR_NODE_TEST_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/fake_node_test.h"
#include "frontend/nri_agent/new_groups.h"
#include "frontend/nri_agent/nri_allocator.h"

namespace berth::daemon {

inline allocator::Node KubeletsNode(const std::string& machine, KubeletConfiguration config,
                                    std::vector<PoolRule> pools = {}) {
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  auto loaded = machine::Load(machine);
  EXPECT_TRUE(loaded);
  allocator::EngineOptions options{.node_fit = false};
  options.own.pools = std::move(pools);
  auto node = allocator::Node::Make(*std::move(loaded), std::move(config), options);
  EXPECT_TRUE(node) << node.error().message;
  return *std::move(node);
}

/// A node with a kubelet whose runtime is this test: it makes groups, and asks.
struct NriAllocatorTest : ::testing::Test {
  explicit NriAllocatorTest(const std::string& machine = "pack:1 core:8 pu:1", const KubeletConfiguration& config = {},
                            std::vector<PoolRule> pools = {})
      : host(KubeletsNode(machine, config, std::move(pools))) {}

  void Boot(nri_agent::NriAllocatorOptions options = {}) {
    auto opened = nri_agent::WatchedRuntime::Open();
    ASSERT_TRUE(opened);
    watched = *std::move(opened);
    host.steps.set_check([] {});
    core::NodeOptions node_options = host.options;
    node_options.LeaveToKubelet();
    manager = std::make_unique<TestManager>(host.store, host.tree, *watched, host.events, host.clock, host.steps,
                                            host.node, node_options, host.pod_options);
    manager->set_on_turn([this] { manager->core().recovery().WatchAll(); });
    ASSERT_TRUE(manager->Start(host.store.saved, host.clock.Now()));
    manager->set_on_turn([] {});
    agent =
        std::make_unique<nri_agent::NriAllocator>(manager->core(), *watched, std::move(options), [this] { ++joins; });
    auto groups = nri_agent::NewGroups::Open(
        "", [](const std::string&) { return true; }, [](const std::string&) {}, [](const std::string&) {});
    ASSERT_TRUE(groups);
    new_groups.emplace(*std::move(groups));
    agent->set_new_groups(&*new_groups);
  }
  /// All that was begun is over.
  void Settle() {
    for (int i = 0; i < 3; ++i) {
      manager->Sync(host.clock.Now());
      agent->Tick(host.clock.Now());
      manager->executor().RunAll();
    }
  }

  static std::string PathOf(const nri::Pod& pod) { return pod.cgroup_parent.substr(1); }
  /// A pod with the group of its sandbox.
  nri::Pod MakePod(const std::string& name, const std::string& tier) {
    nri::Pod pod{.id = "s-" + name, .name = name, .uid = "uid-" + name, .name_space = "default"};
    pod.cgroup_parent = "/kubepods" + (tier.empty() ? "" : "/" + tier) + "/poduid-" + name;
    MakeGroup(PathOf(pod) + "/" + pod.id);
    return pod;
  }
  void MakeGroup(const std::string& path) {
    EXPECT_TRUE(host.tree.Create(path));
    host.tree.stuck.insert(path);
  }
  static nri::Container ContainerIn(const nri::Pod& pod, const std::string& name, int milli) {
    nri::Container out{.id = "c-" + pod.name + "-" + name, .pod_id = pod.id, .name = name};
    out.resources.cpu_shares = std::max(2, milli * 1024 / 1000);
    if (milli > 0) {
      out.resources.cpu_period = 100'000;
      out.resources.cpu_quota = milli * 100;
      out.resources.memory_limit = 32 << 20;
    }
    return out;
  }
  /// As an API server has them.
  static Container ContainerOf(const std::string& name, int cpus) {
    Container out;
    out.name = name;
    const Quantity cpu = Quantity::FromMilli(cpus * 1000);
    const Quantity memory = Quantity::FromBytes({64 << 20});
    out.resources = {.requests = {{"cpu", cpu}, {"memory", memory}}, .limits = {{"cpu", cpu}, {"memory", memory}}};
    return out;
  }
  static Pod SpecOf(const nri::Pod& pod, std::vector<Container> init, std::vector<Container> apps) {
    Pod out;
    out.name = pod.name;
    out.namespace_ = pod.name_space;
    out.uid = pod.uid;
    out.init_containers = std::move(init);
    out.containers = std::move(apps);
    return out;
  }
  /// Which CPU manager policy the kubelet has.
  void WriteState(const std::string& policy) {
    std::ofstream(folder / "cpu_manager_state")
        << R"({"policyName":")" + policy + R"(","defaultCpuSet":"0-7","entries":{},"checksum":0})";
  }
  template <class T>
  static nri::Answer<T> Asked() {
    return nri::Answer<T>(os::SystemClock().Now() + std::chrono::seconds(10));
  }
  /// What the runtime is told; the container's group is there afterwards.
  Result<nri::Creation> Create(const nri::Pod& pod, const nri::Container& container) {
    const auto answer = Asked<nri::Creation>();
    agent->Create(pod, container, answer);
    manager->executor().RunAll();
    auto given = answer.Wait();
    EXPECT_TRUE(given);
    if (!given) return Fail(Code::kTimeout, "no answer");
    if (*given) MakeGroup(PathOf(pod) + "/" + container.id);
    return *std::move(given);
  }
  Result<nri::Ready> Start(const nri::Pod& pod, const nri::Container& container) {
    const auto answer = Asked<nri::Ready>();
    agent->Start(pod, container, answer);
    manager->executor().RunAll();
    auto given = answer.Wait();
    return given ? *std::move(given) : Fail(Code::kTimeout, "no answer");
  }
  nri::Container Run(const nri::Pod& pod, const std::string& name, int milli) {
    nri::Container container = ContainerIn(pod, name, milli);
    EXPECT_TRUE(Create(pod, container));
    EXPECT_TRUE(Start(pod, container));
    container.state = nri::ContainerState::kRunning;
    return container;
  }
  CpuSet CpusOf(const nri::Pod& pod, const nri::Container& container) {
    return host.tree.Read(PathOf(pod) + "/" + container.id)->cpus.value_or(CpuSet());
  }
  /// To CreateContainer.
  std::uint64_t Answers() const {
    const auto calls = watched->Calls();
    const auto found = calls.find("CreateContainer");
    return found == calls.end() ? 0 : found->second.calls;
  }
  int CountEvents(const std::string& reason, const std::string& words = "") {
    int out = 0;
    for (const Event& event : host.events.events())
      if (event.reason == reason && event.message.find(words) != std::string::npos) ++out;
    return out;
  }

  /// The same with those that were told in a row, which are one event.
  std::uint64_t CountTold(const std::string& reason) {
    std::uint64_t out = 0;
    for (const Event& event : host.events.events())
      if (event.reason == reason) out += event.count;
    return out;
  }

  FakeNode host;
  std::unique_ptr<nri_agent::WatchedRuntime> watched;
  std::unique_ptr<TestManager> manager;
  std::optional<nri_agent::NewGroups> new_groups;
  std::unique_ptr<nri_agent::NriAllocator> agent;
  testkit::TempDir folder;  // the kubelet's
  int joins = 0;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_NRI_ALLOCATOR_NODE_TEST_H_
