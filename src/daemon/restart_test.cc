// What a restart of berthd leaves as it was: on the same node everything, on a changed one everything that still can
// be.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "allocator/testing/random_node.h"
#include "daemon/fake_node_test.h"
#include "daemon/fit_config.h"
#include "model/kubelet_version.h"
#include "model/promises.h"
#include "model/resize_changes.h"
#include "node/checkpoint/kubelet_files.h"
#include "node/checkpoint/ledger_import.h"
#include "node/ledger/shared_pool.h"

namespace berth::daemon {
namespace {

using allocator::testing::PropertySteps;

/// Pods of a ledger, admitted and running, each container's group as Berth would have made it.
void LetRun(FakeNode& world, const Ledger& ledger, const std::vector<Pod>& pods) {
  world.steps.set_check(nullptr);
  const CpuSet shared = ledger::SharedCpus(world.node, ledger);
  const auto make = [&](const std::string& path, const CpuSet& cpus, const NodeSet& mems) {
    ASSERT_TRUE(world.tree.Create(path));
    CgroupValues values;
    values.cpus = cpus;
    if (!mems.empty()) values.mems = mems;
    ASSERT_TRUE(world.tree.Write(path, values));
  };
  make(cgroup::Names().Own(), shared, {});
  for (const QosClass qos : {QosClass::kBurstable, QosClass::kBestEffort}) make(cgroup::Names().Qos(qos), shared, {});
  for (const Pod& pod : pods) {
    const PodRecord& record = ledger.pods.find(pod.uid)->second;
    if (record.qos == QosClass::kGuaranteed)
      make(cgroup::Names().Pod(record.qos, pod.uid), ExclusiveCpus(record) | shared, {});
    for (const Placement& placement : record.placements) {
      if (placement.kind == ContainerKind::kInit) continue;  // ended long ago
      make(cgroup::Names().Pod(record.qos, pod.uid) + "/" + placement.container, placement.cpus.value_or(shared),
           MemoryNodes(placement));
      runtime::ContainerStatus status;
      status.id = pod.uid + "_" + placement.container + "_0";
      status.pod_uid = pod.uid;
      status.container = placement.container;
      status.state = runtime::ContainerState::kRunning;
      status.pid = world.runtime.next_pid++;
      world.runtime.containers.insert_or_assign(status.id, status);
    }
  }
  world.store.saved = checkpoint::Saved{ledger, "boot", "m"};
}

using Places = std::map<std::string, std::pair<CpuSet, NodeSet>>;

/// Where every running container is, as the kernel says.
Places WhereTheyRun(FakeNode& world) {
  Places out;
  for (const auto& [id, status] : world.runtime.containers) {
    if (status.state != runtime::ContainerState::kRunning) continue;
    const auto values = world.tree.Read(world.tree.PathOf(status));
    out.emplace(id, std::pair(values->cpus.value_or(CpuSet()), values->mems.value_or(NodeSet())));
  }
  return out;
}

/// Pods that came and went on an empty node.
struct Filled {
  Ledger ledger;
  std::vector<Pod> pods;
};
Filled Fill(allocator::testing::RandomNode& random, const allocator::Node& node) {
  Filled out{.ledger = node.EmptyLedger(), .pods = {}};
  for (unsigned tries = 1 + random.Roll(8); tries > 0; --tries) {
    Pod pod = random.MakePod();
    const Decision decision = allocator::Decide(node, out.ledger, pod, {}, nullptr);
    if (const auto* admitted = std::get_if<Admit>(&decision)) {
      Apply(out.ledger, admitted->delta);
      out.ledger.pods.at(pod.uid).allocated = AllocatedOf(pod);
      out.pods.push_back(std::move(pod));
    }
    if (!out.pods.empty() && random.OneIn(4)) {
      Apply(out.ledger, allocator::Release(node, out.ledger, out.pods.front().uid, nullptr));
      out.pods.erase(out.pods.begin());
    }
  }
  return out;
}

/// A new berthd on what the last one left: its pods are as they were, and nothing is written.
void ExpectNobodyMoves(FakeNode& world, const Filled& filled, const std::string& when) {
  const Places before = WhereTheyRun(world);
  world.steps.ClearLog();
  const auto manager = world.Boot();
  ASSERT_TRUE(manager->Start(world.store.saved, world.clock.Now())) << when;
  EXPECT_EQ(manager->ledger(), filled.ledger) << when;
  manager->OnSnapshot(Wanting(filled.pods), world.clock.Now());
  manager->OnRuntime(world.clock.Now());
  EXPECT_EQ(WhereTheyRun(world), before) << when;
  EXPECT_EQ(world.steps.Find("signal"), -1) << when;
  EXPECT_EQ(world.steps.Find("cpus"), -1) << when << ": " << world.steps.log().front();
  EXPECT_EQ(world.steps.Find("save"), -1) << when;
}

TEST(RestartTest, RandomLedgersComeBackAndNobodyMoves) {
  const int wanted = PropertySteps(1000);
  int ledgers = 0;
  int containers = 0;
  for (std::uint64_t seed = 1; ledgers < wanted; ++seed) {
    allocator::testing::RandomNode random(seed);
    const auto node = random.MakeNode();
    if (!node) continue;
    const Filled filled = Fill(random, *node);
    const std::vector<std::string> contradictions = Contradictions(filled.ledger);
    ASSERT_TRUE(contradictions.empty()) << "seed " << seed << ": " << contradictions.front();
    FakeNode world(*node);
    LetRun(world, filled.ledger, filled.pods);
    ExpectNobodyMoves(world, filled, "seed " + std::to_string(seed));
    ++ledgers;
    containers += static_cast<int>(WhereTheyRun(world).size());
  }
  std::printf("%d ledgers with %d running containers: all where they were\n", ledgers, containers);
}

// ---- another version of the kubelet --------------------------------------------------------------------------------

/// What a kubelet of that version would have in its files: the same assignments, in its formats.
void ExpectExported(const Ledger& ledger, KubeletVersion version, const std::string& when) {
  auto cpu = checkpoint::ParseKubeletCpuState(FormatKubeletState(checkpoint::ExportCpuState(ledger, version)));
  auto memory = checkpoint::ParseKubeletMemoryState(FormatKubeletState(checkpoint::ExportMemoryState(ledger, version)));
  ASSERT_TRUE(cpu && memory) << when;
  EXPECT_EQ(checkpoint::WriterOf(cpu->version), version) << when;
  EXPECT_EQ(checkpoint::WriterOf(memory->version), version) << when;
  const Ledger read =
      checkpoint::ImportKubelet({.cpu = *std::move(cpu), .memory = *std::move(memory), .devices = {}}, nullptr).ledger;
  const auto nodes = [](const Placement& of) { return MemoryNodes({.container = "", .memory = of.memory}); };
  for (const auto& [uid, record] : ledger.pods) {
    const auto pod = read.pods.find(uid);
    for (const Placement& had : record.placements) {
      const Placement* const found = pod != read.pods.end() ? FindPlacement(pod->second, had.container) : nullptr;
      const Placement has = found != nullptr ? *found : Placement();
      EXPECT_EQ(has.cpus.value_or(CpuSet()), had.cpus.value_or(CpuSet())) << when << ": " << had.container;
      EXPECT_EQ(nodes(has), nodes(had)) << when << ": " << had.container;
    }
  }
}

TEST(RestartTest, ANodeWhoseKubeletVersionChangesAndChangesBackKeepsItsPods) {
  const int wanted = PropertySteps(300);
  int nodes = 0;
  for (std::uint64_t seed = 1; nodes < wanted; ++seed) {
    allocator::testing::RandomNode random(seed);
    const auto made = random.MakeNode();
    if (!made) continue;
    const auto as = [&](KubeletVersion version) {
      allocator::EngineOptions options = made->options();
      options.kubelet_version = version;
      return allocator::Node::Make(made->machine(), made->config(), options);
    };
    const auto older = as(KubeletVersion::k1_36);
    const auto newer = as(KubeletVersion::k1_37);
    // Reserved CPUs that are chosen by number may be others: that is another change (below).
    if (!older || !newer || older->reserved_cpus() != newer->reserved_cpus()) continue;
    const Filled filled = Fill(random, *older);
    FakeNode world(*older);
    LetRun(world, filled.ledger, filled.pods);
    for (const allocator::Node* const next : {&*older, &*newer, &*older}) {
      const KubeletVersion version = next->options().kubelet_version;
      const std::string when = "seed " + std::to_string(seed) + " as " + std::string(Name(version));
      world.node = *next;
      ExpectNobodyMoves(world, filled, when);
      ExpectExported(filled.ledger, version, when);
    }
    ++nodes;
  }
}

// ---- the change matrix -------------------------------------------------------------------------------------------

/// One way a node can be set up.
struct Shape {
  const char* cpu_policy = "static";
  const char* memory_policy = "Static";
  const char* option = "";
  const char* reserved = "0";
  const char* topology = "best-effort";
  const char* scope = "container";
  int nodes = 2;
  int cores = 4;  // of a node
  CpuSet offline;
  std::int64_t memory_change = 0;  // MiB of a node
  bool huge_pages = false;
};

std::string Text(const Shape& s) {
  return std::string(s.cpu_policy) + "/" + s.memory_policy + " option '" + s.option + "' reserved " + s.reserved + " " +
         s.topology + "/" + s.scope + " nodes " + std::to_string(s.nodes) + " cores " + std::to_string(s.cores) +
         " offline '" + FormatIds(s.offline) + "' memory " + std::to_string(s.memory_change) +
         (s.huge_pages ? " huge pages" : "");
}

/// CPUs keep their numbers when cores or nodes go: the last ones of a node and the last node do.
Machine MachineOf(const Shape& s) {
  constexpr int kCores = 4;
  allocator::testing::Shape full{.sockets = 1, .nodes_per_socket = 2, .cores_per_node = kCores, .threads = 2};
  full.adjacent = true;
  full.node_memory = GiB(8) + MiB(s.memory_change);
  if (s.huge_pages) full.hugepages = {{MiB(2), 256}};
  full.offline = s.offline;
  for (int node = 0; node < 2; ++node)
    for (int cpu = (node < s.nodes ? s.cores : 0) * 2; cpu < kCores * 2; ++cpu)
      full.offline.Insert(CpuId{static_cast<unsigned>(node * kCores * 2 + cpu)});
  Machine out = allocator::testing::MakeMachine(full);
  if (s.nodes == 1) {
    out.nodes.pop_back();
    allocator::testing::AddTotals(out);
  }
  return out;
}

std::optional<allocator::Node> NodeOf(const Shape& s) {
  KubeletConfiguration config = allocator::testing::StaticConfig(s.reserved);
  config.cpu_manager_policy = s.cpu_policy;
  if (*s.option != 0 && config.cpu_manager_policy == "static") config.cpu_manager_policy_options[s.option] = "true";
  config.topology_manager_policy = s.topology;
  config.topology_manager_scope = s.scope;
  if (std::string_view(s.memory_policy) == "Static") allocator::testing::PinMemory(config, "1Gi");
  Machine machine = MachineOf(s);
  FitToMachine(config, machine);
  auto node = allocator::Node::Make(std::move(machine), config);
  if (!node) return std::nullopt;
  return *std::move(node);
}

/// Two CPUs and 2 GiB each for three pods over both nodes, and one pod in the shared pool.
std::vector<Pod> MatrixPods() {
  std::vector<Pod> out;
  for (const char* name : {"a", "b", "c"})
    out.push_back(allocator::testing::MakePod(
        name, {allocator::testing::MakeContainer("app", {{"cpu", "2"}, {"memory", "2Gi"}})}));
  Pod& shared = out.emplace_back();
  shared.uid = "d";
  shared.name = "pod-d";
  shared.containers.emplace_back().name = "app";
  return out;
}

/// Admits what fits.
std::pair<Ledger, std::vector<Pod>> Admitted(const allocator::Node& node) {
  std::pair<Ledger, std::vector<Pod>> out{node.EmptyLedger(), {}};
  for (const Pod& pod : MatrixPods()) {
    const Decision decision = allocator::Decide(node, out.first, pod, {}, nullptr);
    if (const auto* admitted = std::get_if<Admit>(&decision)) {
      Apply(out.first, admitted->delta);
      out.second.push_back(pod);
    }
  }
  return out;
}

std::vector<Shape> Before() {
  std::vector<Shape> out;
  for (const char* cpu : {"static", "none"})
    for (const char* memory : {"Static", "None"})
      for (const char* option : {"", "full-pcpus-only", "strict-cpu-reservation"})
        if (std::string_view(cpu) == "static" || *option == 0)
          out.push_back({.cpu_policy = cpu, .memory_policy = memory, .option = option, .reserved = "0-1"});
  return out;
}

std::vector<Shape> After() {
  std::vector<Shape> out;
  for (const Shape& base : Before()) {
    for (const char* reserved : {"0", "0-1", "0-3"}) {
      for (const std::int64_t memory : {0, -3, 3, -4096}) {
        Shape s = base;
        s.reserved = reserved;
        s.memory_change = memory;
        out.push_back(s);
        s.cores = 2;
        out.push_back(s);
        s.cores = 4;
        s.nodes = 1;
        out.push_back(s);
        s.nodes = 2;
        s.offline = allocator::testing::Cpus("3,9");
        s.huge_pages = true;
        out.push_back(s);
        s.offline = {};
        s.huge_pages = false;
        s.topology = "restricted";
        s.scope = "pod";
        out.push_back(s);
      }
    }
  }
  return out;
}

class Change {
 public:
  Change(const allocator::Node& before, const allocator::Node& after, bool reboot)
      : world_(before), after_(after), reboot_(reboot) {
    std::tie(ledger_, pods_) = Admitted(before);
    LetRun(world_, ledger_, pods_);
    was_ = WhereTheyRun(world_);
    world_.node = after;
    world_.tree.online = after.all_cpus();
    if (!reboot) return;
    world_.runtime.containers.clear();
    world_.store.saved->boot_id = "the boot before";
    for (const std::string& path : {std::string("kubepods"), cgroup::Names().Own()})
      EXPECT_TRUE(world_.tree.Remove(path));
  }

