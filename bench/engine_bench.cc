// Whole decisions on machines of 2 to 64 nodes: times, allocations and steps, as one table. usage:
//
//   engine_bench                         the table, and a million arrivals and departures on four nodes
//   engine_bench --with OPTION           the table with an option of Berth's own: closeDevices, judgeByFreeMemory,
//                                        memoryGroupsOverlap, podFallsBack (in scope pod), keepRestAligned,
//                                        lookAhead, or words of cpuOptions, as l3=strict
//   engine_bench --resize                the same for pods that run and are given one to four CPUs, or 1 to 16 GiB,
//                                        more or less; with twice the budget, as what does not fit is decided twice
//   engine_bench --machine N --states S [--policy P]
//                                        machine N (from 0) alone, S states, each decided once (for counting
//                                        instructions); P: best-effort unless given
//
// States come from one long life of random pods, in which full and empty times take turns; each state is a pod that
// arrives. Times are of the thread's CPU clock, the least of three tries, because decisions are pure.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "allocator/testing/builders.h"
#include "base/text.h"

namespace {
std::int64_t allocations = 0;
}  // namespace

// Not inlined: the compiler would take the pair for a mismatch of new and free.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* const out = std::malloc(size)) return out;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace berth;
using namespace berth::allocator;

struct Scenario {
  std::string_view name;
  int nodes;
  int cpu_nodes;
  int cpus_per_node;
  int devices;  // kinds
  bool pages;
  double budget_us;  // p99
};

constexpr std::array kScenarios{
    Scenario{"2 nodes, 64 CPUs", 2, 2, 32, 1, false, 25},
    Scenario{"4 nodes, 128 CPUs", 4, 4, 32, 2, false, 150},
    Scenario{"8 nodes, 256 CPUs, huge pages", 8, 8, 32, 3, true, 200},
    Scenario{"16 nodes, 512 CPUs", 16, 16, 32, 2, false, 5000},
    Scenario{"36 nodes, 2 with CPUs (GB200)", 36, 2, 72, 2, false, 1000},
    Scenario{"64 nodes, 2048 CPUs", 64, 64, 32, 2, false, 10000},
};
constexpr std::array kDevices{"a.com/gpu", "b.com/nic", "c.com/fpga"};

/// A node that pods come to and go from.
class NodeLife {
 public:
  NodeLife(const Scenario& scenario, const char* policy, const EngineOptions& options)
      : scenario_(scenario),
        inputs_(Devices(scenario)),
        node_(Make(scenario, policy, options)),
        ledger_(node_.EmptyLedger()) {}

  const Node& node() const { return node_; }
  const Inputs& inputs() const { return inputs_; }
  const Ledger& ledger() const { return ledger_; }

  /// The next pod that arrives. Others may have gone before.
  Pod Next() {
    if (Roll(200) == 0) leaving_ = 1 + Roll(6);  // full times and empty ones
    while (!running_.empty() && Roll(8) < leaving_) Leave();
    return RandomPod();
  }
  void Settle(const Pod& pod, const Decision& decision) {
    const auto* const admit = std::get_if<Admit>(&decision);
    if (admit == nullptr) return;
    Apply(ledger_, admit->delta);
    running_.push_back(pod.uid);
    pods_.emplace(pod.uid, pod);
  }
  void Leave() {
    const std::size_t i = Roll(static_cast<unsigned>(running_.size()));
    pods_.erase(running_[i]);
    Apply(ledger_, Release(node_, ledger_, running_[i], nullptr));
    running_[i] = std::move(running_.back());
    running_.pop_back();
  }
  bool Full() const { return running_.size() >= 24; }

  /// One of the running pods with other amounts; nullopt: none runs.
  std::optional<Pod> Resized() {
    if (running_.empty()) return std::nullopt;
    Pod pod = pods_.at(running_[Roll(static_cast<unsigned>(running_.size()))]);
    Resources& resources = pod.containers.front().resources;
    const bool cpu = Roll(2) == 0;
    const auto by = static_cast<std::int64_t>(1 + Roll(cpu ? 4 : 16));
    const std::int64_t unit = cpu ? 1 : GiB(1).v;
    const std::string name = cpu ? "cpu" : "memory";
    const std::int64_t now = resources.requests.at(name).Value();
    const std::int64_t wanted = Roll(2) == 0 || now <= by * unit ? now + by * unit : now - by * unit;
    resources.requests.at(name) = resources.limits.at(name) =
        cpu ? Quantity::FromUnits(wanted) : Quantity::FromBytes({wanted});
    return pod;
  }
  void SettleResize(const Pod& pod, const Decision& decision) {
    const auto* const admit = std::get_if<Admit>(&decision);
    if (admit == nullptr) return;
    Apply(ledger_, admit->delta);
    pods_.at(pod.uid) = pod;
  }

