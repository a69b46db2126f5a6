// `berth simulate` from the outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/codec/codec.h"
#include "cli/run_berth.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

using codec::Json;
using testing::HasSubstr;

constexpr const char* kMachine = "numa:2(memory=8GB) core:4 pu:2";

std::vector<std::string> Simulate(std::vector<std::string> rest) {
  std::vector<std::string> out{"simulate",
                               "--machine",
                               kMachine,
                               "--config",
                               SimulateInput("kubelet.yaml"),
                               "--devices",
                               SimulateInput("devices.yaml")};
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

/// A Guaranteed pod.
std::string Pod(const std::string& name, const std::string& cpus) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {containers: [{name: c, image: i, " +
         "resources: {limits: {cpu: \"" + cpus + "\", memory: 64Mi}}}]}\n";
}

Json ParseOut(const Ran& ran) {
  auto json = codec::ParseJson(ran.out, "output");
  EXPECT_TRUE(json) << ran.out << ran.err;
  return json ? *std::move(json) : Json();
}

TEST(SimulateTest, PodsComeAndGoInTheOrderGiven) {
  testkit::ExpectGolden("tests/golden/simulate/steps.txt",
                        Shown(RunBerth(Simulate({SimulateInput("pods.yaml"), SimulateInput("more.yaml"),
                                                 "remove:shop/web", "remove:batch"}))));
}

TEST(SimulateTest, AResourceThatNobodyHasIsNamedWithTheNearestThereIs) {
  testkit::ExpectGolden("tests/golden/simulate/nobody_has.txt",
                        Shown(RunBerth(Simulate({SimulateInput("nobody_has.yaml")}))));
}

TEST(SimulateTest, PodsHaveWhatTheirAnnotationsAskForAsFarAsARuleLetsThem) {
  testkit::ExpectGolden("tests/golden/simulate/own.txt",
                        Shown(RunBerth({"simulate", "--machine", kMachine, "--berth-config",
                                        SimulateInput("berth.yaml"), SimulateInput("own.yaml")})));
  const Ran without = RunBerth(Simulate({SimulateInput("own.yaml")}));
  EXPECT_EQ(without.status, 3);
  EXPECT_THAT(without.out, HasSubstr("PodPolicyForbidden"));
  EXPECT_THAT(without.out, HasSubstr("this node has no podPolicies that let it"));
}

TEST(SimulateTest, PodsShareTheNamedPoolsOfTheSettings) {
  const auto example = [](const char* name) { return testkit::SourcePath(std::string("examples/") + name); };
  const std::vector<std::string> node{
      "simulate", "-m", kMachine, "-c", example("kubelet.yaml"), "--berth-config", example("pools.yaml")};
  const auto on_node = [&](std::vector<std::string> rest) {
    rest.insert(rest.begin(), node.begin(), node.end());
    return RunBerth(rest);
  };
  const Ran both = on_node({example("pods/pooled.yaml")});
  EXPECT_EQ(both.status, 0) << both.out << both.err;
  EXPECT_THAT(both.out, HasSubstr("CPU pool web: 1-3\n"));
  EXPECT_THAT(both.out, HasSubstr("CPU pool quiet: 4 (5 left idle)\n"));
  EXPECT_THAT(both.out, HasSubstr("shared pool: 0,6-15\n"));
  const Json left = ParseOut(on_node({"-o", "json", example("pods/pooled.yaml"), "remove:shop/front"}));
  EXPECT_EQ(left["ledger"]["pools"], Json({{"quiet", {{"cpus", "4"}, {"idle", "5"}}}, {"web", {{"cpus", "1"}}}}));
  const Ran gone = on_node({"--map", example("pods/pooled.yaml"), "remove:shop/front", "remove:shop/search"});
  EXPECT_THAT(gone.out, HasSubstr("CPU pool web"));
  EXPECT_THAT(gone.out, HasSubstr("shared pool: 0-15\n"));
}

std::vector<std::string> SimulateQueue(std::vector<std::string> rest) {
  std::vector<std::string> out{"simulate", "--machine", kMachine, "--berth-config", SimulateInput("queue.yaml")};
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

TEST(SimulateTest, WhatDoesNotFitWaitsAndCriticalPodsHaveOthersEvictedWhereTheSettingsSaySo) {
  testkit::ExpectGolden("tests/golden/simulate/queue.txt",
                        Shown(RunBerth(SimulateQueue({SimulateInput("waiting.yaml"), "remove:batch/one",
                                                      "remove:batch/two", SimulateInput("critical.yaml")}))));
  const Ran ran =
      RunBerth(SimulateQueue({SimulateInput("waiting.yaml"), SimulateInput("critical.yaml"), "-o", "json"}));
  EXPECT_EQ(ran.status, 3);
  const Json out = ParseOut(ran);
  EXPECT_EQ(out["waiting"], Json({"batch/large", "batch/medium"}));
  EXPECT_EQ(out["steps"][2]["place"], 1);
  EXPECT_EQ(out["steps"][7],
            Json({{"step", 8}, {"action", "evict"}, {"pod", "batch/two"}, {"for", "kube-system/agent"}}));
  EXPECT_EQ(out["steps"][8]["admitted"], true);
}

TEST(SimulateTest, SeveralVersionsOfTheKubeletAreHeldAgainstTheFirst) {
  const testkit::TempDir temp;
  WriteText(temp / "kubelet.yaml",
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n"
            "reservedSystemCPUs: 0-1\ncpuManagerPolicyOptions: {distribute-cpus-across-cores: \"true\"}\n"
            "featureGates: {CPUManagerPolicyAlphaOptions: true}\n");
  const std::string pods = Pod("two", "2") + "---\n" + Pod("large", "9");
  const auto simulate = [&](std::vector<std::string> rest) {
    std::vector<std::string> words{"simulate", "-m", "core:4 pu:2", "-c", temp / "kubelet.yaml", "--kubelet-version"};
    words.insert(words.end(), rest.begin(), rest.end());
    words.emplace_back("-");
    return RunBerth(words, pods);
  };
  const Ran text = simulate({"1.36,1.38"});
  EXPECT_EQ(text.status, 3) << text.err;
  EXPECT_THAT(text.out, HasSubstr("default/two  c          CPUs 2-3  CPUs 2,4\n"));
  EXPECT_THAT(text.out, HasSubstr("2 decisions as kubelet 1.36 and as 1.38: 1 the same, 1 with other places"));
  const Json json = ParseOut(simulate({"1.37,1.36,1.38", "-o", "json"}));
  ASSERT_EQ(json["versions"].size(), 3U);
  EXPECT_EQ(json["versions"][2]["kubeletVersion"], "1.38");
  EXPECT_EQ(json["versions"][2]["steps"][0]["containers"][0]["cpus"], "2,4");
  EXPECT_EQ(json["comparisons"][0]["same"], 2);
  EXPECT_EQ(json["comparisons"][1]["first"], "1.37");
  EXPECT_EQ(json["comparisons"][1]["elsewhere"], 1);
  EXPECT_THAT(simulate({"1.38"}).out, HasSubstr("\ndecided as kubelet 1.38\n"));
  EXPECT_EQ(simulate({"1.36,1.38", "--map"}).status, 1);
  EXPECT_EQ(simulate({"1.36,1.39"}).status, 2);
}

TEST(SimulateTest, TheMapIsDrawnAfterEachStep) {
  testkit::ExpectGolden("tests/golden/simulate/map.txt",
                        Shown(RunBerth(Simulate({"--map", SimulateInput("more.yaml"), "remove:cache"}))));
}

TEST(SimulateTest, JsonHoldsEveryStepAndTheLedger) {
  testkit::ExpectGolden("tests/golden/simulate/steps.json",
                        Shown(RunBerth(Simulate({"-o", "json", SimulateInput("pods.yaml"), "remove:shop/web"}))));
}

TEST(SimulateTest, YamlSaysTheSameAsJson) {
  const Ran yaml = RunBerth(Simulate({"-o", "yaml", SimulateInput("more.yaml")}));
  EXPECT_THAT(yaml.out, HasSubstr("action: add\n"));
  EXPECT_THAT(yaml.out, HasSubstr("pod: default/cache\n"));
}

TEST(SimulateTest, StatusTellsWhetherAllWereAdmitted) {
  EXPECT_EQ(RunBerth({"simulate", "-m", "core:4 pu:1", "-"}, Pod("a", "1")).status, 0);
  EXPECT_EQ(RunBerth({"simulate", "-m", "core:4 pu:1", "-"}, Pod("a", "9")).status, 3);
  EXPECT_EQ(RunBerth({"simulate", "-m", "core:4 pu:1", "/nonexistent/pods.yaml"}).status, 1);
}

TEST(SimulateTest, NodeFitCanBeLeftOut) {
  const Ran fit = RunBerth({"simulate", "-m", "core:4 pu:1", "-"}, Pod("a", "9"));
  EXPECT_THAT(fit.out, HasSubstr("OutOfcpu"));
  EXPECT_EQ(RunBerth({"simulate", "-m", "core:4 pu:1", "--no-node-fit", "-"}, Pod("a", "9")).status, 0);
}

TEST(SimulateTest, GoesOnFromASavedLedger) {
  const testkit::TempDir temp;
  const Ran first = RunBerth(Simulate({"-o", "json", SimulateInput("pods.yaml")}));
  WriteText(temp / "ledger.json", codec::FormatJson(ParseOut(first)["ledger"]));
  const Json both =
      ParseOut(RunBerth(Simulate({"-o", "json", SimulateInput("pods.yaml"), SimulateInput("more.yaml")})));
  const Json later =
      ParseOut(RunBerth(Simulate({"-o", "json", "--ledger", temp / "ledger.json", SimulateInput("more.yaml")})));
  EXPECT_EQ(both["ledger"]["shared"], later["ledger"]["shared"]);
  EXPECT_EQ(both["ledger"]["memory"], later["ledger"]["memory"]);
  EXPECT_EQ(both["steps"].back()["admitted"], later["steps"].back()["admitted"]);
}

TEST(SimulateTest, ALedgerOfAnotherMachineIsRefused) {
  const testkit::TempDir temp;
  const Ran first = RunBerth(Simulate({"-o", "json", SimulateInput("pods.yaml")}));
  WriteText(temp / "ledger.json", codec::FormatJson(ParseOut(first)["ledger"]));
  const Ran other = RunBerth({"simulate", "-m", "numa:2(memory=8GB) core:8 pu:2", "-c", SimulateInput("kubelet.yaml"),
                              "--ledger", temp / "ledger.json", SimulateInput("more.yaml")});
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, HasSubstr("does not fit this machine and configuration"));
  const Ran settings =
      RunBerth({"simulate", "-m", kMachine, "--ledger", temp / "ledger.json", SimulateInput("more.yaml")});
  EXPECT_EQ(settings.status, 1);
  EXPECT_THAT(settings.err, HasSubstr("CPU manager policy"));
}

TEST(SimulateTest, InitContainersGiveTheirMemoryBackOnceTheAppRuns) {
  const testkit::TempDir temp;
  WriteText(temp / "kubelet.yaml",
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmemoryManagerPolicy: Static\n"
            "evictionHard: {memory.available: 100Mi}\nreservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]\n");
  const auto with = [](const std::string& memory) {
    return "image: i, resources: {limits: {cpu: \"1\", memory: " + memory + "}}}]";
  };
  WriteText(temp / "pods.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: first}\nspec: {initContainers: [{name: i, " + with("8Gi") +
                ", containers: [{name: c, " + with("2Gi") +
                "}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: next}\nspec: {containers: "
                "[{name: c, " +
                with("6Gi") + "}\n");
  const Ran ran = RunBerth({"simulate", "-m", "numa:1(memory=12GB) core:4 pu:1", "-c", temp / "kubelet.yaml",
                            "--no-node-fit", "-o", "json", temp / "pods.yaml"});
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  const Json out = ParseOut(ran);
  EXPECT_EQ(out["steps"][0]["containers"][0]["memory"][0]["size"], std::int64_t{6} << 30);  // the app has 2 of its 8
  EXPECT_EQ(out["steps"][1]["admitted"], true);
}

/// Ledger of a node with `first` as settings, then one more pod on it with `second`.
Ran WithOtherSettings(const testkit::TempDir& temp, const std::string& first, const std::string& second) {
  const std::string head =
      "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n";
  WriteText(temp / "first.yaml", head + first);
  WriteText(temp / "second.yaml", head + second);
  const Ran ran =
      RunBerth({"simulate", "-m", "core:8 pu:1", "-c", temp / "first.yaml", "-o", "json", "-"}, Pod("a", "2"));
  EXPECT_EQ(ran.status, 0) << ran.err;
  WriteText(temp / "ledger.json", codec::FormatJson(ParseOut(ran)["ledger"]));
  return RunBerth({"simulate", "-m", "core:8 pu:1", "-c", temp / "second.yaml", "--ledger", temp / "ledger.json", "-"},
                  Pod("b", "1"));
}

TEST(SimulateTest, ALedgerMadeWithOtherReservedCpusIsTakenWithAWarning) {
  const testkit::TempDir temp;
  const std::string strict = "cpuManagerPolicyOptions: {strict-cpu-reservation: \"true\"}\n";
  for (const std::string& more : {std::string(), strict}) {
    const Ran ran = WithOtherSettings(temp, more + "reservedSystemCPUs: \"0\"\n", more + "reservedSystemCPUs: 0-1\n");
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("was made with other reserved CPUs"));
    EXPECT_THAT(ran.err, testing::StartsWith("berth: warning: "));
  }
}

TEST(SimulateTest, ALedgerOfANodeReservedToTheLastByteFits) {
  const testkit::TempDir temp;
  WriteText(temp / "kubelet.yaml",
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmemoryManagerPolicy: Static\n"
            "evictionHard: {memory.available: 100Mi}\nkubeReserved: {memory: 8Gi}\n"
            "reservedMemory: [{numaNode: 0, limits: {memory: 6Gi}}, {numaNode: 1, limits: {memory: 2148Mi}}]\n");
  const std::vector<std::string> node{
      "simulate", "-m", "numa:2(memory=4GB) core:4 pu:1", "-c", temp / "kubelet.yaml", "--no-node-fit"};
  const std::string pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n";
  std::vector<std::string> first = node;
  first.insert(first.end(), {"-o", "json", "-"});
  const Ran ran = RunBerth(first, pod);
  ASSERT_EQ(ran.status, 0) << ran.err;
  WriteText(temp / "ledger.json", codec::FormatJson(ParseOut(ran)["ledger"]));
  std::vector<std::string> second = node;
  second.insert(second.end(), {"--ledger", temp / "ledger.json", "remove:a"});
  const Ran again = RunBerth(second);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(again.err, "");
}

TEST(SimulateTest, BadInputIsNamedBeforeAnythingIsDone) {
  const testkit::TempDir temp;
  WriteText(temp / "pod.yaml", Pod("a", "1"));
  WriteText(temp / "twin.yaml", Pod("a", "2"));
  WriteText(temp / "empty.yaml", "---\n");
  WriteText(temp / "broken.json", "{");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{temp / "pod.yaml", temp / "twin.yaml"}, "default/a is there already"},
      {{"remove:a"}, "remove:default/a: there is no such pod"},
      {{temp / "pod.yaml", "remove:a", "remove:a"}, "there is no such pod"},
      {{temp / "empty.yaml"}, "no pod"},
      {{"--ledger", temp / "broken.json", temp / "pod.yaml"}, "broken.json"},
      {{"-c", temp / "broken.json", temp / "pod.yaml"}, "broken.json"},
      {{"--devices", temp / "broken.json", temp / "pod.yaml"}, "broken.json"}};
  for (const auto& [rest, words] : cases) {
    std::vector<std::string> arguments{"simulate", "-m", "core:4 pu:1"};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    const Ran ran = RunBerth(arguments);
    EXPECT_EQ(ran.status, 1) << words;
    EXPECT_EQ(ran.out, "") << words;
    EXPECT_THAT(ran.err, HasSubstr(words));
  }
}

