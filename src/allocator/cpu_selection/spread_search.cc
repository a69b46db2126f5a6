#include "allocator/cpu_selection/spread_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace berth::allocator {
namespace {

/// Lower bounds are computed another way than balances; this much lower, rounding does not matter.
constexpr double kSlack = 1e-6;

using Positions = std::vector<std::size_t>;

double RoundToThousandths(double x) { return std::round(x * 1000) / 1000; }

/// The next combination in lexicographic order; false: it was the last one.
bool Next(Positions& chosen, std::size_t items) {
  for (std::size_t i = chosen.size(); i-- > 0;) {
    if (chosen[i] + chosen.size() - i >= items) continue;
    ++chosen[i];
    for (std::size_t j = i + 1; j < chosen.size(); ++j) chosen[j] = chosen[j - 1] + 1;
    return true;
  }
  return false;
}

/// How many leading positions of a remembered combination stay: the buffer is copied when element 0, 1, 2, 4, 8, ... is
/// added, and combinations with the same elements up to there share the copy.
std::size_t Unshared(std::size_t k) {
  std::size_t last = 0;
  for (std::size_t copied = 1; copied < k; copied *= 2) last = copied;
  return last + 1;
}

/// A combination as it is remembered after all others of the same size were tried.
Positions RememberedToTheEnd(Positions chosen, std::size_t items) {
  for (std::size_t i = Unshared(chosen.size()); i < chosen.size(); ++i) chosen[i] = items - chosen.size() + i;
  return chosen;
}

/// The same if the search was stopped when it came to the next one.
Positions RememberedUntilNext(Positions chosen, std::size_t items) {
  Positions next = chosen;
  const auto kept = static_cast<std::ptrdiff_t>(Unshared(chosen.size()));
  if (Next(next, items) && std::equal(chosen.begin(), chosen.begin() + kept, next.begin())) return next;
  return chosen;
}

/// Largest values first, of every suffix of a list.
class Tops {
 public:
  void Fill(const std::vector<int>& values) {
    rows_ = values.size() + 1;
    sorted_.assign(rows_ * rows_, 0);
    work_.clear();
    for (std::size_t start = values.size(); start-- > 0;) {
      work_.insert(std::upper_bound(work_.begin(), work_.end(), values[start], std::greater<>()), values[start]);
      std::copy(work_.begin(), work_.end(), sorted_.begin() + static_cast<std::ptrdiff_t>(start * rows_));
    }
  }
  /// The i-th largest of values[start...].
  int At(std::size_t start, std::size_t i) const { return sorted_[start * rows_ + i]; }

 private:
  std::size_t rows_ = 0;
  std::vector<int> sorted_;
  std::vector<int> work_;
};

class SpreadSearch {
 public:
  SpreadSearch(const SpreadRequest& request, std::size_t k)
      : in_(request),
        k_(k),
        base_(request.num / static_cast<int>(k) / request.group * request.group),
        rest_((request.num - base_ * static_cast<int>(k)) / request.group),
        most_(request.free.size() <= kExactSpreadNodes ? std::numeric_limits<std::int64_t>::max() : kMostSpreadSteps) {
    for (int free : in_.free) squares_ += std::int64_t{free} * free, left_sum_ += free;
    left_sum_ -= in_.num;
    tops_.Fill(in_.free);
    histogram_.resize(static_cast<std::size_t>(*std::max_element(in_.free.begin(), in_.free.end())) + 1);
  }

  SpreadChoice Run() {
    if (!Holds({}, 0)) return {};
    const Positions fullest = Fullest();
    Positions fullest_remainder;
    // As if met after all others, so that one as good wins.
    best_ = Evaluate(fullest, fullest_remainder);
    Positions chosen;
    chosen.reserve(k_);
    Walk(chosen, 0);
    if (!found_) return {fullest, fullest_remainder};
    if (Exceeded() || in_.copied) return {chosen_, remainder_};
    return {best_ == 0 ? RememberedUntilNext(chosen_, in_.free.size()) : RememberedToTheEnd(chosen_, in_.free.size()),
            remainder_};
  }

  std::int64_t steps() const { return steps_; }

 private:
  bool Exceeded() const { return steps_ > most_; }
  int Free(std::size_t position) const { return in_.free[position]; }

