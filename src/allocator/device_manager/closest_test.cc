#include "allocator/device_manager/closest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "allocator/testing/random_node.h"

namespace berth::allocator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::PropertySteps;

using Way = std::vector<std::string>;

/// Devices by number: device i is the function "f<i>" below ways[i].
struct Board {
  explicit Board(std::vector<Way> device_ways) : ways(std::move(device_ways)) {
    Machine machine;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      PciDevice& function = machine.pci.emplace_back();
      function.address = "f" + std::to_string(i);
      function.above = ways[i];
    }
    places.emplace(machine, NodeIndex(), std::vector<CpuSet>());
  }
  std::size_t Place(std::size_t device) const {
    return places->Find({.id = "f" + std::to_string(device), .nodes = {}});
  }

  std::vector<Way> ways;
  std::optional<DevicePlaces> places;
};

/// A resource, by numbers of devices.
struct Wanted {
  std::vector<std::size_t> fixed;
  std::vector<std::size_t> candidates;
  std::size_t need = 0;
};

std::optional<CloseChoice> ClosestOf(const Board& board, const std::vector<Wanted>& wanted) {
  std::vector<CloseResource> resources;
  for (const Wanted& one : wanted) {
    CloseResource& resource = resources.emplace_back();
    for (const std::size_t device : one.fixed) resource.fixed.push_back(board.Place(device));
    for (const std::size_t device : one.candidates) resource.candidates.push_back(board.Place(device));
    resource.need = one.need;
  }
  return ChooseClosest(*board.places, resources);
}

/// The rule, word for word: every choice there is, compared by all pairs of its devices.
class SlowClosest {
 public:
  SlowClosest(const Board& board, const std::vector<Wanted>& wanted) : board_(board), wanted_(wanted) {
    chosen_.resize(wanted.size());
    Try(0, 0);
  }
  std::int64_t closeness() const { return best_closeness_; }
  const std::vector<std::vector<std::size_t>>& best() const { return best_; }

 private:
  struct Candidate {
    std::size_t resource;
    std::size_t position;
    bool taken;
    const Way* way;
  };

  void Try(std::size_t resource, std::size_t from) {
    if (resource == wanted_.size()) return Judge();
    const Wanted& one = wanted_[resource];
    if (chosen_[resource].size() == one.need) return Try(resource + 1, 0);
    for (std::size_t i = from; i < one.candidates.size(); ++i) {
      chosen_[resource].push_back(i);
      Try(resource, i + 1);
      chosen_[resource].pop_back();
    }
  }

  void Judge() {
    const std::int64_t closeness = Closeness();
    std::vector<int> parts = Parts(All(), 0);
    if (closeness < best_closeness_ || (closeness == best_closeness_ && parts <= best_parts_)) return;
    best_closeness_ = closeness;
    best_parts_ = std::move(parts);
    best_ = chosen_;
  }

  std::int64_t Closeness() const {
    std::vector<const Way*> ways;
    for (std::size_t r = 0; r < wanted_.size(); ++r) {
      for (const std::size_t device : wanted_[r].fixed) ways.push_back(&board_.ways[device]);
      for (const std::size_t i : chosen_[r]) ways.push_back(&board_.ways[wanted_[r].candidates[i]]);
    }
    std::int64_t out = 0;
    for (std::size_t a = 0; a < ways.size(); ++a)
      for (std::size_t b = a + 1; b < ways.size(); ++b)
        out += std::ranges::mismatch(*ways[a], *ways[b]).in1 - ways[a]->begin();
    return out;
  }

  std::vector<Candidate> All() const {
    std::vector<Candidate> out;
    for (std::size_t r = 0; r < wanted_.size(); ++r)
      for (std::size_t i = 0; wanted_[r].need > 0 && i < wanted_[r].candidates.size(); ++i)
        out.push_back(
            {r, i, std::ranges::find(chosen_[r], i) != chosen_[r].end(), &board_.ways[wanted_[r].candidates[i]]});
    return out;
  }

  /// How much each part of a place gives, its parts in the order of their first candidates; then the same of each part.
  std::vector<int> Parts(const std::vector<Candidate>& here, std::size_t depth) const {
    std::map<std::string, std::vector<Candidate>> by_name;
    for (const Candidate& one : here) by_name[one.way->size() > depth ? (*one.way)[depth] : ""].push_back(one);
    std::vector<std::pair<std::vector<std::size_t>, std::string>> order;
    for (const auto& [name, part] : by_name) {
      std::vector<std::size_t> first(wanted_.size(), 1000);
      for (const Candidate& one : part) first[one.resource] = std::min(first[one.resource], one.position);
      order.emplace_back(first, name);
    }
    std::ranges::sort(order);
    std::vector<int> out;
    for (const auto& [first, name] : order)
      for (std::size_t r = 0; r < wanted_.size(); ++r)
        out.push_back(static_cast<int>(std::ranges::count_if(
            by_name[name], [&](const Candidate& one) { return one.resource == r && one.taken; })));
    for (const auto& [first, name] : order) {
      std::vector<int> inner;
      if (name.empty())
        for (const Candidate& one : by_name[name]) inner.push_back(one.taken ? 1 : 0);
      else
        inner = Parts(by_name[name], depth + 1);
      out.insert(out.end(), inner.begin(), inner.end());
    }
    return out;
  }

