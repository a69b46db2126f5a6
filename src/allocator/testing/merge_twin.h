// The merge as its rules are written: every tuple of hints, compared one by one. The slow, obvious twin of the Aligner.
#ifndef BERTH_ALLOCATOR_TESTING_MERGE_TWIN_H_
#define BERTH_ALLOCATOR_TESTING_MERGE_TWIN_H_

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "allocator/topology_manager/aligner.h"

namespace berth::allocator::testing {

/// The hints of a list one by one, found by asking about every set of nodes; repeated for every resource of the list.
/// For few nodes.
inline void AddWrittenOut(const HintList& list, const Mask& all, std::vector<std::vector<MaskHint>>& out) {
  std::vector<MaskHint> hints = list.hints;
  if (list.kind == HintList::Kind::kNoPreference) hints = {{{}, true, true}};
  if (list.family) {
    ForEachSubset(all, [&](const Mask& mask) {
      if (list.family->Contains(mask)) hints.push_back({mask, false, list.family->Prefers(mask)});
      return true;
    });
  }
  if (hints.empty()) hints = {{{}, true, false}};
  out.insert(out.end(), list.copies(), hints);
}

class MergeTwin {
 public:
  struct Case {
    std::size_t nodes = 0;
    TopologyPolicy policy = TopologyPolicy::kBestEffort;
    bool closest = false;
    std::vector<std::vector<unsigned>> distances;
    std::vector<HintList> lists;
  };

  explicit MergeTwin(const Case& in) : in_(in), all_(Mask::Low(in.nodes)) {
    for (const HintList& list : in.lists) AddWrittenOut(list, all_, lists_);
    if (in.policy == TopologyPolicy::kSingleNumaNode)
      for (auto& list : lists_)
        std::erase_if(list, [](const MaskHint& h) { return !h.preferred || (!h.any && h.mask.Count() != 1); });
  }

  /// How many tuples Run would walk; capped.
  double Tuples() const {
    double out = 1;
    for (const auto& list : lists_) out *= static_cast<double>(list.size());
    return out;
  }

  /// The hint and whether it is admitted.
  std::pair<MaskHint, bool> Run() {
    if (in_.policy == TopologyPolicy::kNone) return {{{}, true, false}, true};
    for (const auto& list : lists_) {
      std::optional<Mask> narrowest;
      for (const MaskHint& hint : list)
        if (!hint.any && (!narrowest || Narrower(hint.mask, *narrowest))) narrowest = hint.mask;
      if (narrowest) bnp_ = std::max(bnp_, narrowest->Count());
    }
    Walk(0, all_, true, nullptr);
    MaskHint out = best_.value_or(MaskHint{all_, false, false});
    if (in_.policy == TopologyPolicy::kSingleNumaNode && out.mask == all_) out = {{}, true, out.preferred};
    return {out, in_.policy == TopologyPolicy::kBestEffort || out.preferred};
  }

 private:
  void Walk(std::size_t i, const Mask& merged, bool preferred, const Mask* first) {
    if (i == lists_.size()) return Compare({merged, false, preferred});
    for (const MaskHint& hint : lists_[i]) {
      if (hint.any) {
        Walk(i + 1, merged, preferred && hint.preferred, first);
      } else {
        Walk(i + 1, merged & hint.mask, preferred && hint.preferred && (first == nullptr || *first == hint.mask),
             first == nullptr ? &hint.mask : first);
      }
    }
  }

  void Compare(const MaskHint& cand) {
    const int b = cand.mask.Count();
    if (b == 0) return;
    if (!best_ || (cand.preferred && !best_->preferred)) {
      best_ = cand;
    } else if (best_->preferred == cand.preferred) {
      const int a = best_->mask.Count();
      const bool by_fitness = cand.preferred || a > bnp_ || a == b;
      if (by_fitness ? Fitter(cand.mask, best_->mask) : a < bnp_ && b <= bnp_ && (b == bnp_ || b > a)) best_ = cand;
    }
  }

  bool Fitter(const Mask& x, const Mask& y) const {
    if (x == y) return false;
    if (!in_.closest || in_.policy == TopologyPolicy::kSingleNumaNode || x.Count() != y.Count()) return Narrower(x, y);
    const double ax = Average(x);
    const double ay = Average(y);
    return ax != ay ? ax < ay : x < y;
  }
  double Average(const Mask& mask) const {
    double sum = 0;
    mask.ForEach([&](std::size_t i) { mask.ForEach([&](std::size_t j) { sum += in_.distances[i][j]; }); });
    return sum / (static_cast<double>(mask.Count()) * mask.Count());
  }

  const Case& in_;
  Mask all_;
  std::vector<std::vector<MaskHint>> lists_;
  int bnp_ = 0;
  std::optional<MaskHint> best_;
};

}  // namespace berth::allocator::testing

#endif  // BERTH_ALLOCATOR_TESTING_MERGE_TWIN_H_
