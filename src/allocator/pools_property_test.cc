// Random machines with named pools, and pods that come, go, are resized, wait and find a node that was started again:
// what must hold of the pools after every step. What CPUs, memory and devices have to be beside is checked by the
// promises, which know nothing of the engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "allocator/node/node_tables.h"
#include "allocator/node/pod_rules.h"
#include "allocator/testing/random_node.h"
#include "base/text.h"
#include "model/promises.h"

namespace berth::allocator {
namespace {

using testing::PropertySteps;
using testing::RandomNode;

std::int64_t AskedOfAll(const Ledger& ledger, const std::string& pool) {
  std::int64_t out = 0;
  for (const auto& [uid, pod] : ledger.pods) out += AskedOfPool(pod, pool).value_or(0);
  return out;
}

/// "" if the pool is as large as its containers and its rule want it, of the CPUs its rule names.
std::string SizeFault(const Node& node, const Ledger& ledger, const PoolRule& rule, const CpuPool& pool) {
  const NodeTables& tables = node.tables();
  const PoolThreads threads = RulesOfPool(tables, rule)->threads;
  const std::int64_t needed = std::max({std::int64_t{1}, rule.min_cpus, (AskedOfAll(ledger, rule.name) + 999) / 1000});
  const int has = pool.cpus.Count();
  const std::string size = rule.name + " (" + Join(WordsOf(rule.cpu), ",") + ") has CPUs " + FormatIds(pool.cpus) +
                           ", " + std::to_string(needed) + " are needed";
  const CpuSet cores = tables.topology.Around(pool.cpus, Level::kCore);
  if (rule.max_cpus && has > *rule.max_cpus) return rule.name + " has more than the most";
  if (threads == PoolThreads::kAny || threads == PoolThreads::kOnePerCore) {
    if (has != needed) return size;
  } else {
    if (has < needed || has >= needed + 2) return size;
    if (cores != pool.cpus) return rule.name + " has parts of cores";
  }
  if (threads != PoolThreads::kOnePerCore && !pool.idle.empty()) return rule.name + " leaves CPUs idle";
  if (threads == PoolThreads::kOnePerCore) {
    if (HeldCpus(pool) != cores) return rule.name + " does not hold the siblings of its CPUs";
    for (const Unit& core : tables.topology.units(Level::kCore))
      if (core.cpus.CountCommon(pool.cpus) > 1) return rule.name + " runs on two threads of a core";
  }
  CpuSet allowed;
  for (const NumaId id : rule.numa_nodes) allowed |= CpusOfNode(node.machine(), id);
  if (!rule.numa_nodes.empty() && !HeldCpus(pool).IsSubsetOf(allowed)) return rule.name + " left its nodes";
  return "";
}

/// "" if a pool that was there grew or shrank, and did not move.
std::string MoveFault(const Ledger& before, const Ledger& after) {
  for (const auto& [name, pool] : after.pools) {
    const auto was = before.pools.find(name);
    if (was == before.pools.end()) continue;
    const CpuSet had = HeldCpus(was->second);
    const CpuSet has = HeldCpus(pool);
    if (!had.IsSubsetOf(has) && !has.IsSubsetOf(had))
      return name + " moved from " + FormatIds(had) + " to " + FormatIds(has);
  }
  return "";
}

struct PoolCounts {
  int steps = 0;
  int joined = 0;
  int refused = 0;
  int resized = 0;
  int admitted_later = 0;
};

class PoolLife {
 public:
  PoolLife(Node node, RandomNode& random, PoolCounts& counts)
      : node_(std::move(node)),
        random_(random),
        counts_(counts),
        inputs_(random.MakeInputs(node_)),
        ledger_(node_.EmptyLedger()),
        facts_(FactsOf(node_.machine(), node_.config(), node_.reserved_cpus(), inputs_.devices, node_.apart_cpus())) {}

  void Step() {
    const std::size_t i = running_.empty() ? 0 : random_.Roll(static_cast<unsigned>(running_.size()));
    if (random_.OneIn(10)) {
      StartAgain();
    } else if (!running_.empty() && random_.OneIn(4)) {
      Release(i);
    } else if (!running_.empty() && random_.OneIn(3)) {
      TryResize(running_[i]);
    } else {
      Pod pod = random_.MakePod();
      if (random_.OneIn(4)) random_.AddWishes(pod);
      if (!random_.OneIn(3)) random_.AddPool(pod);
      if (!Admit(pod)) waiting_.push_back(pod);
    }
    ++counts_.steps;
    Check();
  }

  /// All leave: nothing is left.
  void End() {
    waiting_.clear();
    while (!running_.empty()) Release(running_.size() - 1);
    EXPECT_EQ(ledger_.pools, CpuPools());
    EXPECT_EQ(ledger_.shared, node_.EmptyLedger().shared);
    EXPECT_EQ(ledger_.memory, node_.EmptyLedger().memory);
  }

