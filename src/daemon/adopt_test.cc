#include "daemon/adopt.h"

#include <gtest/gtest.h>

#include "machine/load.h"

namespace berth::daemon {
namespace {

engine::Node MakeNode(const char* machine_text, const char* policy, const char* reserved) {
  auto machine = machine::ParseSynthetic(machine_text);
  EXPECT_TRUE(machine);
  KubeletConfiguration config;
  config.cpu_manager_policy = policy;
  config.reserved_system_cpus = reserved;
  auto node = engine::Node::Make(*machine, config);
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

/// A ledger of static policy where each given set belongs to a pod of its own, in this order of admission.
Ledger Holding(const engine::Node& node, const std::vector<CpuSet>& sets) {
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
  const engine::Node node = MakeNode("core:8 pu:1", "static", "0");
  const Ledger saved = Holding(node, {CpuSet::Range(2, 3), CpuSet::Range(4, 4)});
  const Adoption out = Adopt(node, saved);
  EXPECT_EQ(out.ledger, saved);
  EXPECT_TRUE(out.notes.empty());
}

TEST(AdoptTest, OtherReservedCpusMoveNobody) {
  const engine::Node before = MakeNode("core:8 pu:1", "static", "0");
  const engine::Node after = MakeNode("core:8 pu:1", "static", "2");
  const Adoption out = Adopt(after, Holding(before, {CpuSet::Range(2, 3)}));
  EXPECT_EQ(FormatIds(ExclusiveCpus(out.ledger)), "2-3");
  EXPECT_EQ(FormatIds(out.ledger.shared), "0-1,4-7");
  EXPECT_FALSE(out.notes.empty());
}

TEST(AdoptTest, CpusThatAreGoneAreNamedAndTheirContainerSharesThePool) {
  const engine::Node before = MakeNode("core:8 pu:1", "static", "0");
  const engine::Node after = MakeNode("core:4 pu:1", "static", "0");
  const Adoption out = Adopt(after, Holding(before, {CpuSet::Range(2, 2), CpuSet::Range(6, 7)}));
  EXPECT_EQ(FormatIds(ExclusiveCpus(out.ledger)), "2");
  EXPECT_EQ(FormatIds(out.ledger.shared), "0-1,3");
  ASSERT_FALSE(out.notes.empty());
  EXPECT_NE(out.notes.front().find("6-7"), std::string::npos);
  EXPECT_EQ(out.ledger.pods.size(), 2U);
}

TEST(AdoptTest, TheFirstAdmittedKeepsCpusThatTwoPodsClaim) {
  const engine::Node node = MakeNode("core:4 pu:1", "static", "0");
  const Adoption out = Adopt(node, Holding(node, {CpuSet::Range(1, 2), CpuSet::Range(2, 3)}));
  EXPECT_EQ(FormatIds(ExclusiveCpus(out.ledger)), "1-2");
  EXPECT_EQ(FormatIds(out.ledger.shared), "0,3");
}

TEST(AdoptTest, TheSharedPoolNeverBecomesEmpty) {
  const engine::Node before = MakeNode("core:8 pu:1", "static", "0");
  const engine::Node after = MakeNode("core:4 pu:1", "static", "0");
  const Adoption out = Adopt(after, Holding(before, {CpuSet::Range(0, 1), CpuSet::Range(2, 3)}));
  EXPECT_EQ(FormatIds(ExclusiveCpus(out.ledger)), "0-1");
  EXPECT_EQ(FormatIds(out.ledger.shared), "2-3");
}

TEST(AdoptTest, WithoutStaticPolicyExclusiveCpusStayOutOfThePool) {
  const engine::Node before = MakeNode("core:4 pu:1", "static", "0");
  const engine::Node after = MakeNode("core:4 pu:1", "none", "");
  const Adoption out = Adopt(after, Holding(before, {CpuSet::Range(2, 3)}));
  EXPECT_EQ(FormatIds(ExclusiveCpus(out.ledger)), "2-3");
  EXPECT_EQ(FormatIds(SharedCpus(after, out.ledger)), "0-1");
  EXPECT_EQ(FormatIds(SharedCpus(after, after.EmptyLedger())), "0-3");
}

}  // namespace
}  // namespace berth::daemon
