#include "allocator/cpu_selection/take.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "allocator/testing/builders.h"

namespace berth::allocator {
namespace {

using testing::Cpus;
using testing::MakeMachine;
using testing::Shape;

CpuTopology TopologyOf(const Machine& machine) { return *CpuTopology::Make(machine); }
CpuTopology T4() { return TopologyOf(MakeMachine({.sockets = 2, .nodes_per_socket = 2, .cores_per_node = 2})); }
CpuTopology T8() { return TopologyOf(MakeMachine({.sockets = 8, .cores_per_node = 4, .threads = 1})); }

std::string Take(const CpuTopology& topology, std::string_view available, int num, TakeRequest options = {}) {
  options.available = Cpus(available);
  options.num = num;
  const auto taken = TakeCpus(topology, options);
  return taken ? FormatIds(*taken) : "error: " + taken.error().message;
}

/// Four sockets in two nodes; core c has the CPUs c and c+8.
Machine SocketsInsideNodes() {
  Machine machine = MakeMachine({.sockets = 2, .cores_per_node = 4});
  for (NumaNode& node : machine.nodes)
    for (Core& core : node.cores) core.socket = SocketId{core.core_id / 2};
  testing::AddTotals(machine);
  return machine;
}

/// Cores given thread by thread, on one node.
Machine Irregular(std::vector<std::vector<unsigned>> cores) {
  Machine machine;
  machine.nodes.emplace_back();
  for (std::size_t c = 0; c < cores.size(); ++c) {
    Core& core = machine.nodes[0].cores.emplace_back();
    core.core_id = static_cast<unsigned>(c);
    for (unsigned cpu : cores[c]) core.threads.push_back(CpuId{cpu});
  }
  testing::AddTotals(machine);
  return machine;
}

TEST(TakeCpusTest, FillsWholeCoresThenTheMostUsedOnes) {
  const std::string all_but_core_0 = "1-7,9-15";
  EXPECT_EQ(Take(T4(), all_but_core_0, 1), "1");
  EXPECT_EQ(Take(T4(), all_but_core_0, 2), "1,9");
  EXPECT_EQ(Take(T4(), all_but_core_0, 4), "2-3,10-11");
  EXPECT_EQ(Take(T4(), all_but_core_0, 5), "1-3,10-11");
  EXPECT_EQ(Take(T4(), all_but_core_0, 8), "4-7,12-15");
  EXPECT_EQ(Take(T4(), all_but_core_0, 10), "1,4-7,9,12-15");
}

TEST(TakeCpusTest, UsesUpFragmentsFirst) {
  const std::string free = "0-2,4,9-10,12-15";
  EXPECT_EQ(Take(T4(), free, 1), "2");
  EXPECT_EQ(Take(T4(), free, 2), "2,10");
  EXPECT_EQ(Take(T4(), free, 3), "0,2,10");
  EXPECT_EQ(Take(T4(), free, 4), "1-2,9-10");
  EXPECT_EQ(Take(T4(), free, 6), "1-2,4,9-10,12");
}

TEST(TakeCpusTest, TakesSocketsFirstWhereNodesHoldSeveral) {
  const CpuTopology topology = TopologyOf(SocketsInsideNodes());
  EXPECT_EQ(Take(topology, "0-15", 4), "0-1,8-9");
  EXPECT_EQ(Take(topology, "1-7,9-15", 4), "2-3,10-11");
  EXPECT_EQ(Take(topology, "1-7,9-15", 8), "4-7,12-15");
  EXPECT_EQ(Take(topology, "1-7,9-15", 10), "1,4-7,9,12-15");
}

TEST(TakeCpusTest, SpreadsOverCoresButStillTakesWholeNodesFirst) {
  const TakeRequest spread{.spread = true};
  EXPECT_EQ(Take(T4(), "0-15", 2, spread), "0-1");
  EXPECT_EQ(Take(T4(), "0-15", 4, spread), "0-1,8-9");
  EXPECT_EQ(Take(T4(), "0-15", 6, spread), "0-3,8-9");
  EXPECT_EQ(Take(T4(), "0-15", 14, spread), "0-13");
}

TEST(TakeCpusTest, SpreadsNothingWhereSiblingsAreNeighbours) {
  const CpuTopology topology = TopologyOf(MakeMachine({.cores_per_node = 4, .adjacent = true}));
  EXPECT_EQ(Take(topology, "0-7", 2, {.spread = true}), "0-1");
}

TEST(TakeCpusTest, AlignsToL3GroupsWhenAsked) {
  const CpuTopology topology = TopologyOf(MakeMachine({.cores_per_node = 8, .cores_per_uncore = 4}));
  const TakeRequest uncore{.uncore = true};
  EXPECT_EQ(Take(topology, "1-15", 4, uncore), "4-5,12-13");
  EXPECT_EQ(Take(topology, "1-15", 8, uncore), "4-7,12-15");
  EXPECT_EQ(Take(topology, "1-15", 4), "1-2,9-10");
  EXPECT_EQ(Take(topology, "1-15", 8), "1-4,9-12");
  EXPECT_EQ(Take(topology, "0-7,9-15", 3, uncore), "0-1,9");
  EXPECT_EQ(Take(topology, "0-7,9-15", 4, uncore), "4-5,12-13");
  EXPECT_EQ(Take(topology, "1-5,9-13", 5, uncore), "1-3,9-10");
  EXPECT_EQ(Take(topology, "1-5,9-13", 7, uncore), "1-4,9-11");
  EXPECT_EQ(Take(topology, "1-5,9-13", 8, uncore), "1-4,9-12");
}

TEST(TakeCpusTest, TakesAWholeNodeBeforeL3Groups) {
  const CpuTopology topology =
      TopologyOf(MakeMachine({.sockets = 2, .cores_per_node = 4, .threads = 1, .cores_per_uncore = 2}));
  const TakeRequest uncore{.uncore = true};
  EXPECT_EQ(Take(topology, "0,2,4,6-7", 2, uncore), "6-7");
  EXPECT_EQ(Take(topology, "1,3-7", 3, uncore), "1,4-5");
  EXPECT_EQ(Take(topology, "1-7", 3, uncore), "1-3");
  EXPECT_EQ(Take(topology, "1-7", 4, uncore), "4-7");
}

TEST(TakeCpusTest, NeverHandsOutABusyCpuOfAnIrregularCore) {
  EXPECT_EQ(Take(TopologyOf(Irregular({{0, 1}, {2, 3}, {4}, {5}, {6}, {7}})), "1-7", 2), "4-5");
  EXPECT_EQ(Take(TopologyOf(Irregular({{0, 4}, {1, 5}, {2, 6}, {3}})), "1-6", 2), "3-4");
}

TEST(TakeCpusTest, DistributesEvenlyOverNodes) {
  const TakeRequest by_cpu{.distributed = true};
  const TakeRequest by_core{.distributed = true, .group = 2};
  EXPECT_EQ(Take(T4(), "0-15", 5, by_cpu), "0-2,8,10");
  EXPECT_EQ(Take(T4(), "0-15", 9, by_cpu), "0-5,8,10,12");
  EXPECT_EQ(Take(T4(), "0-15", 13, by_cpu), "0-10,12,14");
  EXPECT_EQ(Take(T4(), "0-15", 5, by_core), "0-2,8-9");
  EXPECT_EQ(Take(T4(), "0-15", 6, by_core), "0-2,8-10");
  EXPECT_EQ(Take(T4(), "1-7,9-15", 5, by_cpu), "2-4,10,12");
  EXPECT_EQ(Take(T4(), "1-7,9-15", 9, by_cpu), "2-7,10,12,14");
  EXPECT_EQ(Take(T4(), "1-7,9-15", 12, by_core), "2-7,10-15");
}

TEST(TakeCpusTest, RemembersNodeCombinationsTheWayTheKubeletDoes) {
  const TakeRequest by_cpu{.distributed = true};
  EXPECT_EQ(Take(T8(), "0-31", 16, by_cpu), "0-11,28-31");
  EXPECT_EQ(Take(T8(), "0-31", 13, by_cpu), "0-6,8-10,28-30");
  EXPECT_EQ(Take(T8(), "0-31", 24, by_cpu), "0-19,28-31");
  const CpuTopology six = TopologyOf(MakeMachine({.sockets = 6, .cores_per_node = 4, .threads = 1}));
  EXPECT_EQ(Take(six, "0-23", 16, by_cpu), "0-11,20-23");
  const CpuTopology five = TopologyOf(MakeMachine({.sockets = 5, .cores_per_node = 4, .threads = 1}));
  EXPECT_EQ(Take(five, "0-19", 16, by_cpu), "0-11,16-19");
}

TEST(TakeCpusTest, ReportsTheAccountingErrorOfAnOverwrittenCombination) {
  const CpuTopology topology =
      TopologyOf(MakeMachine({.sockets = 4, .nodes_per_socket = 2, .cores_per_node = 8, .threads = 1}));
  const std::string free = "0-3,8-11,16-19,24-27,32-35,40-43,48,56-63";
  EXPECT_EQ(Take(topology, free, 30, {.distributed = true}),
            "error: accounting error, not enough CPUs allocated, remaining: 4");
  EXPECT_EQ(Take(topology, free, 28, {.distributed = true}), "0-3,8-11,16-19,24-27,32-35,56-63");
}

TEST(TakeCpusTest, AnswersWhereTheKubeletLoopsForever) {
  const CpuTopology topology = TopologyOf(MakeMachine({.sockets = 4, .cores_per_node = 3}));
  // One thread busy in every node: five free ones each, two of a group of two left over.
  const std::string free = "1-2,4-5,7-8,10-11,12-23";
  const TakeRequest by_core{.distributed = true, .group = 2};
  CpuSet taken = Cpus(Take(topology, free, 14, by_core));
  EXPECT_EQ(taken.Count(), 14);
  EXPECT_TRUE(taken.IsSubsetOf(Cpus(free)));
}

TEST(TakeCpusTest, RefusesMoreThanThereIsInTheKubeletsWords) {
  EXPECT_EQ(Take(T4(), "2-3", 3), "error: not enough cpus available to satisfy request: requested=3, available=2");
  EXPECT_EQ(Take(T4(), "2-3", 0), "");
}

// The packed algorithm once more, straight from the rules: sets of numbers and nothing prepared.
class PackedTwin {
 public:
  PackedTwin(const Machine& machine, CpuSet free, int need) : machine_(machine), free_(std::move(free)), need_(need) {}

