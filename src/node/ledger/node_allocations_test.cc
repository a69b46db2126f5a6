#include "node/ledger/node_allocations.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "allocator/testing/builders.h"
#include "testing/fixtures.h"
#include "testing/queued_executor.h"

namespace berth::ledger {
namespace {

/// A disk that may be full.
class FakeStore final : public checkpoint::Store {
 public:
  Result<std::optional<checkpoint::Saved>> Load(std::vector<std::string>*) override { return std::nullopt; }
  Result<void> Save(const checkpoint::Saved& value) override {
    if (full) return Fail(Code::kExhausted, "No space left on device");
    saved.push_back(value);
    return {};
  }
  std::vector<checkpoint::Saved> saved;
  bool full = false;
};

allocator::Node FourCpus() {
  const allocator::testing::Shape shape{.cores_per_node = 4, .threads = 1};
  auto node = allocator::Node::Make(allocator::testing::MakeMachine(shape), allocator::testing::StaticConfig("0"));
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

Pod Pinned(const std::string& name, std::string_view cpus) {
  Pod pod;
  pod.name = pod.uid = name;
  Container& container = pod.containers.emplace_back();
  container.name = "app";
  container.resources.requests.emplace("cpu", *Quantity::Parse(cpus));
  container.resources.requests.emplace("memory", *Quantity::Parse("1Mi"));
  container.resources.limits = container.resources.requests;
  return pod;
}

struct NodeAllocationsTest : ::testing::Test {
  NodeAllocationsTest() { allocations.Open(allocations.node().EmptyLedger(), false); }

  Proposal Propose(const Pod& pod) {
    auto proposed = allocations.Propose({.pod = pod}, nullptr);
    EXPECT_TRUE(std::holds_alternative<Proposal>(proposed)) << std::get<Reject>(proposed).message;
    return std::get<Proposal>(std::move(proposed));
  }
  /// How it ends goes to `ends`.
  bool Commit(Proposal proposal) {
    return allocations.Commit(std::move(proposal),
                              [this](const Result<void>& end) { ends.push_back(end.has_value()); });
  }
  CpuSet CpusOf(const std::string& uid) {
    const auto record = allocations.ledger().pods.find(uid);
    return record == allocations.ledger().pods.end() ? CpuSet() : ExclusiveCpus(record->second);
  }

  FakeStore store;
  testkit::QueuedExecutor executor;
  testkit::ManualClock clock;
  events::EventLog events{clock, nullptr, 100};
  NodeAllocations allocations{{.store = store, .executor = executor, .events = events, .clock = clock},
                              FourCpus(),
                              {.node_name = "n1", .boot_id = "boot", .machine_fingerprint = "m"}};
  std::vector<bool> ends;
};

TEST_F(NodeAllocationsTest, AProposalTakesNothing) {
  const Ledger before = allocations.ledger();
  const Proposal proposal = Propose(Pinned("a", "3"));
  EXPECT_EQ(proposal.object, "pod/default/a");
  EXPECT_EQ(allocations.newest(), before);
  EXPECT_EQ(executor.waiting(), 0U);
}

TEST_F(NodeAllocationsTest, WhatIsCommittedComesIntoForceWhenItIsSavedAndNotBefore) {
  int changes = 0;
  allocations.set_on_change([&] { ++changes; });
  const Ledger before = allocations.ledger();
  ASSERT_TRUE(Commit(Propose(Pinned("a", "2"))));
  EXPECT_EQ(allocations.ledger(), before);
  EXPECT_TRUE(allocations.saving());
  ASSERT_TRUE(executor.RunOne());
  EXPECT_EQ(changes, 1);
  EXPECT_EQ(ends, std::vector<bool>{true});
  EXPECT_EQ(FormatIds(CpusOf("a")), "1-2");
  EXPECT_EQ(FormatIds(allocations.ledger().shared), "0,3");
  EXPECT_EQ(store.saved.back().ledger, allocations.ledger());
  EXPECT_EQ(store.saved.back().boot_id, "boot");
  EXPECT_FALSE(allocations.saving());
}

TEST_F(NodeAllocationsTest, NothingIsGivenTwiceWhileItIsBeingSaved) {
  ASSERT_TRUE(Commit(Propose(Pinned("a", "2"))));
  ASSERT_TRUE(Commit(Propose(Pinned("b", "1"))));
  EXPECT_TRUE(std::holds_alternative<Reject>(allocations.Propose({.pod = Pinned("c", "1")}, nullptr)));
  executor.RunAll();
  EXPECT_FALSE(CpusOf("a").Intersects(CpusOf("b")));
  EXPECT_EQ(FormatIds(allocations.ledger().shared), "0");
}

TEST_F(NodeAllocationsTest, ProposalsThatWaitAreSavedTogether) {
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(Commit(Propose(Pinned(name, "1"))));
  executor.RunAll();
  EXPECT_EQ(store.saved.size(), 2U) << "the first, and those that came meanwhile";
  EXPECT_EQ(store.saved.front().ledger.pods.size(), 1U);
  EXPECT_EQ(store.saved.back().ledger, allocations.ledger());
  EXPECT_EQ(ends.size(), 3U);
}

TEST_F(NodeAllocationsTest, AProposalThatOthersOvertookIsNotTaken) {
  const Proposal late = Propose(Pinned("a", "2"));
  ASSERT_TRUE(Commit(Propose(Pinned("b", "2"))));
  EXPECT_FALSE(Commit(late)) << "it names the CPUs of the other one";
  executor.RunAll();
  EXPECT_EQ(ends, std::vector<bool>{true});
  EXPECT_FALSE(allocations.ledger().pods.contains("a"));
}

TEST_F(NodeAllocationsTest, WhenSavingFailsAllThatWasBuiltOnItFailsAndTheLedgerIsAsItWas) {
  const Ledger before = allocations.ledger();
  ASSERT_TRUE(Commit(Propose(Pinned("a", "1"))));
  ASSERT_TRUE(Commit(Propose(Pinned("b", "1"))));
  const Proposal late = Propose(Pinned("c", "1"));
  const std::uint64_t number = allocations.number();
  store.full = true;
  executor.RunAll();
  EXPECT_EQ(ends, (std::vector<bool>{false, false}));
  EXPECT_GT(allocations.number(), number) << "the next change has the revision of what was not saved";
  EXPECT_EQ(allocations.ledger(), before);
  EXPECT_EQ(allocations.newest(), before);
  EXPECT_NE(allocations.problem().find("No space left"), std::string::npos);
  EXPECT_EQ(events.events().back().reason, "LedgerNotSaved");
  store.full = false;
  EXPECT_FALSE(Commit(Propose(Pinned("a", "1")))) << "not before the time to try again";
  clock.Advance(std::chrono::ceil<os::Millis>(allocations.next_try() - clock.Now()));
  EXPECT_FALSE(Commit(late)) << "it was worked out on books that never came into force";
  ASSERT_TRUE(Commit(Propose(Pinned("a", "1"))));
  executor.RunAll();
  EXPECT_TRUE(allocations.problem().empty());
  EXPECT_EQ(events.events().back().reason, "LedgerSaved");
  EXPECT_EQ(FormatIds(CpusOf("a")), "1");
}

TEST_F(NodeAllocationsTest, TheDelayGrowsWhileTheDiskIsFull) {
  store.full = true;
  os::Millis last{0};
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(Commit(Propose(Pinned("a", "1"))));
    executor.RunAll();
    const auto wait = std::chrono::ceil<os::Millis>(allocations.next_try() - clock.Now());
    EXPECT_GE(wait, last);
    EXPECT_LE(wait, os::Millis(30'000));
    last = wait;
    clock.Advance(wait);
  }
  EXPECT_EQ(last, os::Millis(30'000));
}

TEST_F(NodeAllocationsTest, WhatAPodGivesBackMayBeGivenOnBeforeItIsSavedAndBothAreDurableTogether) {
  ASSERT_TRUE(Commit(Propose(Pinned("old", "3"))));
  executor.RunAll();
  store.saved.clear();
  ASSERT_TRUE(Commit(*allocations.ProposeRelease("old")));
  ASSERT_TRUE(Commit(Propose(Pinned("new", "3"))));
  EXPECT_FALSE(allocations.ProposeRelease("old").has_value());
  executor.RunAll();
  EXPECT_EQ(allocations.ledger().pods.size(), 1U);
  EXPECT_EQ(store.saved.back().ledger, allocations.ledger());
}

TEST_F(NodeAllocationsTest, ThePoolFollowsTheCpusThatAreOnline) {
  allocations.SetOnline(CpuSet::Range(0, 2));
  allocations.FollowOnline();
  EXPECT_EQ(FormatIds(allocations.ledger().shared), "0-3") << "not before it is saved";
  executor.RunAll();
  EXPECT_EQ(FormatIds(allocations.ledger().shared), "0-2");
  const std::uint64_t revision = allocations.ledger().revision;
  allocations.FollowOnline();
  EXPECT_EQ(executor.waiting(), 0U);
  ASSERT_TRUE(Commit(Propose(Pinned("a", "2"))));
  allocations.SetOnline(CpuSet::Range(0, 3));
  allocations.FollowOnline();
  executor.RunAll();
  EXPECT_EQ(FormatIds(allocations.ledger().shared), "0,3");
  EXPECT_EQ(allocations.ledger().revision, revision + 2);
}

TEST_F(NodeAllocationsTest, BooksThatWereMadeToFitAreSavedWhenTheyAreSettled) {
  Ledger fitted = allocations.ledger();
  fitted.shared = CpuSet::Range(0, 1);
  allocations.Open(fitted, true);
  EXPECT_FALSE(allocations.durable());
  store.full = true;
  allocations.Settle();
  executor.RunAll();
  EXPECT_FALSE(allocations.durable());
  store.full = false;
  allocations.Settle();
  EXPECT_EQ(executor.waiting(), 0U) << "not before the time to try again";
  clock.Advance(os::Millis(1000));
  allocations.Settle();
  allocations.Settle();
  EXPECT_EQ(executor.waiting(), 1U);
  executor.RunAll();
  EXPECT_TRUE(allocations.durable());
  EXPECT_EQ(store.saved.back().ledger, fitted);
}

allocator::Node CpusWithMemory(int cpus, Bytes memory) {
  const allocator::testing::Shape shape{.cores_per_node = cpus, .threads = 1, .node_memory = memory};
  KubeletConfiguration config = allocator::testing::StaticConfig("0");
  allocator::testing::PinMemory(config, "1Mi");
  auto node = allocator::Node::Make(allocator::testing::MakeMachine(shape), config);
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

TEST_F(NodeAllocationsTest, AnotherMachineComesIntoForceWithTheBooksThatFitItInOneRecord) {
  ASSERT_TRUE(Commit(Propose(Pinned("a", "2"))));
  executor.RunAll();
  const std::uint64_t freed = allocations.freed();
  NodeProposal change = allocations.ProposeNode(CpusWithMemory(6, GiB(2)), "m6");
  EXPECT_TRUE(change.notes.empty());
  ASSERT_TRUE(Commit(std::move(change.proposal)));
  EXPECT_EQ(allocations.node().all_cpus().Count(), 4);
  EXPECT_EQ(allocations.newest_node().all_cpus().Count(), 6);
  ASSERT_TRUE(Commit(Propose(Pinned("b", "3")))) << "is decided on the new machine already";
  executor.RunAll();
  EXPECT_EQ(allocations.node().all_cpus().Count(), 6);
  EXPECT_EQ(FormatIds(CpusOf("a")), "1-2");
  EXPECT_EQ(FormatIds(CpusOf("b")), "3-5");
  EXPECT_EQ(store.saved.back().machine_fingerprint, "m6");
  EXPECT_EQ(store.saved.at(store.saved.size() - 2).ledger.memory.at(NumaId{0}).types.at("memory").allocatable,
            GiB(2) - MiB(1));
  EXPECT_GT(allocations.freed(), freed) << "pods that did not fit are decided again";
}

TEST_F(NodeAllocationsTest, AMachineThatCannotBeSavedIsNotTaken) {
  store.full = true;
  ASSERT_TRUE(Commit(allocations.ProposeNode(CpusWithMemory(6, GiB(2)), "m6").proposal));
  executor.RunAll();
  EXPECT_EQ(ends, std::vector<bool>{false});
  EXPECT_EQ(allocations.newest_node().all_cpus().Count(), 4);
  EXPECT_EQ(allocations.newest_fingerprint(), "m");
  store.full = false;
  clock.Advance(std::chrono::seconds(60));
  ASSERT_TRUE(Commit(Propose(Pinned("a", "1"))));
  executor.RunAll();
  EXPECT_EQ(store.saved.back().machine_fingerprint, "m");
}

}  // namespace
}  // namespace berth::ledger
