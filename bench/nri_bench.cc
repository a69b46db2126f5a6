// How long a kubelet's calls take beside others, without a plug-in and with berthd as one, and how long berthd's
// answers take. And how often somebody runs on another's CPU where the runtime is killed and starts a container as soon
// as it is back. A containerd with NRI (tools/get_containerd, $BERTH_CONTAINERD). BERTH_BENCH_PODS: how many of each, 8
// without; BERTH_BENCH_BESIDE: numbers of containers beside them, "20 50" without; BERTH_BENCH_RESTARTS: how many, 3
// without.
//
// Skips, and says why, without root or such a containerd.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "bench_pods.h"
#include "daemon_nri_fixture.h"
#include "host/os/clock.h"

namespace berth {
namespace {

using Series = std::vector<double>;  // milliseconds

std::string Setting(const char* name, const char* usual) {
  const char* const text = std::getenv(name);
  return text == nullptr ? usual : text;
}

double At(Series series, double part) {
  std::ranges::sort(series);
  return series[static_cast<std::size_t>(part * static_cast<double>(series.size() - 1))];
}

struct NriBench : DaemonNriTest {
  /// CreateContainer and StartContainer of a pod's first container.
  double Make(const std::string& uid, const std::string& tier, int milli) {
    PodOnNode pod = RunPod(uid, tier);
    const os::MonoTime begin = os::SystemClock().Now();
    const auto id = Create(pod, "app", milli, kWait);
    EXPECT_TRUE(id) << id.error().message;
    EXPECT_TRUE(id && client->Start(*id));
    const double took = std::chrono::duration<double, std::milli>(os::SystemClock().Now() - begin).count();
    End(pod);
    if (joined) berthd->Until("it has gone", [&] { return Gone(uid); });
    return took;
  }
  void Measure(const std::string& what, Series& own, Series& shared) {
    const int pods = bench::WantedPods(8);
    for (int i = 0; i < pods; ++i) {
      own.push_back(Make("own" + std::to_string(number), "", 1000));
      shared.push_back(Make("part" + std::to_string(number++), "burstable", 500));
    }
    fmt::print("{:<44} {:8.0f} {:8.0f} {:8.0f} {:8.0f}\n", what, At(own, 0.5), At(own, 0.99), At(shared, 0.5),
               At(shared, 0.99));
  }
  /// berthd's own word: answers by how long they took.
  void PrintAnswers() {
    const std::string command = "curl -fsS --unix-socket " + berthd->socket() +
                                " http://berth/metrics | grep '^berth_nri_answer_duration_seconds'";
    std::fflush(stdout);
    if (std::system(command.c_str()) != 0) fmt::print("no histogram\n");
  }

  bool joined = false;
  int number = 0;
};

TEST_F(NriBench, CreateAndStart) {
  fmt::print("{:<44} {:>8} {:>8} {:>8} {:>8}\n", "create and start, ms", "own p50", "p99", "share", "p99");
  std::vector<PodOnNode> beside;
  const std::string counts = Setting("BERTH_BENCH_BESIDE", "20 50");
  for (const std::string_view text : Split(counts, ' ')) {
    const int count = ParseDecimal<int>(text).value_or(0);
    while (static_cast<int>(beside.size()) < count)
      beside.push_back(RunWhole("beside" + std::to_string(beside.size()), "burstable", 0));
    Series own;
    Series shared;
    Measure(fmt::format("beside {}, no plug-in", count), own, shared);
    StartAndJoin();
    joined = true;
    Series own_here;
    Series shared_here;
    Measure(fmt::format("beside {}, berthd", count), own_here, shared_here);
    fmt::print("{:<44} {:8.2f} {:>8} {:8.2f}\n", "  times as long", At(own_here, 0.5) / At(own, 0.5), "",
               At(shared_here, 0.5) / At(shared, 0.5));
    PrintAnswers();
    EXPECT_EQ(0, berthd->Stop());
    joined = false;
  }
}

/// On a host whose CPUs are all busy berthd may come too late: nothing holds the runtime up until it has joined.
TEST_F(NriBench, RestartsOfTheRuntime) {
  StartAndJoin();
  const PodOnNode own = RunPod("own", "", true);
  const auto watches =
      Create(own, "app", 1000, "", 0, {"/overlap_probe", "/hostproc", containerd->cgroup_root(), "watch"});
  ASSERT_TRUE(watches) << watches.error().message;
  ASSERT_TRUE(client->Start(*watches));
  ASSERT_TRUE(berthd->Until("it is alone", [&] { return LogOf(own).find("overlaps 0") != std::string::npos; }))
      << LogOf(own);
  const int restarts = ParseDecimal<int>(Setting("BERTH_BENCH_RESTARTS", "3")).value_or(3);
  for (int i = 0; i < restarts; ++i) {
    containerd->Kill();
    containerd->Start(testkit::ContainerdFixture::With::kCriAndNri);
    ASSERT_TRUE(containerd->Until("it answers", [&] { return client->Sandboxes({}).has_value(); }));
    const PodOnNode late = RunWhole("late" + std::to_string(i), "burstable", 0);
    ASSERT_TRUE(berthd->Until("berthd knows it", [&] { return !Gone(late.uid); }));
    ASSERT_TRUE(Becomes(late.container, "0"));
    End(late);
  }
  int overlaps = 0;
  const std::string log = LogOf(own);
  for (const std::string_view line : Split(log, '\n'))
    overlaps += line.find(" later ") != std::string_view::npos ? 1 : 0;
  fmt::print("{} restarts of the runtime: {} processes on another's CPU\n{}", restarts, overlaps,
             overlaps == 0 ? "" : log);
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
