// The NRI agent beside a kubelet that says which devices it has given to containers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/nri_allocator_node_test.h"
#include "daemon/snapshot_builder.h"

namespace berth::daemon {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testkit::Cpus;

constexpr const char* kAccelerator = "vendor.example/gpu";

Device OnNodes(const std::string& id, std::initializer_list<std::uint32_t> nodes) {
  Device out{.id = id, .nodes = {}};
  for (const std::uint32_t node : nodes) out.nodes.Insert(NumaId{node});
  return out;
}

KubeletConfiguration ConfigWith(const std::string& topology_policy) {
  KubeletConfiguration out;
  out.topology_manager_policy = topology_policy;
  return out;
}

/// CPUs 0-3 on NUMA node 0, of which 0 is reserved, and 4-7 on node 1.
struct NriAllocatorDeviceTest : NriAllocatorTest {
  explicit NriAllocatorDeviceTest(const KubeletConfiguration& config = ConfigWith("best-effort"),
                                  std::vector<PoolRule> pools = {})
      : NriAllocatorTest("numa:2(memory=4GB) core:4 pu:1", config, std::move(pools)) {}

  void BootWithKubelet(nri_agent::NriAllocatorOptions options = {}) {
    options.devices = {.of_pod = [this](const std::string& name_space, const std::string& name,
                                        os::Millis patience) -> Result<PodDevices> {
                         EXPECT_EQ(os::Millis(200), patience);
                         ++asked;
                         if (!problem.empty()) return Fail(code, problem);
                         return given[{name_space, name}];
                       },
                       .of_all = [this](os::Millis patience) -> Result<DevicesByPod> {
                         EXPECT_EQ(os::Millis(500), patience);
                         ++asked_for_all;
                         if (!problem.empty()) return Fail(code, problem);
                         return given;
                       }};
    Boot(std::move(options));
  }
  /// Asks for a container, and runs nothing.
  nri::Answer<nri::Creation> Begin(const nri::Pod& pod, const std::string& container, int milli) {
    auto answer = Asked<nri::Creation>();
    agent->Create(pod, ContainerIn(pod, container, milli), answer);
    return answer;
  }
  /// What was answered. Requires: it was.
  static std::string CpusIn(const nri::Answer<nri::Creation>& answer) {
    const auto created = answer.Wait();
    return created && *created ? (*created)->adjustment.resources.cpus : "none";
  }
  void Give(const std::string& pod, const std::string& container, std::vector<Device> devices) {
    given[{"default", pod}][container] = {{kAccelerator, std::move(devices)}};
  }
  /// A runtime has this pod, whose devices are known then.
  void Join(const nri::Pod& pod) {
    agent->Synchronize({.pods = {pod}, .containers = {}});
    Settle();
    EXPECT_EQ(1, asked_for_all);
    EXPECT_FALSE(manager->core().pods().at(pod.uid).reported.devices.empty());
  }
  const PodRecord& RecordOf(const nri::Pod& pod) const { return manager->ledger().pods.at(pod.uid); }
  int Warnings() const {
    int out = 0;
    for (const Event& event : host.events.events()) out += event.type == EventType::kWarning ? 1 : 0;
    return out;
  }
  /// One that was made while berthd was away.
  nri::Container Running(const nri::Pod& pod, const std::string& name, int milli) {
    nri::Container out = ContainerIn(pod, name, milli);
    out.state = nri::ContainerState::kRunning;
    MakeGroup(PathOf(pod) + "/" + out.id);
    return out;
  }

