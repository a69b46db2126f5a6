// Every bad input gets one clear sentence: which file, which field, what to do; and the rest goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "berthd_fixture.h"

namespace berth {
namespace {

using testing::HasSubstr;

struct Bad {
  std::string text;
  std::string field;
  std::string cure;
};

std::string Pod(const std::string& name, const std::string& containers) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: \"" + name + "\"}\nspec: {containers: " + containers + "}\n";
}
std::string Asking(const std::string& limits) {
  return Pod("x", "[{name: a, image: i, resources: {limits: {" + limits + "}}}]");
}

const std::vector<Bad>& BadManifests() {
  static const std::vector<Bad> all{
      {"apiVersion: v1\nkind: Pod\nmetadata: {name: x\n", "line 4", "is a '}' or a comma missing?"},
      {"apiVersion: v1\nkind: Pod\nmetadata: [\n", "line 4", "is a ']' or a comma missing?"},
      {"a: b: c\n", "line 1", "put a value that holds ': ' in quotes"},
      {"kind: Pod\n", "apiVersion", "write \"apiVersion: v1\""},
      {Pod("x", "[]"), "spec.containers", "a pod needs at least one container"},
      {Pod("x", "[{name: a, image: i}, {name: a, image: i}]"), "spec.containers[1].name", "names are unique"},
      {Pod("../x", "[{name: a, image: i}]"), "metadata.name", "rename it, for example to \"x\""},
      {Pod("x", "[{name: ../a, image: i}]"), "spec.containers[0].name", "rename it, for example to \"a\""},
      {Asking("cpu: 1.5.2Gi"), "spec.containers[0].resources.limits[cpu]", "write a number such as 2, 500m or 1.5Gi"},
      {Asking("cpu: 1Kb"), "spec.containers[0].resources.limits[cpu]", "use one of n u m k M G T P E"},
      {Asking("memory: -1Gi"), "spec.containers[0].resources.limits[memory]", "must be greater than or equal to 0"},
      {Asking("hugepages-2Mi: 3Mi, cpu: 1, memory: 1Gi"), "spec.containers[0].resources.limits[hugepages-2Mi]",
       "must be a multiple of the page size 2Mi"},
      {Asking("hugepages-2Mi: 4Mi"), "spec.containers[0].resources", "ask for one of them too"},
      {Asking("v.example/gpu: 1500m"), "spec.containers[0].resources.limits[v.example/gpu]", "must be an integer"},
      {Asking("gpu: 1"), "spec.containers[0].resources.limits[gpu]", "a name with a domain such as vendor.example/gpu"},
      {Pod("x", "[{name: a, image: i, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]"),
       "spec.containers[0].resources.requests[cpu]", "must be less than or equal to cpu limit of 1"}};
  return all;
}

using BadInputTest = BerthdTest;

TEST_F(BadInputTest, EachManifestIsRefusedWithFileFieldAndCureAndTheNextOneIsTaken) {
  const std::string good = Manifest("good", "1");
  for (const Bad& bad : BadManifests()) {
    const std::string file = File("bad.yaml", bad.text);
    const Ran ran = Ask({"apply", "-f", file, good});
    EXPECT_EQ(ran.status, 1) << bad.text;
    EXPECT_THAT(ran.err, HasSubstr(file)) << bad.text;
    EXPECT_THAT(ran.err, HasSubstr(bad.field)) << bad.text;
    EXPECT_THAT(ran.err, HasSubstr(bad.cure)) << bad.text;
    EXPECT_THAT(ran.out, HasSubstr("default/good-n1")) << bad.text;
  }
  EXPECT_EQ(AskJson({"pods"})["pods"].size(), 1U);
}

TEST_F(BadInputTest, AnUnknownFieldIsAWarningAndThePodRuns) {
  const std::string file = File("odd.yaml", Pod("odd", "[{name: a, image: i, command: [sleep], imagee: x}]"));
  const Ran ran = Ask({"apply", "--wait", "-f", file});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("spec.containers[0].imagee"));
  EXPECT_THAT(ran.err, HasSubstr("did you mean \"image\"?"));
}

TEST_F(BadInputTest, ARequestAboveTheMachineTakesNothingAndSaysHowMuchIsMissing) {
  const Ran ran = Ask({"apply", "--wait", "-f", Manifest("huge", "4096")});
  EXPECT_EQ(ran.status, 3);
  EXPECT_THAT(ran.err, HasSubstr("4096 CPUs asked, 14 CPUs of 14 CPUs free on the whole machine (4082 CPUs short)"));
  AddPod("all", "14");
}

// ---- settings ----

struct BadSetting {
  std::string text;
  std::string setting;
  std::string cure;  ///< or the sum that was expected
};