  void Check() {
    auto manager = world_.Boot();
    const auto started = manager->Start(world_.store.saved, world_.clock.Now());
    ASSERT_TRUE(started) << started.error().message;
    const Ledger& now = manager->ledger();
    for (const std::string& problem : Contradictions(now)) ADD_FAILURE() << problem;
    EXPECT_TRUE(now.shared.IsSubsetOf(after_.all_cpus()));
    EXPECT_EQ(now, world_.store.saved->ledger) << "what is in force is on disk";
    for (const Pod& pod : pods_) CheckPod(pod, now);
    CheckRunning(now);
    CheckAgain(now);
  }

 private:
  bool Named(const Pod& pod) const {
    return std::ranges::any_of(world_.events.events(), [&](const Event& event) {
      return event.object == "pod/" + FullName(pod) && event.reason == "LedgerAdapted" && !event.message.empty();
    });
  }

  /// What is left of a pod's place is the same place, and what is not is named.
  void CheckPod(const Pod& pod, const Ledger& now) {
    const PodRecord& had = ledger_.pods.find(pod.uid)->second;
    const auto record = now.pods.find(pod.uid);
    if (record == now.pods.end()) {
      EXPECT_TRUE(reboot_) << "only what does not run may lose its place as a whole";
      EXPECT_TRUE(Named(pod));
      return;
    }
    for (const Placement& old : had.placements) {
      const Placement* placement = FindPlacement(record->second, old.container);
      ASSERT_NE(placement, nullptr);
      if (old.cpus) {
        const CpuSet left = *old.cpus & after_.all_cpus();
        if (!placement->cpus) {
          EXPECT_TRUE(left.empty() || (after_.all_cpus() - ExclusiveCpus(now) - left).empty() || Strict())
              << pod.uid << " could have kept " << FormatIds(left);
        } else {
          EXPECT_EQ(*placement->cpus, left) << pod.uid;
        }
        EXPECT_TRUE(placement->cpus == old.cpus || Named(pod)) << pod.uid;
      }
      EXPECT_TRUE(placement->memory == old.memory || Named(pod)) << pod.uid;
      const bool node_there = MemoryNodes(old).IsSubsetOf(NodeIds(after_.machine()));
      const bool room = after_.machine().nodes.front().memory > GiB(7);
      if (old.memory && now.memory_policy == "Static" && node_there && room) {
        EXPECT_EQ(placement->memory, old.memory) << pod.uid;
      }
    }
  }

