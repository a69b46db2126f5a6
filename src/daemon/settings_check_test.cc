// What is refused before a start against what a start refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/played_line_test.h"
#include "testing/fixtures.h"

namespace berth::daemon {
namespace {

using ::testing::HasSubstr;

constexpr const char* kKubeletHead = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
constexpr const char* kBerthHead = "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n";

/// Four CPUs on one NUMA node, as cAdvisor has it: read without a child process, which makes synthetic text slow to
/// read 1 400 times.
constexpr const char* kMachine =
    R"({"num_cores": 4, "num_physical_cores": 4, "num_sockets": 1, "memory_capacity": 1073741824, "topology": [{"node_id": 0,
        "memory": 1073741824, "cores": [{"core_id": 0, "thread_ids": [0], "socket_id": 0}, {"core_id": 1, "thread_ids": [1], "socket_id": 0},
        {"core_id": 2, "thread_ids": [2], "socket_id": 0}, {"core_id": 3, "thread_ids": [3], "socket_id": 0}]}]})";

/// A dry run, all of whose files are below one temporary folder.
struct DryNode {
  DryNode(const std::string& berth, const std::string& kubelet) {
    std::ofstream(*line.machine) << kMachine;
    line.config = temp / "berth.yaml";
    line.kubelet_config = temp / "kubelet.yaml";
    std::ofstream(*line.config) << kBerthHead << berth;
    std::ofstream(*line.kubelet_config) << kKubeletHead << kubelet;
  }
  /// "": nothing.
  std::string Check() const {
    const auto settings = LoadSettings(line);
    if (!settings) return settings.error().message;
    const auto node = LoadNode(*settings);
    return node ? "" : node.error().message;
  }
  std::string Start() {
    auto settings = LoadSettings(line);
    if (!settings) return settings.error().message;
    const auto daemon = Daemon::Make(line, *std::move(settings), "test", Notifier(), log);
    return daemon ? "" : daemon.error().message;
  }

  testkit::TempDir temp;
  CommandLine line = PlayedLine(temp, temp / "machine.json");
  events::Log log{events::LogLevel::kError};
};

/// The fields that the rows of this section of the reference begin with.
std::vector<std::string> FieldsOf(std::string_view kind) {
  std::ifstream file(testkit::SourcePath("docs/formats/configuration.md"));
  std::vector<std::string> out;
  bool inside = false;
  for (std::string row; std::getline(file, row);) {
    if (row.starts_with("## ")) inside = row == "## " + std::string(kind);
    if (!inside || !row.starts_with("| `")) continue;
    const std::vector<std::string_view> pieces = Split(std::string_view(row).substr(2, row.find(" |", 2) - 2), '`');
    for (std::size_t i = 1; i < pieces.size(); i += 2) out.emplace_back(pieces[i]);
  }
  return out;
}

constexpr const char* kWrongValues[] = {"nonsense",
                                        "-1",
                                        "0",
                                        "99999999999",
                                        "true",
                                        "\"\"",
                                        "[]",
                                        "[nonsense]",
                                        "{}",
                                        "{memory: 150%}",
                                        "{memory.available: 0s}",
                                        "{memory.available: -1Gi}",
                                        "{memory.availabel: 1Gi}",
                                        "{memory.available: 1Gi}"};

/// Fields of fields, with a "%" where the value goes. Of lists one entry.
constexpr const char* kBerthNested[] = {"web: {address: %}",
                                        "web: {certificate: %}",
                                        "web: {tokenFile: %, address: \"0.0.0.0:9960\"}",
                                        "web: {allowChanges: %}",
                                        "publish: {kubeconfig: %}",
                                        "publish: {state: false, topology: %}",
                                        "podSpecs: {kubeconfig: %}",
                                        "waiting: {max: %}",
                                        "waiting: {overtakes: %}",
                                        "runtimeClasses: {kata: %}",
                                        "localDevices: [{resource: %, paths: [/dev/null]}]",
                                        "localDevices: [{resource: berth.dev/null, paths: %}]",
                                        "localDevices: [{resource: berth.dev/nic, pci: [{vendor: %}]}]",
                                        "podPolicies: [{name: a, namespaces: [x], maxCpus: %}]",
                                        "podPolicies: [{name: a, namespaces: [x], cpus: %}]",
                                        "podPolicies: [{name: a, namespaces: [x], cpuOptions: %}]",
                                        "podPolicies: [{name: a, namespaces: %}]",
                                        "cpuPools: [{name: %, namespaces: [x]}]",
                                        "cpuPools: [{name: a, namespaces: [x], maxCpus: %}]",
                                        "cpuPools: [{name: a, namespaces: [x], minCpus: %}]",
                                        "cpuPools: [{name: a, namespaces: [x], smt: %}]"};
