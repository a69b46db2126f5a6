// Histogram of values: counts by upper bound, as Prometheus wants them.
#ifndef BERTH_BASE_HISTOGRAM_H_
#define BERTH_BASE_HISTOGRAM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace berth {

/// A value. Never grows: what is above the last bound is counted there.
class Histogram {
 public:
  Histogram() : Histogram(std::span<const double>()) {}
  /// `bounds`: upper ones, each included, rising; they outlive every copy (a constant).
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void Add(double value) {
    ++counts_[static_cast<std::size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin())];
    sum_ += value;
  }

  std::span<const double> bounds() const { return bounds_; }
  /// One for each bound, and one for what is above them all; each counts what no bound before it holds.
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  double sum() const { return sum_; }
  std::uint64_t total() const { return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0}); }

  friend bool operator==(const Histogram& a, const Histogram& b) {
    return std::ranges::equal(a.bounds_, b.bounds_) && a.counts_ == b.counts_ && a.sum_ == b.sum_;
  }

 private:
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

}  // namespace berth

#endif  // BERTH_BASE_HISTOGRAM_H_
