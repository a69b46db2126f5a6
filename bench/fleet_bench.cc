// A fleet of 5 000 nodes: what asking all of them costs, and what a node takes in memory. usage:
//
//   fleet_bench [NODES]
//
// Nodes have 64 CPUs on two NUMA nodes, every tenth has eight NUMA nodes and eight devices. CPU and memory managers are
// static and the topology policy is single-numa-node. Pods of twenty shapes come at random and go again until the nodes
// are as full as they get, so that hardly two nodes are in one state. Then pods ask that fit on many nodes, on few, or
// on none. Each row is of one shape, cold when nobody of the shape has asked before. Decisions run on
// two threads; times are what the longer one computes ("cold"), and what both do together ("in sum"), by the threads'
// CPU clocks, so that other work on the machine shows little.
#include <fmt/format.h>
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "allocator/testing/builders.h"
#include "base/text.h"
#include "simulator/cluster/fleet.h"

namespace {
std::atomic<std::int64_t> allocated = 0;  // bytes
}  // namespace

// Not inlined: the compiler would take the pair for a mismatch of new and free.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* const out = std::malloc(size)) {
    allocated += static_cast<std::int64_t>(malloc_usable_size(out));
    return out;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  allocated -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace {

using namespace berth;
using namespace berth::cluster;

constexpr const char* kDevice = "vendor.example/gpu";

double CpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double elsewhere_ms = 0;  // CPU time of the other threads

/// Half of the work on another thread.
void OnTwoThreads(std::size_t count, const std::function<void(std::size_t)>& work) {
  const std::jthread other([&] {
    const double start = CpuMilliseconds();
    for (std::size_t i = 0; i < count / 2; ++i) work(i);
    elsewhere_ms += CpuMilliseconds() - start;
  });
  for (std::size_t i = count / 2; i < count; ++i) work(i);
}

NodeDescription Describe(bool large) {
  const int zones = large ? 8 : 2;
  NodeDescription out;
  out.machine = allocator::testing::MakeMachine(
      {.sockets = 2, .nodes_per_socket = zones / 2, .cores_per_node = 32 / zones, .node_memory = GiB(256 / zones)});
  out.config = allocator::testing::StaticConfig("0");
  allocator::testing::PinMemory(out.config);
  out.config.topology_manager_policy = "single-numa-node";
  for (unsigned i = 0; large && i < 8; ++i)
    out.devices[kDevice].push_back({.id = fmt::format("gpu{}", i), .nodes = {NumaId{i}}});
  return out;
}

Pod PodOf(std::string uid, int cpus, int gib, bool device = false) {
  std::map<std::string, std::string> amounts{{"cpu", std::to_string(cpus)}, {"memory", fmt::format("{}Gi", gib)}};
  if (device) amounts[kDevice] = "1";
  return allocator::testing::MakePod(std::move(uid), {allocator::testing::MakeContainer("app", amounts)});
}

class Crowd {
 public:
  explicit Crowd(std::size_t nodes) {
    const std::int64_t before = allocated.load();
    for (std::size_t i = 0; i < nodes; ++i) {
      NodeDescription description = Describe(i % 10 == 9);
      const auto node = allocator::Node::Make(description.machine, description.config, description.options);
      BERTH_CHECK(node.has_value());
      BERTH_CHECK(fleet_.Put(fmt::format("node-{:05}", i), std::move(description), node->EmptyLedger()).has_value());
    }
    Report("nothing runs", before);
    Fill(nodes);
    Report(fmt::format("{} pods run", running_.size()), before);
    before_ = before;
  }

  void Ask(std::string_view name, const Pod& pod) {
    elsewhere_ms = 0;
    const double cold = Time(pod);
    const double both = cold + elsewhere_ms;
    double warm = Time(pod);
    for (int i = 0; i < 20; ++i) warm = std::min(warm, Time(pod));
    const std::int64_t admitted =
        std::ranges::count_if(fleet_.Filter(pod).nodes, [](const Verdict& verdict) { return verdict.admitted; });
    std::vector<double> next;
    for (int i = 0; i < 50; ++i) {
      Pod other = pod;
      other.uid = fmt::format("{}-{}", name, i);
      fleet_.Assume(other, static_cast<NodeIndex>(Roll(fleet_.size())));
      next.push_back(Time(pod));
    }
    const Verdicts verdicts = fleet_.Filter(pod);
    const double start = CpuMilliseconds();
    std::size_t bytes = 0;
    for (const Verdict& verdict : verdicts.nodes) {
      if (verdict.admitted)
        bytes += static_cast<std::size_t>(fleet_.Score(verdicts, verdict));
      else
        bytes += fleet_.Reason(verdicts, verdict).size();
    }
    const double words = CpuMilliseconds() - start;
    std::ranges::sort(next);
    fmt::print("| {:<38} | {:>8} | {:>7.1f} | {:>9.1f} | {:>7.3f} | {:>10.3f} | {:>7.1f} |\n", name, admitted, cold,
               both, warm, next[next.size() / 2], bytes == 0 ? 0.0 : words);
    for (int i = 0; i < 50; ++i) fleet_.Release(fmt::format("{}-{}", name, i));
  }
  void ReportAll() const { Report("all of the above has been asked", before_); }

 private:
  std::size_t Roll(std::size_t n) { return rng_() % n; }

  void Report(std::string_view when, std::int64_t before) const {
    fmt::print("{}: {:.1f} KiB a node, {} states of {} nodes\n", when,
               static_cast<double>(allocated.load() - before) / 1024 / static_cast<double>(fleet_.size()),
               fleet_.states(), fleet_.size());
  }

  Pod RandomPod() {
    constexpr std::array kCpus{1, 2, 3, 4, 6};
    constexpr std::array kGib{1, 2, 4, 8};
    return PodOf(fmt::format("0f8fad5b-d9cb-469f-a165-{:012}", next_++), kCpus[Roll(5)], kGib[Roll(4)]);
  }

  void Fill(std::size_t nodes) {
    for (std::size_t i = 0; i < 25 * nodes; ++i) {
      const Pod pod = RandomPod();
      const auto node = static_cast<NodeIndex>(Roll(nodes));
      if (fleet_.Assume(pod, node).admitted) running_.push_back(pod.uid);
      if (running_.empty() || Roll(4) != 0) continue;
      std::swap(running_[Roll(running_.size())], running_.back());
      fleet_.Release(running_.back());
      running_.pop_back();
    }
  }

  double Time(const Pod& pod) {
    const double start = CpuMilliseconds();
    fleet_.Filter(pod);
    return CpuMilliseconds() - start;
  }

  Fleet fleet_{OnTwoThreads};
  std::vector<std::string> running_;
  std::mt19937_64 rng_{1};
  std::uint64_t next_ = 0;
  std::int64_t before_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::size_t nodes = 5000;
  for (const std::string_view arg : std::vector<std::string_view>(argv + 1, argv + argc))
    if (const auto count = ParseDecimal<std::size_t>(arg)) nodes = *count;
  Crowd crowd(nodes);
  fmt::print("\n| {:<38} | {:>8} | {:>7} | {:>9} | {:>7} | {:>10} | {:>7} |\n", "pod", "admitted", "cold ms",
             "in sum ms", "warm ms", "one new ms", "words ms");
  fmt::print("|---|--:|--:|--:|--:|--:|--:|\n");
  crowd.Ask("1 CPU, 3 GiB", PodOf("small", 1, 3));
  crowd.Ask("4 CPUs, 5 GiB", PodOf("middle", 4, 5));
  crowd.Ask("8 CPUs, 10 GiB", PodOf("large", 8, 10));
  crowd.Ask("16 CPUs, 20 GiB", PodOf("wide", 16, 20));
  crowd.Ask("40 CPUs, 20 GiB", PodOf("too wide", 40, 20));
  crowd.Ask("2 CPUs, 100 GiB", PodOf("fat", 2, 100));
  crowd.Ask("2 CPUs, 3 GiB, 1 device", PodOf("device", 2, 3, true));
  Pod shared = PodOf("shared", 1, 3);
  shared.containers[0].resources.limits.clear();
  crowd.Ask("requests 1 CPU, 3 GiB: no CPUs alone", shared);
  crowd.ReportAll();
  return 0;
}
