#include "node/ledger/adopt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/machine/load_machine.h"
#include "model/promises.h"
#include "node/ledger/shared_pool.h"

namespace berth::ledger {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

allocator::Node MakeNode(const char* machine_text, const char* policy, const char* reserved) {
  auto machine = machine::ParseSynthetic(machine_text);
  EXPECT_TRUE(machine);
  KubeletConfiguration config;
  config.cpu_manager_policy = policy;
  config.reserved_system_cpus = reserved;
  auto node = allocator::Node::Make(*machine, config);
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

/// A ledger of static policy where each given set belongs to a pod of its own, in this order of admission.
Ledger Holding(const allocator::Node& node, const std::vector<CpuSet>& sets) {
  Ledger out = node.EmptyLedger();
  for (const CpuSet& cpus : sets) {
    PodRecord pod;
    pod.sequence = out.next_sequence++;
    pod.uid = "uid" + std::to_string(pod.sequence);
    pod.namespace_ = "default";
    pod.name = "pod" + std::to_string(pod.sequence);
    pod.placements.push_back({.container = "app", .cpus = cpus});
    out.pods.emplace(pod.uid, pod);
    out.shared -= cpus;
    ++out.revision;
  }
  return out;
}

TEST(AdoptTest, ALedgerThatFitsComesBackAsItIs) {
  const allocator::Node node = MakeNode("core:8 pu:1", "static", "0");
  const Ledger saved = Holding(node, {CpuSet::Range(2, 3), CpuSet::Range(4, 4)});
  const Adoption out = Adopt(node, saved);
  EXPECT_EQ(out.ledger, saved);
  EXPECT_TRUE(out.notes.empty());
}

/// A pod in named pool "batch" with CPUs 2-3, which are in the settings or not.
Ledger HoldingPool(const allocator::Node& node) {
  Ledger out = Holding(node, {CpuSet::Range(4, 4)});
  Placement& placement = out.pods.at("uid1").placements.emplace_back();
  placement.container = "pooled";
  placement.pool = "batch";
  placement.pool_request = 2000;
  out.pools["batch"] = {.cpus = CpuSet::Range(2, 3)};
  out.shared -= CpuSet::Range(2, 3);
  return out;
}

TEST(AdoptTest, NamedPoolsComeBackAsTheyAre) {
  const allocator::Node before = MakeNode("core:8 pu:1", "static", "0");
  allocator::EngineOptions options;
  options.own.pools.emplace_back().name = "batch";
  const auto node = allocator::Node::Make(before.machine(), before.config(), options);
  ASSERT_TRUE(node);
  const Ledger saved = HoldingPool(*node);
  ASSERT_THAT(Contradictions(saved), IsEmpty());
  const Adoption out = Adopt(*node, saved);
  EXPECT_EQ(out.ledger, saved);
  EXPECT_TRUE(out.notes.empty());
}

TEST(AdoptTest, APoolThatIsNotInTheSettingsAnyMoreStaysAndIsTold) {
  const allocator::Node node = MakeNode("core:8 pu:1", "static", "0");
  const Adoption out = Adopt(node, HoldingPool(node));
  EXPECT_EQ(out.ledger, HoldingPool(node));
  ASSERT_EQ(out.notes.size(), 1U);
  EXPECT_THAT(out.notes[0].text, HasSubstr("CPU pool batch is not in cpuPools any more"));
}

TEST(AdoptTest, APoolKeepsWhatThereIsOfItsCpus) {
  const allocator::Node before = MakeNode("core:8 pu:1", "static", "0");
  const allocator::Node after = MakeNode("core:3 pu:1", "static", "0");
  const Adoption out = Adopt(after, HoldingPool(before));
  EXPECT_EQ(FormatIds(out.ledger.pools.at("batch").cpus), "2");
  EXPECT_EQ(out.ledger.pods.at("uid1").placements[1].pool, "batch");
  EXPECT_EQ(FormatIds(out.ledger.shared), "0-1");
  EXPECT_THAT(Contradictions(out.ledger), IsEmpty());
}

TEST(AdoptTest, WithoutAPolicyOfCpusThereAreNoPools) {
  const allocator::Node before = MakeNode("core:8 pu:1", "static", "0");
  const allocator::Node after = MakeNode("core:8 pu:1", "none", "");
  const Adoption out = Adopt(after, HoldingPool(before));
  EXPECT_EQ(out.ledger.pools, CpuPools());
  EXPECT_EQ(out.ledger.pods.at("uid1").placements[1].pool, "");
  EXPECT_THAT(Contradictions(out.ledger), IsEmpty());
}

TEST(AdoptTest, APoolThatContradictsItselfIsPutRight) {
  const allocator::Node node = MakeNode("core:8 pu:1", "static", "0");
  Ledger saved = HoldingPool(node);
  saved.pools["empty"] = {.cpus = CpuSet::Range(6, 6)};
  saved.pools["batch"].cpus = CpuSet::Range(2, 4);
  saved.pods.at("uid1").placements.push_back({.container = "lost", .pool = "lost", .pool_request = 1});
  const Adoption out = Adopt(node, saved);
  EXPECT_FALSE(out.ledger.pools.contains("empty"));
  EXPECT_EQ(out.ledger.pods.at("uid1").placements[2].pool, "");
  EXPECT_THAT(Contradictions(out.ledger), IsEmpty());
}

TEST(AdoptTest, OtherReservedCpusMoveNobody) {
  const allocator::Node before = MakeNode("core:8 pu:1", "static", "0");
  const allocator::Node after = MakeNode("core:8 pu:1", "static", "2");
  const Adoption out = Adopt(after, Holding(before, {CpuSet::Range(2, 3)}));
  EXPECT_EQ(FormatIds(ExclusiveCpus(out.ledger)), "2-3");
  EXPECT_EQ(FormatIds(out.ledger.shared), "0-1,4-7");
  EXPECT_FALSE(out.notes.empty());
}

TEST(AdoptTest, CpusThatAreGoneAreNamedAndTheirContainerSharesThePool) {
  const allocator::Node before = MakeNode("core:8 pu:1", "static", "0");
  const allocator::Node after = MakeNode("core:4 pu:1", "static", "0");
  const Adoption out = Adopt(after, Holding(before, {CpuSet::Range(2, 2), CpuSet::Range(6, 7)}));
  EXPECT_EQ(FormatIds(ExclusiveCpus(out.ledger)), "2");
  EXPECT_EQ(FormatIds(out.ledger.shared), "0-1,3");
  ASSERT_FALSE(out.notes.empty());
  EXPECT_NE(out.notes.front().text.find("6-7"), std::string::npos);
  EXPECT_EQ(out.ledger.pods.size(), 2U);
}

TEST(AdoptTest, TheFirstAdmittedKeepsCpusThatTwoPodsClaim) {
  const allocator::Node node = MakeNode("core:4 pu:1", "static", "0");
  const Adoption out = Adopt(node, Holding(node, {CpuSet::Range(1, 2), CpuSet::Range(2, 3)}));
  EXPECT_EQ(FormatIds(ExclusiveCpus(out.ledger.pods.find("uid1")->second)), "1-2");
  EXPECT_EQ(FormatIds(ExclusiveCpus(out.ledger.pods.find("uid2")->second)), "3") << "what nobody else claims";
  EXPECT_EQ(FormatIds(out.ledger.shared), "0");
}

TEST(AdoptTest, AContainerKeepsThoseOfItsCpusThatStillExist) {
  const allocator::Node before = MakeNode("core:8 pu:1", "static", "0");
  const allocator::Node after = MakeNode("core:4 pu:1", "static", "0");
  const Adoption out = Adopt(after, Holding(before, {CpuSet::Range(2, 5)}));
  EXPECT_EQ(FormatIds(ExclusiveCpus(out.ledger)), "2-3");
  ASSERT_FALSE(out.notes.empty());
  EXPECT_EQ(out.notes.front().pod, "default/pod1");
  EXPECT_NE(out.notes.front().text.find("CPUs 4-5 do not exist"), std::string::npos) << out.notes.front().text;
}

TEST(AdoptTest, AfterARebootAPodThatLostSomethingIsPlacedAnew) {
  const allocator::Node before = MakeNode("core:8 pu:1", "static", "0");
  const allocator::Node after = MakeNode("core:4 pu:1", "static", "0");
  const Adoption out = Adopt(after, Holding(before, {CpuSet::Range(2, 5), CpuSet::Range(1, 1)}), Since::kReboot);
  EXPECT_FALSE(out.ledger.pods.contains("uid1"));
  EXPECT_EQ(FormatIds(ExclusiveCpus(out.ledger)), "1");
  EXPECT_EQ(FormatIds(out.ledger.shared), "0,2-3");
}

TEST(AdoptTest, StrictReservationKeepsReservedCpusOutOfThePool) {
  auto machine = machine::ParseSynthetic("core:8 pu:1");
  ASSERT_TRUE(machine);
  KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0-1";
  config.cpu_manager_policy_options["strict-cpu-reservation"] = "true";
  const auto strict = allocator::Node::Make(*machine, config);
  ASSERT_TRUE(strict) << strict.error().message;
  const Ledger saved = Holding(*strict, {CpuSet::Range(2, 3)});
  EXPECT_EQ(Adopt(*strict, saved).ledger, saved);
  const allocator::Node loose = MakeNode("core:8 pu:1", "static", "0");
  EXPECT_EQ(FormatIds(Adopt(*strict, Holding(loose, {CpuSet::Range(2, 3)})).ledger.shared), "4-7");
  EXPECT_EQ(FormatIds(Adopt(loose, saved).ledger.shared), "0-1,4-7");
}

TEST(AdoptTest, ALedgerThatContradictsItselfIsPutRightAndSaysSo) {
  const allocator::Node node = MakeNode("core:8 pu:1", "static", "0");
  Ledger saved = Holding(node, {CpuSet::Range(2, 3), CpuSet::Range(4, 5)});
  saved.shared |= CpuSet::Range(2, 2);
  saved.pods.find("uid2")->second.sequence = 1;
  const Adoption out = Adopt(node, saved);
  EXPECT_TRUE(Contradictions(out.ledger).empty());
  EXPECT_EQ(FormatIds(ExclusiveCpus(out.ledger)), "2-5");
  EXPECT_GE(out.notes.size(), 2U);
}

TEST(AdoptTest, TheSharedPoolNeverBecomesEmpty) {
  const allocator::Node before = MakeNode("core:8 pu:1", "static", "0");
  const allocator::Node after = MakeNode("core:4 pu:1", "static", "0");
  const Adoption out = Adopt(after, Holding(before, {CpuSet::Range(0, 1), CpuSet::Range(2, 3)}));
  EXPECT_EQ(FormatIds(ExclusiveCpus(out.ledger)), "0-1");
  EXPECT_EQ(FormatIds(out.ledger.shared), "2-3");
}

/// A container of a pod, and the devices it holds.
struct Holder {
  std::string pod;
  std::string container;
  ContainerKind kind;
  std::vector<std::string> devices;
};

/// Pods in the order of their first holders.
Ledger WithDevices(const allocator::Node& node, const std::vector<Holder>& holders) {
  Ledger out = node.EmptyLedger();
  for (const Holder& holder : holders) {
    PodRecord& pod = out.pods[holder.pod];
    if (pod.placements.empty()) pod.sequence = out.next_sequence++;
    pod.uid = pod.name = holder.pod;
    pod.namespace_ = "default";
    pod.placements.push_back({.container = holder.container,
                              .kind = holder.kind,
                              .devices = {{.resource = "vendor.example/gpu", .ids = holder.devices}}});
  }
  return out;
}

std::vector<std::string> DevicesOf(const Ledger& ledger, const std::string& pod, const std::string& container) {
  const auto record = ledger.pods.find(pod);
  const Placement* const found = record == ledger.pods.end() ? nullptr : FindPlacement(record->second, container);
  return found == nullptr || found->devices.empty() ? std::vector<std::string>() : found->devices.front().ids;
}

TEST(AdoptTest, TheFirstAdmittedKeepsADeviceThatTwoPodsHold) {
  const allocator::Node node = MakeNode("core:4 pu:1", "static", "0");
  const Ledger saved = WithDevices(node, {{"a", "app", ContainerKind::kApp, {"d0", "d1"}},
                                          {"b", "app", ContainerKind::kApp, {"d1", "d2"}},
                                          {"c", "app", ContainerKind::kApp, {"d3"}}});
  const Adoption out = Adopt(node, saved);
  EXPECT_THAT(DevicesOf(out.ledger, "a", "app"), ElementsAre("d0", "d1"));
  EXPECT_THAT(DevicesOf(out.ledger, "b", "app"), ElementsAre("d2"));
  EXPECT_THAT(DevicesOf(out.ledger, "c", "app"), ElementsAre("d3"));
  EXPECT_THAT(Contradictions(out.ledger), IsEmpty());
  ASSERT_EQ(out.notes.size(), 2U);
  EXPECT_EQ(out.notes.back().pod, "default/b");
  EXPECT_THAT(out.notes.back().text, HasSubstr("loses vendor.example/gpu d1: another pod holds it"));
}

TEST(AdoptTest, AfterARebootAPodThatLostADeviceToAnotherIsPlacedAnewAndLeavesItsOthers) {
  const allocator::Node node = MakeNode("core:4 pu:1", "static", "0");
  const Ledger saved = WithDevices(node, {{"a", "app", ContainerKind::kApp, {"d0", "d1"}},
                                          {"b", "app", ContainerKind::kApp, {"d1", "d2"}},
                                          {"c", "app", ContainerKind::kApp, {"d2"}}});
  const Adoption out = Adopt(node, saved, Since::kReboot);
  EXPECT_THAT(DevicesOf(out.ledger, "a", "app"), ElementsAre("d0", "d1"));
  EXPECT_FALSE(out.ledger.pods.contains("b"));
  EXPECT_THAT(DevicesOf(out.ledger, "c", "app"), ElementsAre("d2"));
}

TEST(AdoptTest, AContainerAfterAnInitContainerKeepsItsDeviceAndOneBesideASidecarDoesNot) {
  const allocator::Node node = MakeNode("core:4 pu:1", "static", "0");
  const Ledger reused = WithDevices(node, {{"a", "init", ContainerKind::kInit, {"d0"}},
                                           {"a", "side", ContainerKind::kSidecar, {"d1"}},
                                           {"a", "app", ContainerKind::kApp, {"d0"}}});
  EXPECT_EQ(Adopt(node, reused).ledger, reused);
  const Adoption out = Adopt(node, WithDevices(node, {{"a", "side", ContainerKind::kSidecar, {"d1"}},
                                                      {"a", "app", ContainerKind::kApp, {"d0", "d1"}}}));
  EXPECT_THAT(DevicesOf(out.ledger, "a", "side"), ElementsAre("d1"));
  EXPECT_THAT(DevicesOf(out.ledger, "a", "app"), ElementsAre("d0"));
  EXPECT_THAT(Contradictions(out.ledger), IsEmpty());
  EXPECT_THAT(out.notes.back().text, HasSubstr("another container of the pod holds it"));
}

allocator::Node MakeMemoryNode(const char* machine_text) {
  auto machine = machine::ParseSynthetic(machine_text);
  EXPECT_TRUE(machine) << machine.error().message;
  KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  config.memory_manager_policy = "Static";
  config.eviction_hard.emplace();
  config.system_reserved["memory"] = *Quantity::Parse("100Mi");
  config.reserved_memory = {{NumaId{0}, {{"memory", *Quantity::Parse("100Mi")}}}};
  auto node = allocator::Node::Make(*machine, config);
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

/// Books `size` of ordinary memory on node 0 for each of `count` pods.
Ledger Booking(const allocator::Node& node, int count, Bytes size) {
  Ledger out = node.EmptyLedger();
  for (int i = 0; i < count; ++i) {
    PodRecord pod;
    pod.sequence = out.next_sequence++;
    pod.uid = "uid" + std::to_string(pod.sequence);
    pod.namespace_ = "default";
    pod.name = "pod" + std::to_string(pod.sequence);
    pod.placements.push_back({.container = "app"});
    pod.placements.back().memory.emplace().push_back({.nodes = {NumaId{0}}, .type = "memory", .size = size});
    out.pods.emplace(pod.uid, pod);
    MemoryNodeState& state = out.memory.find(NumaId{0})->second;
    ++state.assignments;
    MemoryTable& table = state.types.find("memory")->second;
    table.reserved += size;
    table.free -= size;
  }
  return out;
}

TEST(AdoptTest, BookingsStayWhenTheMachineHasALittleLessMemory) {
  const allocator::Node before = MakeMemoryNode("numa:1(memory=4GiB) core:4 pu:1");
  const allocator::Node after = MakeMemoryNode("numa:1(memory=4190000KiB) core:4 pu:1");
  const Adoption out = Adopt(after, Booking(before, 2, GiB(1)));
  const Ledger empty = after.EmptyLedger();
  const MemoryTable& fresh = empty.memory.find(NumaId{0})->second.types.find("memory")->second;
  const MemoryNodeState& state = out.ledger.memory.find(NumaId{0})->second;
  const MemoryTable& table = state.types.find("memory")->second;
  EXPECT_EQ(state.assignments, 2);
  EXPECT_EQ(table.total, fresh.total);
  EXPECT_EQ(table.reserved, GiB(2));
  EXPECT_EQ(table.free, fresh.allocatable - GiB(2));
  for (const auto& [uid, pod] : out.ledger.pods) EXPECT_TRUE(pod.placements.front().memory) << uid;
  EXPECT_FALSE(out.notes.empty());
}

TEST(AdoptTest, BookingsWithoutRoomAreDroppedFromTheLastAdmittedAndNamed) {
  const allocator::Node before = MakeMemoryNode("numa:1(memory=4GiB) core:4 pu:1");
  const allocator::Node after = MakeMemoryNode("numa:1(memory=2500MiB) core:4 pu:1");
  const Adoption out = Adopt(after, Booking(before, 3, GiB(1)));
  const MemoryNodeState& state = out.ledger.memory.find(NumaId{0})->second;
  EXPECT_EQ(state.assignments, 2);
  EXPECT_EQ(state.types.find("memory")->second.reserved, GiB(2));
  EXPECT_TRUE(out.ledger.pods.find("uid2")->second.placements.front().memory);
  EXPECT_FALSE(out.ledger.pods.find("uid3")->second.placements.front().memory);
  ASSERT_EQ(out.notes.size(), 1U);
  EXPECT_EQ(out.notes.front().pod, "default/pod3") << out.notes.front().text;
}

TEST(AdoptTest, WithoutStaticPolicyExclusiveCpusStayOutOfThePool) {
  const allocator::Node before = MakeNode("core:4 pu:1", "static", "0");
  const allocator::Node after = MakeNode("core:4 pu:1", "none", "");
  const Adoption out = Adopt(after, Holding(before, {CpuSet::Range(2, 3)}));
  EXPECT_EQ(FormatIds(ExclusiveCpus(out.ledger)), "2-3");
  EXPECT_EQ(FormatIds(ledger::SharedCpus(after, out.ledger)), "0-1");
  EXPECT_EQ(FormatIds(ledger::SharedCpus(after, after.EmptyLedger())), "0-3");
}

}  // namespace
}  // namespace berth::ledger