  CpuSet Run() {
    const bool numa_first = machine_.reported_sockets >= static_cast<int>(machine_.nodes.size());
    TakeAll(numa_first ? 0 : 1);
    TakeAll(numa_first ? 1 : 0);
    TakeAll(2);
    if (need_ > 0) {
      std::vector<CpuId> order;
      for (std::uint32_t core : Order(2))
        for (CpuId cpu : free_)
          if (IdOf(cpu, 2) == core) order.push_back(cpu);
      for (CpuId cpu : order)
        if (need_ > 0) Take(CpuSet{cpu});
    }
    return result_;
  }

 private:
  std::uint32_t IdOf(CpuId cpu, int level) const {
    for (const NumaNode& node : machine_.nodes)
      for (const Core& core : node.cores)
        if (std::find(core.threads.begin(), core.threads.end(), cpu) != core.threads.end())
          return level == 0 ? Raw(node.id) : level == 1 ? Raw(core.socket) : Raw(berth::IdOf(core));
    return 0;
  }
  CpuSet CpusOf(std::uint32_t id, int level) const {
    CpuSet out;
    for (CpuId cpu : machine_.online)
      if (IdOf(cpu, level) == id) out.Insert(cpu);
    return out;
  }
  std::vector<std::uint32_t> Sorted(const CpuSet& within, int level) const {
    std::vector<std::pair<int, std::uint32_t>> keys;
    for (CpuId cpu : within& free_)
      keys.emplace_back((CpusOf(IdOf(cpu, level), level) & free_).Count(), IdOf(cpu, level));
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    std::vector<std::uint32_t> out;
    for (const auto& [count, id] : keys) out.push_back(id);
    return out;
  }
  std::vector<std::uint32_t> Order(int level) const {
    const bool numa_first = machine_.reported_sockets >= static_cast<int>(machine_.nodes.size());
    const int outermost = numa_first ? 0 : 1;
    if (level == outermost) return Sorted(free_, level);
    std::vector<std::uint32_t> out;
    const int outer = level == 2 ? 1 - outermost : outermost;
    for (std::uint32_t id : Order(outer))
      for (std::uint32_t inner : Sorted(CpusOf(id, outer), level)) out.push_back(inner);
    return out;
  }
  void TakeAll(int level) {
    const int sockets = machine_.reported_sockets;
    const int cores = machine_.reported_cores;
    std::vector<CpuSet> full;
    for (std::uint32_t id : Order(level)) {
      const CpuSet cpus = CpusOf(id, level);
      const int all = level == 0 ? cpus.Count() : machine_.reported_cpus / (level == 1 ? sockets : cores);
      if (cpus.CountCommon(free_) == all) full.push_back(cpus);
    }
    for (const CpuSet& cpus : full)
      if (need_ >= cpus.Count() && need_ > 0 && cpus.IsSubsetOf(free_)) Take(cpus);
  }
  void Take(const CpuSet& cpus) {
    result_ |= cpus;
    free_ -= cpus;
    need_ -= cpus.Count();
  }

