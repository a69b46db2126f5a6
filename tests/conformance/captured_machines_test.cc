// CPUs taken on captured machines as each version of the kubelet takes them: as many as asked, of those that are free,
// and where a machine is small and regular enough for it, those of the slow twin.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "allocator/cpu_selection/take.h"
#include "allocator/testing/take_twin.h"
#include "allocator/topology/cpu_topology.h"
#include "host/machine/load_machine.h"
#include "model/kubelet_rules.h"
#include "testing/fixtures.h"

namespace berth::conformance {
namespace {

using allocator::CpuTopology;
using allocator::Level;
using allocator::TakeRequest;
using allocator::Unit;

constexpr int kMostTwinNodes = 8;
constexpr int kMostTwinCpus = 64;

/// Of the checkout, and of the folder beside it where that is there.
std::vector<std::string> Captures() {
  std::vector<std::string> folders{testkit::SourcePath("tests/golden/machine/captures")};
  if (const auto shared = testkit::SharedPath("machines")) folders.push_back(*shared);
  std::vector<std::string> out;
  for (const std::string& folder : folders)
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().filename().string().contains(".tar")) out.push_back(entry.path().string());
  std::ranges::sort(out);
  return out;
}

bool SameSize(const std::vector<Unit>& units) {
  return std::ranges::all_of(units, [&](const Unit& unit) { return unit.cpus.Count() == units[0].cpus.Count(); });
}

/// Each unit of `inner` is in one of `outer`.
bool LieIn(const std::vector<Unit>& inner, const std::vector<Unit>& outer) {
  return std::ranges::all_of(inner, [&](const Unit& unit) {
    return std::ranges::any_of(outer, [&](const Unit& around) { return unit.cpus.IsSubsetOf(around.cpus); });
  });
}

/// As the twin wants it: nodes counted from 0, each in one socket, or where there are as many sockets, these in nodes;
/// and as many of all as the kubelet counts.
bool ForTheTwin(const Machine& machine, const CpuTopology& topology) {
  std::size_t threads = 0;
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    if (Raw(machine.nodes[i].id) != i) return false;
    for (const Core& core : machine.nodes[i].cores) threads += core.threads.size();
  }
  const auto count = [&](Level level) { return static_cast<int>(topology.units(level).size()); };
  if (topology.num_cpus() != topology.cpus().Count() || static_cast<int>(threads) != topology.num_cpus() ||
      count(Level::kSocket) != topology.num_sockets() || count(Level::kCore) != topology.num_cores())
    return false;
  const auto& nodes = topology.units(Level::kNuma);
  const auto& sockets = topology.units(Level::kSocket);
  const bool nested = sockets.size() >= nodes.size() ? LieIn(sockets, nodes) : LieIn(nodes, sockets);
  return nested && topology.num_numa() <= kMostTwinNodes && topology.num_cpus() <= kMostTwinCpus;
}

TakeRequest RandomRequest(const Machine& machine, const CpuTopology& topology, std::mt19937_64& rng) {
  const auto roll = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  TakeRequest out;
  const int busy = 2 + roll(8);
  for (const CpuId cpu : topology.cpus())
    if (roll(busy) != 0) out.available.Insert(cpu);
  out.num = roll(out.available.Count() + 1);
  out.distributed = roll(3) != 0;
  out.group = roll(2) == 0 ? std::max(1, topology.cpus_per_core()) : 1;
  out.num -= out.num % out.group;
  out.by_socket = roll(2) == 0;
  out.hinted_nodes = roll(static_cast<int>(machine.nodes.size()) + 2);
  out.uncore = !out.distributed && roll(3) == 0;
  out.spread = roll(3) == 0;
  return out;
}

TEST(CapturedMachinesTest, EveryVersionTakesWhatIsAskedOfWhatIsFreeAndWhatItsTwinTakes) {
  std::mt19937_64 rng(81);
  int compared = 0;
  for (const std::string& file : Captures()) {
    const Result<Machine> machine = machine::Load(file);
    ASSERT_TRUE(machine) << file << ": " << machine.error().message;
    const Result<CpuTopology> topology = CpuTopology::Make(*machine);
    if (!topology) continue;  // a machine that the kubelet does not start on either
    const bool for_the_twin = ForTheTwin(*machine, *topology);
    const bool same_sizes = SameSize(topology->units(Level::kCore)) && SameSize(topology->units(Level::kSocket));
    for (int round = 0; round < 18; ++round) {
      TakeRequest request = RandomRequest(*machine, *topology, rng);
      const KubeletVersion version = kKubeletVersions[static_cast<std::size_t>(round) % kKubeletVersions.size()];
      request.rules = KubeletRulesOf(version);
      const std::string where =
          file + ", " + std::string(Name(version)) + ": " + allocator::testing::RequestText(request);
      const Result<CpuSet> taken = TakeCpus(*topology, request);
      if (taken) {
        ASSERT_EQ(taken->Count(), request.num) << where;
        ASSERT_TRUE(taken->IsSubsetOf(request.available)) << where;
      }
      if (!for_the_twin || !(same_sizes || request.rules.real_sizes)) continue;
      const auto expected = allocator::testing::TakeTwin(*machine, request).Run();
      ASSERT_EQ(taken.has_value(), expected.has_value()) << where;
      if (!expected) continue;
      ASSERT_EQ(FormatIds(*taken), FormatIds(*expected)) << where;
      ++compared;
    }
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace berth::conformance
