// A program of the node core and the NRI front end alone: what else Berth has is not linked, and a container gets its
// CPUs all the same.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/testing/builders.h"
#include "frontend/nri_agent/nri_allocator.h"
#include "frontend/nri_agent/watched_runtime.h"
#include "host/cgroup/cgroup.h"
#include "host/os/clock.h"
#include "node/checkpoint/store.h"
#include "node/core/node_core.h"
#include "rpc/nri/handler.h"
#include "rpc/nri/nri_values.h"
#include "telemetry/events/event_log.h"
#include "testing/fixtures.h"
#include "testing/queued_executor.h"

namespace berth {
namespace {

using testkit::Cpus;

/// A disk that takes everything.
class KeptStore final : public checkpoint::Store {
 public:
  Result<std::optional<checkpoint::Saved>> Load(std::vector<std::string>*) override { return saved; }
  Result<void> Save(const checkpoint::Saved& next) override {
    saved = next;
    return {};
  }
  std::optional<checkpoint::Saved> saved;
};

/// Groups in memory: CPUs and memory nodes, inherited as on cgroup v2.
class PlayedTree final : public cgroup::Tree {
 public:
  explicit PlayedTree(const Machine& machine) {
    layout_.controllers.push_back({.controller = "cpuset", .mount = "/cg", .v2 = true});
    groups_[""] = {.cpus = UsableCpus(machine), .mems = NodeIds(machine)};
  }

  const cgroup::Layout& layout() const override { return layout_; }
  Result<void> Create(std::string_view path) override {
    if (groups_.contains(path)) return {};
    BERTH_RETURN_IF_ERROR(Create(ParentOf(path)));
    groups_.emplace(path, cgroup::Cpuset());
    return {};
  }
  Result<int> Write(std::string_view path, const CgroupValues& values) override {
    const auto group = groups_.find(path);
    if (group == groups_.end()) return Fail(Code::kNotFound, "cgroup " + std::string(path) + ": not there");
    if (values.cpus) group->second.cpus = *values.cpus;
    if (values.mems) group->second.mems = *values.mems;
    ++writes_;
    return 1;
  }
  Result<CgroupValues> Read(std::string_view path) override {
    const auto group = groups_.find(path);
    if (group == groups_.end()) return Fail(Code::kNotFound, "cgroup " + std::string(path) + ": not there");
    CgroupValues out;
    out.cpus = group->second.cpus;
    out.mems = group->second.mems;
    if (path.empty() || !(out.cpus->empty() || out.mems->empty())) return out;
    BERTH_TRY(const CgroupValues above, Read(ParentOf(path)));
    if (out.cpus->empty()) out.cpus = above.cpus;
    if (out.mems->empty()) out.mems = above.mems;
    return out;
  }
  Result<std::vector<int>> Pids(std::string_view) override { return std::vector<int>(); }
  using cgroup::Tree::Kill;
  Result<void> Kill(std::string_view, os::Millis) override { return {}; }
  using cgroup::Tree::Remove;
  Result<void> Remove(std::string_view path, os::Millis) override {
    groups_.erase(std::string(path));
    return {};
  }
  Result<std::vector<std::string>> Children(std::string_view path) override {
    std::vector<std::string> out;
    for (const auto& [name, values] : groups_)
      if (!name.empty() && ParentOf(name) == path) out.push_back(path.empty() ? name : name.substr(path.size() + 1));
    return out;
  }
  CgroupDirs Dirs(std::string_view) const override { return {}; }
  std::uint64_t writes() const override { return writes_; }

  CpuSet CpusOf(const std::string& path) {
    const auto values = Read(path);
    return values ? values->cpus.value_or(CpuSet()) : CpuSet();
  }

 private:
  static std::string_view ParentOf(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  }

  cgroup::Layout layout_;
  std::map<std::string, cgroup::Cpuset, std::less<>> groups_;  // by path; empty: the parent's
  std::uint64_t writes_ = 0;
};

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
  KeptStore store;
  const allocator::Node machine = EightCpus();
  PlayedTree tree(machine.machine());
  auto opened = nri_agent::WatchedRuntime::Open();
  ASSERT_TRUE(opened) << opened.error().message;
  const std::unique_ptr<nri_agent::WatchedRuntime> runtime = *std::move(opened);
  core::Node node(
      {.store = store, .tree = tree, .runtime = *runtime, .events = events, .clock = clock, .executor = executor},
      machine,
      {.pods = {.node_name = "n1"}, .boot = {.boot_id = "boot", .machine_fingerprint = "m"}, .owns_pods = false});
  const auto recovered = node.Recover(std::nullopt, clock.Now());
  ASSERT_TRUE(recovered) << recovered.error().message;
  nri_agent::NriAllocator agent(node, *runtime, {}, [] {});

  nri::Pod pod{.id = "s-db", .name = "db", .uid = "uid-db", .name_space = "default"};
  pod.cgroup_parent = "/kubepods/poduid-db";
  const std::string groups = pod.cgroup_parent.substr(1) + "/";
  const nri::Container container = TwoCpus(pod);
  ASSERT_TRUE(tree.Create(groups + pod.id));
  const auto creation = Asked<nri::Creation>();
  agent.Create(pod, container, creation);
  executor.RunAll();
  const auto created = creation.Wait();
  ASSERT_TRUE(created);
  ASSERT_TRUE(*created) << created->error().message;
  EXPECT_EQ((*created)->adjustment.resources.cpus, "1-2");
  ASSERT_TRUE(store.saved);
  EXPECT_TRUE(store.saved->ledger.pods.contains(pod.uid));

  ASSERT_TRUE(tree.Create(groups + container.id));
  const auto start = Asked<nri::Ready>();
  agent.Start(pod, container, start);
  executor.RunAll();
  const auto started = start.Wait();
  ASSERT_TRUE(started);
  ASSERT_TRUE(*started) << started->error().message;
  EXPECT_EQ(tree.CpusOf(groups + container.id), Cpus("1-2"));
  EXPECT_EQ(tree.CpusOf(groups + pod.id), Cpus("0,3-7"));
}

}  // namespace
}  // namespace berth
