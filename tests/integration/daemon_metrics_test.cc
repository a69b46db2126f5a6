// What berthd says it measures, compared with the kernel's files; the text read as strictly as its format allows.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "daemon_fixture.h"
#include "device_matrix.h"
#include "device_peer.h"
#include "host/os/clock.h"
#include "rpc/http/listener.h"
#include "telemetry/metrics/families.h"

namespace berth::testkit {
namespace {

using testing::UnorderedElementsAreArray;

// ---- a strict reader
// -------------------------------------------------------------------------------------------------

bool IsName(std::string_view text, bool colons) {
  if (text.empty() || IsDigit(text.front())) return false;
  for (const char c : text)
    if (!IsDigit(c) && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && (c != ':' || !colons)) return false;
  return true;
}

struct ReadFamily {
  std::string type;
  bool has_help = false;
  std::map<std::string, double> samples;  // by name and labels, as written
};

/// Every departure from the format is a test failure.
class PageReader {
 public:
  explicit PageReader(std::string_view page) {
    EXPECT_TRUE(page.ends_with('\n'));
    for (std::string_view line : Split(page.substr(0, page.size() - 1), '\n')) {
      if (line.starts_with('#'))
        Comment(line);
      else
        Sample(line);
    }
    for (const auto& [name, family] : families) {
      EXPECT_TRUE(family.has_help) << name;
      if (family.type == "histogram") CheckHistogram(name, family);
    }
  }
  std::map<std::string, ReadFamily> families;
  /// nullopt: no such sample.
  std::optional<double> Of(const std::string& family, const std::string& labels = "") const {
    const auto found = families.find(family);
    if (found == families.end()) return std::nullopt;
    const auto sample = found->second.samples.find(family + labels);
    return sample == found->second.samples.end() ? std::nullopt : std::optional(sample->second);
  }

 private:
  void Comment(std::string_view line) {
    const std::vector<std::string_view> words = SplitWords(line);
    ASSERT_GE(words.size(), 4U) << line;
    const std::string name(words[2]);
    EXPECT_TRUE(IsName(name, true)) << line;
    if (words[1] == "HELP") {
      EXPECT_FALSE(families.contains(name)) << "twice, or not in one piece: " << line;
      families[name].has_help = true;
      current_ = name;
      return;
    }
    ASSERT_EQ(words[1], "TYPE") << line;
    ASSERT_EQ(words.size(), 4U) << line;
    EXPECT_EQ(name, current_) << line;
    EXPECT_TRUE(families[name].type.empty() && families[name].samples.empty()) << line;
    EXPECT_TRUE(words[3] == "counter" || words[3] == "gauge" || words[3] == "histogram") << line;
    families[name].type = words[3];
  }

  void Sample(std::string_view line) {
    const std::size_t space = line.rfind(' ');
    ASSERT_NE(space, std::string_view::npos) << line;
    const std::string_view series = line.substr(0, space);
    const std::string_view name = series.substr(0, series.find('{'));
    ASSERT_TRUE(IsName(name, true)) << line;
    if (name.size() < series.size()) CheckLabels(series.substr(name.size()));
    ReadFamily& family = families[current_];
    const bool part = family.type == "histogram" &&
                      (name == current_ + "_bucket" || name == current_ + "_sum" || name == current_ + "_count");
    EXPECT_TRUE(name == current_ || part) << line << " stands with " << current_;
    const std::optional<double> value = Number(line.substr(space + 1));
    ASSERT_TRUE(value) << line;
    EXPECT_TRUE(family.type != "counter" || *value >= 0) << line;
    EXPECT_TRUE(family.samples.emplace(series, *value).second) << "twice: " << line;
  }

  /// {a="x",b="y"}: known escapes only, no name twice.
  static void CheckLabels(std::string_view text) {
    ASSERT_TRUE(text.starts_with('{') && text.ends_with('}')) << text;
    std::set<std::string_view> names;
    std::size_t at = 1;
    while (at < text.size()) {
      const std::size_t equals = text.find("=\"", at);
      ASSERT_NE(equals, std::string_view::npos) << text;
      const std::string_view name = text.substr(at, equals - at);
      EXPECT_TRUE(IsName(name, false) && names.insert(name).second) << text;
      at = equals + 2;
      while (at < text.size() && text[at] != '"') {
        if (text[at] == '\\') {
          ++at;
          ASSERT_TRUE(at < text.size() && std::string_view("\\\"n").contains(text[at])) << text;
        }
        ++at;
      }
      ASSERT_LT(at + 1, text.size()) << text;
      if (text[at + 1] == '}') {
        EXPECT_EQ(at + 2, text.size()) << text;
        return;
      }
      ASSERT_EQ(text[at + 1], ',') << text;
      at += 2;
    }
    ADD_FAILURE() << "labels have no end: " << text;
  }

