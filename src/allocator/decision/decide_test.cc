#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "allocator/engine.h"
#include "allocator/explain/explain.h"
#include "allocator/testing/builders.h"

namespace berth::allocator {
namespace {

using testing::Cpus;
using ::testing::HasSubstr;
using testing::MakeContainer;
using testing::MakeMachine;
using testing::MakePod;
using testing::PinMemory;
using testing::Q;
using testing::Shape;
using testing::Sidecar;
using testing::StaticConfig;

/// A node with its ledger, for writing down a sequence of pods.
class Bench {
 public:
  Bench(const Shape& shape, const KubeletConfiguration& config) : Bench(MakeMachine(shape), config) {}
  Bench(const Machine& machine, const KubeletConfiguration& config) : node_(MakeNode(machine, config)) {
    ledger_ = node_.EmptyLedger();
  }

  /// "" if admitted, else the reason.
  std::string Add(const Pod& pod) {
    last_ = Decide(node_, ledger_, pod, inputs, nullptr);
    if (const auto* const reject = std::get_if<Reject>(&last_)) return reject->reason;
    Apply(ledger_, std::get<Admit>(last_).delta);
    return "";
  }
  void Remove(std::string_view uid) { Apply(ledger_, Release(node_, ledger_, uid, nullptr)); }

  const Placement& At(std::string_view uid, std::string_view container) const {
    return *FindPlacement(ledger_.pods.find(uid)->second, container);
  }
  std::string CpusOf(std::string_view uid, std::string_view container) const {
    const auto& cpus = At(uid, container).cpus;
    return cpus ? FormatIds(*cpus) : "shared";
  }
  std::string Shared() const { return FormatIds(ledger_.shared); }
  std::string Message() const { return std::get<Reject>(last_).message; }
  const Reject& Rejected() const { return std::get<Reject>(last_); }
  const Ledger& ledger() const { return ledger_; }
  const Node& node() const { return node_; }

  Inputs inputs;

 private:
  static Node MakeNode(const Machine& machine, const KubeletConfiguration& config) {
    auto node = Node::Make(machine, config);
    BERTH_CHECK(node.has_value());
    return *std::move(node);
  }

