#include "node/checkpoint/ledger_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "model/promises.h"
#include "testing/fixtures.h"

namespace berth::checkpoint {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testkit::Cpus;

RunningGroup Group(QosClass qos, const std::string& uid, const std::string& name, std::string_view cpus) {
  const std::string tier = qos == QosClass::kGuaranteed  ? "kubepods"
                           : qos == QosClass::kBurstable ? "kubepods/burstable"
                                                         : "kubepods/besteffort";
  return {.path = tier + "/pod" + uid + "/" + name,
          .uid = uid,
          .name = name,
          .qos = qos,
          .cpus = Cpus(cpus),
          .mems = {},
          .busy = true};
}

const Placement& Of(const Ledger& ledger, const std::string& uid, std::string_view container) {
  return *FindPlacement(ledger.pods.find(uid)->second, container);
}

TEST(ImportKubeletTest, TakesTheFileOfARealNode) {
  auto cpu = ParseKubeletCpuState(
      R"({"policyName":"static","defaultCpuSet":"0-3,44-51,92-95","entries":{"d47c51cb-c5a2-4910-a92b-60a399dcc581":{"nginx":"24-43,72-91","test":"4-23,52-71"}},"checksum":2366120229})");
  ASSERT_TRUE(cpu) << cpu.error().message;
  const LedgerImport out = ImportKubelet({.cpu = *cpu, .memory = {}, .devices = {}}, nullptr);
  EXPECT_THAT(Contradictions(out.ledger), IsEmpty());
  EXPECT_EQ(out.ledger.shared, Cpus("0-3,44-51,92-95"));
  EXPECT_EQ(Of(out.ledger, "d47c51cb-c5a2-4910-a92b-60a399dcc581", "nginx").cpus, Cpus("24-43,72-91"));
  EXPECT_TRUE(out.ledger.pods.begin()->second.partial);
  EXPECT_EQ(FormatKubeletState(ExportCpuState(out.ledger, KubeletVersion::k1_36)), FormatKubeletState(*cpu))
      << "and gives it back";
}

TEST(ImportKubeletTest, JoinsCpusMemoryAndDevicesOfAContainer) {
  KubeletFiles files;
  files.cpu =
      KubeletCpuState{.policy = "static", .default_cpus = Cpus("0-1"), .entries = {{"u", {{"app", Cpus("2-3")}}}}};
  files.memory = KubeletMemoryState{.policy = "Static"};
  files.memory->nodes[NumaId{0}] = {
      .assignments = 1,
      .cells = {NumaId{0}},
      .types = {{"memory", {.total = GiB(4), .allocatable = GiB(4), .reserved = GiB(1), .free = GiB(3)}}}};
  files.memory->entries["u"]["app"] = {{.nodes = {NumaId{0}}, .type = "memory", .size = GiB(1)}};
  files.devices.emplace();
  files.devices->entries.emplace().push_back({"u", "app", "v/gpu", {{{"0", {{"b"}}}, {"1", {{"a"}}}}}, {}});
  const LedgerImport out = ImportKubelet(files, nullptr);
  EXPECT_THAT(Contradictions(out.ledger), IsEmpty());
  const Placement& app = Of(out.ledger, "u", "app");
  EXPECT_EQ(app.cpus, Cpus("2-3"));
  ASSERT_TRUE(app.memory);
  EXPECT_EQ(app.devices, (std::vector<DeviceAssignment>{{"v/gpu", {"a", "b"}}}));
  EXPECT_EQ(out.ledger.pods.begin()->second.qos, QosClass::kGuaranteed);
  EXPECT_EQ(out.ledger.revision, 1U);
}

Ledger DevicesOnly(const KubeletDeviceState& file, std::vector<std::string>* notes = nullptr) {
  LedgerImport out = ImportKubelet({.cpu = {}, .memory = {}, .devices = file}, nullptr);
  if (notes != nullptr) *notes = out.notes;
  return out.ledger;
}

TEST(ImportKubeletTest, WhatPluginsAnsweredAndWhereDevicesAreStaysWithThem) {
  const auto file = ParseKubeletDeviceState(
      R"({"Data":{"PodDeviceEntries":[{"PodUID":"11111111-2222-3333-4444-555555555555","ContainerName":"app","ResourceName":"vendor.com/gpu","DeviceIDs":{"0":["dev-0"]},"AllocResp":"CgwKB1ZJU0lCTEUSATAaHQoKL2Rldi9mYWtlMBIKL2Rldi9mYWtlMBoDbXJ3"}],"RegisteredDevices":{"vendor.com/gpu":["dev-0","dev-1"]}},"Checksum":2804549884})");
  ASSERT_TRUE(file);
  const Ledger ledger = DevicesOnly(*file);
  const DeviceAssignment& given = Of(ledger, "11111111-2222-3333-4444-555555555555", "app").devices.front();
  ASSERT_TRUE(given.answer);
  EXPECT_EQ(given.answer->nodes, (std::map<std::string, NodeSet>{{"dev-0", NodeSet{NumaId{0}}}}));
  EXPECT_EQ(given.answer->env.at("VISIBLE"), "0");
  EXPECT_EQ(given.answer->device_nodes.front().permissions, "mrw");
  const DeviceInventory inventory{{"vendor.com/gpu", {{.id = "dev-0"}, {.id = "dev-1"}, {"dev-2", {}, false}}}};
  EXPECT_EQ(FormatKubeletState(ExportDeviceState(ledger, inventory)), FormatKubeletState(*file)) << "and gives it back";
}

TEST(ImportKubeletTest, ADeviceOnWhatIsNoNodeIsOnNoNode) {
  KubeletDeviceState file;
  file.entries.emplace().push_back(
      {"u", "app", "v/gpu", {{{"-1", {{"a"}}}, {"1", {{"b"}}}, {"8192", {{"c"}}}}}, "CgwKB1ZJU0lCTEUSATA="});
  const Ledger ledger = DevicesOnly(file);
  const DeviceAssignment& given = Of(ledger, "u", "app").devices.front();
  ASSERT_TRUE(given.answer);
  EXPECT_EQ(given.answer->nodes, (std::map<std::string, NodeSet>{{"a", {}}, {"b", NodeSet{NumaId{1}}}, {"c", {}}}));
}

TEST(ImportKubeletTest, AnAnswerThatIsNoneIsNotedAndItsDevicesStayTaken) {
  KubeletDeviceState file;
  file.entries.emplace().push_back({"u", "app", "v/gpu", {{{"0", {{"a"}}}}}, "//8="});
  std::vector<std::string> notes;
  const Ledger ledger = DevicesOnly(file, &notes);
  EXPECT_EQ(Of(ledger, "u", "app").devices, (std::vector<DeviceAssignment>{{"v/gpu", {"a"}, std::nullopt}}));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes.front().find("plugin of v/gpu"), std::string::npos) << notes.front();
}

