#include "allocator/device_manager/closest.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace berth::allocator {
namespace {

/// Numbers of devices of each resource that may be asked of a part of the machine, at the most.
constexpr std::size_t kMostStates = 4096;
/// Pairs of such numbers that one search adds up.
constexpr std::int64_t kMostPairs = std::int64_t{1} << 16;
constexpr std::size_t kNoCandidate = std::numeric_limits<std::size_t>::max();

std::int64_t PairsAmong(std::int64_t devices) { return devices * (devices - 1) / 2; }

/// A state says how many devices of each resource: mixed digits, the first resource's weigh most.
class States {
 public:
  /// Empty when there are too many.
  explicit States(const std::vector<CloseResource>& resources) : resources_(resources.size()) {
    std::size_t count = 1;
    for (const CloseResource& resource : resources) {
      if (resource.need >= kMostStates / count) return;
      count *= resource.need + 1;
    }
    std::vector<std::size_t> digits(resources_);
    for (std::size_t state = 0; state < count; ++state) {
      digits_.insert(digits_.end(), digits.begin(), digits.end());
      for (std::size_t r = resources_; r-- > 0 && ++digits[r] > resources[r].need;) digits[r] = 0;
    }
    count_ = count;
    for (std::size_t r = 0; r < resources_; ++r) needs_.push_back(resources[r].need);
  }

  std::size_t size() const { return count_; }
  std::size_t Of(std::size_t state, std::size_t resource) const { return digits_[state * resources_ + resource]; }
  std::int64_t Total(std::size_t state) const {
    std::size_t out = 0;
    for (std::size_t r = 0; r < resources_; ++r) out += Of(state, r);
    return static_cast<std::int64_t>(out);
  }
  /// a + b is a state, which has that number.
  bool Fit(std::size_t a, std::size_t b) const {
    for (std::size_t r = 0; r < resources_; ++r)
      if (Of(a, r) + Of(b, r) > needs_[r]) return false;
    return true;
  }
  /// a - b is a state, which has that number.
  bool Holds(std::size_t a, std::size_t b) const {
    for (std::size_t r = 0; r < resources_; ++r)
      if (Of(a, r) < Of(b, r)) return false;
    return true;
  }

 private:
  std::size_t resources_;
  std::size_t count_ = 0;
  std::vector<std::size_t> needs_;
  std::vector<std::size_t> digits_;
};

/// The best closeness of each state; kNoChoice where there is no such choice.
using ByState = std::vector<std::int64_t>;
constexpr std::int64_t kNoChoice = -1;

/// A place with all that is below it, or (without members) the candidates that hang on it themselves.
struct Branch {
  std::vector<std::size_t> first;             // by resource: its first candidate
  std::vector<std::vector<std::size_t>> own;  // by resource: candidates
  std::int64_t fixed = 0;
  std::vector<Branch> members;
  std::vector<ByState> from;  // by member: the best that it and those after it can do
  ByState best;
};

/// What is at a place, and what is below it.
struct Site {
  std::vector<std::vector<std::size_t>> own;
  std::int64_t fixed = 0;
  std::vector<std::size_t> below;
};

class ClosestSearch {
 public:
  ClosestSearch(const DevicePlaces& places, const std::vector<CloseResource>& resources)
      : places_(places), resources_(resources), states_(resources) {}

  std::optional<CloseChoice> Run() {
    if (states_.size() == 0) return std::nullopt;
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      for (const std::size_t place : resources_[r].fixed) ++SiteAt(place).fixed;
      if (resources_[r].need == 0) continue;
      for (std::size_t i = 0; i < resources_[r].candidates.size(); ++i)
        SiteAt(resources_[r].candidates[i]).own[r].push_back(i);
    }
    SiteAt(DevicePlaces::kTop);
    const Branch top = BranchAt(DevicePlaces::kTop);
    if (pairs_ > kMostPairs) return std::nullopt;
    CloseChoice out{.chosen = std::vector<std::vector<std::size_t>>(resources_.size()), .closeness = top.best.back()};
    Take(top, states_.size() - 1, out.chosen);
    return out;
  }

