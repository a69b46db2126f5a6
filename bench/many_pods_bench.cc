// Latency of GET /v1/pods while many pods start and end: one manifest of BERTH_BENCH_PODS pods (60 without), asked
// every 20 ms from the moment it is there until all run, and again until all are gone. Real processes in real groups.
//
// Skips, and says why, without root.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "api/codec/codec.h"
#include "bench_pods.h"
#include "daemon_fixture.h"
#include "host/os/clock.h"
#include "rpc/http/http_client.h"

namespace {

using namespace berth;

constexpr os::Millis kBetween{20};
/// Many times what 600 pods take on two CPUs, some 6 s.
constexpr os::Millis kPatience{600'000};

struct Latencies {
  std::vector<double> ms;  ///< of each answer
  bool done = false;       ///< what was waited for came
};

/// Asks again and again until `pods` have the phase Running (0: until there are none).
Latencies AskUntil(const testkit::DaemonFixture& node, std::size_t pods) {
  Latencies out;
  const auto client = http::MakeClient();
  if (!client) return out;
  const os::Clock& clock = os::SystemClock();
  for (const os::MonoTime begin = clock.Now(); !out.done && clock.Now() - begin < kPatience; os::SleepFor(kBetween)) {
    const os::MonoTime asked = clock.Now();
    const auto answer = (*client)->Send(
        {.url = "http://localhost/v1/pods", .unix_socket = node.socket(), .max_body = std::size_t{64} << 20});
    out.ms.push_back(std::chrono::duration<double, std::milli>(clock.Now() - asked).count());
    const auto list = answer ? codec::ParseJson(answer->body, "answer") : std::unexpected(answer.error());
    if (!list) break;
    const auto& seen = (*list)["pods"];
    const auto running = static_cast<std::size_t>(
        std::ranges::count_if(seen, [](const codec::Json& pod) { return pod["phase"] == "Running"; }));
    out.done = pods == 0 ? seen.empty() : running == pods;
  }
  std::ranges::sort(out.ms);
  return out;
}

void Print(const char* what, const Latencies& seen) {
  const std::vector<double>& ms = seen.ms;
  if (!seen.done || ms.empty()) return fmt::print("{:<12} not done\n", what);
  fmt::print("{:<12} {:>8} {:>8.1f} {:>8.1f} {:>8.1f}\n", what, ms.size(), ms[ms.size() / 2], ms[ms.size() * 99 / 100],
             ms.back());
}

void Run(int pods) {
  testkit::DaemonFixture node;
  node.Configure(fmt::format("maxPods: {}\n", pods + 1));
  node.Start();
  std::string manifest;
  for (int i = 0; i < pods; ++i) manifest += bench::Sleeper(fmt::format("p{}", i)) + "---\n";
  node.AddPod("many.yaml", manifest);
  fmt::print("\nGET /v1/pods while {} pods start and end\n{:<12} {:>8} {:>8} {:>8} {:>8}\n", pods, "", "answers",
             "p50 ms", "p99 ms", "max ms");
  Print("they start", AskUntil(node, static_cast<std::size_t>(pods)));
  node.RemovePod("many.yaml");
  Print("they end", AskUntil(node, 0));
}

}  // namespace

int main() {
  if (const auto why = testkit::DaemonFixture::WhyNot()) {
    fmt::print("many pods at once: skipped, {}\n", *why);
    return 0;
  }
  Run(bench::WantedPods(60));
  return 0;
}
