// One whole decision: machines of 2, 4 and 8 nodes, CPU and memory pinned, 0 to 3 device resources, random states.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/engine.h"
#include "engine/testing/builders.h"

namespace {

using namespace berth;
using namespace berth::engine;

constexpr std::array kResources{"a.com/gpu", "b.com/nic", "c.com/fpga"};
constexpr int kStates = 200;

/// A node, its devices, ledgers filled to different degrees, and a pod to decide on for each.
struct Scene {
  Scene(int nodes, int cpus_per_node, int resources, const char* policy) : node(Make(nodes, cpus_per_node, policy)) {
    for (int r = 0; r < resources; ++r)
      for (int d = 0; d < 2 * nodes; ++d)
        inputs.devices[kResources[static_cast<std::size_t>(r)]].push_back(
            {"d" + std::to_string(100 + d), {NumaId{static_cast<unsigned>(d / 2)}}, true});
    std::mt19937_64 rng(1);
    const int cpus = nodes * cpus_per_node;
    while (ledgers.size() < kStates) {
      Ledger ledger = node.EmptyLedger();
      for (int tries = static_cast<int>(rng() % static_cast<unsigned>(2 + cpus / 4)); tries > 0; --tries) {
        const Pod pod = RandomPod(rng, resources, cpus_per_node);
        Decision decision = Decide(node, ledger, pod, inputs, nullptr);
        if (const auto* const admit = std::get_if<Admit>(&decision)) Apply(ledger, admit->delta);
      }
      ledgers.push_back(std::move(ledger));
      pods.push_back(RandomPod(rng, resources, cpus_per_node));
    }
  }

  static Node Make(int nodes, int cpus_per_node, const char* policy) {
    KubeletConfiguration config = testing::StaticConfig("0");
    testing::PinMemory(config);
    config.topology_manager_policy = policy;
    testing::Shape shape{.sockets = std::min(2, nodes), .nodes_per_socket = std::max(1, nodes / 2)};
    shape.cores_per_node = cpus_per_node / 2;
    shape.node_memory = GiB(64);
    auto made = Node::Make(testing::MakeMachine(shape), config);
    BERTH_CHECK(made.has_value());
    return *std::move(made);
  }

  Pod RandomPod(std::mt19937_64& rng, int resources, int cpus_per_node) {
    const auto roll = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
    std::map<std::string, std::string> amounts;
    amounts["cpu"] = std::to_string(1 + roll(roll(4) == 0 ? 2 * cpus_per_node : 8));
    amounts["memory"] = std::to_string(1 + roll(roll(4) == 0 ? 100 : 16)) + "Gi";
    for (int r = 0; r < resources; ++r) amounts[kResources[static_cast<std::size_t>(r)]] = std::to_string(1 + roll(3));
    return testing::MakePod("u" + std::to_string(next++), {testing::MakeContainer("c", amounts)});
  }

  Node node;
  Inputs inputs;
  std::vector<Ledger> ledgers;
  std::vector<Pod> pods;
  int next = 0;
};

void BM_Decide(benchmark::State& state, const char* policy) {
  const Scene scene(static_cast<int>(state.range(0)), 32, static_cast<int>(state.range(1)), policy);
  std::vector<double> times;
  std::size_t i = 0;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    Decision decision = Decide(scene.node, scene.ledgers[i], scene.pods[i], scene.inputs, nullptr);
    const auto end = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(decision);
    const double seconds = std::chrono::duration<double>(end - start).count();
    state.SetIterationTime(seconds);
    times.push_back(seconds);
    i = (i + 1) % scene.ledgers.size();
  }
  std::sort(times.begin(), times.end());
  state.counters["p50_us"] = times[times.size() / 2] * 1e6;
  state.counters["p99_us"] = times[times.size() * 99 / 100] * 1e6;
}

void Machines(benchmark::internal::Benchmark* bench) {
  for (int nodes : {2, 4, 8})
    for (int resources : {0, 1, 2, 3}) bench->Args({nodes, resources});
  bench->ArgNames({"nodes", "devices"})->UseManualTime();
}

BENCHMARK_CAPTURE(BM_Decide, best_effort, "best-effort")->Apply(Machines);
BENCHMARK_CAPTURE(BM_Decide, restricted, "restricted")->Apply(Machines);

}  // namespace