  DevicesByPod given;
  Code code = Code::kTimeout;
  std::string problem;  // why there is no answer
  int asked = 0;        // for one pod
  int asked_for_all = 0;
};

TEST_F(NriAllocatorDeviceTest, AContainerHasCpusOfTheNodeThatItsDevicesAreOn) {
  BootWithKubelet();
  Give("train", "app", {OnNodes("g0", {1}), OnNodes("g1", {1})});
  const nri::Pod web = MakePod("web", "");
  const nri::Container without = Run(web, "app", 1000);
  const nri::Pod train = MakePod("train", "");
  const nri::Container app = Run(train, "app", 2000);
  EXPECT_EQ(Cpus("1"), CpusOf(web, without));
  EXPECT_EQ(Cpus("4-5"), CpusOf(train, app));
  EXPECT_EQ(Cpus("2"), CpusOf(train, Run(train, "side", 1000))) << "it has none";
  EXPECT_EQ(2, asked) << "once for each pod";
  EXPECT_EQ(0, Warnings());
}

/// Nobody registers them here: a ledger with them would call them lost.
TEST_F(NriAllocatorDeviceTest, TheLedgerHasNoneOfTheKubeletsDevices) {
  BootWithKubelet();
  Give("train", "short", {OnNodes("g0", {1})});
  Give("train", "app", {OnNodes("g1", {1})});
  const nri::Pod train = MakePod("train", "");
  agent->Stop(train, Run(train, "short", 1000));  // it counts as an init container
  const nri::Container app = Run(train, "app", 1000);
  EXPECT_EQ(Cpus("4"), CpusOf(train, app));
  for (const Placement& placement : RecordOf(train).placements) EXPECT_THAT(placement.devices, IsEmpty());
  EXPECT_THAT(RecordOf(train).reusable.devices, IsEmpty());
  EXPECT_FALSE(RecordOf(train).requests.contains(kAccelerator));
}

TEST_F(NriAllocatorDeviceTest, DevicesAreShownWithWhereTheyAreKnownFrom) {
  BootWithKubelet();
  Give("train", "app", {OnNodes("g0", {1})});
  const nri::Pod train = MakePod("train", "");
  Run(train, "app", 1000);
  Settle();
  SnapshotBuilder builder(manager->bare(), host.events, DaemonFacts());
  const auto state = builder.Build();
  ASSERT_TRUE(state && state->node.pods.size() == 1U);
  const PodView& view = *state->node.pods[0].view;
  EXPECT_EQ(RequestsFrom::kRuntime, view.requests_from);
  ASSERT_TRUE(view.containers.size() == 1U && view.containers[0].place);
  EXPECT_TRUE(view.containers[0].place->devices_reported);
  EXPECT_EQ((std::vector<DeviceAssignment>{{.resource = kAccelerator, .ids = {"g0"}}}),
            view.containers[0].place->devices);
  std::string why;
  for (const TraceStep& step : state->node.pods[0].trace->steps())
    if (step.stage == "device") why += step.container + " " + step.resource + " " + step.text;
  EXPECT_EQ(std::string("app ") + kAccelerator + " given by the kubelet, as its pod resources say: g0 (NUMA node 1)",
            why);
}

TEST_F(NriAllocatorDeviceTest, WithoutAnAnswerContainersArePlacedAsBeforeAndThatIsToldOnce) {
  BootWithKubelet();
  problem = "no answer in time";
  Give("train", "app", {OnNodes("g0", {1})});
  const nri::Pod train = MakePod("train", "");
  EXPECT_EQ(Cpus("1"), CpusOf(train, Run(train, "app", 1000)));
  const nri::Pod other = MakePod("other", "");
  EXPECT_EQ(Cpus("2"), CpusOf(other, Run(other, "app", 1000)));
  EXPECT_EQ(1, asked) << "nobody waits for it again";
  for (int i = 0; i < 3; ++i) {
    host.clock.Advance(os::Millis(20'000));
    Settle();
  }
  EXPECT_EQ(3, asked_for_all) << "it is looked whether it is back";
  EXPECT_EQ(1U, CountTold("DevicesUnknown"));
  EXPECT_THAT(agent->Warnings(), Contains(HasSubstr("without regard to them: no answer in time")));

  problem.clear();
  host.clock.Advance(os::Millis(60'000));
  Settle();
  EXPECT_EQ(1, CountEvents("DevicesKnown"));
  EXPECT_THAT(agent->Warnings(), IsEmpty());
  const nri::Pod later = MakePod("later", "");
  Give("later", "app", {OnNodes("g1", {1})});
  EXPECT_EQ(Cpus("4"), CpusOf(later, Run(later, "app", 1000)));
}

TEST_F(NriAllocatorDeviceTest, AContainerWaitsForAnAnswerNoLongerThanAMoment) {
  BootWithKubelet();
  Give("train", "app", {OnNodes("g0", {1})});
  Give("train", "late", {OnNodes("g1", {1})});
  const nri::Pod train = MakePod("train", "");
  const auto answer = Begin(train, "app", 1000);
  EXPECT_EQ(0U, Answers());
  EXPECT_LE(agent->next_due(), host.clock.Now() + os::Millis(200));
  host.clock.Advance(os::Millis(200));
  agent->Tick(host.clock.Now());
  manager->executor().RunAll();
  EXPECT_EQ("1", CpusIn(answer));
  EXPECT_EQ(Cpus("4"), CpusOf(train, Run(train, "late", 1000))) << "the answer counts when it comes";
}

TEST_F(NriAllocatorDeviceTest, ContainersThatShareDoNotWaitAndTheirDevicesAreAskedForTogether) {
  BootWithKubelet();
  for (const char* const name : {"web", "db", "log"}) {
    Give(name, "app", {OnNodes("g0", {1})});
    const nri::Pod pod = MakePod(name, "burstable");
    Begin(pod, "app", 0);
  }
  EXPECT_EQ(3U, Answers());
  Settle();
  EXPECT_EQ(0, asked_for_all);
  host.clock.Advance(os::Millis(5'000));
  Settle();
  EXPECT_EQ(0, asked);
  EXPECT_EQ(1, asked_for_all);
  EXPECT_EQ(given.at({"default", "db"}), manager->core().pods().at("uid-db").reported.devices) << "for people";
}

/// Its socket is not there yet, or it was asked too much at once.
TEST_F(NriAllocatorDeviceTest, AKubeletThatRefusesAtOnceIsAskedOnceForEachContainer) {
  BootWithKubelet();
  code = Code::kUnreachable;
  problem = "connect to /k/kubelet.sock: No such file or directory";
  const nri::Pod train = MakePod("train", "");
  EXPECT_EQ(Cpus("1"), CpusOf(train, Run(train, "app", 1000)));
  EXPECT_EQ(1, asked);
  EXPECT_EQ(Cpus("2"), CpusOf(train, Run(train, "side", 1000)));
  EXPECT_EQ(2, asked);
  problem.clear();
  Give("later", "app", {OnNodes("g0", {1})});
  const nri::Pod later = MakePod("later", "");
  EXPECT_EQ(Cpus("4"), CpusOf(later, Run(later, "app", 1000)));
  Settle();
  EXPECT_EQ(1, asked_for_all) << "what was not answered meanwhile is asked for";
  EXPECT_EQ(1, CountEvents("DevicesKnown"));
}

TEST_F(NriAllocatorDeviceTest, ContainersOfOnePodWaitForOneAnswer) {
  BootWithKubelet();
  Give("train", "app", {OnNodes("g0", {1})});
  Give("train", "side", {OnNodes("g1", {1})});
  const nri::Pod train = MakePod("train", "");
  const auto app = Begin(train, "app", 2000);
  const auto side = Begin(train, "side", 1000);
  EXPECT_EQ(0U, Answers());
  manager->executor().RunAll();
  EXPECT_EQ("4-5", CpusIn(app));
  EXPECT_EQ("6", CpusIn(side));
  EXPECT_EQ(1, asked);
}

TEST_F(NriAllocatorDeviceTest, AContainerWaitsForItsPodsSpecAndThenForItsDevices) {
  BootWithKubelet({.spec_patience = os::Millis(250)});
  agent->FollowsSpecs(true);
  Give("train", "app", {OnNodes("g0", {1})});
  const nri::Pod train = MakePod("train", "");
  const auto answer = Begin(train, "app", 2000);
  manager->executor().RunAll();
  EXPECT_EQ(0, asked);
  agent->SetSpec(SpecOf(train, {}, {ContainerOf("app", 2)}));
  EXPECT_EQ(0U, Answers());
  manager->executor().RunAll();
  EXPECT_EQ("4-5", CpusIn(answer));
}

/// The runtime went on without an answer to CreateContainer, or nobody was there to be asked.
TEST_F(NriAllocatorDeviceTest, AContainerThatIsPlacedWhenItStartsIsPlacedByItsDevices) {
  BootWithKubelet();
  Give("train", "app", {OnNodes("g0", {1})});
  const nri::Pod train = MakePod("train", "");
  const nri::Container app = ContainerIn(train, "app", 2000);
  MakeGroup(PathOf(train) + "/" + app.id);
  ASSERT_TRUE(Start(train, app));
  EXPECT_EQ(Cpus("4-5"), CpusOf(train, app));
}

TEST_F(NriAllocatorDeviceTest, AnAnswerAboutAPodThatHasGoneDoesNothing) {
  BootWithKubelet();
  Give("train", "app", {OnNodes("g0", {1})});
  const nri::Pod train = MakePod("train", "");
  const auto answer = Begin(train, "app", 1000);
  agent->Happened(nri::Event::kStopPod, train, std::nullopt);
  agent->Tick(host.clock.Now());
  ASSERT_FALSE(manager->core().pods().contains(train.uid));
  manager->executor().RunAll();
  EXPECT_EQ(1, asked);
  EXPECT_FALSE(manager->core().pods().contains(train.uid));
  EXPECT_EQ(0U, Answers());
}

TEST_F(NriAllocatorDeviceTest, WhoWaitsIsAnsweredOnceWhenBerthStepsAside) {
  BootWithKubelet({.step_aside = true, .kubelet_dir = folder.path()});
  Give("train", "app", {OnNodes("g0", {1})});
  const nri::Pod train = MakePod("train", "");
  WriteState("static");
  host.clock.Advance(os::Millis(11'000));
  agent->Tick(host.clock.Now());  // looks at the kubelet's state
  const auto answer = Begin(train, "app", 1000);
  EXPECT_EQ(0U, Answers());
  ASSERT_TRUE(manager->executor().RunOne());
  EXPECT_EQ(1U, Answers());
  EXPECT_EQ("", CpusIn(answer));
  EXPECT_EQ(0, asked);
  problem = "no answer in time";
  Settle();
  EXPECT_EQ(1, asked);
  EXPECT_EQ(1U, Answers());
  EXPECT_THAT(manager->ledger().pods, IsEmpty());
  EXPECT_THAT(agent->Warnings(), ElementsAre(HasSubstr("Berth leaves all containers alone")))
      << "nothing depends on devices";
}

TEST_F(NriAllocatorDeviceTest, ARestartChangesNothing) {
  BootWithKubelet();
  Give("train", "app", {OnNodes("g0", {1})});
  const nri::Pod train = MakePod("train", "");
  const nri::Container app = Run(train, "app", 2000);
  Settle();
  const PodRecord before = RecordOf(train);
  agent.reset();
  manager.reset();
  asked = 0;
  BootWithKubelet();
  agent->Synchronize({.pods = {train}, .containers = {app}});
  Settle();
  EXPECT_EQ(before, RecordOf(train));
  EXPECT_EQ(Cpus("4-5"), CpusOf(train, app));
  EXPECT_EQ(given.at({"default", "train"}), manager->core().pods().at(train.uid).reported.devices);
  nri::Container again = app;
  again.id += "-again";
  const auto created = Create(train, again);
  ASSERT_TRUE(created);
  EXPECT_EQ("4-5", created->adjustment.resources.cpus);
  EXPECT_EQ(0, asked);
  EXPECT_EQ(1, asked_for_all);
  EXPECT_EQ(0, Warnings());
}

TEST_F(NriAllocatorDeviceTest, WhatWasMadeWhileBerthdWasAwayIsPlacedByItsDevicesToo) {
  BootWithKubelet();
  Give("train", "app", {OnNodes("g0", {1})});
  const nri::Pod train = MakePod("train", "");
  const nri::Container app = Running(train, "app", 2000);
  agent->Synchronize({.pods = {train}, .containers = {app}});
  agent->Tick(host.clock.Now());
  EXPECT_FALSE(manager->ledger().pods.contains(train.uid));
  EXPECT_EQ(host.clock.Now() + os::Millis(500), agent->next_due());
  Settle();
  EXPECT_EQ(Cpus("4-5"), CpusOf(train, app));
  EXPECT_EQ(0, asked);
}

TEST_F(NriAllocatorDeviceTest, WhatARuntimeHasIsNotWaitedForLongerThanHalfASecond) {
  BootWithKubelet();
  Give("train", "app", {OnNodes("g0", {1})});
  const nri::Pod train = MakePod("train", "");
  const nri::Container app = Running(train, "app", 2000);
  agent->Synchronize({.pods = {train}, .containers = {app}});
  host.clock.Advance(os::Millis(500));
  agent->Tick(host.clock.Now());
  manager->executor().RunAll();
  Settle();
  EXPECT_EQ(Cpus("1-2"), CpusOf(train, app));
  EXPECT_FALSE(manager->core().pods().at(train.uid).reported.devices.empty()) << "known for later ones";
}

/// Where nothing is to be had beside the devices, the policy refuses.
struct StrictNriAllocatorDeviceTest : NriAllocatorDeviceTest {
  StrictNriAllocatorDeviceTest() : NriAllocatorDeviceTest(ConfigWith("single-numa-node")) {}
};

TEST_F(StrictNriAllocatorDeviceTest, AContainerIsPlacedBesideItsDevicesOrNotAtAll) {
  BootWithKubelet();
  Give("train", "app", {OnNodes("g0", {1})});
  Give("late", "app", {OnNodes("g1", {1})});
  Give("wide", "app", {OnNodes("g2", {0}), OnNodes("g3", {1})});
  Give("span", "app", {OnNodes("g4", {0, 1})});
  const nri::Pod train = MakePod("train", "");
  EXPECT_EQ(Cpus("4-6"), CpusOf(train, Run(train, "app", 3000)));
  for (const char* const name : {"late", "wide"}) {
    const nri::Pod pod = MakePod(name, "");
    const auto refused = Create(pod, ContainerIn(pod, "app", 2000));
    ASSERT_FALSE(refused) << name;
    EXPECT_THAT(refused.error().message, HasSubstr("TopologyAffinityError"));
  }
  const nri::Pod span = MakePod("span", "");
  EXPECT_EQ(Cpus("1-2"), CpusOf(span, Run(span, "app", 2000))) << "near either node";
}

/// No kubelet says that an init container is there: it has a place before anything is known of devices.
TEST_F(StrictNriAllocatorDeviceTest, AnInitContainerOnTheOtherNodeDoesNotKeepAContainerFromItsDevices) {
  BootWithKubelet();
  Give("train", "app", {OnNodes("g0", {1})});
  const nri::Pod train = MakePod("train", "");
  const nri::Container setup = Run(train, "setup", 2000);
  agent->Stop(train, setup);
  EXPECT_EQ(Cpus("1-2"), CpusOf(train, setup));
  EXPECT_EQ(Cpus("4-5"), CpusOf(train, Run(train, "app", 2000)));
}

TEST_F(StrictNriAllocatorDeviceTest, NodesThatTheMachineDoesNotHaveCountAsNone) {
  BootWithKubelet();
  Give("train", "app", {OnNodes("g0", {7})});
  Give("train", "side", {OnNodes("g1", {1, 1023})});
  const nri::Pod train = MakePod("train", "");
  EXPECT_EQ(Cpus("1-2"), CpusOf(train, Run(train, "app", 2000)));
  EXPECT_EQ(Cpus("4-5"), CpusOf(train, Run(train, "side", 2000)));
}

TEST_F(StrictNriAllocatorDeviceTest, AContainerOfAPodWithResourcesOfItsOwnSharesWhereverItsDevicesAre) {
  BootWithKubelet();
  Give("part", "app", {OnNodes("g0", {0}), OnNodes("g1", {1})});
  const nri::Pod part = MakePod("part", "");
  Pod spec = SpecOf(part, {}, {ContainerOf("app", 2)});
  spec.resources = spec.containers[0].resources;
  agent->SetSpec(spec);
  Join(part);
  EXPECT_EQ(Cpus("0-7"), CpusOf(part, Run(part, "app", 2000)));
  EXPECT_EQ(0, asked);
  EXPECT_EQ(0, Warnings());
}

struct PoolNriAllocatorDeviceTest : NriAllocatorDeviceTest {
  PoolNriAllocatorDeviceTest()
      : NriAllocatorDeviceTest(ConfigWith("single-numa-node"), {{.name = "batch", .namespaces = {"default"}}}) {}
};

TEST_F(PoolNriAllocatorDeviceTest, AContainerOfANamedPoolIsThereWhereverItsDevicesAre) {
  BootWithKubelet();
  Give("part", "app", {OnNodes("g0", {0}), OnNodes("g1", {1})});
  nri::Pod part = MakePod("part", "");
  part.annotations["berth.dev/pool"] = "batch";
  Join(part);
  Run(part, "app", 1000);
  EXPECT_EQ("batch", FindPlacement(RecordOf(part), "app")->pool);
  EXPECT_EQ(0, asked);
  EXPECT_EQ(0, Warnings());
}

TEST_F(StrictNriAllocatorDeviceTest, AContainerThatSharesDoesSoWhereverItsDevicesAre) {
  BootWithKubelet();
  Give("part", "app", {OnNodes("g0", {0}), OnNodes("g1", {1})});
  const nri::Pod part = MakePod("part", "");
  EXPECT_EQ(Cpus("0-7"), CpusOf(part, Run(part, "app", 500)));
  EXPECT_TRUE(FindPlacement(RecordOf(part), "app"));
  EXPECT_EQ(0, Warnings());
}

struct PinnedNriAllocatorDeviceTest : NriAllocatorDeviceTest {
  PinnedNriAllocatorDeviceTest() : NriAllocatorDeviceTest(Config()) {}
  static KubeletConfiguration Config() {
    KubeletConfiguration out = ConfigWith("best-effort");
    out.memory_manager_policy = "Static";
    out.reserved_memory = {{NumaId{0}, {{"memory", *Quantity::Parse("100Mi")}}}};
    return out;
  }
};

TEST_F(PinnedNriAllocatorDeviceTest, MemoryIsOnTheNodeOfTheDevicesToo) {
  BootWithKubelet();
  Give("train", "app", {OnNodes("g0", {1})});
  const nri::Pod train = MakePod("train", "");
  const auto created = Create(train, ContainerIn(train, "app", 500));
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_EQ("1", created->adjustment.resources.mems);
}

}  // namespace
}  // namespace berth::daemon