  bool Strict() const { return after_.config().cpu_manager_policy_options.contains("strict-cpu-reservation"); }

  /// The kernel lets every container run where the ledger says, and nobody onto exclusive CPUs.
  void CheckRunning(const Ledger& now) {
    const Places places = WhereTheyRun(world_);
    EXPECT_EQ(places.size(), reboot_ ? 0U : was_.size());
    for (const auto& [id, place] : places) {
      const runtime::ContainerStatus& status = world_.runtime.containers[id];
      const Placement* placement = FindPlacement(now.pods.find(status.pod_uid)->second, status.container);
      EXPECT_EQ(place.first, placement->cpus ? *placement->cpus : ledger::SharedCpus(after_, now)) << id;
      EXPECT_EQ(place.second, was_.find(id)->second.second) << id << ": memory nodes are never changed";
    }
  }

  /// The next restart finds everything as it should be.
  void CheckAgain(const Ledger& now) {
    const Ledger settled = now;
    world_.steps.ClearLog();
    auto manager = world_.Boot();
    ASSERT_TRUE(manager->Start(world_.store.saved, world_.clock.Now()));
    EXPECT_EQ(manager->ledger(), settled);
    EXPECT_EQ(world_.steps.Find("save"), -1);
    EXPECT_EQ(world_.steps.Find("cpus"), -1);
  }

  FakeNode world_;
  const allocator::Node& after_;
  bool reboot_;
  Ledger ledger_;
  std::vector<Pod> pods_;
  Places was_;
};

/// Policy x options x scope x reserved CPUs x CPUs x memory x nodes x reboot: every combination starts.
TEST(RestartTest, TheChangeMatrixAlwaysStarts) {
  const std::vector<Shape> after = After();
  const std::size_t stride = std::max<std::size_t>(1, 7 / static_cast<std::size_t>(std::max(1, PropertySteps(1))));
  std::size_t number = 0;
  int starts = 0;
  for (const Shape& old : Before()) {
    const auto before = NodeOf(old);
    ASSERT_TRUE(before) << Text(old);
    for (const Shape& fresh : after) {
      if (number++ % stride != 0) continue;
      const auto node = NodeOf(fresh);
      ASSERT_TRUE(node) << Text(fresh);
      for (const bool reboot : {false, true}) {
        SCOPED_TRACE(Text(old) + " -> " + Text(fresh) + (reboot ? " rebooted" : ""));
        Change(*before, *node, reboot).Check();
        ++starts;
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  std::printf("%d changes: all started\n", starts);
}

}  // namespace
}  // namespace berth::daemon