 private:
  Site& SiteAt(std::size_t place) {
    const auto [at, fresh] = sites_.try_emplace(place);
    Site& site = at->second;
    if (!fresh) return site;
    site.own.resize(resources_.size());
    if (place != DevicePlaces::kTop) SiteAt(places_.parent(place)).below.push_back(place);
    return site;
  }

  Branch Empty() const {
    Branch out;
    out.first.assign(resources_.size(), kNoCandidate);
    return out;
  }

  Branch OwnOf(const Site& site) const {
    Branch out = Empty();
    out.own = site.own;
    for (std::size_t r = 0; r < resources_.size(); ++r)
      if (!site.own[r].empty()) out.first[r] = site.own[r].front();
    for (std::size_t state = 0; state < states_.size(); ++state) {
      bool enough = true;
      for (std::size_t r = 0; r < resources_.size(); ++r) enough = enough && states_.Of(state, r) <= site.own[r].size();
      out.best.push_back(enough ? 0 : kNoChoice);
    }
    return out;
  }

  Branch BranchAt(std::size_t place) {
    const Site& site = sites_.at(place);
    Branch out = Empty();
    out.fixed = site.fixed;
    if (std::ranges::any_of(site.own, [](const auto& own) { return !own.empty(); })) out.members.push_back(OwnOf(site));
    for (const std::size_t below : site.below) {
      out.members.push_back(BranchAt(below));
      out.fixed += out.members.back().fixed;
    }
    std::ranges::sort(out.members, {}, &Branch::first);
    for (const Branch& member : out.members)
      for (std::size_t r = 0; r < resources_.size(); ++r) out.first[r] = std::min(out.first[r], member.first[r]);
    ByState rest(states_.size(), kNoChoice);
    rest.front() = 0;
    for (std::size_t i = out.members.size(); i-- > 0;) {
      rest = Together(out.members[i].best, rest);
      out.from.push_back(rest);
    }
    std::ranges::reverse(out.from);
    if (place != DevicePlaces::kTop)
      for (std::size_t state = 0; state < states_.size(); ++state)
        if (rest[state] != kNoChoice) rest[state] += PairsAmong(states_.Total(state) + out.fixed);
    out.best = std::move(rest);
    return out;
  }

  /// The best of two parts together. After kMostPairs it is not worked out any more.
  ByState Together(const ByState& a, const ByState& b) {
    ByState out(states_.size(), kNoChoice);
    for (std::size_t x = 0; x < a.size(); ++x) {
      if (a[x] == kNoChoice) continue;
      for (std::size_t y = 0; y < b.size() && pairs_ <= kMostPairs; ++y) {
        if (b[y] == kNoChoice || ++pairs_ > kMostPairs || !states_.Fit(x, y)) continue;
        out[x + y] = std::max(out[x + y], a[x] + b[y]);
      }
    }
    return out;
  }

  void Take(const Branch& branch, std::size_t state, std::vector<std::vector<std::size_t>>& chosen) const {
    for (std::size_t r = 0; r < branch.own.size(); ++r)
      for (std::size_t i = 0; i < states_.Of(state, r); ++i) chosen[r].push_back(branch.own[r][i]);
    for (std::size_t i = 0; i < branch.members.size(); ++i) {
      const std::size_t part = PartOf(branch, i, state);
      Take(branch.members[i], part, chosen);
      state -= part;
    }
  }

  /// What the i-th member gives of `state`, which it and those after it give together.
  std::size_t PartOf(const Branch& branch, std::size_t i, std::size_t state) const {
    if (i + 1 == branch.members.size()) return state;
    const ByState& one = branch.members[i].best;
    const ByState& others = branch.from[i + 1];
    for (std::size_t part = state;; --part)  // ends: some part of it is the best one's
      if (one[part] != kNoChoice && states_.Holds(state, part) && others[state - part] != kNoChoice &&
          one[part] + others[state - part] == branch.from[i][state])
        return part;
  }

  const DevicePlaces& places_;
  const std::vector<CloseResource>& resources_;
  States states_;
  std::map<std::size_t, Site> sites_;
  std::int64_t pairs_ = 0;
};

}  // namespace

std::optional<CloseChoice> ChooseClosest(const DevicePlaces& places, const std::vector<CloseResource>& resources) {
  return ClosestSearch(places, resources).Run();
}

}  // namespace berth::allocator