TEST(ImportKubeletTest, LedgersWithDevicesComeBackFromTheKubeletsFile) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int round = 0; round < 500; ++round) {
    Ledger ledger;
    for (std::uint64_t pods = below(4); pods > 0; --pods) {
      PodRecord& record = ledger.pods["uid-" + std::to_string(pods)];
      for (std::uint64_t c = below(3); c > 0; --c) {
        Placement& placement = record.placements.emplace_back();
        placement.container = "c" + std::to_string(c);
        for (std::uint64_t r = 1 + below(2); r > 0; --r) {
          DeviceAssignment& given = placement.devices.emplace_back();
          given.resource = "v.example/r" + std::to_string(9 - r);
          for (std::uint64_t d = 1 + below(3); d > 0; --d) given.ids.push_back("d" + std::to_string(9 - d));
          if (below(4) == 0) continue;
          DeviceAnswer& answer = given.answer.emplace();
          for (const std::string& id : given.ids) {
            NodeSet& nodes = answer.nodes[id];
            for (std::uint64_t n = below(3); n > 0; --n) nodes.Insert(NumaId{static_cast<std::uint32_t>(below(20))});
          }
          if (below(2) == 0) answer.env["V" + std::to_string(below(9))] = "<&>";
          if (below(2) == 0) answer.device_nodes.push_back({"/dev/x", "/dev/y", "rw"});
          if (below(2) == 0) answer.mounts.push_back({"/x", "/y", below(2) == 0});
          if (below(2) == 0) answer.cdi_devices.emplace_back("v.example/r=d");
        }
      }
    }
    const auto file = ParseKubeletDeviceState(FormatKubeletState(ExportDeviceState(ledger)));
    ASSERT_TRUE(file) << file.error().message;
    const Ledger again = DevicesOnly(*file);
    for (const auto& [uid, record] : ledger.pods)
      for (const Placement& placement : record.placements)
        ASSERT_EQ(Of(again, uid, placement.container).devices, placement.devices) << "round " << round;
  }
}