  static std::optional<double> Number(std::string_view text) {
    if (text == "+Inf") return HUGE_VAL;
    if (text == "-Inf") return -HUGE_VAL;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  }

  /// One for each set of labels; le is the last of them.
  static void CheckHistogram(const std::string& name, const ReadFamily& family) {
    std::map<std::string, std::map<double, double>> histograms;  // by their other labels, as written
    const std::string before = name + "_bucket";
    std::size_t samples = 0;
    for (const auto& [series, value] : family.samples) {
      if (!series.starts_with(before)) continue;
      const std::size_t le = series.rfind("le=\"");
      ASSERT_NE(le, std::string::npos) << series;
      const auto bound = Number(std::string_view(series).substr(le + 4, series.size() - le - 6));
      ASSERT_TRUE(bound) << series;
      std::string labels = series.substr(before.size(), le - before.size());
      labels.pop_back();  // the comma, or the brace of le alone
      histograms[labels.empty() ? "" : labels + "}"][*bound] = value;
      ++samples;
    }
    for (const auto& [labels, buckets] : histograms) {
      ASSERT_TRUE(buckets.contains(HUGE_VAL)) << name << labels;
      double last = 0;
      for (const auto& [bound, value] : buckets) {
        EXPECT_GE(value, last) << name << labels << " up to " << bound;
        last = value;
      }
      EXPECT_EQ(family.samples.at(name + "_count" + labels), last) << name;
      EXPECT_TRUE(family.samples.contains(name + "_sum" + labels)) << name;
    }
    EXPECT_EQ(family.samples.size(), samples + 2 * histograms.size()) << name;
  }

  std::string current_;
};

// ---- asking
// ----------------------------------------------------------------------------------------------------------

template <class Address>
std::string Ask(const Address& address, const std::string& path) {
  const int fd = ::socket(reinterpret_cast<const sockaddr&>(address).sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string out;
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
    std::array<char, 65536> buffer{};
    for (ssize_t n = 0; (n = ::read(fd, buffer.data(), buffer.size())) > 0;)
      out.append(buffer.data(), static_cast<std::size_t>(n));
  }
  ::close(fd);
  return out;
}

std::string BodyOf(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200") && end != std::string::npos) << answer.substr(0, 200);
  EXPECT_NE(answer.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), std::string::npos);
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

struct DaemonMetricsTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "needs two CPUs";
  }
  std::string OverSocket(const std::string& path) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    node.socket().copy(address.sun_path, sizeof address.sun_path - 1);
    return Ask(address, path);
  }
  std::string OverTcp(const std::string& path) const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return Ask(address, path);
  }
  /// `settings`: more lines of berth.yaml.
  void Start(const std::string& settings = "") {
    node.AddPod("own.yaml", SpinnerManifest("own", "1"));
    node.AddPod("burst.yaml", SpinnerManifest("burst", ""));
    std::ofstream(node.Dir("berth.yaml"))
        << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nmetricsAddress: " << port << "\n"
        << settings;
    node.Start({"--config", node.Dir("berth.yaml"), "--socket", node.socket()});
    ASSERT_TRUE(node.Until("both run", [&] { return node.Runs("own") && node.Runs("burst"); }));
  }
  /// Text of the first of these files of a container's group that is there.
  std::string FileOf(const std::string& group, std::vector<std::pair<const char*, const char*>> files) const {
    for (const auto& [controller, file] : files)
      if (const std::string path = node.GroupFile(controller, group, file); std::filesystem::exists(path))
        return ReadText(path);
    return "";
  }
  double CpuSecondsOf(const std::string& group) const {
    for (const char* controller : {"cpuacct", "cpu"})
      if (const std::string path = node.GroupFile(controller, group, "cpuacct.usage"); std::filesystem::exists(path))
        return std::strtod(ReadText(path).c_str(), nullptr) / 1e9;
    return std::strtod(FileOf(group, {{"cpu", "cpu.stat"}}).substr(std::string_view("usage_usec ").size()).c_str(),
                       nullptr) /
           1e6;
  }

  /// Below those that the kernel gives out by itself, each case another one, and nobody listens there.
  static std::uint16_t FreePort() {
    for (int port = 21'000 + ::getpid() % 10'000;; ++port)
      if (http::ListenTcp("127.0.0.1", static_cast<std::uint16_t>(port), nullptr))
        return static_cast<std::uint16_t>(port);
  }

  const std::uint16_t port = FreePort();
  DaemonFixture node;
};