 private:
  void Take(const LedgerDelta& delta) {
    const Ledger before = ledger_;
    Apply(ledger_, delta);
    EXPECT_EQ(MoveFault(before, ledger_), "");
  }

  bool Admit(const Pod& pod) {
    const Decision decision = Decide(node_, ledger_, pod, inputs_, nullptr);
    EXPECT_EQ(decision, Decide(node_, ledger_, pod, inputs_, nullptr));
    const auto* const admit = std::get_if<berth::Admit>(&decision);
    if (admit == nullptr) {
      counts_.refused += std::get<Reject>(decision).reason == "CPUPoolError" ? 1 : 0;
      return false;
    }
    Take(admit->delta);
    running_.push_back(pod);
    for (const Placement& placement : ledger_.pods.at(pod.uid).placements)
      counts_.joined += placement.pool.empty() ? 0 : 1;
    return true;
  }

  /// Who waits is tried again, as room has come.
  void Release(std::size_t i) {
    Take(allocator::Release(node_, ledger_, running_[i].uid, nullptr));
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<Pod> waiting = std::exchange(waiting_, {});
    for (const Pod& pod : waiting) {
      if (NeverFits(node_, pod, inputs_)) continue;
      if (Admit(pod))
        ++counts_.admitted_later;
      else
        waiting_.push_back(pod);
    }
  }

  void TryResize(Pod& pod) {
    Pod wanted = pod;
    for (Container& container : wanted.containers) {
      const bool guaranteed = container.resources.requests == container.resources.limits;
      container.resources.limits["cpu"] = testing::Q(random_.OneIn(3) ? "700m" : std::to_string(1 + random_.Roll(6)));
      if (guaranteed)
        container.resources.requests = container.resources.limits;
      else
        container.resources.requests["cpu"] = testing::Q(random_.OneIn(2) ? "50m" : "700m");
    }
    const Decision decision = Resize(node_, ledger_, wanted, inputs_, nullptr);
    const auto* const admit = std::get_if<berth::Admit>(&decision);
    if (admit == nullptr) return;
    Take(admit->delta);
    pod = wanted;
    ++counts_.resized;
  }

  /// The node is made anew from its settings, and every pod is admitted again: all keep what they have.
  void StartAgain() {
    auto again = Node::Make(node_.machine(), node_.config(), node_.options());
    ASSERT_TRUE(again.has_value());
    node_ = *std::move(again);
    Ledger kept = ledger_;
    for (const Pod& pod : running_) {
      const Decision decision = Decide(node_, kept, pod, inputs_, nullptr);
      ASSERT_TRUE(std::holds_alternative<berth::Admit>(decision));
      Apply(kept, std::get<berth::Admit>(decision).delta);
    }
    EXPECT_EQ(kept.pools, ledger_.pools);
    EXPECT_EQ(kept.pods, ledger_.pods);
    ledger_ = std::move(kept);
  }

  void Check() const {
    ASSERT_THAT(Contradictions(ledger_), ::testing::IsEmpty());
    std::set<std::string> pods;
    for (const auto& [uid, pod] : ledger_.pods) pods.insert(uid);
    ASSERT_THAT(BrokenPromises(facts_, FactsOf(ledger_, pods)), ::testing::IsEmpty());
    for (const auto& [name, pool] : ledger_.pools)
      ASSERT_EQ(SizeFault(node_, ledger_, *FindPool(node_.options().own.pools, name), pool), "");
  }

  Node node_;
  RandomNode& random_;
  PoolCounts& counts_;
  const Inputs inputs_;
  Ledger ledger_;
  const NodeFacts facts_;
  std::vector<Pod> running_;
  std::vector<Pod> waiting_;
};

TEST(PoolsPropertyTest, KeepsEveryInvariantWherePodsShareNamedPools) {
  const int steps = PropertySteps(3000);
  PoolCounts counts;
  for (std::uint64_t seed = 1; counts.steps < steps && !::testing::Test::HasFailure(); ++seed) {
    RandomNode random(seed);
    std::optional<Node> node = random.MakeNodeWithPools();
    if (!node) continue;
    SCOPED_TRACE("seed " + std::to_string(seed));
    PoolLife life(*std::move(node), random, counts);
    for (int step = 0; step < 25 && !::testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      life.Step();
    }
    if (!::testing::Test::HasFailure()) life.End();
  }
  EXPECT_GT(counts.joined, counts.steps / 20);
  EXPECT_GT(counts.refused, counts.steps / 50);
  EXPECT_GT(counts.resized, counts.steps / 50);
  EXPECT_GT(counts.admitted_later, counts.steps / 200);
}

}  // namespace
}  // namespace berth::allocator