TEST(ImportKubeletTest, TheOldestFormatIsReadWithTheHelpOfWhatRuns) {
  KubeletFiles files;
  files.cpu = KubeletCpuState{.version = KubeletCpuVersion::kV1,
                              .policy = "static",
                              .default_cpus = Cpus("0-1"),
                              .by_container_id = {{"cid-a", Cpus("2-3")}, {"cid-gone", Cpus("4-5")}}};
  const std::vector<RunningGroup> running = {Group(QosClass::kGuaranteed, "u", "cid-a", "2-3")};
  const LedgerImport out = ImportKubelet(files, &running);
  EXPECT_THAT(Contradictions(out.ledger), IsEmpty());
  EXPECT_EQ(Of(out.ledger, "u", "cid-a").cpus, Cpus("2-3"));
  EXPECT_EQ(out.ledger.shared, Cpus("0-1,4-5"));
  EXPECT_THAT(out.notes, testing::ElementsAre(HasSubstr("cid-gone")));
  const std::vector<RunningGroup> nothing;
  EXPECT_TRUE(ImportKubelet(files, &nothing).ledger.pods.empty());

  const LedgerImport unseen = ImportKubelet(files, nullptr);
  EXPECT_THAT(Contradictions(unseen.ledger), IsEmpty());
  EXPECT_EQ(Of(unseen.ledger, "cid-a", "cid-a").cpus, Cpus("2-3"));
  EXPECT_EQ(Of(unseen.ledger, "cid-gone", "cid-gone").cpus, Cpus("4-5"));
  EXPECT_EQ(unseen.ledger.shared, Cpus("0-1"));
}

TEST(ImportKubeletTest, CpusOfAPodAsAWholeStayItsOwn) {
  KubeletFiles files;
  files.cpu = KubeletCpuState{.version = KubeletCpuVersion::kV3,
                              .policy = "static",
                              .default_cpus = Cpus("0-1"),
                              .entries = {{"u", {{"app", Cpus("2")}}}},
                              .pods = {{"u", Cpus("2-4")}}};
  const LedgerImport out = ImportKubelet(files, nullptr);
  EXPECT_THAT(Contradictions(out.ledger), IsEmpty());
  EXPECT_EQ(ExclusiveCpus(out.ledger), Cpus("2-4"));
  EXPECT_EQ(out.ledger.shared, Cpus("0-1"));
}

TEST(ImportKubeletTest, PodsThatShareThePoolComeFromWhatRuns) {
  KubeletFiles files;
  files.cpu = KubeletCpuState{.policy = "static", .default_cpus = Cpus("0-3")};
  RunningGroup empty = Group(QosClass::kBurstable, "old", "x", "0-3");
  empty.busy = false;
  const std::vector<RunningGroup> running = {Group(QosClass::kBurstable, "b", "id", "0-3"), empty};
  const LedgerImport out = ImportKubelet(files, &running);
  ASSERT_EQ(out.ledger.pods.size(), 1U);
  EXPECT_EQ(out.ledger.pods.find("b")->second.qos, QosClass::kBurstable);
  EXPECT_FALSE(Of(out.ledger, "b", "id").cpus);
}