TEST_F(DaemonMetricsTest, ThePageIsWellFormedAndHasEveryMetricOfTheReference) {
  Start();
  const PageReader page(BodyOf(OverSocket("/metrics")));
  std::vector<std::string> served;
  for (const auto& [name, family] : page.families) served.push_back(name + " " + family.type);
  std::vector<std::string> known;
  for (const metrics::Family* family : metrics::kFamilies)
    known.push_back(std::string(family->name) + " " + std::string(metrics::Name(family->kind)));
  EXPECT_THAT(served, UnorderedElementsAreArray(known));
  const PageReader tcp(BodyOf(OverTcp("/metrics")));
  EXPECT_EQ(tcp.families.size(), page.families.size());
  EXPECT_TRUE(OverTcp("/v1/pods").starts_with("HTTP/1.1 404")) << "over TCP there are metrics and nothing else";
}

TEST_F(DaemonMetricsTest, WhatDevicePluginsAreAskedIsCounted) {
  const std::string gpu = "vendor.example/gpu";
  Start("devicePluginDir: " + node.Dir("plugins") + "\n");
  const auto plugin = StartPeer({.folder = node.Dir("plugins"),
                                 .resource = gpu,
                                 .endpoint = "gpu.sock",
                                 .devices = {{"g0"}, {"g1"}},
                                 .scratch = node.Dir("")});
  for (const std::string name : {"a", "b"}) node.AddPod(name + ".yaml", DevicePod(name, gpu, 1));
  ASSERT_TRUE(node.Until("both run", [&] { return node.Runs("a") && node.Runs("b"); }));
  const PageReader page(BodyOf(OverSocket("/metrics")));
  const std::string labels = R"({resource_name="vendor.example/gpu"})";
  EXPECT_EQ(page.Of("kubelet_device_plugin_registration_total", labels), 1);
  const std::string allocations = "kubelet_device_plugin_alloc_duration_seconds";
  EXPECT_EQ(page.families.at(allocations).samples.at(allocations + "_count" + labels), 2);
}

TEST_F(DaemonMetricsTest, PromtoolReadsThePage) {
  const char* const promtool = std::getenv("BERTH_PROMTOOL");
  if (promtool == nullptr) GTEST_SKIP() << "BERTH_PROMTOOL names no promtool (tools/get_promtool)";
  Start();
  std::ofstream(node.Dir("page")) << BodyOf(OverSocket("/metrics"));
  const std::string command =
      std::string(promtool) + " check metrics <" + node.Dir("page") + " >" + node.Dir("said") + " 2>&1";
  const int status = std::system(command.c_str());
  const std::string said = ReadText(node.Dir("said"));
  EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3)) << said;
  for (const std::string_view line : Split(Trim(said), '\n'))
    EXPECT_TRUE(line.starts_with("kubelet_") || line.starts_with("container_memory_rss") ||
                line.starts_with("berth_decision_duration_microseconds"))
        << "a remark about a name that is Berth's own: " << line;
}

