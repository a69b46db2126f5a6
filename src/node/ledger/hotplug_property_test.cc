// Machines that change under pods, at random: nobody loses CPUs that were promised, and the books always add up.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "allocator/testing/builders.h"
#include "allocator/testing/random_node.h"
#include "model/machine_change.h"
#include "model/promises.h"
#include "node/ledger/node_allocations.h"
#include "testing/fixtures.h"
#include "testing/queued_executor.h"

namespace berth::ledger {
namespace {

constexpr unsigned kNodes = 3;
constexpr unsigned kCores = 3;  // of a node, with two threads each

/// A disk that is full now and then.
class MoodyStore final : public checkpoint::Store {
 public:
  Result<std::optional<checkpoint::Saved>> Load(std::vector<std::string>*) override { return std::nullopt; }
  Result<void> Save(const checkpoint::Saved& value) override {
    if (full) return Fail(Code::kExhausted, "No space left on device");
    saved = value;
    return {};
  }
  std::optional<checkpoint::Saved> saved;
  bool full = false;
};

/// A host on which CPUs, nodes and memory come and go, and its berthd's books.
class Host {
 public:
  explicit Host(std::uint64_t seed) : random_(seed) {
    for (unsigned node = 0; node < kNodes; ++node) memory_[node] = node == 0 ? 4 : Roll(3);
    for (unsigned cpu = 0; cpu < kNodes * kCores * 2; ++cpu)
      if (cpu < 4 || Roll(2) == 0) online_.Insert(CpuId{cpu});
    auto node = MakeNode(Seen());
    EXPECT_TRUE(node) << node.error().message;
    allocations_.emplace(
        NodeAllocationsParts{.store = store_, .executor = executor_, .events = events_, .clock = clock_},
        *std::move(node), NodeAllocationsOptions{.node_name = "n", .boot_id = "b", .machine_fingerprint = "0"});
    allocations_->Open(allocations_->node().EmptyLedger(), false);
    allocations_->SetOnline(online_);
  }

  void Step() {
    switch (Roll(8)) {
      case 0:
      case 1: return Plug();
      case 2: return FollowMachine();
      case 3:
      case 4: return Admit();
      case 5: return Release();
      case 6:
        store_.full = Roll(4) == 0;
        clock_.Advance(std::chrono::seconds(31));
        return;
      default:
        executor_.RunOne();
        allocations_->SetOnline(online_);
        allocations_->FollowOnline();
    }
  }

  void Check() const {
    for (const auto& [ledger, node] : {std::pair(&allocations_->ledger(), &allocations_->node()),
                                       std::pair(&allocations_->newest(), &allocations_->newest_node())}) {
      for (const std::string& problem : Contradictions(*ledger)) ADD_FAILURE() << problem;
      const Ledger empty = node->EmptyLedger();
      ASSERT_EQ(ledger->memory.size(), empty.memory.size());
      for (const auto& [id, state] : empty.memory)
        for (const auto& [type, table] : state.types) {
          ASSERT_TRUE(ledger->memory.contains(id));
          EXPECT_EQ(ledger->memory.at(id).types.at(type).allocatable, table.allocatable);
        }
      EXPECT_TRUE(ExclusiveCpus(*ledger).IsSubsetOf(node->all_cpus()));
      for (const auto& [uid, pod] : ledger->pods) {
        EXPECT_EQ(ExclusiveCpus(pod), promised_.at(uid)) << uid << " has other CPUs than it was given";
      }
    }
    if (store_.saved) {
      EXPECT_EQ(store_.saved->ledger, allocations_->ledger()) << "what is in force is on disk";
    }
  }

  int followed() const { return followed_; }
  int refused() const { return refused_; }

 private:
  unsigned Roll(unsigned below) { return std::uniform_int_distribution<unsigned>(0, below - 1)(random_); }

  static Result<allocator::Node> MakeNode(Machine machine) {
    KubeletConfiguration config = allocator::testing::StaticConfig("0");
    allocator::testing::PinMemory(config, "1Gi");
    config.topology_manager_policy = "best-effort";
    return allocator::Node::Make(std::move(machine), config);
  }

