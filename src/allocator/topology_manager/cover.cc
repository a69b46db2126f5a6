#include "allocator/topology_manager/cover.h"

#include <algorithm>
#include <functional>

namespace berth::allocator {
namespace {

/// What a need counts for among several, whatever its amount.
constexpr double kWhole = 1 << 30;

}  // namespace

Cover::Cover(const Request& request, Steps& steps) : request_(request), steps_(steps) {}

void Cover::Prepare() {
  if (prepared_) return;
  prepared_ = true;
  nodes_.reserve(static_cast<std::size_t>(request_.allowed.Count()));
  request_.allowed.ForEach([&](std::size_t node) { nodes_.push_back(node); });
  kinds_ = KindsOf(nodes_.size(), [&](std::size_t a, std::size_t b) { return SameKind(nodes_[a], nodes_[b]); });
  taken_.resize(nodes_.size());
  musts_.reserve(nodes_.size() + 1);
  musts_.push_back(0);
  for (std::size_t node : nodes_) musts_.push_back(musts_.back() + (request_.must.Has(node) ? 1 : 0));
  FillBest();
}

bool Cover::Meets(const Mask& mask) const {
  return std::all_of(request_.needs.begin(), request_.needs.end(),
                     [&](const Need* need) { return need->Of(mask) >= need->amount; });
}

// Most questions are answered by a single node, which takes no tables to find.
std::optional<Mask> Cover::Single() const {
  Closest closest(request_.distances, request_.allowed);
  bool done = false;
  request_.allowed.ForEach([&](std::size_t node) {
    const Mask mask = Mask::Of(node);
    if (done || !request_.must.Within(mask) || !Meets(mask)) return;
    done = Leaf(mask, closest);
  });
  if (!closest.found()) return std::nullopt;
  return closest.best();
}

bool Cover::SameKind(std::size_t a, std::size_t b) const {
  if (request_.must.Has(a) != request_.must.Has(b)) return false;
  for (const Need* need : request_.needs) {
    if (need->on[a] != need->on[b]) return false;
    for (const Shared& part : need->shared)
      if (part.nodes.Has(a) != part.nodes.Has(b)) return false;
  }
  if (request_.touch != nullptr)
    for (const Mask& group : request_.touch->groups)
      if (group.Has(a) != group.Has(b)) return false;
  return request_.distances == nullptr || request_.distances->Exchangeable(a, b, request_.allowed);
}

void Cover::FillRow(std::size_t row, const std::vector<std::int64_t>& values) {
  const std::size_t rows = nodes_.size() + 1;
  std::vector<std::int64_t> sorted;
  sorted.reserve(rows);
  for (std::size_t n = 1; n < rows; ++n) {
    const std::int64_t value = values[n - 1];
    sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), value, std::greater<>()), value);
    std::int64_t* const sums = &best_[(row * rows + n) * rows];
    for (std::size_t k = 0; k < n; ++k) sums[k + 1] = sums[k] + sorted[k];
  }
}

void Cover::FillBest() {
  const std::size_t rows = nodes_.size() + 1;
  const std::size_t needs = request_.needs.size();
  best_.assign((needs + 1) * rows * rows, 0);
  share_.assign(nodes_.size(), 0);
  std::vector<std::int64_t> values(nodes_.size());
  for (std::size_t need = 0; need < needs; ++need) {
    const Need& own = *request_.needs[need];
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      values[i] = own.AtMost(nodes_[i]);
      if (own.amount > 0)
        share_[i] += 1 + static_cast<std::int64_t>(
                             kWhole * std::min(1.0, static_cast<double>(values[i]) / static_cast<double>(own.amount)));
    }
    FillRow(need, values);
  }
  if (needs > 1) FillRow(needs, share_);
}