 private:
  static Inputs Devices(const Scenario& scenario) {
    Inputs out;
    for (int kind = 0; kind < scenario.devices; ++kind)
      for (int node = 0; node < scenario.nodes; ++node) {
        // On the board with memory-only nodes GPUs sit beside their memory, all else beside the CPUs.
        const int at = scenario.cpu_nodes < scenario.nodes && kind > 0 ? node % scenario.cpu_nodes : node;
        const std::string resource = kDevices[static_cast<std::size_t>(kind)];
        for (int i = 0; i < 2; ++i) {
          const std::string id = fmt::format("d{:03}", 2 * node + i);
          out.devices[resource].push_back({id, {NumaId{static_cast<unsigned>(at)}}, true, resource + id});
        }
      }
    return out;
  }

  /// Each node's devices sit on two bridges of one root.
  static void AddFunctions(const Inputs& inputs, Machine& machine) {
    for (const auto& [resource, devices] : inputs.devices)
      for (const Device& device : devices) {
        PciDevice& function = machine.pci.emplace_back();
        function.address = device.pci;
        function.above = {fmt::format("root{}", Raw(*device.nodes.First())), device.id.substr(device.id.size() - 1)};
      }
  }

  Node Make(const Scenario& scenario, const char* policy, const EngineOptions& options) const {
    KubeletConfiguration config = testing::StaticConfig("0");
    testing::PinMemory(config);
    config.topology_manager_policy = policy;
    if (options.pod_falls_back) config.topology_manager_scope = "pod";
    testing::Shape shape{.sockets = std::min(2, scenario.nodes), .nodes_per_socket = std::max(1, scenario.nodes / 2)};
    shape.cores_per_node = scenario.cpus_per_node / 2;
    shape.node_memory = GiB(64);
    if (scenario.pages) shape.hugepages = {{MiB(2), 2048}, {GiB(1), 8}};
    Machine machine = testing::MakeMachine(shape);
    for (std::size_t i = static_cast<std::size_t>(scenario.cpu_nodes); i < machine.nodes.size(); ++i)
      machine.nodes[i].cores.clear();
    testing::AddTotals(machine);
    AddFunctions(inputs_, machine);
    auto made = Node::Make(std::move(machine), config, options);
    BERTH_CHECK(made.has_value());
    return *std::move(made);
  }

  unsigned Roll(unsigned n) { return static_cast<unsigned>(rng_() % n); }

  Pod RandomPod() {
    const bool wide = Roll(4) == 0;
    const auto per_node = static_cast<unsigned>(scenario_.cpus_per_node);
    std::map<std::string, std::string> amounts;
    amounts["cpu"] = std::to_string(1 + Roll(wide ? 3 * per_node : 8));
    amounts["memory"] = std::to_string(1 + Roll(wide ? 200 : 16)) + "Gi";
    if (scenario_.pages && Roll(2) == 0) amounts["hugepages-2Mi"] = std::to_string(2 * (1 + Roll(2000))) + "Mi";
    if (scenario_.pages && Roll(3) == 0) amounts["hugepages-1Gi"] = std::to_string(1 + Roll(10)) + "Gi";
    for (int kind = 0; kind < scenario_.devices; ++kind)
      if (Roll(4) != 0) amounts[kDevices[static_cast<std::size_t>(kind)]] = std::to_string(1 + Roll(wide ? 6 : 3));
    return testing::MakePod("u" + std::to_string(next_++), {testing::MakeContainer("c", amounts)});
  }

  const Scenario& scenario_;
  Inputs inputs_;
  Node node_;
  Ledger ledger_;
  std::vector<std::string> running_;
  std::map<std::string, Pod> pods_;  // those
  std::mt19937_64 rng_{1};
  unsigned leaving_ = 2;
  int next_ = 0;
};

double CpuMicroseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

template <class T>
T Quantile(std::vector<T>& values, int percent) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) * static_cast<std::size_t>(percent) / 100];
}

struct Measured {
  std::vector<double> times;
  std::vector<std::int64_t> news;
  int admitted = 0;

  /// The least of three tries.
  template <class Decide>
  Decision Take(Decide decide) {
    Decision decision;
    double least = 0;
    for (int attempt = 0; attempt < 3; ++attempt) {
      const std::int64_t before = allocations;
      const double start = CpuMicroseconds();
      decision = decide();
      const double took = CpuMicroseconds() - start;
      if (attempt == 0) news.push_back(allocations - before);
      least = attempt == 0 ? took : std::min(least, took);
    }
    times.push_back(least);
    admitted += std::holds_alternative<Admit>(decision) ? 1 : 0;
    return decision;
  }
};

