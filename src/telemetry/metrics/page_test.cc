#include "telemetry/metrics/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/text.h"
#include "telemetry/metrics/families.h"
#include "testing/fixtures.h"

namespace berth::metrics {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

constexpr double kBounds[] = {1, 10};

NumaNode NumaWith(unsigned id, std::initializer_list<unsigned> cpus) {
  NumaNode out{.id = NumaId{id}, .memory = GiB(8)};
  for (const unsigned cpu : cpus) {
    Core core;
    core.threads = {CpuId{cpu}};
    out.cores.push_back(core);
  }
  return out;
}

std::shared_ptr<const PodView> RunningWeb() {
  PodView pod;
  pod.namespace_ = "default";
  pod.name = "web";
  pod.uid = "u1";
  pod.phase = PodPhase::kRunning;
  ContainerView& app = pod.containers.emplace_back();
  app.name = "app";
  app.phase = ContainerPhase::kRunning;
  app.place = ContainerPlace{.cpus = CpuSet::Range(2, 3)};
  app.last = ContainerRun{.pid = 7, .started_at = "2026-01-02T00:00:00.5Z"};
  ContainerView& done = pod.containers.emplace_back();
  done.name = "init";
  done.phase = ContainerPhase::kExited;
  return std::make_shared<const PodView>(std::move(pod));
}

/// Two NUMA nodes with two CPUs each, CPU 0 reserved, one pod with CPUs 2 and 3.
struct MetricsPageTest : testing::Test {
  MetricsPageTest() {
    Machine machine;
    machine.nodes = {NumaWith(0, {0, 1}), NumaWith(1, {2, 3})};
    machine.online = machine.present = CpuSet::Range(0, 3);
    node.machine = std::make_shared<const Machine>(std::move(machine));
    NodeView view;
    view.reserved_cpus = CpuSet{CpuId{0}};
    node.node = std::make_shared<const NodeView>(std::move(view));
    ledger.cpu_policy = "static";
    ledger.revision = 3;
    ledger.shared = CpuSet::Range(0, 1);
    PodRecord record{.uid = "u1"};
    record.placements.push_back({.container = "app", .cpus = CpuSet::Range(2, 3)});
    ledger.pods["u1"] = record;
    ledger.memory[NumaId{1}].types["memory"] = {.allocatable = GiB(6), .reserved = GiB(2), .free = GiB(4)};
    node.shared = ledger.shared;
    status.version = "0.9";
    status.node_name = "n1";
    status.cgroup_version = "hybrid";
    status.cgroup_writes = 12;
    status.started_at = WallTime(1'000s);
    figures.published["NodeState"] = {.writes = {.tried = 5, .failed = 2}, .current = true};
    status.runtime_calls["CreateContainer"] = {.calls = 4, .failed = 1};
    figures.decisions.time_us = figures.decisions.time_ms = figures.ledger.save_seconds = Histogram(kBounds);
    node.pods.push_back({.view = RunningWeb()});
  }

  std::vector<std::string> Samples(const Family& family) {
    node.ledger = std::make_shared<const Ledger>(ledger);
    node.status = std::make_shared<const DaemonStatus>(status);
    node.figures = std::make_shared<const NodeFigures>(figures);
    const std::string page =
        FormatPage({.node = node, .turns = turns, .usage = usage, .process = process, .pod_resources = pod_resources});
    std::vector<std::string> out;
    bool found = false;
    for (const std::string_view line : Split(page, '\n')) {
      if (line.starts_with("# HELP ")) found = SplitWords(line)[2] == family.name;
      if (found && !line.starts_with('#') && !line.empty()) out.emplace_back(line);
    }
    return out;
  }

  Ledger ledger;
  DaemonStatus status;
  NodeFigures figures;
  NodeSnapshot node;
  Histogram turns{kBounds};
  const NodeUsage* usage = nullptr;
  ProcessFigures process;
  std::optional<PodResourcesFigures> pod_resources;
};

TEST_F(MetricsPageTest, EveryFamilyIsThereOnceInOrderWithHelpAndType) {
  Samples(kBuild);
  const std::string page = FormatPage({.node = node, .turns = turns});
  std::vector<std::string> types;
  std::vector<std::string> wanted;
  std::set<std::string_view> names;
  for (const std::string_view line : Split(page, '\n'))
    if (line.starts_with("# TYPE ")) types.emplace_back(line.substr(7));
  for (const Family* family : kFamilies) {
    wanted.push_back(std::string(family->name) + " " + std::string(Name(family->kind)));
    EXPECT_TRUE(names.insert(family->name).second) << family->name;
    EXPECT_TRUE(family->help.ends_with('.')) << family->name;
  }
  EXPECT_EQ(types, wanted);
}

/// "| `name` | type | `label`, `label` | …" of the page for people, and of what is served.
TEST_F(MetricsPageTest, TheReferenceListsWhatThereIs) {
  std::vector<std::string> listed;
  const std::string page = testkit::ReadText(testkit::SourcePath("docs/reference/metrics.md"));
  for (const std::string_view line : Split(page, '\n')) {
    if (!line.starts_with("| `")) continue;
    const std::vector<std::string_view> cells = Split(line, '|');
    ASSERT_EQ(cells.size(), 7U) << line;
    listed.push_back(
        Join({std::string(Trim(cells[1])), std::string(Trim(cells[2])), std::string(Trim(cells[3]))}, " "));
    EXPECT_FALSE(Trim(cells[5]).empty()) << "where it comes from: " << line;
  }
  std::vector<std::string> wanted;
  for (const Family* family : kFamilies) {
    std::vector<std::string> labels;
    for (const std::string_view label : family->labels)
      if (!label.empty()) labels.push_back("`" + std::string(label) + "`");
    wanted.push_back("`" + std::string(family->name) + "` " + std::string(Name(family->kind)) + " " +
                     Join(labels, ", "));
  }
  EXPECT_THAT(listed, testing::UnorderedElementsAreArray(wanted));
}

/// Words of the dashboard's expressions that are called like metrics.
std::set<std::string> NamesInDashboard() {
  std::set<std::string> out;
  const std::string text = testkit::ReadText(testkit::SourcePath("packaging/grafana/berth.json"));
  for (const std::string_view line : Split(text, '\n')) {
    if (!Trim(line).starts_with("\"expr\":")) continue;
    std::string word;
    for (const char c : line) {
      if ((c >= 'a' && c <= 'z') || c == '_' || IsDigit(c)) {
        word += c;
        continue;
      }
      for (const char* prefix : {"kubelet_", "container_", "pod_", "node_", "berth_", "process_"})
        if (word.starts_with(prefix)) out.insert(word);
      word.clear();
    }
  }
  return out;
}

TEST_F(MetricsPageTest, TheDashboardAsksForWhatThereIs) {
  std::set<std::string> known;
  for (const Family* family : kFamilies) {
    known.emplace(family->name);
    if (family->kind == Kind::kHistogram) known.insert(std::string(family->name) + "_bucket");
  }
  const std::set<std::string> asked = NamesInDashboard();
  EXPECT_GT(asked.size(), 20U);
  for (const std::string& name : asked) EXPECT_TRUE(known.contains(name)) << name;
}

TEST_F(MetricsPageTest, CpusAreCountedAsTheKubeletDoes) {
  figures.decisions.cpu_pinnings = {.tried = 5, .failed = 2};
  EXPECT_THAT(Samples(kCpuPinnings), ElementsAre("kubelet_cpu_manager_pinning_requests_total 5"));
  EXPECT_THAT(Samples(kCpuPinningErrors), ElementsAre("kubelet_cpu_manager_pinning_errors_total 2"));
  EXPECT_THAT(Samples(kSharedPool), ElementsAre("kubelet_cpu_manager_shared_pool_size_millicores 1000"))
      << "without the reserved one";
  EXPECT_THAT(Samples(kExclusiveCpus), ElementsAre("kubelet_cpu_manager_exclusive_cpu_allocation_count 2"));
  EXPECT_THAT(Samples(kExclusivePerNuma), ElementsAre("kubelet_cpu_manager_allocation_per_numa{numa_node=\"0\"} 0",
                                                      "kubelet_cpu_manager_allocation_per_numa{numa_node=\"1\"} 2"));
  EXPECT_THAT(Samples(kPoolCpus), ElementsAre("berth_shared_pool_cpus 2"));
  EXPECT_THAT(Samples(kNumaFreeCpus), ElementsAre("berth_numa_free_exclusive_cpus{numa_node=\"0\"} 1",
                                                  "berth_numa_free_exclusive_cpus{numa_node=\"1\"} 0"));
  EXPECT_THAT(Samples(kContainerCpus),
              ElementsAre("berth_container_exclusive_cpus{container=\"app\",namespace=\"default\",pod=\"web\"} 2"));
}

TEST_F(MetricsPageTest, IsolatedCpusBesideThePoolAreFreeForExclusiveUse) {
  Machine machine = *node.machine;
  machine.isolated = CpuSet::Range(1, 2);
  node.machine = std::make_shared<const Machine>(std::move(machine));
  NodeView view = *node.node;
  view.all_cpus = CpuSet::Range(0, 3);
  view.own.isolated_apart = true;
  node.node = std::make_shared<const NodeView>(std::move(view));
  ledger.shared = CpuSet{CpuId{0}};
  EXPECT_THAT(Samples(kNumaFreeCpus), ElementsAre("berth_numa_free_exclusive_cpus{numa_node=\"0\"} 1",
                                                  "berth_numa_free_exclusive_cpus{numa_node=\"1\"} 0"))
      << "CPU 2 is somebody's";
  EXPECT_THAT(Samples(kSharedPool), ElementsAre("kubelet_cpu_manager_shared_pool_size_millicores 0"));
}

TEST_F(MetricsPageTest, UnderPolicyNoneNoCpuCanBeGivenAway) {
  ledger.cpu_policy = "none";
  EXPECT_THAT(Samples(kSharedPool), ElementsAre("kubelet_cpu_manager_shared_pool_size_millicores 0"));
}

TEST_F(MetricsPageTest, DecisionsAreAHistogramOfMicroseconds) {
  figures.decisions.time_us.Add(0.5);
  figures.decisions.time_us.Add(100);
  EXPECT_THAT(Samples(kDecisionTime), ElementsAre("berth_decision_duration_microseconds_bucket{le=\"1\"} 1",
                                                  "berth_decision_duration_microseconds_bucket{le=\"10\"} 1",
                                                  "berth_decision_duration_microseconds_bucket{le=\"+Inf\"} 2",
                                                  "berth_decision_duration_microseconds_sum 100.5",
                                                  "berth_decision_duration_microseconds_count 2"));
  figures.decisions.alignments[{.scope = "pod", .boundary = "numa_node"}] = {.tried = 3, .failed = 1};
  EXPECT_THAT(Samples(kAligned),
              ElementsAre("kubelet_container_aligned_compute_resources_count{scope=\"pod\",boundary=\"numa_node\"} 3"));
  EXPECT_THAT(
      Samples(kMisaligned),
      ElementsAre("kubelet_container_aligned_compute_resources_failure_count{scope=\"pod\",boundary=\"numa_node\"} 1"));
}

TEST_F(MetricsPageTest, PluginsAreCountedByResource) {
  EXPECT_THAT(Samples(kPluginRegistrations), IsEmpty());
  EXPECT_THAT(Samples(kPluginAllocations), IsEmpty());
  figures.devices.registrations = {{"a.example/gpu", 3}};
  figures.devices.allocate_seconds["a.example/gpu"] = Histogram(kBounds);
  figures.devices.allocate_seconds["a.example/gpu"].Add(2);
  EXPECT_THAT(Samples(kPluginRegistrations),
              ElementsAre("kubelet_device_plugin_registration_total{resource_name=\"a.example/gpu\"} 3"));
  const std::string name = "kubelet_device_plugin_alloc_duration_seconds";
  const std::string resource = "{resource_name=\"a.example/gpu\"";
  EXPECT_THAT(Samples(kPluginAllocations),
              ElementsAre(name + "_bucket" + resource + ",le=\"1\"} 0", name + "_bucket" + resource + ",le=\"10\"} 1",
                          name + "_bucket" + resource + ",le=\"+Inf\"} 1", name + "_sum" + resource + "} 2",
                          name + "_count" + resource + "} 1"));
}

TEST_F(MetricsPageTest, CallsOfThePodResourcesApiAreCountedWhereItIsServed) {
  EXPECT_THAT(Samples(kPodResourcesCalls), IsEmpty());
  pod_resources = {.list = {.tried = 5}, .get_allocatable = {.tried = 2}, .get = {.tried = 4, .failed = 3}};
  pod_resources->list_alpha = 1;
  const std::string name = "kubelet_pod_resources_endpoint_";
  const std::string v1 = "{server_api_version=\"v1\"} ";
  EXPECT_THAT(Samples(kPodResourcesCalls), ElementsAre(name + "requests_total" + v1 + "11",
                                                       name + "requests_total{server_api_version=\"v1alpha1\"} 1"));
  EXPECT_THAT(Samples(kPodResourcesLists), ElementsAre(name + "requests_list" + v1 + "5"));
  EXPECT_THAT(Samples(kPodResourcesAllocatables), ElementsAre(name + "requests_get_allocatable" + v1 + "2"));
  EXPECT_THAT(Samples(kPodResourcesGets), ElementsAre(name + "requests_get" + v1 + "4"));
  EXPECT_THAT(Samples(kPodResourcesListErrors), ElementsAre(name + "errors_list" + v1 + "0"));
  EXPECT_THAT(Samples(kPodResourcesAllocatableErrors), ElementsAre(name + "errors_get_allocatable" + v1 + "0"));
  EXPECT_THAT(Samples(kPodResourcesGetErrors), ElementsAre(name + "errors_get" + v1 + "3"));
}

TEST_F(MetricsPageTest, WhatARuntimeWaitsForIsMeasuredByCall) {
  EXPECT_THAT(Samples(kAnswerTime), IsEmpty());
  figures.answer_seconds["CreateContainer"] = Histogram(kBounds);
  figures.answer_seconds["CreateContainer"].Add(2);
  const std::string name = "berth_nri_answer_duration_seconds";
  const std::string call = "{call=\"CreateContainer\"";
  EXPECT_THAT(Samples(kAnswerTime),
              ElementsAre(name + "_bucket" + call + ",le=\"1\"} 0", name + "_bucket" + call + ",le=\"10\"} 1",
                          name + "_bucket" + call + ",le=\"+Inf\"} 1", name + "_sum" + call + "} 2",
                          name + "_count" + call + "} 1"));
}

TEST_F(MetricsPageTest, PodsContainersAndTheNodeAreCounted) {
  EXPECT_THAT(Samples(kRunningPods), ElementsAre("kubelet_running_pods 1"));
  EXPECT_THAT(Samples(kRunningContainers), ElementsAre("kubelet_running_containers{container_state=\"exited\"} 1",
                                                       "kubelet_running_containers{container_state=\"running\"} 1"));
  EXPECT_THAT(Samples(kPods), ElementsAre("berth_pods{phase=\"Pending\"} 0", "berth_pods{phase=\"Running\"} 1",
                                          "berth_pods{phase=\"Succeeded\"} 0", "berth_pods{phase=\"Failed\"} 0"));
  EXPECT_THAT(Samples(kCgroupVersion), ElementsAre("kubelet_cgroup_version 1"));
  EXPECT_THAT(Samples(kNodeName), ElementsAre("kubelet_node_name{node=\"n1\"} 1"));
  EXPECT_THAT(Samples(kBuild), ElementsAre("berth_build_info{version=\"0.9\"} 1"));
  EXPECT_THAT(Samples(kKubeletRules), ElementsAre("berth_kubelet_rules_info{version=\"1.36\"} 1"));
  EXPECT_THAT(Samples(kRuntimeFailures), ElementsAre("berth_runtime_call_failures_total{call=\"CreateContainer\"} 1"));
  EXPECT_THAT(Samples(kPublishWrites), ElementsAre("berth_publish_writes_total{object=\"NodeState\"} 5"));
  EXPECT_THAT(Samples(kPublishFailures), ElementsAre("berth_publish_failures_total{object=\"NodeState\"} 2"));
  EXPECT_THAT(Samples(kPublishCurrent), ElementsAre("berth_publish_current{object=\"NodeState\"} 1"));
}

TEST_F(MetricsPageTest, WorkIsCounted) {
  figures.ledger.saves = {.tried = 7, .failed = 1};
  figures.events = {{"CgroupRepaired", 4}, {"Started", 2}};
  EXPECT_THAT(Samples(kSaves), ElementsAre("berth_ledger_saves_total 7"));
  EXPECT_THAT(Samples(kSaveFailures), ElementsAre("berth_ledger_save_failures_total 1"));
  EXPECT_THAT(Samples(kRevision), ElementsAre("berth_ledger_revision 3"));
  EXPECT_THAT(Samples(kRepairs), ElementsAre("berth_repairs_total 4"));
  EXPECT_THAT(Samples(kEvents), ElementsAre("berth_events_total{reason=\"CgroupRepaired\"} 4",
                                            "berth_events_total{reason=\"Started\"} 2"));
  EXPECT_THAT(Samples(kCgroupWrites), ElementsAre("berth_cgroup_writes_total 12"));
}

TEST_F(MetricsPageTest, WhatContainersUseComesFromTheReading) {
  EXPECT_THAT(Samples(kContainerCpu), IsEmpty());
  EXPECT_THAT(Samples(kScrapeError), ElementsAre("resource_scrape_error 1"));
  NodeUsage reading;
  GroupUsage app;
  app.cpu = 1'500ms;
  app.working_set = MiB(3);
  app.throttling = Throttling{.periods = 10, .throttled = 4, .time = 250ms};
  app.cpu_stall = Stall{.some = 2s, .full = 1s};
  reading.pods.push_back({.pod = node.pods.front().view, .usage = app, .containers = {{"app", app}}});
  reading.host.all.cpu = 100s;
  reading.host.nodes[NumaId{0}] = {.total = GiB(8), .free = GiB(1)};
  reading.groups["burstable"] = app;
  usage = &reading;
  const std::string labels = "{container=\"app\",namespace=\"default\",pod=\"web\"} ";
  EXPECT_THAT(Samples(kContainerCpu), ElementsAre("container_cpu_usage_seconds_total" + labels + "1.5"));
  EXPECT_THAT(Samples(kContainerWorkingSet), ElementsAre("container_memory_working_set_bytes" + labels + "3145728"));
  EXPECT_THAT(Samples(kContainerMemory), IsEmpty()) << "what is not counted is left out";
  EXPECT_THAT(Samples(kContainerThrottled), ElementsAre("container_cpu_cfs_throttled_periods_total" + labels + "4"));
  EXPECT_THAT(Samples(kContainerThrottledTime),
              ElementsAre("container_cpu_cfs_throttled_seconds_total" + labels + "0.25"));
  EXPECT_THAT(Samples(kCpuWaiting), ElementsAre("container_pressure_cpu_waiting_seconds_total" + labels + "2"));
  EXPECT_THAT(Samples(kCpuStalled), ElementsAre("container_pressure_cpu_stalled_seconds_total" + labels + "1"));
  EXPECT_THAT(Samples(kContainerStart), ElementsAre("container_start_time_seconds" + labels + "1767312000.5"));
  EXPECT_THAT(Samples(kPodCpu), ElementsAre("pod_cpu_usage_seconds_total{namespace=\"default\",pod=\"web\"} 1.5"));
  EXPECT_THAT(Samples(kNodeCpu), ElementsAre("node_cpu_usage_seconds_total 100"));
  EXPECT_THAT(Samples(kTierCpu), ElementsAre("berth_tier_cpu_usage_seconds_total{tier=\"burstable\"} 1.5"));
  EXPECT_THAT(Samples(kNumaFreeMemory), ElementsAre("berth_numa_memory_free_bytes{numa_node=\"0\"} 1073741824"));
  EXPECT_THAT(Samples(kScrapeError), ElementsAre("resource_scrape_error 0"));
}

TEST_F(MetricsPageTest, MemoryOfNodesIsWhatCanBeBookedAndWhatIsFreeOfIt) {
  EXPECT_THAT(Samples(kNumaPinnable),
              ElementsAre("berth_numa_pinnable_memory_bytes{numa_node=\"1\",type=\"memory\"} 6442450944"));
  EXPECT_THAT(Samples(kNumaPinnableFree),
              ElementsAre("berth_numa_pinnable_memory_free_bytes{numa_node=\"1\",type=\"memory\"} 4294967296"));
  EXPECT_THAT(Samples(kNumaMemory), ElementsAre("berth_numa_memory_bytes{numa_node=\"0\"} 8589934592",
                                                "berth_numa_memory_bytes{numa_node=\"1\"} 8589934592"));
}

TEST_F(MetricsPageTest, BerthdItselfIsMeasured) {
  process = {.cpu = 250ms, .resident = MiB(10)};
  EXPECT_THAT(Samples(kProcessCpu), ElementsAre("process_cpu_seconds_total 0.25"));
  EXPECT_THAT(Samples(kProcessMemory), ElementsAre("process_resident_memory_bytes 10485760"));
  EXPECT_THAT(Samples(kProcessStart), ElementsAre("process_start_time_seconds 1000"));
}

}  // namespace
}  // namespace berth::metrics