const std::vector<BadSetting>& BadSettings() {
  static const std::string kStatic = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  static const std::string kAlpha = "featureGates: {CPUManagerPolicyAlphaOptions: true}\n";
  static const std::string kRestricted = "topologyManagerPolicy: restricted\n";
  static const std::string kPinned = "memoryManagerPolicy: Static\nsystemReserved: {memory: 924Mi}\n";
  const auto options = [](const std::string& list) { return "cpuManagerPolicyOptions: {" + list + "}\n"; };
  const auto topology = [](const std::string& list) { return "topologyManagerPolicyOptions: {" + list + "}\n"; };
  const auto reserve = [](const std::string& list) { return "reservedMemory: [" + list + "]\n"; };
  static const std::vector<BadSetting> all{
      {"cpuManagerPolicy: Static\n", "cpuManagerPolicy", "use none or static"},
      {"cpuManagerPolicy: 7\n", "cpuManagerPolicy", "put it in quotes"},
      {"cpuManagerPolicy: static\n", "systemReserved.cpu", "reserve at least one CPU"},
      {"cpuManagerPolicy: static\nreservedSystemCPUs: '99'\n", "reservedSystemCPUs", "online-cpus: 0-15"},
      {"cpuManagerPolicy: static\nreservedSystemCPUs: '3-1'\n", "reservedSystemCPUs", "bad CPU list"},
      {"cpuManagerPolicy: static\nsystemReserved: {cpu: 17}\n", "systemReserved.cpu",
       "this machine has 16 CPUs, reserve at most as many"},
      {"systemReserved: {cpu: '-1'}\n", "systemReserved[cpu]", "must not be negative"},
      {"systemReserved: {gpu: 1}\n", "systemReserved[gpu]", "use cpu, memory, ephemeral-storage or pid"},
      {"systemReserved: {memory: 900Gi}\n", "systemReserved", "Expected capacity >= reservation"},
      {options("full-pcpus-only: 'true'"), "cpuManagerPolicyOptions", "set cpuManagerPolicy to static"},
      {kStatic + options("full-pcpus-only: 'yes'"), "cpuManagerPolicyOptions.full-pcpus-only", "use true or false"},
      {kStatic + options("full-cores: 'true'"), "cpuManagerPolicyOptions.full-cores", "use full-pcpus-only, strict"},
      {kStatic + options("align-by-socket: 'false'"), "cpuManagerPolicyOptions.align-by-socket",
       "turn on featureGates.CPUManagerPolicyAlphaOptions"},
      {kStatic + kAlpha + options("full-pcpus-only: 'true', distribute-cpus-across-cores: 'true'"),
       "cpuManagerPolicyOptions", "turn one of them off"},
      {kStatic + kAlpha + options("align-by-socket: 'true'") + "topologyManagerPolicy: single-numa-node\n",
       "cpuManagerPolicyOptions.align-by-socket", "use another topologyManagerPolicy"},
      {kRestricted + topology("max-allowable-numa-nodes: '7'"), "topologyManagerPolicyOptions.max-allowable-numa-nodes",
       "less than 8 (this says 7)"},
      {kRestricted + topology("max-allowable-numa-nodes: many"),
       "topologyManagerPolicyOptions.max-allowable-numa-nodes", "write a whole number from 8 up"},
      {kRestricted + topology("prefer-closest: 'true'"), "topologyManagerPolicyOptions.prefer-closest",
       "use prefer-closest-numa-nodes or max-allowable-numa-nodes"},
      {"memoryManagerPolicy: static\n", "memoryManagerPolicy", "use None or Static"},
      {"memoryManagerPolicy: Static\n", "reservedMemory", "expected 104857600 bytes in sum"},
      {kPinned + reserve("{numaNode: 0, limits: {memory: 1Mi}}"), "reservedMemory", "expected 1073741824 bytes in sum"},
      {kPinned + reserve("{numaNode: 5, limits: {memory: 1Gi}}"), "reservedMemory[0]", "(nodes: 0-1)"},
      {kPinned + reserve("{numaNode: 0, limits: {memory: 1Gi, cpu: 1}}"), "reservedMemory[0].limits[cpu]",
       "only memory and hugepages-<size>"},
      {kPinned + reserve("{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 0, limits: {memory: 1Gi}}"),
       "reservedMemory[1].limits[memory]", "given more than once"},
      {"evictionHard: {memory.available: '200%'}\n", "evictionHard[\"memory.available\"]", "must be <= 100%"},
      {"featureGates: {NoSuchGate: true}\n", "featureGates[NoSuchGate]", "unknown feature gate"},
      {"featureGates: {PodLevelResourceManagers: true}\n", "featureGates.PodLevelResourceManagers", "leave it off"}};
  return all;
}

TEST(BadSettingsTest, EachIsRefusedAtTheDoorWithItsNameAndTheCure) {
  const testkit::TempDir folder;
  const std::string pod = folder / "pod.yaml";
  std::ofstream(pod) << Pod("x", "[{name: a, image: i}]");
  for (const BadSetting& bad : BadSettings()) {
    const std::string config = folder / "kubelet.yaml";
    std::ofstream(config) << "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" << bad.text;
    const Ran ran = Berth({"simulate", "-m", "pack:2 [numa(memory=8589934592)] core:4 pu:2", "-c", config, pod});
    EXPECT_EQ(ran.status, 1) << bad.text;
    EXPECT_EQ(ran.out, "") << bad.text;
    EXPECT_THAT(ran.err, HasSubstr(bad.setting)) << bad.text;
    EXPECT_THAT(ran.err, HasSubstr(bad.cure)) << bad.text;
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  }
}

TEST(BadSettingsTest, MoreNumaNodesThanAllowedAreRefused) {
  const testkit::TempDir folder;
  const std::string config = folder / "kubelet.yaml";
  const std::string pod = folder / "pod.yaml";
  std::ofstream(pod) << Pod("x", "[{name: a, image: i}]");
  const auto simulate = [&](const std::string& options) {
    std::ofstream(config) << "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                             "topologyManagerPolicy: best-effort\n"
                          << options;
    return Berth({"simulate", "-m", "numa:9 core:2 pu:1", "-c", config, pod});
  };
  EXPECT_EQ(simulate("").status, 0) << "no limit of Berth's own";
  const Ran ran = simulate("topologyManagerPolicyOptions: {max-allowable-numa-nodes: \"8\"}\n");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("max-allowable-numa-nodes: unsupported on machines with more than 8 NUMA Nodes: this "
                                 "one has 9 (raise the option or leave it out, or set topologyManagerPolicy to none)"));
}

}  // namespace
}  // namespace berth