  /// The prefix and the fullest nodes from `start` on can hold the request.
  bool Holds(const Positions& prefix, std::size_t start) const {
    int sum = 0;
    int groups = 0;
    bool enough = true;
    const auto add = [&](int free) { sum += free, groups += free / in_.group, enough = enough && free >= base_; };
    for (std::size_t position : prefix) add(Free(position));
    for (std::size_t i = 0; i + prefix.size() < k_; ++i) add(tops_.At(start, i));
    return enough && sum >= in_.num && groups * in_.group >= in_.num;
  }

  Positions Fullest() const {
    Positions order(in_.free.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return Free(a) != Free(b) ? Free(a) > Free(b) : a < b; });
    order.resize(k_);
    std::sort(order.begin(), order.end());
    return order;
  }

  /// The balance of any outcome whose squares sum up to so much.
  double BalanceOf(std::int64_t squares) const {
    const auto count = static_cast<double>(in_.free.size());
    const auto sum = static_cast<double>(left_sum_);
    const double mean = RoundToThousandths(sum / count);
    const double variance = (static_cast<double>(squares) - 2 * mean * sum + count * mean * mean) / count;
    return RoundToThousandths(std::max(0.0, std::sqrt(std::max(0.0, variance)) - kSlack));
  }

  /// No choice with this prefix and nodes from `start` on has a smaller balance: the fullest nodes are taken, and the
  /// remainder from wherever most is left.
  double Bound(const Positions& prefix, std::size_t start) {
    std::fill(histogram_.begin(), histogram_.end(), 0);
    std::int64_t squares = squares_;
    int most = 0;
    const auto add = [&](int free) {
      squares -= std::int64_t{free} * free;
      ++histogram_[static_cast<std::size_t>(free - base_)];
      most = std::max(most, free - base_);
    };
    for (std::size_t position : prefix) add(Free(position));
    for (std::size_t i = 0; i + prefix.size() < k_; ++i) add(tops_.At(start, i));
    int rest = rest_;
    for (int value = most; value >= 0; --value) {
      int& count = histogram_[static_cast<std::size_t>(value)];
      if (value >= in_.group) {
        const int moved = std::min(rest, count);
        histogram_[static_cast<std::size_t>(value - in_.group)] += moved;
        count -= moved;
        rest -= moved;
      }
      squares += std::int64_t{value} * value * count;
    }
    return BalanceOf(squares);
  }

  bool Hopeless(double bound) const { return found_ ? bound >= best_ : bound > best_; }

  void Walk(Positions& chosen, std::size_t start) {
    if (chosen.size() == k_) {
      Positions remainder;
      const double balance = Evaluate(chosen, remainder);
      if (Hopeless(balance) || Exceeded()) return;
      best_ = balance;
      chosen_ = chosen;
      remainder_ = std::move(remainder);
      found_ = true;
      return;
    }
    const std::size_t missing = k_ - chosen.size();
    for (std::size_t i = start; i + missing <= in_.free.size(); ++i) {
      if (Exceeded() || (found_ && best_ == 0)) return;
      // What follows an equal node further left is a choice that looks the same and was met before.
      const auto first = in_.free.begin() + static_cast<std::ptrdiff_t>(start);
      const auto here = in_.free.begin() + static_cast<std::ptrdiff_t>(i);
      if (Free(i) < base_ || std::find(first, here, Free(i)) != here) continue;
      ++steps_;
      chosen.push_back(i);
      if (Holds(chosen, i + 1) && !Hopeless(Bound(chosen, i + 1))) Walk(chosen, i + 1);
      chosen.pop_back();
    }
  }

  // ---- one choice of nodes: where the remainder goes ----

  double Evaluate(const Positions& chosen, Positions& remainder) {
    left_ = in_.free;
    for (std::size_t position : chosen) left_[position] -= base_;
    if (rest_ == 0) return SpreadBalance(left_);
    candidates_.clear();
    candidate_values_.clear();
    for (std::size_t position : chosen) {
      if (left_[position] < in_.group) continue;
      candidates_.push_back(position);
      candidate_values_.push_back(left_[position]);
    }
    candidate_tops_.Fill(candidate_values_);
    left_squares_ = 0;
    for (int left : left_) left_squares_ += std::int64_t{left} * left;
    const double least = Bound(chosen, 0);
    double best = kNoBalance;
    Positions best_subset;
    Positions subset;
    for (std::size_t size = candidates_.size(); size >= 1 && best > least && !Exceeded(); --size) {
      subset.clear();
      WalkRemainder(subset, 0, size, best, best_subset);
    }
    remainder.clear();
    if (!in_.copied) best_subset = RememberedToTheEnd(std::move(best_subset), candidates_.size());
    for (std::size_t i : best_subset) remainder.push_back(candidates_[i]);
    return best;
  }

