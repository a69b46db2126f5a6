// From a manifest to a running container on a real containerd: the whole way, step by step, and against `ctr run` of
// the same image and the calls of `crictl run`. One pod at a time beside three others. BERTH_BENCH_PODS: how many, 8
// without.
//
// Skips, and says why, without root or containerd.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "bench_pods.h"
#include "containerd_fixture.h"
#include "cri_node.h"
#include "cri_relay.h"
#include "daemon_fixture.h"
#include "host/os/clock.h"
#include "runtime/cri/cri_client.h"

namespace {

using namespace berth;
using testkit::CriRelay;
using testkit::RelayedCall;
using Series = std::vector<double>;  // milliseconds

constexpr const char* kLittleCpu = "20m";
constexpr std::int64_t kPeriodUs = 100'000;
constexpr std::int64_t kLittleQuotaUs = 2'000;
constexpr int kEach = 4;  // every so many pods, one with little CPU
constexpr std::array kSteps{"RunPodSandbox", "ImageStatus", "CreateContainer", "StartContainer"};

double Since(os::MonoTime begin, os::MonoTime end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

os::MonoTime Now() { return os::SystemClock().Now(); }

void Print(std::string_view name, Series series) {
  if (series.empty()) return;
  std::ranges::sort(series);
  const auto at = [&](double part) {
    return series[static_cast<std::size_t>(part * static_cast<double>(series.size() - 1))];
  };
  fmt::print("{:<52} {:9.1f} {:9.1f}\n", name, at(0.5), at(0.99));
}

/// When each call of a pod's start was asked and answered.
class Times {
 public:
  void Take(const RelayedCall& call, CriRelay::Moment moment) {
    const std::lock_guard lock(mutex_);
    ++calls_[moment == CriRelay::Moment::kAsked ? call.method : ""];
    auto& [asked, answered] = of_[call.method];
    (moment == CriRelay::Moment::kAsked ? asked : answered) = Now();
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    of_.clear();
    calls_.clear();
  }
  std::pair<os::MonoTime, os::MonoTime> Of(const std::string& method) {
    const std::lock_guard lock(mutex_);
    return of_[method];
  }
  int Calls(const std::string& method) {
    const std::lock_guard lock(mutex_);
    return calls_[method];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::pair<os::MonoTime, os::MonoTime>> of_;
  std::map<std::string, int> calls_;
};

class Bench {
 public:
  void Run(int pods) {
    containerd_.Start();
    CriRelay relay(berthd_.Dir("relay.sock"), containerd_.socket());
    relay.SetJudge([this](const RelayedCall& call, CriRelay::Moment moment) {
      times_.Take(call, moment);
      return CriRelay::Fate{};
    });
    berthd_.Start({"--runtime", "cri", "--runtime-endpoint", "unix://" + berthd_.Dir("relay.sock")});
    for (const char* const name : {"a", "b", "c"}) {
      berthd_.AddPod(std::string(name) + ".yaml", testkit::Yaml({.name = name}));
      berthd_.Until(std::string(name) + " runs", [&] { return berthd_.Runs(name); });
    }
    for (int i = 0; i < pods && !testing::Test::HasFailure(); ++i) {
      OnePod("1", whole_);
      OneCtrRun(i);
      OneCriRun(i, 0, cri_);
      if (i % kEach != 0) continue;
      OnePod(kLittleCpu, little_);
      OneCriRun(i, kLittleQuotaUs, cri_little_);
      OneCriRun(i, kLittleQuotaUs, cri_little_pod_, /*limited_pod=*/true);
    }
    for (const char* const name : {"a", "b", "c"}) berthd_.RemovePod(std::string(name) + ".yaml");
    berthd_.Until("all are gone", [&] { return berthd_.Get("/v1/pods")["pods"].empty(); });
    berthd_.Kill();
    Report(pods);
  }

 private:
  void OnePod(const char* cpu, Series& whole) {
    const std::size_t updates = updates_;
    times_.Clear();
    const os::MonoTime begin = Now();
    berthd_.AddPod("pod.yaml", testkit::Yaml({.name = "pod", .cpu = cpu}));
    berthd_.Until("the pod runs", [&] { return berthd_.Runs("pod"); });
    os::MonoTime last = begin;
    for (const char* const step : kSteps) {
      const auto [asked, answered] = times_.Of(step);
      if (&whole == &whole_) {
        before_[step].push_back(Since(last, asked));
        in_[step].push_back(Since(asked, answered));
        calls_[step] += times_.Calls(step);
      } else {
        in_little_[step].push_back(Since(asked, answered));
      }
      last = answered;
    }
    whole.push_back(Since(begin, last));
    berthd_.RemovePod("pod.yaml");
    berthd_.Until("the pod is gone", [&] { return !berthd_.PodNamed("pod").is_object(); });
    if (&whole == &whole_) updates_ = updates + static_cast<std::size_t>(times_.Calls("UpdateContainerResources"));
  }
  /// The pod's group with the limit that a kubelet, or Berth, gives it before it asks for a sandbox.
  void LimitGroup(const std::string& group) {
    const std::string v1 = "/sys/fs/cgroup/cpu" + group;
    std::error_code error;
    if (std::filesystem::is_directory("/sys/fs/cgroup/cpu", error)) {
      std::filesystem::create_directories(v1);
      std::ofstream(v1 + "/cpu.cfs_quota_us") << kLittleQuotaUs;
      return;
    }
    const std::string v2 = "/sys/fs/cgroup" + group;
    std::filesystem::create_directories(v2);
    for (std::size_t at = group.find('/', 1); at != std::string::npos; at = group.find('/', at + 1))
      std::ofstream("/sys/fs/cgroup" + group.substr(0, at) + "/cgroup.subtree_control") << "+cpu";
    std::ofstream(v2 + "/cpu.max") << kLittleQuotaUs << " " << kPeriodUs;
  }
  /// What `crictl run` of a container asks for, without that program's own start.
  void OneCriRun(int number, std::int64_t quota_us, Series& out, bool limited_pod = false) {
    const cri::Client client(containerd_.socket());
    const std::string uid =
        "bench-" + std::to_string(number) + "-" + std::to_string(quota_us) + (limited_pod ? "-limited" : "");
    if (limited_pod) LimitGroup(containerd_.GroupOfPod(uid));
    cri::SandboxSpec of;
    of.name = of.uid = uid;
    of.namespace_ = "bench";
    of.cgroup_parent = containerd_.GroupOfPod(uid);
    of.namespaces.host_network = true;
    cri::ContainerSpec spec;
    spec.name = "app";
    spec.image = spec.user_image = testkit::kTestImage;
    spec.command = {"/bin/sleep", "1000"};
    if (quota_us > 0) spec.resources = {.cpu_period_us = kPeriodUs, .cpu_quota_us = quota_us, .cpu_shares = 20};
    const os::MonoTime begin = Now();
    const auto sandbox = client.RunSandbox(of);
    const auto image = client.FindImage(spec.image);
    const auto id = sandbox ? client.Create(*sandbox, spec, of) : sandbox;
    const bool ran = image && id && client.Start(*id);
    if (ran) out.push_back(Since(begin, Now()));
    if (!ran) ADD_FAILURE() << (id ? "the container does not start" : id.error().message);
    if (!sandbox) return;
    EXPECT_TRUE(client.StopSandbox(*sandbox));
    EXPECT_TRUE(client.RemoveSandbox(*sandbox));
  }
  void OneCtrRun(int number) {
    const std::vector<std::string> ctr = {"ctr", "-a", containerd_.socket(), "-n", "bench"};
    const auto run = [&](std::vector<std::string> words) {
      words.insert(words.begin(), ctr.begin(), ctr.end());
      return testkit::RunProgram(words, containerd_.Dir("bench.log")) == 0;
    };
    if (number == 0 && !run({"images", "import", containerd_.Dir("images.tar")})) return;
    const std::string id = "bench" + std::to_string(number);
    const os::MonoTime begin = Now();
    const bool ran = run(
        {"run", "-d", "--cgroup", containerd_.cgroup_root() + "/" + id, testkit::kTestImage, id, "/bin/sleep", "1000"});
    if (ran) ctr_.push_back(Since(begin, Now()));
    run({"tasks", "delete", "-f", id});
    run({"containers", "delete", id});
  }
  void Report(int pods) {
    fmt::print("\nPods on containerd, {} one after another beside 3 others (ms)\n{:<52} {:>9} {:>9}\n", pods, "", "p50",
               "p99");
    Print("manifest to running container", whole_);
    Print("ctr run -d of the same image, without a sandbox", ctr_);
    Print("the calls of crictl run", cri_);
    Print("manifest to running container, limit of 20m", little_);
    Print("the calls of crictl run, limit of 20m", cri_little_);
    Print("the same in a pod's group with that limit", cri_little_pod_);
    Series added(whole_.size(), 0.0);
    for (const char* const step : kSteps) {
      Print(fmt::format("  berthd before {}", step), before_[step]);
      Print(fmt::format("  containerd: {}", step), in_[step]);
      for (std::size_t i = 0; i < added.size(); ++i) added[i] += before_[step][i];
    }
    Print("all of berthd", added);
    for (const char* const step : kSteps) Print(fmt::format("  containerd, limit of 20m: {}", step), in_little_[step]);
    fmt::print("calls per pod start:");
    for (const char* const step : kSteps) fmt::print(" {} {:.2f}", step, static_cast<double>(calls_[step]) / pods);
    fmt::print("\nUpdateContainerResources from a manifest until the pod is gone, 3 others losing a CPU: {:.2f}\n",
               static_cast<double>(updates_) / pods);
  }

  testkit::ContainerdFixture containerd_;
  testkit::DaemonFixture berthd_;
  Times times_;
  std::map<std::string, Series> before_;
  std::map<std::string, Series> in_;
  std::map<std::string, Series> in_little_;
  std::map<std::string, int> calls_;
  Series whole_;
  Series ctr_;
  Series cri_;
  Series little_;
  Series cri_little_;
  Series cri_little_pod_;
  std::size_t updates_ = 0;
};

}  // namespace

int main() {
  for (const auto& why : {testkit::ContainerdFixture::WhyNot(), testkit::DaemonFixture::WhyNot()}) {
    if (!why) continue;
    fmt::print("pods on containerd: skipped, {}\n", *why);
    return 0;
  }
  Bench().Run(bench::WantedPods(8));
  return 0;
}
