// Random machines and pod sequences: what must hold after every step.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "allocator/cpu_selection/ordered.h"
#include "allocator/engine.h"
#include "allocator/explain/explain.h"
#include "allocator/node/node_tables.h"
#include "allocator/node/pod_rules.h"
#include "allocator/testing/random_node.h"

namespace berth::allocator {
namespace {

using testing::PropertySteps;
using testing::RandomNode;

/// "" if no CPU is in two pods' exclusive sets, none is reserved, none is lost and the shared pool is not empty.
std::string CpuFault(const Node& node, const Ledger& ledger) {
  CpuSet exclusive;
  for (const auto& [uid, pod] : ledger.pods) {
    const CpuSet own = ExclusiveCpus(pod);
    if (own.Intersects(exclusive))
      return "CPUs " + FormatIds(own & exclusive) + " of " + uid + " are somebody else's too";
    exclusive |= own;
    CpuSet kept;  // of containers that run side by side
    for (const Placement& placement : pod.placements) {
      if (!placement.cpus || placement.kind == ContainerKind::kInit) continue;
      if (placement.cpus->Intersects(kept)) return "two containers of " + uid + " share CPUs";
      kept |= *placement.cpus;
    }
  }
  if (exclusive.Intersects(node.reserved_cpus())) return "reserved CPUs were handed out";
  if (exclusive.Intersects(ledger.shared)) return "exclusive CPUs are in the shared pool";
  const CpuSet& apart = node.apart_cpus();
  if (ledger.shared.Intersects(apart)) return "CPUs that are for exclusive use alone are in the shared pool";
  if ((exclusive | ledger.shared | apart) != (node.EmptyLedger().shared | apart)) return "CPUs are lost";
  return ledger.shared.empty() ? "the shared pool is empty" : "";
}

/// "" if every set of up to two nodes has at least reserved what only it can hold, and at most what it may hold at all.
std::string SeatFault(const Ledger& ledger) {
  std::vector<NumaId> ids;
  for (const auto& [id, state] : ledger.memory) ids.push_back(id);
  for (NumaId a : ids) {
    for (NumaId b : ids) {
      const NodeSet nodes{a, b};
      std::map<std::string, std::pair<std::int64_t, std::int64_t>> bounds;
      for (const auto& [uid, pod] : ledger.pods)
        for (const Placement& placement : pod.placements)
          for (const MemoryBlock& block : placement.memory.value_or(std::vector<MemoryBlock>())) {
            auto& [least, most] = bounds[block.type];
            if (block.nodes.IsSubsetOf(nodes)) least += block.size.v;
            if (block.nodes.Intersects(nodes)) most += block.size.v;
          }
      for (const auto& [type, table] : ledger.memory.find(a)->second.types) {
        std::int64_t reserved = table.reserved.v;
        if (const auto& types = ledger.memory.find(b)->second.types; a != b && types.contains(type))
          reserved += types.find(type)->second.reserved.v;
        if (reserved < bounds[type].first || reserved > bounds[type].second)
          return type + " on " + FormatIds(nodes) + ": " + std::to_string(reserved) + " reserved, not " +
                 std::to_string(bounds[type].first) + " to " + std::to_string(bounds[type].second);
      }
    }
  }
  return "";
}

/// "" if what is reserved is what the placements hold, type by type, and nothing is negative.
std::string MemoryFault(const Ledger& ledger) {
  std::map<std::string, std::int64_t> held;
  std::map<NumaId, int> assignments;
  for (const auto& [uid, pod] : ledger.pods)
    for (const Placement& placement : pod.placements)
      if (placement.memory)
        for (const MemoryBlock& block : *placement.memory) {
          held[block.type] += block.size.v;
          for (NumaId id : block.nodes) ++assignments[id];
        }
  std::map<std::string, std::int64_t> booked;
  for (const auto& [id, state] : ledger.memory) {
    if (state.assignments != assignments[id]) return "assignments of node " + std::to_string(Raw(id));
    for (const auto& [type, table] : state.types) {
      if (table.free.v < 0 || table.reserved.v < 0) return "negative " + type;
      if (table.free + table.reserved != table.allocatable) return type + " does not add up";
      booked[type] += table.reserved.v;
    }
  }
  for (const auto& [type, sum] : held)
    if (booked[type] != sum)
      return type + ": " + std::to_string(booked[type]) + " booked, " + std::to_string(sum) + " held";
  return "";
}

std::string DeviceFault(const Ledger& ledger) {
  std::set<std::pair<std::string, std::string>> taken;
  for (const auto& [uid, pod] : ledger.pods) {
    std::set<std::pair<std::string, std::string>> own;
    for (const Placement& placement : pod.placements)
      for (const DeviceAssignment& given : placement.devices)
        for (const std::string& id : given.ids) own.emplace(given.resource, id);
    for (const auto& device : own)
      if (!taken.insert(device).second) return device.first + " " + device.second + " is held by two pods";
  }
  return "";
}

std::string Fault(const Node& node, const Ledger& ledger) {
  for (const std::string& fault : {CpuFault(node, ledger), MemoryFault(ledger), SeatFault(ledger), DeviceFault(ledger)})
    if (!fault.empty()) return fault;
  return "";
}

/// One node's life: pods come and go, and in the end all are gone. Returns the number of steps.
int Live(std::uint64_t seed) {
  RandomNode random(seed);
  const std::optional<Node> node = random.MakeNode();
  if (!node) return 0;
  const Inputs inputs = random.MakeInputs(*node);
  Ledger ledger = node->EmptyLedger();
  int steps = 0;
  std::vector<std::string> running;
  for (; steps < 25; ++steps) {
    if (!running.empty() && random.OneIn(3)) {
      const std::size_t i = random.Roll(static_cast<unsigned>(running.size()));
      Apply(ledger, Release(*node, ledger, running[i], nullptr));
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      const Pod pod = random.MakePod();
      Decision decision = Decide(*node, ledger, pod, inputs, nullptr);
      EXPECT_EQ(decision, Decide(*node, ledger, pod, inputs, nullptr)) << "seed " << seed;
      if (const auto* const admit = std::get_if<Admit>(&decision)) {
        Apply(ledger, admit->delta);
        running.push_back(pod.uid);
      }
    }
    const std::string fault = Fault(*node, ledger);
    EXPECT_EQ(fault, "") << "seed " << seed << " step " << steps;
    if (!fault.empty()) return steps;
  }
  for (const std::string& uid : running) Apply(ledger, Release(*node, ledger, uid, nullptr));
  EXPECT_EQ(ledger.shared, node->EmptyLedger().shared) << "seed " << seed;
  EXPECT_EQ(ledger.memory, node->EmptyLedger().memory) << "seed " << seed;
  EXPECT_TRUE(ledger.pods.empty()) << "seed " << seed;
  return steps;
}

TEST(EnginePropertyTest, KeepsEveryInvariantWhilePodsComeAndGo) {
  const int steps = PropertySteps(6000);
  int done = 0;
  for (std::uint64_t seed = 1; done < steps; ++seed) {
    done += Live(seed);
    if (HasFailure()) break;
  }
}

/// More or less for some containers; the class mostly stays.
Pod Resized(RandomNode& random, Pod pod) {
  const auto change = [&](Container& container) {
    Resources& resources = container.resources;
    const bool guaranteed = resources.requests == resources.limits;
    if (random.OneIn(2))
      resources.limits["cpu"] = testing::Q(random.OneIn(8) ? "700m" : std::to_string(1 + random.Roll(6)));
    if (random.OneIn(2)) resources.limits["memory"] = testing::Q(std::to_string(128 + random.Roll(3000)) + "Mi");
    if (resources.limits.contains("hugepages-2Mi"))
      resources.limits["hugepages-2Mi"] = testing::Q(std::to_string(2 * (1 + random.Roll(200))) + "Mi");
    if (guaranteed && !random.OneIn(20)) resources.requests = resources.limits;
  };
  for (Container& container : pod.containers) change(container);
  for (Container& container : pod.init_containers)
    if (container.restartable_init) change(container);
  return pod;
}

/// "" if no container of a pod with strict L3 has CPUs of several groups where one is as large.
std::string L3Fault(const Node& node, const PodRecord& record, const Pod& pod) {
  const NodeTables& tables = node.tables();
  if (RulesFor(tables, pod).cpu.l3 != CachePlace::kStrict) return "";
  const auto& groups = tables.topology.units(Level::kUncore);
  for (const Placement& placement : record.placements) {
    if (!placement.cpus || !FitsOneL3(tables.topology, placement.cpus->Count())) continue;
    if (std::ranges::none_of(groups, [&](const Unit& group) { return placement.cpus->IsSubsetOf(group.cpus); }))
      return placement.container + " has " + FormatIds(*placement.cpus) + " of more than one L3 group";
  }
  return "";
}

/// "" if the container kept what a resize must not touch. `strict`: it may have to leave what it started with to be in
/// one L3 group.
std::string ResizeFault(const Placement& before, const Placement& after, bool strict) {
  if (before.container != after.container || before.kind != after.kind) return "another container";
  if (before.devices != after.devices) return "devices of " + before.container + " changed";
  if (before.memory && MemoryNodes(before) != MemoryNodes(after)) return "memory of " + before.container + " moved";
  const CpuSet had = before.cpus.value_or(CpuSet());
  const CpuSet has = after.cpus.value_or(CpuSet());
  if (has.Count() > had.Count() && !had.IsSubsetOf(has)) return before.container + " lost CPUs while it grew";
  if (has.Count() <= had.Count() && !has.IsSubsetOf(had)) return before.container + " got others while it shrank";
  if (after.promised && !after.promised->IsSubsetOf(has)) return before.container + " is promised what it has not";
  const CpuSet promised = before.promised.value_or(had);
  if (!strict && has.Count() >= promised.Count() && !promised.IsSubsetOf(has))
    return before.container + " lost what it started with";
  return "";
}

struct ResizeCounts {
  int done = 0;
  int grown = 0;
  int deferred = 0;
  int infeasible = 0;
};

/// Decides it; what the answer claims is looked at. The pod is as asked for afterwards when it is yes.
void TryResize(const Node& node, const Inputs& inputs, RandomNode& random, Pod& pod, Ledger& ledger,
               ResizeCounts& counts) {
  Pod wanted = Resized(random, pod);
  if (wanted.annotations.contains("berth.dev/cpus") && random.OneIn(2)) random.AddCpuWishes(wanted);
  Decision decision = Resize(node, ledger, wanted, inputs, nullptr);
  EXPECT_EQ(decision, Resize(node, ledger, wanted, inputs, nullptr));
  ++counts.done;
  if (const auto* const admit = std::get_if<Admit>(&decision)) {
    const PodRecord before = ledger.pods.at(pod.uid);
    Apply(ledger, admit->delta);
    const PodRecord& after = ledger.pods.at(pod.uid);
    ASSERT_EQ(before.placements.size(), after.placements.size());
    const bool strict = RulesFor(node.tables(), wanted).cpu.l3 == CachePlace::kStrict;
    for (std::size_t i = 0; i < before.placements.size(); ++i)
      EXPECT_EQ(ResizeFault(before.placements[i], after.placements[i], strict), "");
    EXPECT_EQ(L3Fault(node, after, wanted), "");
    EXPECT_EQ(after.requests, PodRequests(wanted));
    counts.grown += ExclusiveCpus(after).Count() > ExclusiveCpus(before).Count() ? 1 : 0;
    pod = wanted;
    return;
  }
  const auto& reject = std::get<Reject>(decision);
  Ledger alone = ledger;
  for (const auto& [uid, record] : ledger.pods)
    if (uid != pod.uid) Apply(alone, Release(node, alone, uid, nullptr));
  const bool fits = std::holds_alternative<Admit>(Resize(node, alone, wanted, inputs, nullptr));
  EXPECT_EQ(reject.reason, fits ? kDeferred : kInfeasible) << reject.message;
  (fits ? counts.deferred : counts.infeasible) += 1;
}

/// As Live, with resizes; `own_rules`: on a node with options of Berth's own, and with pods that have some. Returns the
/// number of steps.
int LiveAndResize(std::uint64_t seed, bool own_rules, ResizeCounts& counts) {
  RandomNode random(seed);
  const std::optional<Node> node = random.MakeNode(own_rules);
  if (!node) return 0;
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Inputs inputs = random.MakeInputs(*node);
  Ledger ledger = node->EmptyLedger();
  std::vector<Pod> running;
  int steps = 0;
  for (; steps < 25 && !::testing::Test::HasFailure(); ++steps) {
    SCOPED_TRACE("step " + std::to_string(steps));
    const std::size_t i = running.empty() ? 0 : random.Roll(static_cast<unsigned>(running.size()));
    if (!running.empty() && random.OneIn(5)) {
      Apply(ledger, Release(*node, ledger, running[i].uid, nullptr));
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (!running.empty() && random.OneIn(2)) {
      TryResize(*node, inputs, random, running[i], ledger, counts);
    } else {
      Pod pod = random.MakePod();
      if (own_rules) random.AddWishes(pod);
      Decision decision = Decide(*node, ledger, pod, inputs, nullptr);
      if (const auto* const admit = std::get_if<Admit>(&decision)) {
        Apply(ledger, admit->delta);
        EXPECT_EQ(L3Fault(*node, ledger.pods.at(pod.uid), pod), "");
        for (const Placement& placement : ledger.pods.at(pod.uid).placements)
          if (random.OneIn(3)) Apply(ledger, ContainerStarted(*node, ledger, pod.uid, placement.container, nullptr));
        running.push_back(pod);
      }
    }
    EXPECT_EQ(Fault(*node, ledger), "");
  }
  for (const Pod& pod : running) Apply(ledger, Release(*node, ledger, pod.uid, nullptr));
  EXPECT_EQ(ledger.shared, node->EmptyLedger().shared);
  EXPECT_EQ(ledger.memory, node->EmptyLedger().memory);
  return steps;
}

TEST(EnginePropertyTest, KeepsEveryInvariantWhilePodsAreResized) {
  const int steps = PropertySteps(6000);
  ResizeCounts counts;
  int done = 0;
  for (std::uint64_t seed = 1; done < steps && !HasFailure(); ++seed) done += LiveAndResize(seed, false, counts);
  EXPECT_GT(counts.grown, counts.done / 20);
  EXPECT_GT(counts.deferred, counts.done / 50);
  EXPECT_GT(counts.infeasible, counts.done / 50);
}

TEST(EnginePropertyTest, KeepsEveryInvariantWherePodsHaveRulesOfTheirOwn) {
  const int steps = PropertySteps(6000);
  ResizeCounts counts;
  int done = 0;
  for (std::uint64_t seed = 1; done < steps && !HasFailure(); ++seed) done += LiveAndResize(seed, true, counts);
  EXPECT_GT(counts.grown, counts.done / 20);
  EXPECT_GT(counts.deferred, counts.done / 200);
  EXPECT_GT(counts.infeasible, counts.done / 50);
}

TEST(EnginePropertyTest, ClaimsInExplanationsAreTrue) {
  const int rejections = PropertySteps(60000) / 300;  // each is worth hundreds of decisions
  int seen = 0;
  int with_nearest = 0;
  int with_removal = 0;
  for (std::uint64_t seed = 1; seen < rejections && !HasFailure(); ++seed) {
    RandomNode random(seed);
    const std::optional<Node> node = random.MakeNode();
    if (!node) continue;
    const Inputs inputs = random.MakeInputs(*node);
    Ledger ledger = node->EmptyLedger();
    for (int step = 0; step < 12; ++step) {
      const Pod pod = random.MakePod();
      const Decision decision = Decide(*node, ledger, pod, inputs, nullptr);
      if (const auto* const admit = std::get_if<Admit>(&decision)) {
        Apply(ledger, admit->delta);
        continue;
      }
      ++seen;
      const Explanation explanation = Explain(*node, ledger, pod, inputs);
      ASSERT_EQ(explanation.decision, decision) << "seed " << seed;
      for (const Shortage& shortage : explanation.shortages) {
        ASSERT_GT(shortage.missing, 0) << "seed " << seed;
        ASSERT_EQ(shortage.missing, shortage.requested - shortage.free) << "seed " << seed;
      }
      if (explanation.nearest) {
        ++with_nearest;
        ASSERT_FALSE(explanation.nearest->changes.empty()) << "seed " << seed;
        ASSERT_TRUE(std::holds_alternative<Admit>(Decide(*node, ledger, explanation.nearest->pod, inputs, nullptr)))
            << "seed " << seed;
      }
      if (explanation.removal) {
        ++with_removal;
        Ledger left = ledger;
        for (const PodRef& holder : explanation.removal->pods) Apply(left, Release(*node, left, holder.uid, nullptr));
        ASSERT_TRUE(std::holds_alternative<Admit>(Decide(*node, left, pod, inputs, nullptr))) << "seed " << seed;
      } else {
        ASSERT_TRUE(std::holds_alternative<Reject>(Decide(*node, node->EmptyLedger(), pod, inputs, nullptr)))
            << "seed " << seed;
      }
    }
  }
  EXPECT_GT(with_nearest, seen / 3);
  EXPECT_GT(with_removal, seen / 10);
}

}  // namespace
}  // namespace berth::allocator