  const Machine& machine_;
  CpuSet free_;
  CpuSet result_;
  int need_;
};

TEST(TakeCpusTwinTest, EqualsThePackedTwinOnRandomMachines) {
  std::mt19937_64 rng(77);
  const auto roll = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 400; ++round) {
    Shape shape{.sockets = 1 + roll(2), .nodes_per_socket = 1 + roll(2), .cores_per_node = 1 + roll(4)};
    shape.threads = 1 + roll(2);
    shape.adjacent = roll(2) == 0;
    Machine machine = MakeMachine(shape);
    if (roll(3) == 0) {
      for (CpuId cpu : machine.online)
        if (roll(8) == 0) shape.offline.Insert(cpu);
      machine = MakeMachine(shape);
      if (machine.online.empty()) continue;
    }
    TakeRequest request;
    for (CpuId cpu : machine.online)
      if (roll(4) != 0) request.available.Insert(cpu);
    request.num = roll(request.available.Count() + 1);
    const auto taken = TakeCpus(TopologyOf(machine), request);
    ASSERT_TRUE(taken.has_value()) << "seed 77, round " << round;
    ASSERT_EQ(FormatIds(*taken), FormatIds(PackedTwin(machine, request.available, request.num).Run()))
        << "seed 77, round " << round << " free " << FormatIds(request.available) << " num " << request.num;
  }
}

TEST(TakeCpusPropertyTest, AlwaysTakesExactlyWhatIsAskedOutOfWhatIsFree) {
  std::mt19937_64 rng(78);
  const auto roll = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 2000; ++round) {
    Shape shape{.sockets = 1 + roll(3), .nodes_per_socket = 1 + roll(2), .cores_per_node = 1 + roll(4)};
    shape.threads = 1 + roll(4);
    shape.cores_per_uncore = roll(3);
    for (unsigned cpu = 0; cpu < 96; ++cpu)
      if (roll(9) == 0) shape.offline.Insert(CpuId{cpu});
    const Machine machine = MakeMachine(shape);
    if (machine.online.empty()) continue;
    TakeRequest request{
        .distributed = roll(2) == 0, .group = 1 + roll(2), .uncore = roll(2) == 0, .spread = roll(2) == 0};
    for (CpuId cpu : machine.online)
      if (roll(3) != 0) request.available.Insert(cpu);
    request.num = roll(request.available.Count() + 2);
    const auto taken = TakeCpus(TopologyOf(machine), request);
    if (!taken) continue;  // the kubelet's own errors stay errors
    ASSERT_EQ(taken->Count(), request.num) << "seed 78, round " << round;
    ASSERT_TRUE(taken->IsSubsetOf(request.available)) << "seed 78, round " << round;
  }
}

}  // namespace
}  // namespace berth::allocator
