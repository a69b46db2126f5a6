#include "berth/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "berth/load.h"
#include "simulator/offline/offline_node.h"
#include "simulator/offline/simulation.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kMachine = "numa:2(memory=8GB) core:4 pu:2";

std::string Input(const std::string& name) { return testkit::SourcePath("tests/golden/simulate/" + name); }

/// `fields` of a KubeletConfiguration.
KubeletConfiguration Settings(const std::string& fields) {
  auto settings =
      ParseSettings("{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, " + fields + "}", "test");
  EXPECT_TRUE(settings) << settings.error().message;
  return settings ? *settings : KubeletConfiguration();
}

Node MakeNode(const std::string& machine, NodeOptions options = {}) {
  auto loaded = LoadMachine(machine);
  EXPECT_TRUE(loaded) << loaded.error().message;
  auto node = Node::Make(*std::move(loaded), std::move(options));
  EXPECT_TRUE(node) << node.error().message;
  return *std::move(node);
}

/// Eight CPUs, of which 0 is reserved; whole ones are given away.
Node SmallNode() {
  return MakeNode("core:8 pu:1", {.settings = Settings("cpuManagerPolicy: static, reservedSystemCPUs: '0'")});
}

/// A Guaranteed pod.
Pod MakePod(const std::string& name, const std::string& cpus, const std::string& more = "") {
  auto pods = ParsePods("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
                            "}, spec: {containers: [{name: app, image: i, resources: {limits: {cpu: '" + cpus +
                            "', memory: 64Mi" + more + "}}}]}}",
                        "test");
  EXPECT_TRUE(pods) << pods.error().message;
  return pods ? pods->front() : Pod();
}

bool Admitted(const Decision& decision) { return std::holds_alternative<Admit>(decision); }

/// CPUs of the pod's only container; "none" when it has no place.
std::string CpusOf(const Node& node, const std::string& name) {
  const PodRecord* const pod = FindPod(node.ledger(), "default/" + name);
  if (pod == nullptr) return "none";
  const auto& cpus = pod->placements.front().cpus;
  return cpus ? FormatIds(*cpus) : "shared";
}

TEST(NodeTest, APodThatIsResizedKeepsWhatItHas) {
  Node node = SmallNode();
  ASSERT_TRUE(Admitted(node.Admit(MakePod("web", "1"))));
  EXPECT_EQ("1", CpusOf(node, "web"));
  EXPECT_TRUE(Admitted(node.Resize(MakePod("web", "3"))));
  EXPECT_EQ("1-3", CpusOf(node, "web"));
  const Decision no = node.Resize(MakePod("web", "9"));
  ASSERT_FALSE(Admitted(no));
  EXPECT_EQ("Infeasible", std::get<Reject>(no).reason);
  EXPECT_TRUE(Admitted(node.Resize(MakePod("web", "1"))));
  EXPECT_EQ("1", CpusOf(node, "web"));
  EXPECT_EQ("Infeasible", std::get<Reject>(node.Resize(MakePod("nobody", "1"))).reason);
}

// ---- the same answers as `berth simulate` ----

/// The decision without what the two are free to differ in: the uid that a pod without one gets.
Decision WithoutUid(Decision decision) {
  if (auto* yes = std::get_if<Admit>(&decision)) yes->delta.put->uid.clear();
  return decision;
}

