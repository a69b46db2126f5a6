// TakeCpus against the slow twin of allocator/testing/take_twin.h.
#include "allocator/testing/take_twin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "allocator/cpu_selection/take.h"
#include "allocator/testing/random_node.h"
#include "model/kubelet_rules.h"

namespace berth::allocator {
namespace {

using testing::MakeMachine;
using testing::PropertySteps;
using testing::RequestText;
using testing::Shape;
using testing::TakeTwin;

std::string Expected(const Machine& machine, const TakeRequest& request) {
  const auto cpus = TakeTwin(machine, request).Run();
  return cpus ? FormatIds(*cpus) : "error";
}

std::string Actual(const CpuTopology& topology, const TakeRequest& request) {
  const auto taken = TakeCpus(topology, request);
  return taken ? FormatIds(*taken) : "error";
}

TEST(TakeCpusTwinTest, EqualsTheTwinOnEveryFreeSetOfEightCpus) {
  const Shape shapes[] = {{.sockets = 1, .cores_per_node = 4, .cores_per_uncore = 2},
                          {.sockets = 2, .cores_per_node = 2, .adjacent = true},
                          {.sockets = 1, .nodes_per_socket = 2, .cores_per_node = 2, .cores_per_uncore = 1},
                          {.sockets = 4, .cores_per_node = 2, .threads = 1}};
  for (const Shape& shape : shapes) {
    const Machine machine = MakeMachine(shape);
    const CpuTopology topology = *CpuTopology::Make(machine);
    for (unsigned free = 0; free < 256; ++free) {
      for (unsigned options = 0; options < 8; ++options) {
        TakeRequest request{.distributed = (options & 1) != 0, .spread = (options & 2) != 0};
        const bool more = (options & 4) != 0;
        request.group = more && request.distributed ? shape.threads : 1;
        request.uncore = more && !request.distributed;
        for (unsigned cpu = 0; cpu < 8; ++cpu)
          if ((free >> cpu & 1) != 0) request.available.Insert(CpuId{cpu});
        for (request.num = 1; request.num <= request.available.Count(); ++request.num)
          ASSERT_EQ(Actual(topology, request), Expected(machine, request)) << RequestText(request);
      }
    }
  }
}

TEST(TakeCpusTwinTest, EqualsTheTwinOnLargerMachines) {
  std::mt19937_64 rng(79);
  const auto roll = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  const int rounds = std::min(PropertySteps(300), 20000);
  for (int round = 0; round < rounds; ++round) {
    Shape shape{.sockets = 1 + roll(4), .nodes_per_socket = 1 + roll(2), .cores_per_node = 1 + roll(4)};
    shape.threads = 1 + roll(2);
    shape.adjacent = roll(2) == 0;
    shape.cores_per_uncore = roll(4);
    const Machine machine = MakeMachine(shape);
    TakeRequest request{
        .distributed = roll(2) == 0, .group = 1 + roll(2), .uncore = roll(2) == 0, .spread = roll(2) == 0};
    const int busy = 2 + roll(8);
    for (CpuId cpu : machine.online)
      if (roll(busy) != 0) request.available.Insert(cpu);
    request.num = roll(request.available.Count() + 2);
    ASSERT_EQ(Actual(*CpuTopology::Make(machine), request), Expected(machine, request))
        << "seed 79, round " << round << ": " << RequestText(request);
  }
}

TEST(TakeCpusTwinTest, EqualsTheTwinUnderTheRulesOfLaterKubelets) {
  std::mt19937_64 rng(80);
  const auto roll = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  const int rounds = std::min(PropertySteps(300), 20000);
  for (int round = 0; round < rounds; ++round) {
    const KubeletVersion version = roll(2) == 0 ? KubeletVersion::k1_37 : KubeletVersion::k1_38;
    Shape shape{.sockets = 1 + roll(2), .nodes_per_socket = 1 + roll(4), .cores_per_node = 1 + roll(4)};
    shape.threads = 1 + roll(2);
    shape.adjacent = roll(2) == 0;
    shape.cores_per_uncore = roll(4);
    // Sizes of their own only where the rules look at them: the twin knows no oddities of averages.
    for (unsigned cpu = 0; cpu < 64 && KubeletRulesOf(version).real_sizes; ++cpu)
      if (roll(8) == 0) shape.offline.Insert(CpuId{cpu});
    const Machine machine = MakeMachine(shape);
    if (machine.online.empty()) continue;
    TakeRequest request{
        .distributed = roll(3) != 0, .group = 1 + roll(2), .uncore = roll(2) == 0, .spread = roll(2) == 0};
    request.by_socket = roll(2) == 0;
    request.hinted_nodes = roll(static_cast<int>(machine.nodes.size()) + 2);
    request.rules = KubeletRulesOf(version);
    const int busy = 2 + roll(8);
    for (CpuId cpu : machine.online)
      if (roll(busy) != 0) request.available.Insert(cpu);
    request.num = roll(request.available.Count() + 2);
    ASSERT_EQ(Actual(*CpuTopology::Make(machine), request), Expected(machine, request))
        << "seed 80, round " << round << ", " << Name(version) << ": " << RequestText(request);
  }
}

}  // namespace
}  // namespace berth::allocator