  /// Groups the u-th of `size` nodes gives, if none of them runs out.
  int Rounds(std::size_t u, std::size_t size) const {
    const int part = static_cast<int>(size);
    return rest_ / part + (static_cast<int>(u) < rest_ % part ? 1 : 0);
  }

  double RemainderBound(const Positions& subset, std::size_t start, std::size_t size) const {
    std::int64_t squares = left_squares_;
    for (std::size_t u = 0; u < size; ++u) {
      const std::int64_t value =
          u < subset.size() ? candidate_values_[subset[u]] : candidate_tops_.At(start, u - subset.size());
      const std::int64_t taken = std::int64_t{Rounds(u, size)} * in_.group;
      squares += taken * taken - 2 * taken * value;
    }
    return BalanceOf(squares);
  }

  void WalkRemainder(Positions& subset, std::size_t start, std::size_t size, double& best, Positions& best_subset) {
    if (subset.size() == size) {
      if (const double balance = TakeRemainder(subset); balance < best) best = balance, best_subset = subset;
      return;
    }
    const std::size_t missing = size - subset.size();
    const int lowest = candidate_tops_.At(0, candidate_values_.size() - 1);
    const bool none_runs_out = lowest >= Rounds(0, size) * in_.group;
    for (std::size_t i = start; i + missing <= candidates_.size(); ++i) {
      const auto first = candidate_values_.begin() + static_cast<std::ptrdiff_t>(start);
      const auto here = candidate_values_.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(first, here, candidate_values_[i]) != here) continue;
      ++steps_;
      if (Exceeded()) return;
      subset.push_back(i);
      if (!none_runs_out || RemainderBound(subset, i + 1, size) < best)
        WalkRemainder(subset, i + 1, size, best, best_subset);
      subset.pop_back();
    }
  }

  double TakeRemainder(const Positions& subset) {
    int sum = 0;
    for (std::size_t i : subset) sum += candidate_values_[i];
    if (sum < rest_ * in_.group) return kNoBalance;
    work_ = left_;
    for (int rest = rest_; rest > 0;) {
      const int before = rest;
      for (std::size_t i = 0; i < subset.size() && rest > 0; ++i) {
        int& free = work_[candidates_[subset[i]]];
        if (free < in_.group) continue;
        free -= in_.group;
        --rest;
      }
      // Only parts of groups are left: the kubelet never returns from here (docs/differences.md).
      if (rest == before) return kNoBalance;
    }
    return SpreadBalance(work_);
  }

  const SpreadRequest& in_;
  const std::size_t k_;
  const int base_;  // CPUs each node gives
  const int rest_;  // groups beyond that
  const std::int64_t most_;
  std::int64_t steps_ = 0;
  std::int64_t squares_ = 0;   // of all nodes before
  std::int64_t left_sum_ = 0;  // free CPUs of all nodes afterwards
  Tops tops_;
  std::vector<int> histogram_;

  bool found_ = false;  // in the kubelet's order
  double best_ = kNoBalance;
  Positions chosen_;
  Positions remainder_;

  // Of the choice that is being evaluated.
  std::vector<int> left_;
  std::vector<int> work_;
  std::int64_t left_squares_ = 0;
  Positions candidates_;
  std::vector<int> candidate_values_;
  Tops candidate_tops_;
};

}  // namespace

double SpreadBalance(const std::vector<int>& left) {
  double sum = 0;
  for (int x : left) sum += x;
  const double mean = RoundToThousandths(sum / static_cast<double>(left.size()));
  double squares = 0;
  for (int x : left) squares += (x - mean) * (x - mean);
  return RoundToThousandths(std::sqrt(squares / static_cast<double>(left.size())));
}

SpreadChoice BestSpread(const SpreadRequest& request, std::size_t k, std::int64_t* steps) {
  if (k < 1 || k > request.free.size()) return {};
  SpreadSearch search(request, k);
  SpreadChoice out = search.Run();
  if (steps != nullptr) *steps = search.steps();
  return out;
}

}  // namespace berth::allocator