bool Cover::Hopeless(std::size_t n, int left) const {
  if (left < musts_[n] || left > static_cast<int>(n)) return true;
  for (std::size_t need = 0; need < missing_.size(); ++need)
    if (BestOf(need, n, left) < missing_[need]) return true;
  return missing_.size() > 1 && BestOf(missing_.size(), n, left) < missing_share_;
}

void Cover::Take(std::size_t position) {
  const std::size_t node = nodes_[position];
  for (std::size_t need = 0; need < missing_.size(); ++need) {
    missing_[need] -= request_.needs[need]->on[node];
    for (const Shared& part : request_.needs[need]->shared)
      if (part.nodes.Has(node) && !part.nodes.Meets(mask_)) missing_[need] -= part.amount;
  }
  missing_share_ -= share_[position];
  mask_.Add(node);
  ++taken_[kinds_[position]];
}

void Cover::GiveBack(std::size_t position) {
  const std::size_t node = nodes_[position];
  mask_.Drop(node);
  --taken_[kinds_[position]];
  missing_share_ += share_[position];
  for (std::size_t need = 0; need < missing_.size(); ++need) {
    missing_[need] += request_.needs[need]->on[node];
    for (const Shared& part : request_.needs[need]->shared)
      if (part.nodes.Has(node) && !part.nodes.Meets(mask_)) missing_[need] += part.amount;
  }
}

bool Cover::Leaf(const Mask& mask, Closest& closest) const {
  if (request_.touch != nullptr && request_.touch->Touched(mask) != request_.touch->wanted) return false;
  return closest.Offer(mask);
}

bool Cover::Walk(std::size_t n, int left, Closest& closest) {
  if (!steps_.Take() || Hopeless(n, left) || closest.Hopeless(mask_, left)) return false;
  if (request_.touch != nullptr && request_.touch->Touched(mask_) > request_.touch->wanted) return false;
  if (left == 0) return Leaf(mask_, closest);  // nothing is missing: that would be hopeless
  const std::size_t position = n - 1;
  // Leaving this one out after an exchangeable, higher one was taken gives no numerically smallest set.
  if (!request_.must.Has(nodes_[position]) && taken_[kinds_[position]] == 0 && Walk(position, left, closest))
    return true;
  Take(position);
  const bool done = Walk(position, left - 1, closest);
  GiveBack(position);
  return done;
}

std::optional<Mask> Cover::Exactly(int count) {
  if (count < 1 || !request_.must.Within(request_.allowed)) return std::nullopt;
  // With a bound on the steps the walk below counts them, for one node too.
  if (count == 1 && !steps_.Bounded()) return Single();
  Prepare();
  missing_.clear();
  missing_share_ = 0;
  for (const Need* need : request_.needs) {
    missing_.push_back(need->amount);
    if (need->amount > 0) missing_share_ += static_cast<std::int64_t>(kWhole);
  }
  Closest closest(request_.distances, request_.allowed);
  Walk(nodes_.size(), count, closest);
  if (!closest.found()) return std::nullopt;
  return closest.best();
}

std::optional<Mask> Cover::Fewest(int least) {
  for (int count = std::max(1, least); count <= request_.allowed.Count(); ++count) {
    if (auto found = Exactly(count)) return found;
    if (steps_.Exceeded()) break;
  }
  return std::nullopt;
}

std::optional<Mask> Cover::Shrunk(int least) const {
  Mask mask = request_.allowed;
  if (mask.Count() < std::max(1, least) || !request_.must.Within(mask) || !Meets(mask)) return std::nullopt;
  std::vector<std::size_t> nodes;
  mask.ForEach([&](std::size_t node) { nodes.push_back(node); });
  for (std::size_t n = nodes.size(); n-- > 0 && mask.Count() > std::max(1, least);) {
    if (request_.must.Has(nodes[n])) continue;
    Mask fewer = mask;
    fewer.Drop(nodes[n]);
    if (Meets(fewer)) mask = fewer;
  }
  return mask;
}

}  // namespace berth::allocator
