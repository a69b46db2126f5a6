#include "node/ledger/placement_batch.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "allocator/testing/builders.h"
#include "node/checkpoint/store.h"
#include "testing/fault_fs.h"
#include "testing/fixtures.h"
#include "testing/memory_fs.h"
#include "testing/queued_executor.h"

namespace berth::ledger {
namespace {

allocator::Node EightCpus() {
  const allocator::testing::Shape shape{.cores_per_node = 8, .threads = 1};
  auto node = allocator::Node::Make(allocator::testing::MakeMachine(shape), allocator::testing::StaticConfig("0"));
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

/// Of a pod with one container, which has so many CPUs of its own; 0: none.
PlacementRequest Asking(const std::string& name, std::string_view cpus) {
  PlacementRequest out{.container = "app", .kubelets = QosClass::kGuaranteed};
  out.pod.name = out.pod.uid = name;
  Container& container = out.pod.containers.emplace_back();
  container.name = "app";
  if (cpus == "0") return out;
  container.resources.requests.emplace("cpu", *Quantity::Parse(cpus));
  container.resources.requests.emplace("memory", *Quantity::Parse("1Mi"));
  container.resources.limits = container.resources.requests;
  return out;
}

struct PlacementBatchTest : ::testing::Test {
  PlacementBatchTest() { allocations.Open(allocations.node().EmptyLedger(), false); }

  void Commit(Proposal proposal) {
    EXPECT_TRUE(allocations.Commit(std::move(proposal), [](const Result<void>&) {}));
    executor.RunAll();
  }
  void Place(const PlacementRequest& request) {
    auto proposed = allocations.Propose(request, nullptr);
    ASSERT_TRUE(std::holds_alternative<Proposal>(proposed)) << std::get<Reject>(proposed).message;
    Commit(std::get<Proposal>(std::move(proposed)));
  }
  /// CPUs of its own on these books; "": none.
  static std::string CpusOf(const Ledger& ledger, const std::string& uid) {
    const auto record = ledger.pods.find(uid);
    return record == ledger.pods.end() ? "not there" : FormatIds(ExclusiveCpus(record->second));
  }

  testkit::ManualClock clock;
  testkit::MemoryFs disk;
  std::unique_ptr<checkpoint::Store> store = checkpoint::Store::Make(testkit::Share(disk));
  testkit::QueuedExecutor executor;
  events::EventLog events{clock, nullptr, 100};
  NodeAllocations allocations{{.store = *store, .executor = executor, .events = events, .clock = clock},
                              EightCpus(),
                              {.node_name = "n1", .boot_id = "b", .machine_fingerprint = "m"}};
};

TEST_F(PlacementBatchTest, EachDecisionIsMadeOnTheOnesBefore) {
  Place(Asking("before", "2"));
  PlacementBatch batch(allocations);
  EXPECT_TRUE(std::holds_alternative<Admit>(batch.Decide(Asking("a", "2"), nullptr)));
  EXPECT_TRUE(std::holds_alternative<Admit>(batch.Decide(Asking("b", "3"), nullptr)));
  EXPECT_TRUE(std::holds_alternative<Reject>(batch.Decide(Asking("c", "1"), nullptr))) << "the last one is shared";
  EXPECT_EQ("not there", CpusOf(allocations.newest(), "a")) << "nothing is taken before it is committed";
  batch.Release("before");
  batch.Release("nobody");
  EXPECT_TRUE(std::holds_alternative<Admit>(batch.Decide(Asking("c", "1"), nullptr)));
  ASSERT_TRUE(batch.current());
  auto proposal = std::move(batch).Propose("node/n1");
  ASSERT_TRUE(proposal);
  Commit(*std::move(proposal));
  EXPECT_EQ("3-4", CpusOf(allocations.ledger(), "a"));
  EXPECT_EQ("5-7", CpusOf(allocations.ledger(), "b"));
  EXPECT_EQ("1", CpusOf(allocations.ledger(), "c"));
  EXPECT_EQ("not there", CpusOf(allocations.ledger(), "before"));
}

TEST_F(PlacementBatchTest, WhereNothingDiffersNothingIsProposed) {
  Place(Asking("a", "2"));
  PlacementBatch batch(allocations);
  EXPECT_TRUE(std::holds_alternative<Admit>(batch.Decide(Asking("a", "2"), nullptr))) << "it keeps its place";
  EXPECT_FALSE(std::move(batch).Propose("node/n1"));
}

TEST_F(PlacementBatchTest, WhoComesMeanwhileWithoutAnythingOfItsOwnDoesNotEndIt) {
  PlacementBatch batch(allocations);
  EXPECT_TRUE(std::holds_alternative<Admit>(batch.Decide(Asking("a", "2"), nullptr)));
  const PlacementRequest shared = Asking("shared", "0");
  Place(shared);
  EXPECT_FALSE(batch.current());
  batch.Follow(shared);
  ASSERT_TRUE(batch.current());
  auto proposal = std::move(batch).Propose("node/n1");
  ASSERT_TRUE(proposal);
  Commit(*std::move(proposal));
  EXPECT_EQ("1-2", CpusOf(allocations.ledger(), "a"));
  EXPECT_EQ("", CpusOf(allocations.ledger(), "shared"));
}

TEST_F(PlacementBatchTest, CpusThatAreGivenMeanwhileEndIt) {
  PlacementBatch batch(allocations);
  const PlacementRequest own = Asking("own", "2");
  Place(own);
  batch.Follow(own);
  EXPECT_FALSE(batch.current());
}

TEST_F(PlacementBatchTest, MoreThanOneChangeMeanwhileEndsIt) {
  PlacementBatch batch(allocations);
  const PlacementRequest shared = Asking("shared", "0");
  Place(Asking("own", "2"));
  Place(shared);
  batch.Follow(shared);
  EXPECT_FALSE(batch.current());
}

TEST_F(PlacementBatchTest, DevicesOfAKubeletAreNotInTheRecord) {
  PlacementRequest request = Asking("db", "2");
  request.inputs.devices["example.com/gpu"] = {{.id = "g0", .nodes = NodeSet{NumaId{0}}}};
  request.pod.containers.front().resources.limits.emplace("example.com/gpu", *Quantity::Parse("1"));
  request.kubelets = QosClass::kBurstable;
  const Decision decided = Decide(allocations.node(), allocations.newest(), request, nullptr);
  ASSERT_TRUE(std::holds_alternative<Admit>(decided)) << std::get<Reject>(decided).message;
  const PodRecord& record = *std::get<Admit>(decided).delta.put;
  EXPECT_EQ(QosClass::kBurstable, record.qos);
  EXPECT_TRUE(record.placements.front().devices.empty());
  EXPECT_EQ("1-2", FormatIds(ExclusiveCpus(record)));
}

}  // namespace
}  // namespace berth::ledger