TEST_F(DaemonMetricsTest, ValuesAreThoseOfTheKernelsFiles) {
  Start();
  const std::string group = node.PodNamed("own")["containers"][0]["cgroup"].get<std::string>();
  const std::string labels = R"({container="spin",namespace="default",pod="own-n1"})";
  os::SleepFor(os::Millis(1'100));  // no reading from before
  const double before = CpuSecondsOf(group);
  const PageReader page(BodyOf(OverSocket("/metrics")));
  const double after = CpuSecondsOf(group);
  const auto used = page.Of("container_cpu_usage_seconds_total", labels);
  ASSERT_TRUE(used);
  EXPECT_GT(before, 0);
  EXPECT_GE(*used, before);
  EXPECT_LE(*used, after);
  const std::string memory = FileOf(group, {{"memory", "memory.current"}, {"memory", "memory.usage_in_bytes"}});
  const auto charged = page.Of("container_memory_usage_bytes", labels);
  const auto working_set = page.Of("container_memory_working_set_bytes", labels);
  ASSERT_TRUE(charged && working_set);
  EXPECT_NEAR(*charged, std::strtod(memory.c_str(), nullptr), 1 << 20);
  EXPECT_GT(*working_set, 0);
  EXPECT_LE(*working_set, *charged);
  EXPECT_TRUE(page.Of("container_cpu_cfs_periods_total", labels)) << "it has a limit, so it has a quota";
  EXPECT_EQ(page.Of("berth_container_exclusive_cpus", labels), 1);
  EXPECT_EQ(page.Of("kubelet_cpu_manager_exclusive_cpu_allocation_count"), 1);
  EXPECT_EQ(page.Of("kubelet_cpu_manager_pinning_requests_total"), 1);
  EXPECT_EQ(page.Of("kubelet_cpu_manager_shared_pool_size_millicores"), (OnlineCpus().Count() - 2) * 1000);
  EXPECT_EQ(page.Of("kubelet_topology_manager_admission_requests_total"), 2);
  EXPECT_EQ(page.Of("berth_decision_duration_microseconds_count"), std::nullopt) << "it is not a family of its own";
  EXPECT_EQ(
      page.families.at("berth_decision_duration_microseconds").samples.at("berth_decision_duration_microseconds_count"),
      2);
  EXPECT_EQ(page.Of("kubelet_running_pods"), 2);
  EXPECT_EQ(page.Of("berth_cgroup_writes_total"), node.Get("/v1/status")["cgroupWrites"].get<double>());
  EXPECT_EQ(page.Of("resource_scrape_error"), 0);
  EXPECT_GE(page.Of("berth_ledger_saves_total").value_or(0), 1);
  EXPECT_GE(page.Of("berth_pool_changes_total").value_or(0), 1);
}

TEST_F(DaemonMetricsTest, StatisticsHaveTheKubeletsShapeAndTheKernelsValues) {
  Start();
  const std::string group = node.PodNamed("own")["containers"][0]["cgroup"].get<std::string>();
  (void)node.Get("/stats/summary");
  os::SleepFor(os::Millis(1'100));
  const double before = CpuSecondsOf(group);
  const codec::Json summary = node.Get("/stats/summary");
  const double after = CpuSecondsOf(group);
  EXPECT_EQ(summary["node"]["nodeName"], "n1");
  EXPECT_GT(summary["node"]["cpu"]["usageNanoCores"].get<double>(), 1e8) << "two containers spin";
  EXPECT_GT(summary["node"]["memory"]["availableBytes"].get<double>(), 1 << 20);
  std::set<std::string> groups;
  for (const codec::Json& one : summary["node"]["systemContainers"]) groups.insert(one["name"].get<std::string>());
  EXPECT_EQ(groups, (std::set<std::string>{"besteffort", "burstable", "guaranteed", "kubelet", "pods"}));
  bool found = false;
  for (const codec::Json& pod : summary["pods"]) {
    if (pod["podRef"]["name"] != "own-n1") continue;
    found = true;
    const codec::Json& container = pod["containers"][0];
    const double used = container["cpu"]["usageCoreNanoSeconds"].get<double>() / 1e9;
    EXPECT_GE(used, before);
    EXPECT_LE(used, after);
    EXPECT_GT(container["cpu"]["usageNanoCores"].get<double>(), 0);
    EXPECT_LE(container["memory"]["workingSetBytes"].get<double>(), container["memory"]["usageBytes"].get<double>());
    EXPECT_GE(pod["cpu"]["usageCoreNanoSeconds"].get<double>(), container["cpu"]["usageCoreNanoSeconds"].get<double>());
  }
  EXPECT_TRUE(found) << codec::FormatJson(summary);
}

TEST_F(DaemonMetricsTest, ARepairIsCountedAndBerthdStaysSmallWhileItIsScraped) {
  Start();
  std::ofstream(node.GroupFile("cpuset", "berth", "cpuset.cpus")) << FormatIds(OnlineCpus());
  ASSERT_TRUE(node.Until("it is put right", [&] {
    return PageReader(BodyOf(OverSocket("/metrics"))).Of("berth_repairs_total").value_or(0) >= 1;
  }));
  constexpr int kScrapes = 200;
  for (int i = 0; i < kScrapes; ++i) ASSERT_FALSE(BodyOf(OverTcp("/metrics")).empty());
  const PageReader page(BodyOf(OverTcp("/metrics")));
  EXPECT_LE(page.Of("process_resident_memory_bytes").value_or(1e12), 20 << 20);
  EXPECT_GT(page.Of("process_resident_memory_bytes").value_or(0), 1 << 20);
}

}  // namespace
}  // namespace berth::testkit