Ledger EmptyNode() {
  Ledger out;
  out.cpu_policy = "static";
  out.memory_policy = "None";
  out.shared = Cpus("0-7");
  return out;
}

TEST(RebuildLedgerTest, WhoRunsAloneKeepsItsCpus) {
  const LedgerImport out = RebuildLedger(
      EmptyNode(), Cpus("0"), Cpus("0-1,6-7"),
      {Group(QosClass::kGuaranteed, "a", "app", "2-3"), Group(QosClass::kGuaranteed, "b", "app", "4-5"),
       Group(QosClass::kGuaranteed, "s", "app", "0-1,6-7"), Group(QosClass::kBurstable, "c", "app", "0-1,6-7")});
  EXPECT_THAT(Contradictions(out.ledger), IsEmpty());
  EXPECT_EQ(Of(out.ledger, "a", "app").cpus, Cpus("2-3"));
  EXPECT_EQ(Of(out.ledger, "b", "app").cpus, Cpus("4-5"));
  EXPECT_FALSE(Of(out.ledger, "s", "app").cpus);
  EXPECT_FALSE(Of(out.ledger, "c", "app").cpus);
  EXPECT_EQ(out.ledger.shared, Cpus("0-1,6-7"));
  EXPECT_EQ(out.ledger.pods.size(), 4U);
}

TEST(RebuildLedgerTest, WithoutBerthsOwnGroupTheReservedCpusTellThePool) {
  const std::vector<RunningGroup> running = {Group(QosClass::kGuaranteed, "a", "app", "2-3"),
                                             Group(QosClass::kGuaranteed, "s", "app", "0-1,4-7")};
  for (const CpuSet& own : {CpuSet(), Cpus("0-7")}) {
    const LedgerImport out = RebuildLedger(EmptyNode(), Cpus("0"), own, running);
    EXPECT_EQ(ExclusiveCpus(out.ledger), Cpus("2-3"));
  }
}

TEST(RebuildLedgerTest, CpusThatTwoPodsUseBelongToNobody) {
  const LedgerImport out =
      RebuildLedger(EmptyNode(), Cpus("0"), {},
                    {Group(QosClass::kGuaranteed, "a", "app", "2-3"), Group(QosClass::kBestEffort, "b", "app", "3-4")});
  EXPECT_TRUE(ExclusiveCpus(out.ledger).empty());
  EXPECT_EQ(out.ledger.shared, Cpus("0-7"));
}

TEST(RebuildLedgerTest, TheSharedPoolStaysNotEmpty) {
  const LedgerImport out =
      RebuildLedger(EmptyNode(), {}, {},
                    {Group(QosClass::kGuaranteed, "a", "app", "0-3"), Group(QosClass::kGuaranteed, "b", "app", "4-7")});
  EXPECT_FALSE(out.ledger.shared.empty());
  EXPECT_THAT(Contradictions(out.ledger), IsEmpty());
}

TEST(RebuildLedgerTest, UnderPolicyNoneNobodyHasCpusForItself) {
  Ledger empty;
  empty.cpu_policy = "none";
  empty.memory_policy = "None";
  const LedgerImport out = RebuildLedger(empty, {}, {}, {Group(QosClass::kGuaranteed, "a", "app", "2-3")});
  EXPECT_TRUE(ExclusiveCpus(out.ledger).empty());
  EXPECT_EQ(out.ledger.pods.size(), 1U);
}

TEST(PlacementOfTest, FindsAGroupByNameElseByItsCpus) {
  PodRecord record{.uid = "u"};
  record.placements = {{.container = "a", .cpus = Cpus("2-3")}, {.container = "b", .cpus = Cpus("4-5")}};
  EXPECT_EQ(PlacementOf(record, "a", Cpus("4"))->container, "a");
  EXPECT_EQ(PlacementOf(record, "some-id", Cpus("4-5"))->container, "b");
  EXPECT_EQ(PlacementOf(record, "some-id", Cpus("0-1")), nullptr);
  EXPECT_EQ(PlacementOf(record, "some-id", {}), nullptr);
}

}  // namespace
}  // namespace berth::checkpoint