constexpr const char* kKubeletNested[] = {"systemReserved: {cpu: %}",
                                          "systemReserved: {memory: %}",
                                          "kubeReserved: {pid: %}",
                                          "reservedMemory: [{numaNode: %, limits: {memory: 100Mi}}]",
                                          "reservedMemory: [{numaNode: 0, limits: {memory: %}}]",
                                          "cpuManagerPolicyOptions: {full-pcpus-only: %}",
                                          "topologyManagerPolicyOptions: {max-allowable-numa-nodes: %}",
                                          "qosReserved: {memory: %}\nfeatureGates: {QOSReserved: true}",
                                          "featureGates: {MemoryQoS: %}",
                                          "evictionHard: {memory.available: %}",
                                          "evictionMinimumReclaim: {memory.available: %}",
                                          ("evictionSoft: {memory.available: 1Gi}\n"
                                           "evictionSoftGracePeriod: {memory.available: %}"),
                                          "crashLoopBackOff: {maxContainerRestartPeriod: %}",
                                          "staticPodURL: \"http://localhost/\"\nstaticPodURLHeader: {X-Rack: %}"};

/// `pattern` with `value` in the place of its "%".
std::string SettingsWith(std::string pattern, const std::string& value) {
  return pattern.replace(pattern.find('%'), 1, value) + "\n";
}

/// What makes settings differ, without the folders of a test.
using Effect = std::pair<config::BerthConfiguration, KubeletConfiguration>;
Effect EffectOf(const Settings& settings) {
  Effect out{settings.berth, settings.kubelet};
  for (std::string* const path : {&out.first.state_dir, &out.first.run_dir, &out.first.log_dir, &out.first.socket})
    path->clear();
  return out;
}

/// Settings by which a start opens a port, or asks another host.
bool ListensOrAsks(const Settings& settings) {
  const config::BerthConfiguration& berth = settings.berth;
  return berth.web || berth.publish || berth.pod_specs || !berth.metrics_address.empty() ||
         !settings.kubelet.static_pod_url.empty();
}

TEST(SettingsCheckTest, AMachineThatIsPlayedRefusesWhatTheRuntimeThatIsNamedRefuses) {
  const auto run_by = [](const DryNode& node) { return PodRules(*LoadSettings(node.line), /*dry_run=*/true).run_by; };
  EXPECT_EQ(manifest::RunBy::kNobody, run_by(DryNode("", "")));
  EXPECT_EQ(manifest::RunBy::kProcess, run_by(DryNode("runtime: process\n", "")));
  EXPECT_EQ(manifest::RunBy::kCri, run_by(DryNode("runtime: cri\n", "")));
  EXPECT_EQ(manifest::RunBy::kNobody, run_by(DryNode("runtime: nri\n", ""))) << "a kubelet's pods";
  DryNode told("runtime: cri\n", "");
  told.line.runtime = "process";
  EXPECT_EQ(manifest::RunBy::kProcess, run_by(told));
  EXPECT_EQ("n1", PodRules(*LoadSettings(told.line), /*dry_run=*/true).node_name);
}

TEST(SettingsCheckTest, ContainersAreStoppedWhereTheFileOrTheCommandLineSaysSo) {
  DryNode node("", "");
  EXPECT_FALSE(LoadSettings(node.line)->berth.stop_containers_on_exit);
  node.line.stop_containers = true;
  EXPECT_TRUE(LoadSettings(node.line)->berth.stop_containers_on_exit);
  const DryNode told("stopContainersOnExit: true\n", "");
  EXPECT_TRUE(LoadSettings(told.line)->berth.stop_containers_on_exit);
}