void Row(const Scenario& scenario, const char* policy, const EngineOptions& options, bool resize) {
  constexpr int kStates = 1500;
  NodeLife life(scenario, policy, options);
  Measured measured;
  while (measured.times.size() < kStates) {
    const Pod pod = life.Next();
    const auto decide = [&] { return Decide(life.node(), life.ledger(), pod, life.inputs(), nullptr); };
    life.Settle(pod, resize ? decide() : measured.Take(decide));
    const auto resized = resize ? life.Resized() : std::nullopt;
    if (!resized) continue;
    life.SettleResize(
        *resized, measured.Take([&] { return Resize(life.node(), life.ledger(), *resized, life.inputs(), nullptr); }));
  }
  std::vector<double>& times = measured.times;
  fmt::print("| {:<30} | {:<11} | {:>6} | {:>8} | {:>8.1f} | {:>8.1f} | {:>8.1f} | {:>8.0f} | {:>11} | {:>11} |\n",
             scenario.name, policy, kStates, measured.admitted, Quantile(times, 50), Quantile(times, 99), times.back(),
             resize ? 2 * scenario.budget_us : scenario.budget_us, Quantile(measured.news, 50),
             Quantile(measured.news, 99));
  std::fflush(stdout);
}

void Million() {
  constexpr int kPods = 1'000'000;
  NodeLife life(kScenarios[1], "best-effort", EngineOptions());
  const double start = CpuMicroseconds();
  for (int pod = 0; pod < kPods; ++pod) {
    const Pod next = life.Next();
    life.Settle(next, Decide(life.node(), life.ledger(), next, life.inputs(), nullptr));
    if (life.Full()) life.Leave();
  }
  fmt::print("\n{} pods arrived on 4 nodes, and left: {:.1f} s of CPU time (budget: 60 s)\n", kPods,
             (CpuMicroseconds() - start) / 1e6);
}

int RunAlone(int machine, int states, const char* policy) {
  if (machine < 0 || machine >= static_cast<int>(kScenarios.size()) || states < 1) return 2;
  const Scenario& scenario = kScenarios[static_cast<std::size_t>(machine)];
  NodeLife life(scenario, policy, EngineOptions());
  for (int state = 0; state < states; ++state) {
    const Pod pod = life.Next();
    life.Settle(pod, Decide(life.node(), life.ledger(), pod, life.inputs(), nullptr));
  }
  fmt::print("{}\n", scenario.name);
  return 0;
}

/// nullopt: there is no such option.
std::optional<EngineOptions> OptionsWith(std::string_view option) {
  EngineOptions out;
  constexpr std::array kFlags{std::pair{"closeDevices", &EngineOptions::close_devices},
                              std::pair{"judgeByFreeMemory", &EngineOptions::judge_by_free_memory},
                              std::pair{"memoryGroupsOverlap", &EngineOptions::memory_groups_overlap},
                              std::pair{"podFallsBack", &EngineOptions::pod_falls_back},
                              std::pair{"keepRestAligned", &EngineOptions::keep_rest_aligned},
                              std::pair{"lookAhead", &EngineOptions::look_ahead}};
  for (const auto& [name, flag] : kFlags) {
    if (option != name) continue;
    out.*flag = true;
    return out;
  }
  auto wishes = ParseCpuWishes(option);
  if (!wishes || wishes->empty()) return std::nullopt;
  out.own.cpu = *std::move(wishes);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> args(argv + 1, argv + argc);
  if (args.size() >= 4 && args[0] == "--machine" && args[2] == "--states")
    return RunAlone(ParseDecimal<int>(args[1]).value_or(-1), ParseDecimal<int>(args[3]).value_or(0),
                    args.size() == 6 && args[4] == "--policy" ? argv[6] : "best-effort");
  EngineOptions options;
  bool resize = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].starts_with("--benchmark_")) continue;  // of the other benchmarks
    const auto with = args[i] == "--with" && i + 1 < args.size() ? OptionsWith(args[++i]) : std::nullopt;
    if (!with && args[i] != "--resize") return 2;
    resize = resize || !with;
    options = with.value_or(options);
  }
  fmt::print("| {:<30} | {:<11} | {:>6} | {:>8} | {:>8} | {:>8} | {:>8} | {:>8} | {:>11} | {:>11} |\n", "machine",
             "policy", "states", "admitted", "p50 us", "p99 us", "max us", "budget", "allocs p50", "allocs p99");
  fmt::print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
  for (const Scenario& scenario : kScenarios)
    for (const char* policy : {"best-effort", "restricted"}) Row(scenario, policy, options, resize);
  if (!resize && options == EngineOptions()) Million();
  return 0;
}
