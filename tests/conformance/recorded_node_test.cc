// What holds on the recorder's books too, whatever comes and goes.
#include "conformance/recorded_node.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "allocator/testing/random_node.h"
#include "model/promises.h"

namespace berth::conformance {
namespace {

using allocator::testing::RandomNode;

/// CPU promises the ledger breaks, one a line.
std::string CpuFaults(const allocator::Node& node, const Ledger& ledger) {
  StateFacts state;
  state.shared = ledger.shared;
  std::set<std::string> pods;
  for (const auto& [uid, pod] : ledger.pods) pods.insert(uid);
  for (HolderFacts& holder : FactsOf(ledger, pods).holders) {
    holder.memory.clear();
    holder.devices.clear();
    state.holders.push_back(std::move(holder));
  }
  state.pods = pods;
  std::string out;
  for (const std::string& broken :
       BrokenPromises(FactsOf(node.machine(), node.config(), node.reserved_cpus(), {}), state))
    if (!broken.contains("shared pool is empty")) out += broken + "\n";
  return out;
}

TEST(RecordedNodeTest, KeepsThePromisesAboutCpus) {
  for (std::uint64_t seed = 1; seed <= 150 && !HasFailure(); ++seed) {
    RandomNode random(seed);
    const std::optional<allocator::Node> node = random.MakeNode();
    if (!node) continue;
    RecordedNode recorded(*node, random.MakeInputs(*node));
    std::vector<std::string> pods;
    for (int step = 0; step < 15; ++step) {
      if (!pods.empty() && random.OneIn(3)) {
        recorded.Remove(pods.back());
        pods.pop_back();
      } else if (random.OneIn(8)) {
        recorded.Restart(random.OneIn(2));
      } else {
        const Pod pod = random.MakePod();
        recorded.Add(pod, nullptr);
        pods.push_back(pod.uid);
      }
      ASSERT_EQ(CpuFaults(*node, recorded.ledger()), "") << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace berth::conformance
