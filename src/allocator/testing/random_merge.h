// Random merges, for property tests and fuzzing.
#ifndef BERTH_ALLOCATOR_TESTING_RANDOM_MERGE_H_
#define BERTH_ALLOCATOR_TESTING_RANDOM_MERGE_H_

#include <array>
#include <string>
#include <utility>

#include "allocator/testing/merge_twin.h"

namespace berth::allocator::testing {

/// Draws merges like those the resources of a node ask for, and odder ones. roll(n): a number below n.
template <class Roll>
class RandomMerge {
 public:
  explicit RandomMerge(Roll& roll) : roll_(roll) {}

  MergeTwin::Case Make(std::size_t nodes, unsigned most_lists) {
    MergeTwin::Case out;
    out.nodes = nodes_ = nodes;
    out.policy = std::array{TopologyPolicy::kBestEffort, TopologyPolicy::kBestEffort, TopologyPolicy::kRestricted,
                            TopologyPolicy::kSingleNumaNode}[roll_(4)];
    out.closest = roll_(3) == 0;
    for (std::size_t i = 0; i < nodes; ++i) {
      out.distances.emplace_back();
      for (std::size_t j = 0; j < nodes; ++j)
        out.distances[i].push_back(i == j ? 10 : j < i ? out.distances[j][i] : 11 + roll_(3) * 5);
      if (roll_(20) == 0) out.distances[i][roll_(static_cast<unsigned>(i) + 1)] = 9 + roll_(20);
    }
    spread_ = roll_(3) == 0 ? 1000 : 5;
    bool touch = roll_(6) == 0;
    for (unsigned left = 1 + roll_(most_lists); left > 0; --left) {
      const unsigned kind = roll_(12);
      HintList& list = out.lists.emplace_back();
      if (kind == 0) continue;
      list.kind = HintList::Kind::kHints;
      if (kind == 1) continue;
      if (kind >= 4) AddFamily(list, std::exchange(touch, false));
      if (kind == 2 || kind == 3 || kind >= 9) AddHints(list);
      while (kind >= 9 && left > 1 && roll_(2) == 0)
        list.resources.resize(std::max<std::size_t>(1, list.copies()) + 1), --left;
    }
    return out;
  }

 private:
  Mask Some() {
    Mask out;
    for (std::size_t i = 0; i < nodes_; ++i)
      if (roll_(2) == 0) out.Add(i);
    return out;
  }

  void AddHints(HintList& list) {
    for (unsigned count = 1 + roll_(5); count > 0; --count) {
      MaskHint& hint = list.hints.emplace_back();
      hint.mask = roll_(2) == 0 ? Mask::Of(roll_(static_cast<unsigned>(nodes_))) : Some();
      hint.preferred = list.family ? hint.mask.Count() == list.family->preferred_count : roll_(2) == 0;
      hint.any = hint.mask.empty();
    }
  }

  Need MakeNeed(const Mask& universe) {
    Need out;
    out.on.resize(nodes_);
    const unsigned top = roll_(3) == 0 ? 1 : spread_;
    universe.ForEach([&](std::size_t node) { out.on[node] = roll_(top + 1); });
    for (unsigned shared = roll_(4) == 0 ? 1 + roll_(2) : 0; shared > 0; --shared)
      out.shared.push_back({(Some() | Mask::Of(universe.First())) & universe, 1 + roll_(top)});
    const auto most = static_cast<unsigned>(out.Of(universe));
    out.amount = most == 0 ? 0 : 1 + roll_(roll_(2) == 0 ? most : (most + 1) / 2);
    return out;
  }

  void AddFamily(HintList& list, bool touch) {
    HintFamily family;
    family.family.universe = roll_(3) == 0 ? Some() : Mask::Low(nodes_);
    const Mask& universe = family.family.universe;
    if (universe.empty()) return;
    for (unsigned needs = roll_(3) == 0 ? roll_(4) : 1; needs > 0; --needs)
      family.family.needs.push_back(MakeNeed(universe));
    if (roll_(8) == 0) family.family.must = Some() & universe;
    family.preferred_count = 1 + static_cast<int>(roll_(roll_(2) == 0 ? 2 : static_cast<unsigned>(nodes_)));
    if (touch) {
      family.preferred_touch = TouchRule{{Some(), Some(), Some()}, static_cast<int>(roll_(4))};
    }
    if (!family.family.Impossible()) list.family = std::move(family);
  }

  Roll& roll_;
  std::size_t nodes_ = 0;
  unsigned spread_ = 5;
};

}  // namespace berth::allocator::testing

#endif  // BERTH_ALLOCATOR_TESTING_RANDOM_MERGE_H_