  Node node_;
  Ledger ledger_;
  Decision last_;
};

Container C(std::string name, std::string cpu, std::string memory = "64Mi") {
  return MakeContainer(std::move(name), {{"cpu", std::move(cpu)}, {"memory", std::move(memory)}});
}

const Shape kT1{.cores_per_node = 4};
const Shape kT2{.sockets = 2, .cores_per_node = 3};
const Shape kM2{.sockets = 2, .cores_per_node = 2};

KubeletConfiguration WithOption(KubeletConfiguration config, std::string option) {
  config.cpu_manager_policy_options[std::move(option)] = "true";
  return config;
}

KubeletConfiguration Aligned(KubeletConfiguration config, std::string policy, std::string scope = "container") {
  config.topology_manager_policy = std::move(policy);
  config.topology_manager_scope = std::move(scope);
  return config;
}

TEST(DecideTest, GivesExclusiveCpusOnlyToWholeNumbersOfGuaranteedPods) {
  Bench bench(kT1, StaticConfig("0"));
  EXPECT_EQ(bench.Add(MakePod("a", {C("c", "1500m")})), "");
  EXPECT_EQ(bench.CpusOf("a", "c"), "shared");
  EXPECT_EQ(bench.Add(MakePod("b", {C("c", "2000m")})), "");
  EXPECT_EQ(bench.CpusOf("b", "c"), "1,5");
  Pod burstable = MakePod("d", {C("c", "1")});
  burstable.status_qos = QosClass::kBurstable;
  EXPECT_EQ(bench.Add(burstable), "");
  EXPECT_EQ(bench.CpusOf("d", "c"), "shared");
  EXPECT_EQ(bench.Shared(), "0,2-4,6-7");
}

TEST(DecideTest, RoundsRequestsToThousandthsBeforeItCallsThemWhole) {
  Bench bench(kT1, StaticConfig());
  EXPECT_EQ(bench.Add(MakePod("up", {C("c", "1.9999")})), "");
  EXPECT_EQ(bench.CpusOf("up", "c"), "1,5");
  EXPECT_EQ(bench.Add(MakePod("fraction", {C("c", "1.999")})), "");
  EXPECT_EQ(bench.CpusOf("fraction", "c"), "shared");
  EXPECT_EQ(bench.Add(MakePod("above", {C("c", "1.0001")})), "");
  EXPECT_EQ(bench.CpusOf("above", "c"), "shared");
}

TEST(DecideTest, NamesTheShortageWithTheNumberOfTheSmtCheck) {
  Bench bench(kT1, WithOption(StaticConfig("0"), "full-pcpus-only"));
  const Pod pod = MakePod("a", {C("app", "4")}, {C("init", "4")});
  const Explanation e = Explain(bench.node(), bench.ledger(), pod, bench.inputs);
  ASSERT_EQ(e.shortages.size(), 1U);
  EXPECT_EQ(e.shortages[0].container, "app");
  EXPECT_EQ(e.shortages[0].free, 2);  // without what the init container left
  EXPECT_EQ(e.shortages[0].missing, 2);
}

TEST(DecideTest, CallsNoMemoryShortThatAnInitContainerLeft) {
  KubeletConfiguration config = Aligned(StaticConfig(), "restricted");
  PinMemory(config, "1Gi");
  Bench bench(kM2, config);
  // 19 of 20 GiB on both nodes are left by the init container; only the CPUs are short.
  const Pod pod = MakePod("a", {C("app", "9", "18Gi")}, {C("init", "1500m", "18Gi")});
  const Explanation e = Explain(bench.node(), bench.ledger(), pod, bench.inputs);
  ASSERT_TRUE(std::holds_alternative<Reject>(e.decision));
  for (const Shortage& shortage : e.shortages) EXPECT_NE(shortage.resource, "memory");
}

TEST(DecideTest, LeavesPodsWithPodLevelResourcesInTheSharedPool) {
  Bench bench(kT1, StaticConfig("0"));
  Pod pod = MakePod("a", {C("c", "2")});
  pod.resources.emplace();
  pod.resources->requests = {{"cpu", Q("2")}, {"memory", Q("64Mi")}};
  pod.resources->limits = pod.resources->requests;
  EXPECT_EQ(bench.Add(pod), "");
  EXPECT_EQ(bench.CpusOf("a", "c"), "shared");
}

TEST(DecideTest, LetsAnAppTakeAFreeSiblingRatherThanWhatItsInitContainerLeft) {
  Bench bench(kT1, StaticConfig("0"));
  EXPECT_EQ(bench.Add(MakePod("a", {C("app", "1")}, {C("init", "2")})), "");
  EXPECT_EQ(bench.CpusOf("a", "init"), "1,5");
  EXPECT_EQ(bench.CpusOf("a", "app"), "4");
  EXPECT_EQ(bench.Shared(), "0,2-3,6-7");
}

TEST(DecideTest, ReusesCpusOfInitContainersInOrder) {
  Bench bench(kT2, StaticConfig("0,6"));
  EXPECT_EQ(bench.Add(MakePod("a", {C("app1", "2"), C("app2", "1")}, {C("init1", "4"), C("init2", "2")})), "");
  EXPECT_EQ(bench.CpusOf("a", "init1"), "1-2,7-8");
  EXPECT_EQ(bench.CpusOf("a", "init2"), "1,7");
  EXPECT_EQ(bench.CpusOf("a", "app1"), "1,7");
  EXPECT_EQ(bench.CpusOf("a", "app2"), "2");
  EXPECT_EQ(bench.Shared(), "0,3-6,9-11");
  bench.Remove("a");
  EXPECT_EQ(bench.Shared(), "0-11");
}

TEST(DecideTest, KeepsASidecarsCpusForGood) {
  Bench bench(kT2, StaticConfig("0,6"));
  EXPECT_EQ(bench.Add(MakePod("a", {C("app", "3")}, {C("i1", "2"), Sidecar(C("side", "1")), C("i2", "2")})), "");
  EXPECT_EQ(bench.CpusOf("a", "i1"), "1,7");
  EXPECT_EQ(bench.CpusOf("a", "side"), "1");
  EXPECT_EQ(bench.CpusOf("a", "i2"), "2,8");
  EXPECT_EQ(bench.CpusOf("a", "app"), "2,7-8");
}

TEST(DecideTest, GivesABigInitContainerAndItsAppTheSameCpusOnTheNinetySixCpuNode) {
  // 2 sockets of 24 cores with 2 threads each, 0-3 reserved, 40 CPUs each.
  for (const char* policy : {"best-effort", "restricted"}) {
    Bench bench(Shape{.sockets = 2, .cores_per_node = 24}, Aligned(StaticConfig("0-3"), policy));
    EXPECT_EQ(bench.Add(MakePod("a", {C("app", "40")}, {C("init", "40")})), "") << policy;
    EXPECT_EQ(bench.CpusOf("a", "init"), "4-23,52-71") << policy;
    EXPECT_EQ(bench.CpusOf("a", "app"), "4-23,52-71") << policy;
    EXPECT_EQ(bench.Add(MakePod("b", {C("app", "40")})), "") << policy;
    EXPECT_EQ(ExclusiveCpus(bench.ledger().pods.at("b")).Count(), 40) << policy;
  }
}

TEST(DecideTest, RefusesPartsOfCoresUnderFullPcpusOnly) {
  Bench bench(kT1, WithOption(StaticConfig("0,4"), "full-pcpus-only"));
  EXPECT_EQ(bench.Add(MakePod("a", {C("c", "3")})), "SMTAlignmentError");
  EXPECT_EQ(bench.Message(), "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2");
  EXPECT_EQ(bench.Shared(), "0-7");
}

TEST(DecideTest, CountsFreeCoresWithoutWhatInitContainersLeft) {
  Bench bench(kT1, WithOption(StaticConfig("0,4"), "full-pcpus-only"));
  EXPECT_EQ(bench.Add(MakePod("a", {C("app", "4")}, {C("init", "4")})), "SMTAlignmentError");
  EXPECT_EQ(bench.Message(),
            "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 2, requested CPUs = 4, CPUs "
            "per core = 2");
  EXPECT_EQ(bench.Shared(), "0-7") << "a rejected pod leaves nothing behind";
}

TEST(DecideTest, KeepsARunningPodThatTheKubeletWouldRejectAfterARestart) {
  Bench bench(kT1, WithOption(StaticConfig("0,4"), "full-pcpus-only"));
  const Pod pod = MakePod("a", {C("c", "4")});
  EXPECT_EQ(bench.Add(pod), "");
  const Ledger before = bench.ledger();
  EXPECT_EQ(bench.Add(pod), "");
  EXPECT_EQ(bench.ledger().pods, before.pods);
  EXPECT_EQ(bench.ledger().shared, before.shared);
}

TEST(DecideTest, NeverEmptiesTheSharedPool) {
  Bench bench(kT1, WithOption(StaticConfig("0"), "strict-cpu-reservation"));
  EXPECT_EQ(bench.Add(MakePod("a", {C("c", "7")})), "UnexpectedAdmissionError");
  EXPECT_THAT(bench.Message(), HasSubstr("would leave no CPU for the shared pool"));
  EXPECT_EQ(bench.Add(MakePod("b", {C("c", "6")})), "");
  EXPECT_EQ(bench.ledger().shared.Count(), 1);
}

TEST(DecideTest, FillsTheHintedNodeAndSpillsToTheFullerNeighbour) {
  KubeletConfiguration config = Aligned(StaticConfig("0"), "best-effort");
  Bench bench(Shape{.sockets = 2, .nodes_per_socket = 2, .cores_per_node = 2}, config);
  bench.inputs.devices = {{"a.com/nic", {{"n0", {NumaId{1}}, true}}}};
  Container app = C("c", "6");
  app.resources.requests["a.com/nic"] = app.resources.limits["a.com/nic"] = Q("1");
  EXPECT_EQ(bench.Add(MakePod("a", {app})), "");
  EXPECT_EQ(*bench.At("a", "c").hint->nodes, NodeSet{NumaId{1}});
  EXPECT_EQ(bench.CpusOf("a", "c"), "1-3,9-11");
}

TEST(DecideTest, RejectsWhatCannotBeAlignedAndSaysWhatIsShort) {
  Bench bench(kM2, Aligned(StaticConfig("0"), "single-numa-node"));
  EXPECT_EQ(bench.Add(MakePod("a", {C("c", "3")})), "");
  EXPECT_EQ(bench.Add(MakePod("b", {C("c", "4")})), "");
  EXPECT_EQ(bench.Add(MakePod("d", {C("c", "2")})), "TopologyAffinityError");
  EXPECT_EQ(bench.Message(), "Resources cannot be allocated with Topology locality");
  EXPECT_THAT(bench.Rejected().details, ::testing::ElementsAre(HasSubstr("cpu: 2 CPUs asked, 0 CPUs of 7 CPUs free")));
}

TEST(DecideTest, TakesNothingWhenALaterContainerFails) {
  Bench bench(kM2, Aligned(StaticConfig("0"), "restricted"));
  const Ledger before = bench.ledger();
  EXPECT_EQ(bench.Add(MakePod("a", {C("c1", "2"), C("c2", "2"), C("c3", "8")})), "TopologyAffinityError");
  EXPECT_EQ(bench.Rejected().container, "c3");
  EXPECT_EQ(bench.ledger(), before);
}

TEST(DecideTest, GivesEveryContainerThePodsHintInPodScope) {
  Bench bench(kM2, Aligned(StaticConfig("0"), "single-numa-node", "pod"));
  EXPECT_EQ(bench.Add(MakePod("a", {C("c1", "2"), C("c2", "2")})), "");
  EXPECT_EQ(bench.At("a", "c1").hint, bench.At("a", "c2").hint);
  EXPECT_EQ(*bench.At("a", "c1").hint->nodes, NodeSet{NumaId{1}});
  EXPECT_EQ(bench.Add(MakePod("b", {C("c1", "2"), C("c2", "2")})), "TopologyAffinityError");
}

TEST(DecideTest, BooksMemoryOfAGroupFromTheLowestNode) {
  KubeletConfiguration config = StaticConfig("0");
  PinMemory(config);
  Bench bench(kM2, config);
  EXPECT_EQ(bench.Add(MakePod("a", {C("c", "1", "12Gi")})), "");
  const MemoryNodeState& first = bench.ledger().memory.at(NumaId{0});
  const MemoryNodeState& second = bench.ledger().memory.at(NumaId{1});
  EXPECT_EQ(first.types.at("memory").reserved, GiB(9));
  EXPECT_EQ(second.types.at("memory").reserved, GiB(3));
  EXPECT_EQ(first.cells, (NodeSet{NumaId{0}, NumaId{1}}));
  EXPECT_EQ(MemoryNodes(bench.At("a", "c")), (NodeSet{NumaId{0}, NumaId{1}}));
  bench.Remove("a");
  EXPECT_EQ(bench.ledger().memory, bench.node().EmptyLedger().memory);
}

TEST(DecideTest, RefusesToTieANodeThatIsUsedAloneIntoAGroup) {
  KubeletConfiguration config = StaticConfig("0");
  PinMemory(config);
  Bench bench(kM2, config);
  EXPECT_EQ(bench.Add(MakePod("a", {C("c", "1", "4Gi")})), "");
  EXPECT_EQ(bench.Add(MakePod("b", {C("c", "1", "12Gi")})), "UnexpectedAdmissionError");
  EXPECT_THAT(bench.Message(), HasSubstr("no NUMA nodes with enough memory is available"));
}

TEST(DecideTest, LetsLaterContainersUseUpInitContainersMemory) {
  KubeletConfiguration config = StaticConfig("0");
  PinMemory(config);
  Bench bench(Shape{.cores_per_node = 8}, config);
  const Pod pod = MakePod("a", {C("app1", "1", "2Gi"), C("app2", "1", "4Gi")},
                          {C("i1", "1", "3Gi"), C("i2", "1", "5Gi"), Sidecar(C("side", "1", "1Gi"))});
  EXPECT_EQ(bench.Add(pod), "");
  EXPECT_EQ(bench.ledger().memory.at(NumaId{0}).types.at("memory").reserved, GiB(7));
  EXPECT_EQ(bench.ledger().memory.at(NumaId{0}).assignments, 5);
  EXPECT_EQ(bench.At("a", "i1").memory->at(0).size, GiB(0));
  EXPECT_EQ(bench.At("a", "i2").memory->at(0).size, GiB(0));
  EXPECT_EQ(bench.At("a", "app2").memory->at(0).size, GiB(4));
}

TEST(DecideTest, GivesInitContainersMemoryBackWhenALaterContainerStarts) {
  KubeletConfiguration config = StaticConfig("0");
  PinMemory(config);
  Bench bench(Shape{.cores_per_node = 8}, config);
  EXPECT_EQ(bench.Add(MakePod("a", {C("app", "1", "2Gi")}, {C("init", "1", "5Gi")})), "");
  Ledger ledger = bench.ledger();
  EXPECT_EQ(ledger.memory.at(NumaId{0}).types.at("memory").reserved, GiB(5));
  Apply(ledger, ContainerStarted(bench.node(), ledger, "a", "init", nullptr));
  EXPECT_EQ(ledger.memory.at(NumaId{0}).types.at("memory").reserved, GiB(5));
  Apply(ledger, ContainerStarted(bench.node(), ledger, "a", "app", nullptr));
  EXPECT_EQ(ledger.memory.at(NumaId{0}).types.at("memory").reserved, GiB(2));
  Apply(ledger, Release(bench.node(), ledger, "a", nullptr));
  EXPECT_EQ(ledger.memory, bench.node().EmptyLedger().memory);
}

TEST(DecideTest, AnswersForAHugePageSizeTheNodeDoesNotHave) {
  KubeletConfiguration config = Aligned(StaticConfig("0"), "best-effort");
  PinMemory(config);
  Bench bench(kM2, config);
  Container app = C("c", "1");
  app.resources.requests["hugepages-1Gi"] = app.resources.limits["hugepages-1Gi"] = Q("1Gi");
  EXPECT_EQ(bench.Add(MakePod("a", {app})), "UnexpectedAdmissionError");
  EXPECT_THAT(bench.Rejected().details, ::testing::Contains(HasSubstr("hugepages-1Gi: 1Gi asked, 0 of 0 free")));
}

TEST(DecideTest, TakesAnyWayOfWritingAnAmountOfMemory) {
  KubeletConfiguration config = StaticConfig("0");
  PinMemory(config);
  Bench bench(kM2, config);
  EXPECT_EQ(bench.Add(MakePod("a", {C("c", "1", "1.5Gi")})), "");
  EXPECT_EQ(bench.At("a", "c").memory->at(0).size, MiB(1536));
}

TEST(DecideTest, TakesAlignedDevicesThenOthersByTheirId) {
  Bench bench(kM2, Aligned(StaticConfig("0"), "best-effort"));
  bench.inputs.devices = {
      {"a.com/gpu",
       {{"d0", {NumaId{0}}, true}, {"d1", {NumaId{0}}, true}, {"d2", {NumaId{1}}, true}, {"d3", {NumaId{1}}, false}}}};
  Container app = C("c", "1");
  app.resources.requests["a.com/gpu"] = app.resources.limits["a.com/gpu"] = Q("3");
  EXPECT_EQ(bench.Add(MakePod("a", {app})), "");
  EXPECT_EQ(bench.At("a", "c").devices.at(0).ids, (std::vector<std::string>{"d0", "d1", "d2"}));
  EXPECT_EQ(bench.Add(MakePod("b", {app})), "UnexpectedAdmissionError");
  EXPECT_THAT(bench.Message(),
              HasSubstr("requested number of devices unavailable for a.com/gpu. Requested: 3, Available: 0"));
}

TEST(DecideTest, FollowsAPluginsPreferenceAmongAlignedDevices) {
  Bench bench(kM2, Aligned(StaticConfig("0"), "best-effort"));
  bench.inputs.devices = {
      {"a.com/gpu", {{"d0", {NumaId{0}}, true}, {"d1", {NumaId{0}}, true}, {"d2", {NumaId{1}}, true}}}};
  bench.inputs.preferred_devices["a.com/gpu"] = {"d2", "d1"};
  Container app = C("c", "1");
  app.resources.requests["a.com/gpu"] = app.resources.limits["a.com/gpu"] = Q("1");
  EXPECT_EQ(bench.Add(MakePod("a", {app})), "");
  EXPECT_EQ(bench.At("a", "c").devices.at(0).ids, (std::vector<std::string>{"d1"}));
}

TEST(DecideTest, HandsInitContainersDevicesOn) {
  Bench bench(kM2, StaticConfig("0"));
  bench.inputs.devices = {{"a.com/gpu", {{"d0", {}, true}}}};
  Container init = C("init", "1");
  Container app = C("app", "1");
  for (Container* c : {&init, &app}) c->resources.requests["a.com/gpu"] = c->resources.limits["a.com/gpu"] = Q("1");
  EXPECT_EQ(bench.Add(MakePod("a", {app}, {init})), "");
  EXPECT_EQ(bench.At("a", "app").devices, bench.At("a", "init").devices);
}

TEST(DecideTest, RefusesResourcesNobodyReported) {
  Bench bench(kM2, StaticConfig("0"));
  Container app = C("c", "1");
  app.resources.limits["a.com/unknown"] = Q("3");
  EXPECT_EQ(bench.Add(MakePod("a", {app})), "OutOfa.com/unknown");
  bench.inputs.devices["a.com/unknown"] = {};
  app.resources.limits["a.com/unknown"] = Q("0");
  EXPECT_EQ(bench.Add(MakePod("b", {app})), "UnexpectedAdmissionError");
  EXPECT_THAT(bench.Message(), HasSubstr("no healthy devices present"));
}

TEST(DecideTest, RejectsWhatExceedsNodeAllocatableInTheKubeletsWords) {
  Bench bench(kM2, StaticConfig("0"));
  EXPECT_EQ(bench.Add(MakePod("a", {C("c", "6500m")})), "");
  EXPECT_EQ(bench.Add(MakePod("b", {C("c", "600m")})), "OutOfcpu");
  EXPECT_EQ(bench.Message(), "Node didn't have enough resource: cpu, requested: 600, used: 6500, capacity: 7000");
  EXPECT_EQ(bench.Add(MakePod("d", {C("c", "100m", "30Gi")})), "OutOfmemory");
  EXPECT_EQ(bench.Rejected().details.size(), 1U);
}

TEST(DecideTest, RejectsThePodThatIsOneTooMany) {
  KubeletConfiguration config = StaticConfig("0");
  config.max_pods = 1;
  Bench bench(kM2, config);
  EXPECT_EQ(bench.Add(MakePod("a", {Container{.name = "c"}})), "");
  EXPECT_EQ(bench.Add(MakePod("b", {Container{.name = "c"}})), "OutOfpods");
}

TEST(DecideTest, SurvivesAbsurdRequests) {
  KubeletConfiguration config = Aligned(StaticConfig("0"), "restricted");
  PinMemory(config);
  Bench bench(kM2, config);
  EXPECT_NE(bench.Add(MakePod("a", {C("c", "9223372036854775807", "8Ei")})), "");
  EXPECT_NE(bench.Add(MakePod("b", {C("c1", "5000000000", "7Ei"), C("c2", "5000000000", "7Ei")})), "");
}

TEST(DecideTest, ExplainsWhatEachResourceSaidByItsName) {
  Bench bench(kM2, Aligned(StaticConfig("0"), "best-effort"));
  bench.inputs.devices = {{"a.com/gpu", {{"d0", {NumaId{1}}, true}}}};
  Container app = C("c", "1");
  app.resources.requests["a.com/gpu"] = app.resources.limits["a.com/gpu"] = Q("1");
  const Explanation e = Explain(bench.node(), bench.ledger(), MakePod("a", {app}), bench.inputs);
  const auto gpu = std::ranges::find(e.hints, "a.com/gpu", &ResourceHints::resource);
  ASSERT_NE(gpu, e.hints.end());
  EXPECT_EQ(gpu->container, "c");
  ASSERT_TRUE(gpu->hints && !gpu->hints->empty());
  EXPECT_EQ(gpu->hints->front().nodes, NodeSet{NumaId{1}});
  EXPECT_NE(std::ranges::find(e.hints, "cpu", &ResourceHints::resource), e.hints.end());
}

TEST(DecideTest, SaysWhyStepByStep) {
  Bench bench(kM2, Aligned(StaticConfig("0"), "single-numa-node"));
  Trace trace;
  const Pod pod = MakePod("a", {C("c", "2")});
  (void)Decide(bench.node(), bench.ledger(), pod, bench.inputs, &trace);
  std::string text;
  for (const TraceStep& step : trace.steps()) text += step.stage + ": " + step.text + "\n";
  EXPECT_THAT(text, HasSubstr("qos: the pod is Guaranteed"));
  EXPECT_THAT(text, HasSubstr("cpu: asks for 2 exclusive CPUs"));
  EXPECT_THAT(text, HasSubstr("hints: fits on node 0 (preferred); node 1 (preferred); nodes 0-1 (not preferred)"));
  EXPECT_THAT(text, HasSubstr("merge: node 0 (preferred): all resources prefer the same nodes"));
  EXPECT_THAT(text, HasSubstr("allocate: 2 exclusive CPUs taken: 1,5; the shared pool is 0,2-4,6-7"));
}

}  // namespace
}  // namespace berth::allocator