/// Both take these pods, one after the other.
void CompareWithSimulate(const std::string& machine, const std::string& settings) {
  std::ostringstream err;
  auto simulated =
      offline::LoadOfflineNode({.machine = machine, .config = settings, .devices = Input("devices.yaml")}, err);
  auto parsed_settings = ParseSettings(testkit::ReadText(settings), settings);
  auto devices = ParseDevices(testkit::ReadText(Input("devices.yaml")), "devices.yaml");
  ASSERT_TRUE(parsed_settings && devices);
  auto node = Node::Make(*LoadMachine(machine), {.settings = *parsed_settings, .devices = *devices});
  ASSERT_EQ(bool{simulated}, bool{node});
  if (!node) {
    EXPECT_THAT(simulated.error().message, HasSubstr(node.error().message));
    return;
  }
  const std::vector<std::string> files{Input("pods.yaml"), Input("more.yaml")};
  auto steps = offline::ReadSteps(files, simulated->ledger, err);
  ASSERT_TRUE(steps) << steps.error().message;
  std::size_t step = 0;
  for (const std::string& file : files) {
    const auto pods = ParsePods(testkit::ReadText(file), file);
    ASSERT_TRUE(pods) << pods.error().message;
    for (const Pod& pod : *pods) {
      SCOPED_TRACE(FullName(pod));
      const offline::Outcome outcome = offline::TakeStep(steps->at(step), static_cast<int>(step) + 1, *simulated);
      ++step;
      EXPECT_EQ(WithoutUid(*outcome.decision), WithoutUid(node->Admit(pod)));
      node->InitContainersDone(FullName(pod));
    }
  }
  EXPECT_EQ(steps->size(), step);
  EXPECT_EQ(simulated->ledger.shared, node->ledger().shared);
  EXPECT_EQ(simulated->ledger.memory, node->ledger().memory);
}

TEST(NodeTest, DecidesAsSimulateDoesOnMachinesOfAllKinds) {
  const std::string captures = testkit::SourcePath("tests/golden/machine/captures/");
  for (const std::string& machine :
       {std::string(kMachine), std::string("pack:2 l3:2 core:8 pu:2"), captures + "2amd64-1s2c-vm.tar.gz",
        captures + "8amd64-2s4n2t-qemu.tar.gz", captures + "4amd64-2s3n-memory-only-qemu.tar.gz"})
    for (const std::string& settings : {Input("kubelet.yaml"), testkit::SourcePath("examples/kubelet.yaml")}) {
      SCOPED_TRACE(machine + " with " + settings);
      CompareWithSimulate(machine, settings);
    }
}

// ---- deciding ----

TEST(NodeTest, ARejectedPodTakesNothing) {
  Node node = SmallNode();
  const Ledger before = node.ledger();
  const Decision decision = node.Admit(MakePod("big", "9"));
  ASSERT_FALSE(Admitted(decision));
  EXPECT_EQ("UnexpectedAdmissionError", std::get<Reject>(decision).reason);
  EXPECT_EQ(before, node.ledger());
}

TEST(NodeTest, AskingChangesNothing) {
  const Node node = SmallNode();
  const Ledger before = node.ledger();
  EXPECT_TRUE(Admitted(node.Decide(MakePod("web", "2"))));
  EXPECT_EQ(before, node.ledger());
}

TEST(NodeTest, APodThatHasAPlaceKeepsIt) {
  Node node = SmallNode();
  const Pod pod = MakePod("web", "2");
  EXPECT_TRUE(Admitted(node.Admit(pod)));
  EXPECT_TRUE(Admitted(node.Admit(pod)));
  EXPECT_EQ("1-2", CpusOf(node, "web"));
  EXPECT_EQ(1U, node.ledger().pods.size());
}

TEST(NodeTest, PodsAreToldApartByUidAndThoseWithoutByName) {
  Node node = SmallNode();
  Pod pod = MakePod("web", "2");
  EXPECT_TRUE(Admitted(node.Admit(pod)));
  pod.uid = "its-own";
  EXPECT_TRUE(Admitted(node.Admit(pod)));
  EXPECT_TRUE(node.ledger().pods.contains("default/web"));
  EXPECT_TRUE(node.ledger().pods.contains("its-own"));
}

TEST(NodeTest, WhatAPodHadComesBackWhenItIsGone) {
  Node node = SmallNode();
  const Ledger empty = node.ledger();
  ASSERT_TRUE(Admitted(node.Admit(MakePod("web", "7"))));
  EXPECT_FALSE(Admitted(node.Decide(MakePod("db", "1"))));
  EXPECT_FALSE(node.Release("default/other"));
  EXPECT_TRUE(node.Release("default/web"));
  EXPECT_FALSE(node.Release("default/web"));
  EXPECT_EQ(empty.shared, node.ledger().shared);
  EXPECT_TRUE(Admitted(node.Admit(MakePod("db", "1"))));
}