  const Board& board_;
  const std::vector<Wanted>& wanted_;
  std::vector<std::vector<std::size_t>> chosen_;
  std::int64_t best_closeness_ = -1;
  std::vector<int> best_parts_;
  std::vector<std::vector<std::size_t>> best_;
};

const Way kSwitchA = {"pci0000:00", "0000:00:01.0"};
const Way kSwitchB = {"pci0000:00", "0000:00:02.0"};
const Way kSwitchC = {"pci0000:80", "0000:80:01.0"};

TEST(ClosestTest, ASwitchInCommonBeatsARootInCommon) {
  const Board board({kSwitchA, kSwitchC, kSwitchB, kSwitchC});
  const auto choice = ClosestOf(board, {{{}, {0, 1}, 1}, {{}, {2, 3}, 1}});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->closeness, 2);
  EXPECT_THAT(choice->chosen, ElementsAre(ElementsAre(1), ElementsAre(1)));
}

TEST(ClosestTest, ARootInCommonBeatsNothingInCommon) {
  const Board board({kSwitchA, kSwitchC, kSwitchB});
  const auto choice = ClosestOf(board, {{{}, {1, 0}, 1}, {{}, {2}, 1}});
  ASSERT_TRUE(choice);
  EXPECT_THAT(choice->chosen[0], ElementsAre(1));
}

TEST(ClosestTest, EqualChoicesAreMadeInTheGivenOrder) {
  const Board board({kSwitchB, kSwitchA, {}, kSwitchC});
  const auto one = ClosestOf(board, {{{}, {2, 0, 1, 3}, 1}});
  ASSERT_TRUE(one);
  EXPECT_THAT(one->chosen, ElementsAre(ElementsAre(0)));
  const Board unknown({{}, {}, {}});
  const auto three = ClosestOf(unknown, {{{}, {0, 1}, 1}, {{}, {2}, 1}});
  ASSERT_TRUE(three);
  EXPECT_EQ(three->closeness, 0);
  EXPECT_THAT(three->chosen, ElementsAre(ElementsAre(0), ElementsAre(0)));
}

TEST(ClosestTest, OthersGatherAroundWhatIsGivenAnyway) {
  const Board board({kSwitchA, kSwitchC, kSwitchC});
  const auto choice = ClosestOf(board, {{{1}, {}, 0}, {{}, {0, 2}, 1}});
  ASSERT_TRUE(choice);
  EXPECT_THAT(choice->chosen, ElementsAre(IsEmpty(), ElementsAre(1)));
}

TEST(ClosestTest, PairsOfSeveralResourcesComeOutTogether) {
  const Board board({kSwitchA, kSwitchB, kSwitchB, kSwitchA});
  const auto choice = ClosestOf(board, {{{}, {0, 1}, 2}, {{}, {2, 3}, 2}});
  ASSERT_TRUE(choice);
  EXPECT_THAT(choice->chosen, ElementsAre(ElementsAre(0, 1), ElementsAre(1, 0))) << "device 3 with 0, 2 with 1";
}

TEST(ClosestTest, TooManyToCompareAreNotCompared) {
  std::vector<Way> ways(4000, kSwitchA);
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < ways.size(); ++i) all.push_back(i);
  EXPECT_FALSE(ClosestOf(Board(ways), {{{}, all, 3000}, {{}, all, 3000}}));
  const auto few = ClosestOf(Board(ways), {{{}, all, 2}, {{}, all, 2}});
  ASSERT_TRUE(few);
  EXPECT_EQ(few->closeness, 12);
}

TEST(ClosestTwinTest, AgreesWithEveryChoiceThereIs) {
  std::mt19937_64 random(20261123);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int step = 0; step < PropertySteps(1500); ++step) {
    std::vector<Way> ways(3 + below(8));
    for (Way& way : ways)
      for (std::size_t depth = below(5); depth > 0; --depth) way.push_back(std::string(1, "ab"[below(2)]));
    const Board board(ways);
    std::vector<std::size_t> devices(ways.size());
    for (std::size_t i = 0; i < devices.size(); ++i) devices[i] = i;
    std::ranges::shuffle(devices, random);
    std::vector<Wanted> wanted(1 + below(3));
    for (const std::size_t device : devices) {
      Wanted& one = wanted[below(wanted.size())];
      (below(5) == 0 ? one.fixed : one.candidates).push_back(device);
    }
    for (Wanted& one : wanted) one.need = below(std::min<std::size_t>(one.candidates.size(), 3) + 1);
    const SlowClosest slow(board, wanted);
    auto choice = ClosestOf(board, wanted);
    ASSERT_TRUE(choice) << "step " << step;
    ASSERT_EQ(choice->closeness, slow.closeness()) << "step " << step;
    for (std::vector<std::size_t>& chosen : choice->chosen) std::ranges::sort(chosen);
    ASSERT_EQ(choice->chosen, slow.best()) << "step " << step;
  }
}

}  // namespace
}  // namespace berth::allocator
