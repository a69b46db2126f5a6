// Fill until refusal: how many refusals at most three moves of running containers cure, as one table. Says nothing
// about time: the same figures on every host.
//
//   defrag_bench [--sequences N] [MACHINE...]     machines as `berth simulate -m` takes them; without any, synthetic
//   ones
//
// A sequence is pods of one container that come, and in one of three cases go again, until one is refused that would
// fit on the empty node. Policies static, Static and single-numa-node; sizes are from one CPU to all of a NUMA node,
// memory in proportion. The best there is: a search that did not come to its limit has tried every series of as many
// moves in which each container moves once (allocator/defrag/defrag_plan_test.cc compares it with a brute force on
// numbers).
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "allocator/testing/builders.h"
#include "base/text.h"
#include "host/machine/load_machine.h"

namespace {

using namespace berth;
using namespace berth::allocator;

constexpr int kMoves = 3;

struct Sums {
  int refusals = 0;
  int cured = 0;
  int moves = 0;
  int undecided = 0;  // not cured, and the search came to its limit: the best there is may cure them
};

Result<Node> NodeOf(const std::string& machine_name) {
  BERTH_TRY(const Machine machine, machine::Load(machine_name));
  KubeletConfiguration config = testing::StaticConfig(FormatIds(CpuSet{*machine.online.First()}));
  config.topology_manager_policy = "single-numa-node";
  config.memory_manager_policy = "Static";
  const NumaNode& first = machine.nodes.front();
  config.system_reserved["memory"] = *Quantity::Parse("64Mi");
  config.reserved_memory = {{first.id, {{"memory", *Quantity::Parse("64Mi")}}}};
  return Node::Make(machine, config, {.node_fit = false});
}

void FillUntilRefusal(const Node& node, std::mt19937_64& random, Sums& sums) {
  const auto roll = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
  int largest = 1;
  Bytes memory = node.machine().nodes.front().memory;
  for (const NumaNode& numa : node.machine().nodes) {
    largest = std::max(largest, CpusOfNode(node.machine(), numa.id).Count());
    memory = std::max(memory, numa.memory);
  }
  Ledger ledger = node.EmptyLedger();
  for (int i = 0;; ++i) {
    const std::int64_t cpus = 1 + roll(roll(3) == 0 ? largest : std::max(1, largest / 2));
    const std::int64_t bytes = std::max<std::int64_t>(1 << 20, memory.v / largest * cpus / 2);
    const Pod pod = testing::MakePod(
        "u" + std::to_string(i),
        {testing::MakeContainer("main", {{"cpu", std::to_string(cpus)}, {"memory", std::to_string(bytes)}})});
    const Decision decision = Decide(node, ledger, pod, {}, nullptr);
    if (const auto* const admit = std::get_if<Admit>(&decision)) {
      Apply(ledger, admit->delta);
    } else if (!NeverFits(node, pod, {})) {
      ++sums.refusals;
      const DefragPlan plan = PlanDefrag(node, ledger, {pod}, {}, {.moves = kMoves});
      if (!plan.rooms.empty()) {
        ++sums.cured;
        sums.moves += static_cast<int>(plan.rooms[0].moves.size());
      } else if (!plan.without[0].exhaustive) {
        ++sums.undecided;
      }
      return;
    }
    if (roll(3) == 0 && !ledger.pods.empty()) {
      const auto gone = std::next(ledger.pods.begin(), roll(static_cast<std::int64_t>(ledger.pods.size())));
      Apply(ledger, Release(node, ledger, std::string(gone->first), nullptr));
    }
  }
}

bool Row(const std::string& machine, int sequences) {
  const auto node = NodeOf(machine);
  if (!node) {
    fmt::print(stderr, "{}: {}\n", machine, node.error().message);
    return false;
  }
  std::mt19937_64 random(20);
  Sums sums;
  for (int i = 0; i < sequences; ++i) FillUntilRefusal(*node, random, sums);
  const auto share = [](int part, int all) {
    return all == 0 ? std::string("-") : fmt::format("{:.1f} %", 100.0 * part / all);
  };
  fmt::print("| {} | {} | {} | {} | {:.2f} |\n", machine.substr(machine.rfind('/') + 1), sums.refusals,
             share(sums.cured, sums.refusals), share(sums.cured + sums.undecided, sums.refusals),
             sums.cured == 0 ? 0.0 : 1.0 * sums.moves / sums.cured);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  int sequences = 100;
  std::vector<std::string> machines;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--sequences" && i + 1 < argc)
      sequences = ParseDecimal<int>(argv[++i]).value_or(sequences);
    else if (!arg.starts_with("--benchmark_"))  // these are for all benchmarks, and about time
      machines.emplace_back(arg);
  }
  if (machines.empty())
    machines = {"numa:2(memory=16GB) core:8 pu:1", "numa:4(memory=16GB) core:8 pu:1",
                "pack:2 numa:4(memory=16GB) core:8 pu:1", "pack:2 numa:2(memory=64GB) core:16 pu:2"};
  fmt::print("| machine | refusals | cured by at most {} moves | the best there is cures at most | moves a cure |\n",
             kMoves);
  fmt::print("|---|--:|--:|--:|--:|\n");
  return std::ranges::all_of(machines, [&](const std::string& machine) { return Row(machine, sequences); }) ? 0 : 1;
}