  /// What the kernel shows: nodes without CPUs and memory are not there.
  Machine Seen() const {
    Machine out;
    for (unsigned id = 0; id < kNodes; ++id) {
      NumaNode node{.id = NumaId{id}, .memory = GiB(memory_.at(id))};
      for (unsigned core = 0; core < kCores; ++core) {
        Core made;
        made.core_id = core;
        made.socket = SocketId{id};
        for (unsigned thread = 0; thread < 2; ++thread)
          if (const CpuId cpu{(id * kCores + core) * 2 + thread}; online_.Contains(cpu)) made.threads.push_back(cpu);
        if (!made.threads.empty()) node.cores.push_back(std::move(made));
      }
      if (!node.cores.empty() || node.memory != Bytes()) out.nodes.push_back(std::move(node));
    }
    for (NumaNode& node : out.nodes)
      for (const NumaNode& to : out.nodes) node.distances.push_back(node.id == to.id ? 10 : 20);
    allocator::testing::AddTotals(out);
    return out;
  }

  void Plug() {
    if (Roll(2) == 0) {
      memory_[Roll(kNodes)] = Roll(5);
      return;
    }
    const CpuId cpu{1 + Roll(kNodes * kCores * 2 - 1)};  // the kernel keeps the first one
    if (online_.Contains(cpu))
      online_.Erase(cpu);
    else
      online_.Insert(cpu);
    allocations_->SetOnline(online_);
  }

  void FollowMachine() {
    auto node = MakeNode(WithCpusOf(Seen(), allocations_->newest_node().machine()));
    if (!node) {
      ++refused_;
      return;
    }
    NodeProposal change = allocations_->ProposeNode(*std::move(node), "0");
    followed_ += allocations_->Commit(std::move(change.proposal), [](const auto&) {}) ? 1 : 0;
  }

  void Admit() {
    const std::string uid = "u" + std::to_string(++pods_);
    const Pod pod = allocator::testing::MakePod(
        uid, {allocator::testing::MakeContainer(
                 "app", {{"cpu", std::to_string(1 + Roll(3))}, {"memory", std::to_string(1 + Roll(2)) + "Gi"}})});
    auto proposed = allocations_->Propose({.pod = pod}, nullptr);
    auto* const proposal = std::get_if<Proposal>(&proposed);
    if (proposal == nullptr) return;
    promised_[uid] = ExclusiveCpus(*std::get<LedgerDelta>(proposal->change).put);
    [[maybe_unused]] const bool committed = allocations_->Commit(std::move(*proposal), [](const auto&) {});
  }

  void Release() {
    const auto& pods = allocations_->newest().pods;
    if (pods.empty()) return;
    auto pod = pods.begin();
    std::advance(pod, Roll(static_cast<unsigned>(pods.size())));
    if (auto proposal = allocations_->ProposeRelease(pod->first)) {
      [[maybe_unused]] const bool committed = allocations_->Commit(*std::move(proposal), [](const auto&) {});
    }
  }

  std::mt19937_64 random_;
  std::map<unsigned, int> memory_;  // GiB of a node
  CpuSet online_;
  MoodyStore store_;
  testkit::QueuedExecutor executor_;
  testkit::ManualClock clock_;
  events::EventLog events_{clock_, nullptr, 10};
  std::optional<NodeAllocations> allocations_;
  std::map<std::string, CpuSet> promised_;
  int pods_ = 0;
  int followed_ = 0;
  int refused_ = 0;
};

TEST(HotplugPropertyTest, NobodyLosesCpusThatWerePromisedAndTheBooksAddUpWhateverComesAndGoes) {
  constexpr int kSteps = 300;
  const int hosts = allocator::testing::PropertySteps(20'000) / kSteps;
  int followed = 0;
  int refused = 0;
  for (int seed = 1; seed <= hosts; ++seed) {
    Host host(static_cast<std::uint64_t>(seed));
    for (int step = 0; step < kSteps; ++step) {
      host.Step();
      host.Check();
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << " step " << step;
    }
    followed += host.followed();
    refused += host.refused();
  }
  EXPECT_GT(followed, hosts * 5);
  std::printf("%d hosts, %d machines followed, %d refused for their settings\n", hosts, followed, refused);
}

}  // namespace
}  // namespace berth::ledger