TEST(SettingsCheckTest, WhateverAStartRefusesTheCheckRefuses) {
  const std::vector<std::string> kubelet = FieldsOf("KubeletConfiguration");
  const std::vector<std::string> berth = FieldsOf("BerthConfiguration");
  ASSERT_GT(kubelet.size(), 50U);
  ASSERT_GT(berth.size(), 40U);
  std::vector<Effect> started;
  const auto hold = [&](const std::string& berth_text, const std::string& kubelet_text) {
    DryNode node(berth_text, kubelet_text);
    const std::string checked = node.Check();
    if (const auto settings = LoadSettings(node.line)) {
      if (ListensOrAsks(*settings)) return;  // others could be in its way
      Effect effect = EffectOf(*settings);
      if (std::ranges::find(started, effect) != started.end()) return;  // one of them is enough
      started.push_back(std::move(effect));
    }
    EXPECT_EQ(checked, node.Start()) << berth_text << kubelet_text;
  };
  for (const char* const value : kWrongValues) {
    for (const std::string& field : kubelet)
      hold("", field + ": " + value + (field == "featureGates" ? "\n" : "\nfeatureGates: {QOSReserved: true}\n"));
    for (const std::string& field : berth) hold(field + ": " + value + "\n", "");
    for (const char* const nested : kKubeletNested) hold("", SettingsWith(nested, value));
    for (const char* const nested : kBerthNested) hold(SettingsWith(nested, value), "");
  }
}

TEST(SettingsCheckTest, WhatListensOrAsksElsewhereIsRefusedWhenItIsRead) {
  const std::pair<const char*, const char*> cases[] = {
      {"metricsAddress: nonsense\n", "metricsAddress: Invalid value: \"nonsense\""},
      {"metricsAddress: -1\n", "metricsAddress: Invalid value: \"-1\""},
      {"metricsAddress: [nonsense]\n", "metricsAddress: "},
      {"web: nonsense\n", "web: "},
      {"web: {address: nonsense}\n", "web.address: Invalid value: \"nonsense\""},
      {"web: {address: \"0.0.0.0:9960\"}\n", "web.certificate: Required value"},
      {"web: {allowChanges: true}\n", "web.tokenFile: Required value"},
      {"web: {allowChanges: nonsense}\n", "web.allowChanges: "},
      {"web: {certificate: a.pem}\n", "web.key: Required value"},
      {"publish: [nonsense]\n", "publish: "},
      {"publish: {topology: nonsense}\n", "publish.topology: "},
      {"publish: {topology: false, state: false}\n", "publish: Invalid value: topology and state are both false"},
      {"podSpecs: nonsense\n", "podSpecs: "},
      {"podSpecs: {kubeconfig: []}\n", "podSpecs.kubeconfig: "}};
  for (const auto& [text, told] : cases) {
    DryNode node(text, "");
    EXPECT_THAT(node.Check(), HasSubstr(told)) << text;
    EXPECT_EQ(node.Check(), node.Start()) << text;
    EXPECT_FALSE(std::filesystem::exists(*node.line.state_dir)) << text;
  }
}

TEST(SettingsCheckTest, WhatAStartReadsLateIsRefusedBeforeItTouchesAnything) {
  const std::pair<const char*, const char*> cases[] = {
      {"evictionSoft: {memory.available: 1Gi}\n", "must be specified for the soft eviction threshold memory.available"},
      {"evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 0s}\n",
       "evictionSoftGracePeriod[\"memory.available\"]: must be positive"},
      {"evictionHard: {memory.availabel: 1Gi}\n", "did you mean memory.available?"},
      {"evictionMinimumReclaim: {memory.available: -1Gi}\n", "evictionMinimumReclaim[\"memory.available\"]"},
      {"qosReserved: {memory: 150%}\nfeatureGates: {QOSReserved: true}\n", "qosReserved.memory: '150%'"}};
  for (const auto& [text, told] : cases) {
    DryNode node("", text);
    EXPECT_THAT(node.Check(), HasSubstr(told)) << text;
    EXPECT_THAT(node.Start(), HasSubstr(told)) << text;
    EXPECT_FALSE(std::filesystem::exists(*node.line.state_dir)) << text;
  }
  DryNode node("socketGroup: no-such-group-here\n", "");
  EXPECT_THAT(node.Check(), HasSubstr("socketGroup: no group 'no-such-group-here'"));
}

TEST(SettingsCheckTest, AllProblemsOfBothFilesAreToldAtOnceEachOnce) {
  const DryNode node("logLevel: loud\n",
                     "cpuManagerPolicy: Static\nmemoryManagerPolicy: static\ntopologyManagerPolicy: strict\n"
                     "evictionSoft: {pid.available: \"100\"}\n");
  const std::string told = node.Check();
  for (const char* const part : {"logLevel: Unsupported value: \"loud\"", "topologyManagerPolicy: Unsupported value",
                                 "cpuManagerPolicy: unknown policy: \"Static\"",
                                 "memoryManagerPolicy: unknown policy: \"static\"", "threshold pid.available"})
    EXPECT_THAT(told, HasSubstr(part));
  EXPECT_EQ(Split(told, '\n').size(), 5U) << told;
}

}  // namespace
}  // namespace berth::daemon
