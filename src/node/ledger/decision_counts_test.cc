#include "node/ledger/decision_counts.h"

#include <gtest/gtest.h>

#include "allocator/testing/builders.h"

namespace berth::ledger {
namespace {

using namespace std::chrono_literals;

/// Decides pods one after another, on a node of two NUMA nodes with two cores of two CPUs each; CPU 0 is reserved.
struct DecisionCountsTest : ::testing::Test {
  void Use(KubeletConfiguration config) {
    const allocator::testing::Shape shape{.nodes_per_socket = 2, .cores_per_node = 2, .threads = 2, .adjacent = true};
    auto made = allocator::Node::Make(allocator::testing::MakeMachine(shape), std::move(config));
    ASSERT_TRUE(made) << made.error().message;
    node.emplace(*std::move(made));
    ledger = node->EmptyLedger();
  }
  /// "" when it was admitted, else why not.
  std::string Decide(const std::string& name, std::vector<const char*> cpus) {
    Pod pod;
    pod.name = pod.uid = name;
    for (const char* amount : cpus) {
      Container& container = pod.containers.emplace_back();
      container.name = "c" + std::to_string(pod.containers.size());
      container.resources.requests.emplace("cpu", *Quantity::Parse(amount));
      container.resources.requests.emplace("memory", *Quantity::Parse("1Mi"));
      container.resources.limits = container.resources.requests;
    }
    const Decision decision = allocator::Decide(*node, ledger, pod, {}, nullptr);
    counts.Count(*node, pod, decision, 30us);
    if (const auto* reject = std::get_if<Reject>(&decision)) return reject->reason;
    Apply(ledger, std::get<Admit>(decision).delta);
    return "";
  }
  TriedCount Aligned(const char* scope, const char* boundary) {
    return counts.figures().alignments.at({scope, boundary});
  }

  std::optional<allocator::Node> node;
  Ledger ledger;
  DecisionCounts counts;
};

TEST_F(DecisionCountsTest, EachExclusiveContainerIsAPinning) {
  Use(allocator::testing::StaticConfig("0"));
  EXPECT_EQ(Decide("a", {"1", "500m", "2"}), "");
  EXPECT_EQ(counts.figures().cpu_pinnings, (TriedCount{.tried = 2, .failed = 0}));
  EXPECT_EQ(Decide("b", {"1", "100"}), "UnexpectedAdmissionError");
  EXPECT_EQ(counts.figures().cpu_pinnings, (TriedCount{.tried = 4, .failed = 1})) << "the first of b had its CPU";
  EXPECT_EQ(counts.figures().admissions, (TriedCount{.tried = 2, .failed = 0})) << "nothing was to be aligned";
  EXPECT_EQ(counts.figures().memory_pinnings, TriedCount());
}

TEST_F(DecisionCountsTest, TimesAreCountedInBothUnits) {
  Use(allocator::testing::StaticConfig("0"));
  Decide("a", {"1"});
  EXPECT_DOUBLE_EQ(counts.figures().time_us.sum(), 30);
  EXPECT_DOUBLE_EQ(counts.figures().time_ms.sum(), 0.03);
  EXPECT_EQ(counts.figures().time_ms.bounds().front(), 0.05);
  EXPECT_EQ(counts.figures().time_ms.bounds().size(), 15U);
}

TEST_F(DecisionCountsTest, OfADecisionThatIsMadeAgainOnlyBerthsOwnTimeIsCounted) {
  Use(allocator::testing::StaticConfig("0"));
  EXPECT_EQ(Decide("b", {"100"}), "UnexpectedAdmissionError");
  const DecisionFigures before = counts.figures();
  counts.CountAgain(10us);
  EXPECT_EQ(counts.figures().admissions, before.admissions);
  EXPECT_EQ(counts.figures().cpu_pinnings, before.cpu_pinnings);
  EXPECT_DOUBLE_EQ(counts.figures().time_us.sum(), 40);
  EXPECT_DOUBLE_EQ(counts.figures().time_ms.sum(), 0.03);
}

TEST_F(DecisionCountsTest, AlignmentIsCountedWhereItIsGuaranteed) {
  KubeletConfiguration config = allocator::testing::StaticConfig("0");
  config.topology_manager_policy = "single-numa-node";
  Use(config);
  EXPECT_EQ(Decide("a", {"1", "1"}), "");
  EXPECT_EQ(Decide("b", {"6"}), "TopologyAffinityError");
  EXPECT_EQ(Aligned("container", "numa_node"), (TriedCount{.tried = 2, .failed = 1}));
  EXPECT_EQ(counts.figures().admissions, (TriedCount{.tried = 2, .failed = 1}));
  EXPECT_EQ(counts.figures().cpu_pinnings, (TriedCount{.tried = 2, .failed = 0})) << "b's were not even tried";
  config.topology_manager_scope = "pod";
  Use(config);
  EXPECT_EQ(Decide("c", {"1", "1"}), "");
  EXPECT_EQ(Decide("d", {"3", "3"}), "TopologyAffinityError");
  EXPECT_EQ(Aligned("pod", "numa_node"), (TriedCount{.tried = 1, .failed = 1}));
  EXPECT_EQ(Aligned("container", "numa_node"), (TriedCount{.tried = 2, .failed = 1})) << "as before";
  config.topology_manager_policy = "restricted";
  Use(config);
  EXPECT_EQ(Decide("e", {"1"}), "");
  EXPECT_EQ(Aligned("pod", "numa_node"), (TriedCount{.tried = 1, .failed = 1})) << "restricted guarantees nothing";
}

TEST_F(DecisionCountsTest, WholeCoresArePhysicalCpus) {
  KubeletConfiguration config = allocator::testing::StaticConfig("0");
  config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  Use(config);
  EXPECT_EQ(Decide("a", {"2"}), "");
  EXPECT_EQ(Decide("b", {"1"}), "SMTAlignmentError");
  EXPECT_EQ(Aligned("container", "physical_cpu"), (TriedCount{.tried = 1, .failed = 1}));
  EXPECT_EQ(counts.figures().cpu_pinnings, (TriedCount{.tried = 2, .failed = 1}));
}

TEST_F(DecisionCountsTest, RejectionsHaveTheKubeletsReasons) {
  for (const char* reason :
       {"OutOfcpu", "OutOfvendor.com/gpu", "TopologyAffinityError", "SMTAlignmentError", "SetAside"})
    counts.CountRejection(reason);
  const std::map<std::string, std::uint64_t> wanted = {
      {"OutOfcpu", 1}, {"OutOfExtendedResources", 1}, {"TopologyAffinityError", 1}, {"Other", 2}};
  EXPECT_EQ(counts.figures().rejections, wanted);
}

}  // namespace
}  // namespace berth::ledger
