// Whether scraping holds up the loop of a busy berthd: the length of its turns while pods come and go, without a scrape
// and while /metrics is scraped 1000 times. Real processes in real groups. BERTH_BENCH_PODS: pods that stay, 20
// without.
//
// Skips, and says why, without root.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bench_pods.h"
#include "daemon_fixture.h"
#include "host/os/clock.h"

namespace {

using namespace berth;

constexpr int kScrapes = 1000;
constexpr os::Millis kBetween{20};
constexpr std::uint16_t kPort = 19'950;
constexpr os::Millis kPhase{kScrapes * kBetween.count()};

/// The page, and how long it took.
std::pair<std::string, double> Scrape() {
  const os::MonoTime begin = os::SystemClock().Now();
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  constexpr std::string_view kRequest = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
  std::string out;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::write(fd, kRequest.data(), kRequest.size()) > 0) {
    std::array<char, 65536> buffer{};
    for (ssize_t n = 0; (n = ::read(fd, buffer.data(), buffer.size())) > 0;)
      out.append(buffer.data(), static_cast<std::size_t>(n));
  }
  ::close(fd);
  return {out, std::chrono::duration<double, std::milli>(os::SystemClock().Now() - begin).count()};
}

/// Turns of the loop up to each bound, from the page.
std::vector<std::pair<std::string, double>> TurnsIn(const std::string& page) {
  constexpr std::string_view kBucket = "berth_loop_turn_duration_seconds_bucket{le=\"";
  std::vector<std::pair<std::string, double>> out;
  for (const std::string_view line : Split(page, '\n')) {
    if (!line.starts_with(kBucket)) continue;
    const std::string_view bound = line.substr(kBucket.size(), line.find('"', kBucket.size()) - kBucket.size());
    out.emplace_back(bound, std::strtod(std::string(line.substr(line.rfind(' ') + 1)).c_str(), nullptr));
  }
  return out;
}

/// What part of the turns between two pages was at most that long.
void PrintTurns(const char* what, const std::string& before, const std::string& after) {
  const auto from = TurnsIn(before);
  const auto to = TurnsIn(after);
  if (from.size() != to.size() || from.empty()) return;
  const double all = to.back().second - from.back().second;
  fmt::print("{:<34} {:>8.0f}", what, all);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i].first != "0.001" && to[i].first != "0.005" && to[i].first != "0.01" && to[i].first != "0.02" &&
        to[i].first != "0.05")
      continue;
    fmt::print(" {:>8.3f}%", 100 * (to[i].second - from[i].second) / all);
  }
  fmt::print("\n");
}

/// Adds and removes a pod without a pause while it lives.
class Churn {
 public:
  explicit Churn(testkit::DaemonFixture& node)
      : thread_([this, &node] {
          for (int i = 0; !stop_; ++i) {
            const std::string name = "guest" + std::to_string(i % 4);
            node.AddPod(name + ".yaml", bench::Sleeper(name));
            os::SleepFor(os::Millis(150));
            node.RemovePod(name + ".yaml");
            os::SleepFor(os::Millis(100));
          }
        }) {}
  ~Churn() { stop_ = true; }

 private:
  std::atomic<bool> stop_ = false;
  std::jthread thread_;
};

void Run(int pods) {
  testkit::DaemonFixture node;
  std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nmetricsAddress: "
                                        << kPort << "\n";
  for (int i = 0; i < pods; ++i) node.AddPod(fmt::format("stay{}.yaml", i), bench::Sleeper(fmt::format("stay{}", i)));
  node.Start({"--config", node.Dir("berth.yaml"), "--socket", node.socket()});
  if (!node.Until("all run", [&] { return node.Runs(fmt::format("stay{}", pods - 1)); })) return;
  const Churn churn(node);
  os::SleepFor(os::Millis(2'000));
  const std::string begin = Scrape().first;
  os::SleepFor(kPhase);
  const std::string middle = Scrape().first;
  std::vector<double> times;
  for (int i = 0; i < kScrapes; ++i) {
    times.push_back(Scrape().second);
    os::SleepFor(kBetween);
  }
  const auto [end, last] = Scrape();
  std::ranges::sort(times);
  fmt::print("\nTurns of the loop with {} pods while others come and go; part of them up to\n{:<34} {:>8}", pods, "",
             "turns");
  for (const char* bound : {"1 ms", "5 ms", "10 ms", "20 ms", "50 ms"}) fmt::print(" {:>9}", bound);
  fmt::print("\n");
  PrintTurns("not scraped", begin, middle);
  PrintTurns(fmt::format("scraped {} times", kScrapes).c_str(), middle, end);
  fmt::print("a scrape takes {:.1f} ms (half), {:.1f} ms (99 %), {:.1f} ms (all); the page has {} bytes\n",
             times[times.size() / 2], times[times.size() * 99 / 100], times.back(), end.size());
}

}  // namespace

int main() {
  if (const auto why = testkit::DaemonFixture::WhyNot()) {
    fmt::print("scrapes of a busy node: skipped, {}\n", *why);
    return 0;
  }
  Run(bench::WantedPods(20));
  return 0;
}