TEST(SimulateTest, BadDevicesAreNamedByPath) {
  const testkit::TempDir temp;
  const std::vector<std::pair<std::string, std::string>> cases{
      {"[]", "expected resource names"},
      {"gpu: []", "gpu: not a device resource"},
      {"v.example/gpu: 7", "v.example/gpu: expected a list"},
      {"v.example/gpu: [7]", "v.example/gpu[0]: expected"},
      {"v.example/gpu: [{numa: [0]}]", "v.example/gpu[0].id: the field is missing"},
      {"v.example/gpu: [{id: a, healthy: maybe}]", "v.example/gpu[0].healthy"},
      {"v.example/gpu: [{id: a, node: 1}]", "v.example/gpu[0].node"},
      {"v.example/gpu: [{id: a, numa: [x]}]", "v.example/gpu[0].numa"},
      {"v.example/gpu: [{id: a}, {id: a}]", "the device \"a\" is listed twice"},
      {"v.example/gpu: [{id: a, numa: 9}]",
       "device a of v.example/gpu: NUMA node 9 does not exist on this machine (nodes: 0-1)"}};
  for (const auto& [text, words] : cases) {
    WriteText(temp / "devices.yaml", text);
    const Ran ran =
        RunBerth({"simulate", "-m", kMachine, "--devices", temp / "devices.yaml", SimulateInput("more.yaml")});
    EXPECT_EQ(ran.status, 1) << text;
    EXPECT_THAT(ran.err, HasSubstr(words));
  }
}

