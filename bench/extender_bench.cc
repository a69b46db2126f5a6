// Calls of a scheduler's extender on 5 000 nodes while pods that were told nodes are not bound. usage:
//
//   extender_bench [NODES]
//
// Nodes have 32 CPUs on one NUMA node. First they are in two states, and twelve pods are asked for and not bound; then
// a pod of 31 CPUs, and one more 31 s later. Then, in two states and with nearly as many states as nodes, 500 pods are
// asked for without a binding, 100 a second; and with 50 pods that are held back (a gang at Permit), 500 are asked for
// and bound ten calls later. A call is filter and prioritize. Times are of the asking thread's CPU clock, so that other
// work on the machine shows little; decisions are the engine's, which helpers could share.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/testing/builders.h"
#include "base/text.h"
#include "kubernetes/scheduler_extender/books.h"

namespace {

using namespace berth;
using namespace berth::scheduler_extender;
using std::chrono::milliseconds;

double CpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

Pod PodOf(const std::string& name, std::size_t cpus) {
  Pod out = allocator::testing::MakePod(
      name, {allocator::testing::MakeContainer("app", {{"cpu", std::to_string(cpus)}, {"memory", "1Gi"}})});
  out.name = name;
  return out;
}

/// A scheduler that asks for pod after pod.
class Caller {
 public:
  Caller(std::size_t nodes, bool many_states) {
    NodeState state;
    state.machine = allocator::testing::MakeMachine({.cores_per_node = 16, .node_memory = GiB(128)});
    state.config = allocator::testing::StaticConfig("0");
    state.config.topology_manager_policy = "single-numa-node";
    const auto engine = allocator::Node::Make(state.machine, state.config, {});
    BERTH_CHECK(engine.has_value());
    for (std::size_t i = 0; i < nodes; ++i) {
      state.node = fmt::format("node-{:05}", i);
      state.ledger = engine->EmptyLedger();
      const std::size_t pods = many_states ? 4 + Roll(10) : i % 2;
      for (std::size_t k = 0; k < pods; ++k)
        Admit(*engine, state.ledger, PodOf(fmt::format("{}-{}", i, k), many_states ? 1 + Roll(3) : 4));
      for (std::size_t k = 0; many_states && k < pods; ++k)
        if (const std::string uid = fmt::format("{}-{}", i, k); Roll(3) == 0 && state.ledger.pods.contains(uid))
          Apply(state.ledger, allocator::Release(*engine, state.ledger, uid, nullptr));
      BERTH_CHECK(books_.SetNode(state).has_value());
      nodes_.push_back({.name = state.node, .object = {}});
    }
  }

  /// Returns the nodes that passed.
  std::vector<std::size_t> Ask(const Pod& pod) {
    const double start = CpuMilliseconds();
    const std::uint64_t before = books_.figures().decisions;
    const auto out = books_.Filter(pod, nodes_, now_);
    BERTH_CHECK(out.has_value());
    scores_ = books_.Prioritize(pod, nodes_);
    took_.push_back(CpuMilliseconds() - start);
    decisions_.push_back(books_.figures().decisions - before);
    return out->passed;
  }
  /// The node that has the highest score.
  void Bind(Pod pod, const std::vector<std::size_t>& passed) {
    if (passed.empty()) return books_.DropPod(pod.namespace_, pod.name);
    const std::size_t best = *std::ranges::max_element(passed, {}, [&](std::size_t i) { return scores_[i]; });
    pod.node_name = nodes_[best].name;
    books_.SetPod(pod);
  }
  /// What the program does beside the calls.
  void Pass(milliseconds time) {
    now_ += time;
    const double start = CpuMilliseconds();
    books_.Expire(now_);
    aside_ms_ += CpuMilliseconds() - start;
  }
  void Report(std::string_view what, std::size_t passed) {
    std::ranges::sort(took_);
    std::ranges::sort(decisions_);
    fmt::print("| {:<48} | {:>5} | {:>6} | {:>7.2f} | {:>7.2f} | {:>9} | {:>8.1f} |\n", what, took_.size(), passed,
               took_[took_.size() / 2], took_.back(), decisions_.back(), aside_ms_);
    took_.clear();
    decisions_.clear();
    aside_ms_ = 0;
  }
  std::size_t Roll(std::size_t n) { return rng_() % n; }

 private:
  static void Admit(const allocator::Node& node, Ledger& ledger, const Pod& pod) {
    const Decision decision = allocator::Decide(node, ledger, pod, {}, nullptr);
    if (const auto* const admit = std::get_if<berth::Admit>(&decision)) Apply(ledger, admit->delta);
  }

  Books books_;
  std::vector<Candidate> nodes_;
  std::vector<int> scores_;
  Instant now_{std::chrono::hours(1)};
  std::vector<double> took_;
  std::vector<std::uint64_t> decisions_;
  double aside_ms_ = 0;
  std::mt19937_64 rng_{1};
};

void TwelvePods(std::size_t nodes) {
  Caller caller(nodes, false);
  std::size_t passed = 0;
  for (std::size_t i = 1; i <= 12; ++i) passed = caller.Ask(PodOf(fmt::format("p{}", i), i)).size();
  caller.Report("12 pods, not bound; two states", passed);
  passed = caller.Ask(PodOf("large", 31)).size();
  caller.Report("a pod of 31 CPUs", passed);
  caller.Pass(std::chrono::seconds(31));
  passed = caller.Ask(PodOf("later", 31)).size();
  caller.Report("another one 31 s later", passed);
}

void ManyPods(std::size_t nodes, bool many_states) {
  constexpr std::size_t kPods = 500;
  constexpr milliseconds kBetween{10};
  Caller caller(nodes, many_states);
  const std::string states = many_states ? "many states" : "two states";
  std::size_t passed = 0;
  for (std::size_t i = 0; i < kPods; ++i) {
    passed = caller.Ask(PodOf(fmt::format("p{}", i), 1 + caller.Roll(12))).size();
    caller.Pass(kBetween);
  }
  caller.Report("500 pods, not bound; " + states, passed);

  Caller other(nodes, many_states);
  for (std::size_t i = 0; i < 50; ++i) {
    other.Ask(PodOf(fmt::format("gang-{}", i), 4));
    other.Pass(kBetween);
  }
  std::deque<std::pair<Pod, std::vector<std::size_t>>> unbound;
  for (std::size_t i = 0; i < kPods; ++i) {
    Pod pod = PodOf(fmt::format("p{}", i), 1 + other.Roll(12));
    unbound.emplace_back(pod, other.Ask(pod));
    passed = unbound.back().second.size();
    other.Pass(kBetween);
    if (unbound.size() <= 10) continue;
    other.Bind(unbound.front().first, unbound.front().second);
    unbound.pop_front();
  }
  other.Report("a gang of 50 held, 500 pods bound; " + states, passed);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t nodes = 5000;
  for (const std::string_view arg : std::vector<std::string_view>(argv + 1, argv + argc))
    if (const auto count = ParseDecimal<std::size_t>(arg)) nodes = *count;
  fmt::print("| {:<48} | {:>5} | {:>6} | {:>7} | {:>7} | {:>9} | {:>8} |\n", "calls", "count", "passed", "ms", "most",
             "decisions", "aside ms");
  fmt::print("|---|--:|--:|--:|--:|--:|--:|\n");
  TwelvePods(nodes);
  ManyPods(nodes, false);
  ManyPods(nodes, true);
  return 0;
}
