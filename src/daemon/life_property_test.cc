// The life of a node: pods come, go, wait, are resized, some beside the shared pool, and berthd is ended now and then.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/testing/random_node.h"
#include "daemon/fake_node_test.h"

namespace berth::daemon {
namespace {

/// Ten CPUs on two NUMA nodes, CPU 0 reserved. The node's rules let pods have CPUs of their own by annotation.
allocator::Node NodeOfLife() {
  auto machine = machine::ParseSynthetic("numa:2 core:5 pu:1");
  EXPECT_TRUE(machine);
  KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  config.topology_manager_policy = "best-effort";
  allocator::EngineOptions options;
  PodPolicy& all = options.own.pods.emplace_back();
  all.name = "all";
  all.namespaces = all.cpus = {"*"};
  all.max_cpus = 6;
  auto node = allocator::Node::Make(*machine, config, options);
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

/// FakeNode looks after each step whether containers share CPUs; this looks at what is left when nothing moves.
class BusyNode {
 public:
  explicit BusyNode(std::uint64_t seed) : random_(seed), world_(NodeOfLife()) {
    world_.resizing = true;
    world_.pod_options.queue.most_waiting = 6;
    world_.pod_options.queue.overtakes = 2;
    Boot();
  }

  void Step() {
    const std::map<std::string, CpuSet> before = CpusOfPods();
    switch (Below(6)) {
      case 0:
      case 1: return Leave();
      case 2: Resize(); break;
      case 3: EndBerthd(); break;
      default: Arrive(); break;
    }
    Settle();
    for (const auto& [uid, cpus] : CpusOfPods()) {
      const auto had = before.find(uid);
      const bool resized = had == before.end() || cpus.IsSubsetOf(had->second) || had->second.IsSubsetOf(cpus);
      EXPECT_TRUE(resized) << uid << " had " << FormatIds(had->second) << " and has " << FormatIds(cpus);
    }
    Look();
  }
  void EndAll() {
    wanted_.clear();
    Settle();
    EXPECT_TRUE(manager_->idle());
    EXPECT_EQ(manager_->ledger().shared, world_.node.EmptyLedger().shared);
    EXPECT_TRUE(world_.runtime.containers.empty());
  }
  int waited() const { return waited_; }
  int resized() const { return resized_; }
  int deferred() const { return deferred_; }

 private:
  std::size_t Below(std::size_t n) { return random_() % n; }
  os::MonoTime Now() { return world_.clock.Now(); }
  void Boot() {
    manager_ = world_.Boot();
    const auto started = manager_->Start(world_.store.saved, Now());
    EXPECT_TRUE(started) << started.error().message;
  }

  void Arrive() {
    if (wanted_.size() >= 9) return;
    const std::string name = "p" + std::to_string(arrivals_++);
    const bool mixed = Below(4) == 0;
    Pod pod = MakePod(name, std::to_string(1 + Below(5)), mixed ? QosClass::kBurstable : QosClass::kGuaranteed);
    if (mixed) SetOwn(pod, 1 + static_cast<int>(Below(2)));
    pod.priority = static_cast<std::int32_t>(Below(2));
    wanted_.push_back(std::move(pod));
  }
  void Leave() {
    if (!wanted_.empty()) wanted_.erase(wanted_.begin() + static_cast<std::ptrdiff_t>(Below(wanted_.size())));
    Settle();
    Look();
  }
  void Resize() {
    if (wanted_.empty()) return;
    Pod& pod = wanted_[Below(wanted_.size())];
    Resources& resources = pod.containers[0].resources;
    const std::size_t cpus = 1 + Below(5);
    resources.requests["cpu"] = *Quantity::Parse(std::to_string(cpus));
    if (resources.limits.contains("cpu")) resources.limits["cpu"] = resources.requests["cpu"];
    if (pod.annotations.contains("berth.dev/cpus")) SetOwn(pod, 1 + static_cast<int>(Below(cpus)));
    ++resized_;
  }
  static void SetOwn(Pod& pod, int cpus) {
    pod.annotations["berth.dev/cpus"] = std::to_string(cpus) + " exclusive + shared";
  }
  /// In the middle of what it does, or while it does nothing.
  void EndBerthd() {
    if (!wanted_.empty() && Below(2) == 0) Resize();
    world_.steps.DieAt(static_cast<int>(Below(12)));
    try {
      manager_->OnSnapshot(Wanting(wanted_), Now());
    } catch (const Died&) {
    }
    Boot();
  }
  void Settle() {
    for (int i = 0; i < 5; ++i) {
      manager_->OnSnapshot(Wanting(wanted_), Now());
      manager_->OnRuntime(Now());
      world_.clock.Advance(os::Millis(1'100));
      manager_->Sync(Now());
    }
  }

  std::map<std::string, CpuSet> CpusOfPods() const {
    std::map<std::string, CpuSet> out;
    for (const auto& [uid, pod] : manager_->ledger().pods) out.emplace(uid, ExclusiveCpus(pod));
    return out;
  }

  void Look() {
    CpuSet all = manager_->ledger().shared;
    for (const auto& [uid, cpus] : CpusOfPods()) {
      EXPECT_FALSE(cpus.Intersects(all)) << uid;
      all |= cpus;
      EXPECT_TRUE(manager_->pods().contains(uid)) << uid << " is held by nobody";
    }
    EXPECT_EQ(all, world_.node.EmptyLedger().shared) << "CPUs are lost";
    LookAtGroups();
    for (const auto& [uid, managed] : manager_->pods()) {
      LookAtRejected(managed);
      LookAtResize(managed);
    }
  }
  /// Nobody is on CPUs that are another one's, and everybody is on his own.
  void LookAtGroups() {
    for (const auto& [id, status] : world_.runtime.containers) {
      if (status.state != runtime::ContainerState::kRunning) continue;
      const CpuSet on = *world_.tree.Read(world_.tree.PathOf(status))->cpus;
      for (const auto& [uid, cpus] : CpusOfPods())
        EXPECT_EQ(on & cpus, uid == status.pod_uid ? cpus : CpuSet()) << status.container << " and " << uid;
    }
  }
  bool Fits(const Decision& decision) const { return std::holds_alternative<Admit>(decision); }
  void LookAtRejected(const pods::ManagedPod& managed) {
    const auto* const rejected = std::get_if<pods::Rejected>(&managed.stage);
    if (rejected == nullptr) return;
    waited_ += rejected->place > 0 ? 1 : 0;
    if (!Fits(allocator::Decide(world_.node, manager_->ledger(), managed.pod, {}, nullptr))) return;
    EXPECT_NE(managed.why().message.find("which comes first"), std::string::npos)
        << managed.pod.name << " fits and is not admitted: " << managed.why().message;
    EXPECT_NE(rejected->place, 1) << managed.pod.name << " is the first, and fits";
  }
  void LookAtResize(const pods::ManagedPod& managed) {
    if (!managed.resize) return;
    ++deferred_;
    const bool fits = Fits(allocator::Resize(world_.node, manager_->ledger(), managed.resize->wanted, {}, nullptr));
    EXPECT_TRUE(!fits || managed.resize->why.message.find("which comes first") != std::string::npos)
        << managed.pod.name << " could be resized: " << managed.resize->why.message;
  }

  std::mt19937_64 random_;
  FakeNode world_;
  std::unique_ptr<TestManager> manager_;
  std::vector<Pod> wanted_;
  int arrivals_ = 0;
  int waited_ = 0;
  int resized_ = 0;
  int deferred_ = 0;
};

TEST(LifePropertyTest, NothingOverlapsOrLeaksAndWhoCouldHaveAPlaceHasIt) {
  const int steps = allocator::testing::PropertySteps(12'000) / 20;
  int waited = 0;
  int resized = 0;
  int deferred = 0;
  int done = 0;
  for (std::uint64_t seed = 1; done < steps && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    BusyNode node(seed);
    for (int step = 0; step < 40 && !HasFailure(); ++step, ++done) {
      SCOPED_TRACE("step " + std::to_string(step));
      node.Step();
    }
    node.EndAll();
    waited += node.waited();
    resized += node.resized();
    deferred += node.deferred();
  }
  EXPECT_GT(waited, done / 5);
  EXPECT_GT(resized, done / 10);
  EXPECT_GT(deferred, done / 100);
}

}  // namespace
}  // namespace berth::daemon