/// MachineInfo of 2 sockets, each one node of 24 cores; CPUs c and c + 48 are threads of core c.
std::string NinetySixCpus() {
  Json machine = {{"num_cores", 96},
                  {"num_physical_cores", 48},
                  {"num_sockets", 2},
                  {"memory_capacity", 17179869184},
                  {"topology", Json::array()}};
  for (int node = 0; node < 2; ++node) {
    Json cores = Json::array();
    for (int core = 0; core < 24; ++core)
      cores.push_back(
          {{"core_id", core}, {"thread_ids", {node * 24 + core, node * 24 + core + 48}}, {"socket_id", node}});
    machine["topology"].push_back({{"node_id", node}, {"memory", 8589934592}, {"cores", cores}});
  }
  return codec::FormatJson(machine);
}

TEST(SimulateTest, InitContainersLeaveTheirCpusToTheApp) {
  const testkit::TempDir temp;
  WriteText(temp / "machine.json", NinetySixCpus());
  const std::string forty = "{image: i, resources: {limits: {cpu: \"40\", memory: 1Gi}}, name: ";
  WriteText(temp / "pods.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: big}\nspec: {initContainers: [" + forty +
                                    "init}], containers: [" + forty + "app}]}\n---\n" + Pod("next", "40"));
  for (const char* policy : {"best-effort", "restricted"}) {
    WriteText(temp / "kubelet.yaml",
              "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
              "cpuManagerPolicy: static\nreservedSystemCPUs: 0-3\ntopologyManagerPolicy: " +
                  std::string(policy) + "\n");
    const Ran ran = RunBerth(
        {"simulate", "-m", temp / "machine.json", "-c", temp / "kubelet.yaml", "-o", "json", temp / "pods.yaml"});
    EXPECT_EQ(ran.status, 0) << policy << ran.err;
    const Json steps = ParseOut(ran)["steps"];
    EXPECT_EQ(steps[0]["containers"][0]["cpus"], "4-23,52-71") << policy;
    EXPECT_EQ(steps[0]["containers"][1]["cpus"], "4-23,52-71") << policy;
    EXPECT_EQ(steps[1]["containers"][0]["cpus"], "24-43,72-91") << policy;
  }
}