TEST(NodeTest, AUidMayPointIntoTheBooks) {
  Node node = SmallNode();
  ASSERT_TRUE(Admitted(node.Admit(MakePod("web", "2"))));
  const std::string& uid = FindPod(node.ledger(), "default/web")->uid;
  node.InitContainersDone(uid);
  EXPECT_TRUE(node.Release(uid));
  EXPECT_THAT(node.ledger().pods, IsEmpty());
}

TEST(NodeTest, MemoryOfInitContainersComesBackWhenTheyAreDone) {
  Node node = MakeNode(kMachine, {.settings = Settings("cpuManagerPolicy: static, reservedSystemCPUs: '0', "
                                                       "memoryManagerPolicy: Static, systemReserved: {memory: 924Mi}, "
                                                       "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]")});
  auto pods = ParsePods(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {"
      "initContainers: [{name: first, image: i, resources: {limits: {cpu: '1', memory: 4Gi}}}], "
      "containers: [{name: app, image: i, resources: {limits: {cpu: '1', memory: 1Gi}}}]}}",
      "test");
  ASSERT_TRUE(pods) << pods.error().message;
  ASSERT_TRUE(Admitted(node.Admit(pods->front())));
  const auto reserved = [&node] {
    Bytes sum;
    for (const auto& [id, state] : node.ledger().memory) sum += state.types.at("memory").reserved;
    return sum;
  };
  EXPECT_EQ(GiB(4), reserved());
  node.InitContainersDone("nobody");
  EXPECT_EQ(GiB(4), reserved());
  node.InitContainersDone("default/p");
  EXPECT_EQ(GiB(1), reserved());
}

TEST(NodeTest, WithoutNodeFitASumAboveAllocatableIsNoReason) {
  EXPECT_FALSE(Admitted(MakeNode("core:4 pu:1").Decide(MakePod("web", "9"))));
  EXPECT_TRUE(Admitted(MakeNode("core:4 pu:1", {.node_fit = false}).Decide(MakePod("web", "9"))));
}

TEST(NodeTest, SettingsThatTheMachineCannotKeepAreRefused) {
  const auto node = Node::Make(*LoadMachine("core:4 pu:1"),
                               {.settings = Settings("cpuManagerPolicy: static, reservedSystemCPUs: '7'")});
  ASSERT_FALSE(node);
  EXPECT_EQ(Code::kInvalid, node.error().code);
  const auto devices =
      Node::Make(*LoadMachine("core:4 pu:1"), {.devices = {{"v/d", {{.id = "d0", .nodes = {NumaId{3}}}}}}});
  ASSERT_FALSE(devices);
  EXPECT_EQ(Code::kInvalid, devices.error().code);
}

// ---- in words ----

TEST(NodeTest, TheTraceSaysWhatWasDone) {
  Node node = SmallNode();
  Trace trace;
  node.Admit(MakePod("web", "2"), &trace);
  const std::size_t steps = trace.steps().size();
  ASSERT_GT(steps, 0U);
  node.Release("default/web", &trace);
  EXPECT_GT(trace.steps().size(), steps) << "steps are appended";
}

TEST(NodeTest, ExplainsWhoHasWhatIsShortAndWhatWouldHelp) {
  Node node = SmallNode();
  ASSERT_TRUE(Admitted(node.Admit(MakePod("web", "5"))));
  const std::string text = node.Explain(MakePod("db", "4"));
  EXPECT_THAT(text, HasSubstr("default/db (Guaranteed): rejected"));
  EXPECT_THAT(text, HasSubstr("default/web"));
  EXPECT_THAT(text, HasSubstr("cpu 2 instead of 4"));
  EXPECT_THAT(text, HasSubstr("after removing (no smaller set does): default/web"));
  EXPECT_THAT(node.Explain(MakePod("db", "2")), HasSubstr("admitted"));
  EXPECT_EQ("none", CpusOf(node, "db"));
}

// ---- devices, copies, ledgers ----

TEST(NodeTest, DevicesThatBecomeUnhealthyAreNotGivenAway) {
  const Device gpu{.id = "gpu0", .nodes = {NumaId{0}}};
  Node node = MakeNode(kMachine, {.devices = {{"v.example/gpu", {gpu}}}});
  const Pod pod = MakePod("trainer", "1", ", v.example/gpu: '1'");
  EXPECT_TRUE(Admitted(node.Decide(pod)));
  Device broken = gpu;
  broken.healthy = false;
  ASSERT_TRUE(node.SetDevices({{"v.example/gpu", {broken}}}));
  EXPECT_FALSE(Admitted(node.Decide(pod)));
  Device lost = gpu;
  lost.nodes = {NumaId{5}};
  const auto refused = node.SetDevices({{"v.example/gpu", {lost}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(Code::kInvalid, refused.error().code);
  EXPECT_EQ(broken, node.devices().at("v.example/gpu").front()) << "nothing has changed";
}

TEST(NodeTest, ACopyGoesItsOwnWay) {
  Node node = SmallNode();
  ASSERT_TRUE(Admitted(node.Admit(MakePod("web", "2"))));
  Node copy = node;
  ASSERT_TRUE(Admitted(copy.Admit(MakePod("db", "2"))));
  EXPECT_EQ("none", CpusOf(node, "db"));
  EXPECT_EQ("3-4", CpusOf(copy, "db"));
  node = copy;
  copy.Release("default/web");
  EXPECT_EQ("1-2", CpusOf(node, "web"));
  const Node moved = std::move(copy);
  EXPECT_EQ("3-4", CpusOf(moved, "db"));
}

TEST(NodeTest, ALedgerAsTextIsGoneOnFrom) {
  Node node = SmallNode();
  ASSERT_TRUE(Admitted(node.Admit(MakePod("web", "2"))));
  const auto kept = ParseLedger(FormatLedger(node.ledger()), "test");
  ASSERT_TRUE(kept) << kept.error().message;
  Node later = SmallNode();
  ASSERT_TRUE(later.Restore(*kept));
  EXPECT_EQ(node.ledger(), later.ledger());
  EXPECT_EQ(node.Decide(MakePod("db", "3")), later.Decide(MakePod("db", "3")));
}

TEST(NodeTest, ALedgerOfOtherReservedCpusIsGoneOnFrom) {
  Node node = SmallNode();
  ASSERT_TRUE(Admitted(node.Admit(MakePod("web", "2"))));
  Node other = MakeNode("core:8 pu:1", {.settings = Settings("cpuManagerPolicy: static, reservedSystemCPUs: '1'")});
  ASSERT_TRUE(other.Restore(node.ledger()));
  EXPECT_EQ("1-2", CpusOf(other, "web")) << "what runs keeps what it has";
}

TEST(NodeTest, ALedgerThatIsNotOfThisNodeChangesNothing) {
  Node node = SmallNode();
  ASSERT_TRUE(Admitted(node.Admit(MakePod("web", "2"))));
  const auto refuses = [&node](const Ledger& ledger, const char* words) {
    const Ledger before = node.ledger();
    const auto done = node.Restore(ledger);
    ASSERT_FALSE(done) << words;
    EXPECT_EQ(Code::kInvalid, done.error().code);
    EXPECT_THAT(done.error().message, HasSubstr(words));
    EXPECT_EQ(before, node.ledger());
  };
  refuses(MakeNode("core:8 pu:1").ledger(), "CPU manager policy");
  refuses(MakeNode("core:16 pu:1", {.settings = node.settings()}).ledger(), "CPU");
  Ledger twice = node.ledger();
  PodRecord thief = twice.pods.at("default/web");
  thief.uid = thief.name = "thief";
  thief.sequence = twice.next_sequence++;
  twice.pods.emplace("thief", thief);
  refuses(twice, "thief");
  Ledger misfiled = node.ledger();
  misfiled.pods.at("default/web").uid = "another";
  refuses(misfiled, "uid");
}

}  // namespace
}  // namespace berth