std::vector<std::string> SimulateCluster(std::vector<std::string> rest) {
  std::vector<std::string> out{
      "simulate", "--cluster", "6", "--machine", kMachine, "--config", SimulateInput("aligned.yaml"), "--pods", "100"};
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

TEST(SimulateClusterTest, TheRulesAreComparedOnTheSamePods) {
  const Ran ran = RunBerth(SimulateCluster({"-o", "json"}));
  ASSERT_EQ(ran.status, 0) << ran.err;
  const Json out = ParseOut(ran);
  EXPECT_EQ(out["nodes"], 6);
  EXPECT_EQ(out["pods"], 100);
  ASSERT_EQ(out["rules"].size(), 3U);
  for (const Json& rule : out["rules"])
    EXPECT_EQ(rule["admitted"].get<int>() + rule["waiting"].get<int>(), 100) << rule["rule"];
  EXPECT_EQ(out["rules"][2]["rule"], "extender");
  EXPECT_EQ(out["rules"][2]["rejectedByNode"], 0);
  const Ran one = RunBerth(SimulateCluster({"--rule", "extender", "-o", "json"}));
  EXPECT_EQ(ParseOut(one)["rules"][0], out["rules"][2]);
}

TEST(SimulateClusterTest, PartsOfTheNodesAreCompared) {
  const Ran ran = RunBerth(
      SimulateCluster({"--rule", "extender", "--hours", "2", "--percentage-of-nodes-to-score", "0,100", "-o", "json"}));
  ASSERT_EQ(ran.status, 0) << ran.err;
  const Json out = ParseOut(ran);
  EXPECT_EQ(out["hours"], 2);
  EXPECT_GT(out["podsAtStart"], 0);
  ASSERT_EQ(out["rules"].size(), 2U);
  EXPECT_EQ(out["rules"][0]["percentageOfNodesToScore"], 0);
  EXPECT_EQ(out["rules"][1]["percentageOfNodesToScore"], 100);
  EXPECT_EQ(out["rules"][0]["admitted"], out["rules"][1]["admitted"]) << "six nodes are always all compared";
}

TEST(SimulateClusterTest, ItIsATableForPeopleAndAPictureOnRequest) {
  const Ran table = RunBerth(SimulateCluster({}));
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("REJECTED BY NODE"));
  const Ran picture = RunBerth(SimulateCluster({"-o", "svg"}));
  EXPECT_EQ(picture.status, 0) << picture.err;
  EXPECT_THAT(picture.out, testing::StartsWith("<svg "));
}

TEST(SimulateClusterTest, WhatDoesNotGoTogetherIsRefused) {
  const Ran map = RunBerth(SimulateCluster({"--map"}));
  EXPECT_EQ(map.status, 1);
  EXPECT_THAT(map.err, HasSubstr("--map and --ledger are of one node"));
  const Ran picture = RunBerth(Simulate({"-o", "svg", SimulateInput("pods.yaml")}));
  EXPECT_EQ(picture.status, 1);
  EXPECT_THAT(picture.err, HasSubstr("give --cluster"));
  const Ran count = RunBerth({"simulate", "--cluster", "many", "-m", kMachine});
  EXPECT_EQ(count.status, 1);
  EXPECT_THAT(count.err, HasSubstr("COUNT[=MACHINE]"));
}

}  // namespace
}  // namespace berth
