#include "allocator/topology_manager/pack.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

namespace berth::allocator {
namespace {

/// More than all bins hold: a node that none can leave out.
constexpr double kNever = 1e9;
/// Sums of ratios may be off by rounding; a node too many is found out by packing.
constexpr double kRounding = 1e-6;

bool SameNeeds(const Family& a, const Family& b) {
  return a.must == b.must && a.needs.size() == b.needs.size() &&
         std::equal(a.needs.begin(), a.needs.end(), b.needs.begin(), [](const Need& x, const Need& y) {
           return x.amount == y.amount && x.on == y.on && x.shared.empty() && y.shared.empty();
         });
}

}  // namespace

Pack::Pack(const std::vector<Family>& bins, const Mask& within, const Distances* distances, Steps& steps)
    : bins_(bins), within_(within), distances_(distances), steps_(steps) {
  within.ForEach([&](std::size_t node) { nodes_.push_back(node); });
  FillSlots();
  kinds_ = KindsOf(nodes_.size(), [&](std::size_t a, std::size_t b) { return SameKind(nodes_[a], nodes_[b]); });
  kept_of_kind_.resize(nodes_.size());
  FillRatios();
  // One slot more: a row of none has an address too.
  slacks_.resize((nodes_.size() + 2) * slots_.size() + 1);
  outs_.resize((nodes_.size() + 2) * bins.size());
}

void Pack::Empty(const Packing& packing) const {
  for (std::size_t s = 0; s < slots_.size(); ++s) packing.slack[s] = slots_[s].slack;
  std::fill_n(packing.out, bins_.size(), Mask());
}

void Pack::Copy(const Packing& from, const Packing& to) const {
  std::copy_n(from.slack, slots_.size(), to.slack);
  std::copy_n(from.out, bins_.size(), to.out);
}

void Pack::FillSlots() {
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    first_slot_.push_back(slots_.size());
    for (const Need& need : bins_[bin].needs) slots_.push_back({bin, &need, need.Of(within_) - need.amount});
    std::size_t twin = 0;
    while (twin < bin && !SameNeeds(bins_[twin], bins_[bin])) ++twin;
    twin_.push_back(twin);
  }
  first_slot_.push_back(slots_.size());
}

// The part of a bin's tightest need that a node takes. All nodes a bin leaves out fill at most 1 of that need.
double Pack::Ratio(std::size_t position, std::size_t bin) const {
  const std::size_t node = nodes_[position];
  if (bins_[bin].must.Has(node)) return kNever;
  double out = 0;
  double tightest = -1;
  for (std::size_t s = first_slot_[bin]; s < first_slot_[bin + 1]; ++s) {
    const Slot& slot = slots_[s];
    const auto own = static_cast<double>(slot.need->on[node]);
    if (slot.need->on[node] > slot.slack) return kNever;
    const auto all = static_cast<double>(slot.need->Of(within_));
    const double fullness = slot.slack == 0 ? kNever : all / static_cast<double>(slot.slack);
    if (fullness <= tightest) continue;
    tightest = fullness;
    out = slot.slack == 0 ? 0 : own / static_cast<double>(slot.slack);
  }
  return out;
}

void Pack::FillRatios() {
  const std::size_t rows = nodes_.size() + 1;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    double least = kNever;
    for (std::size_t bin = 0; bin < bins_.size(); ++bin) least = std::min(least, Ratio(i, bin));
    ratio_.push_back(least);
  }
  lightest_.assign(rows * rows, 0);
  std::vector<double> sorted;
  for (std::size_t n = 1; n < rows; ++n) {
    sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), ratio_[n - 1]), ratio_[n - 1]);
    for (std::size_t k = 0; k < n; ++k) lightest_[n * rows + k + 1] = lightest_[n * rows + k] + sorted[k];
  }
  hardest_.resize(nodes_.size());
  std::iota(hardest_.begin(), hardest_.end(), 0);
  std::sort(hardest_.begin(), hardest_.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(ratio_[b], kinds_[a], a) < std::tuple(ratio_[a], kinds_[b], b);
  });
}

bool Pack::SameKind(std::size_t a, std::size_t b) const {
  for (const Family& bin : bins_) {
    if (bin.must.Has(a) != bin.must.Has(b)) return false;
    for (const Need& need : bin.needs) {
      if (need.on[a] != need.on[b]) return false;
      for (const Shared& part : need.shared)
        if (part.nodes.Has(a) != part.nodes.Has(b)) return false;
    }
  }
  return distances_ == nullptr || distances_->Exchangeable(a, b, within_);
}

std::int64_t Pack::Loss(const Packing& packing, const Slot& slot, std::size_t node) const {
  std::int64_t out = slot.need->on[node];
  for (const Shared& part : slot.need->shared)
    if (part.nodes.Has(node) && (part.nodes - packing.out[slot.bin]) == Mask::Of(node)) out += part.amount;
  return out;
}

bool Pack::Fits(const Packing& packing, std::size_t bin, std::size_t node) const {
  if (bins_[bin].must.Has(node)) return false;
  for (std::size_t s = first_slot_[bin]; s < first_slot_[bin + 1]; ++s)
    if (Loss(packing, slots_[s], node) > packing.slack[s]) return false;
  return true;
}

void Pack::Put(const Packing& packing, std::size_t bin, std::size_t node) const {
  for (std::size_t s = first_slot_[bin]; s < first_slot_[bin + 1]; ++s)
    packing.slack[s] -= Loss(packing, slots_[s], node);
  packing.out[bin].Add(node);
}

void Pack::Remove(const Packing& packing, std::size_t bin, std::size_t node) const {
  packing.out[bin].Drop(node);
  for (std::size_t s = first_slot_[bin]; s < first_slot_[bin + 1]; ++s)
    packing.slack[s] += Loss(packing, slots_[s], node);
}

// Into the bin that has the most room left for it.
bool Pack::PutSomewhere(const Packing& packing, std::size_t node) const {
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    if (!Fits(packing, bin, node)) continue;
    double part = 0;
    for (std::size_t s = first_slot_[bin]; s < first_slot_[bin + 1]; ++s)
      if (packing.slack[s] > 0)
        part = std::max(part, static_cast<double>(slots_[s].need->on[node]) / static_cast<double>(packing.slack[s]));
    if (!best || part < least) best = bin, least = part;
  }
  if (best) Put(packing, *best, node);
  return best.has_value();
}

bool Pack::LooksLike(const Packing& packing, std::size_t bin, std::size_t earlier) const {
  return twin_[bin] == twin_[earlier] &&
         std::equal(packing.slack + first_slot_[bin], packing.slack + first_slot_[bin + 1],
                    packing.slack + first_slot_[earlier]);
}

bool Pack::Place(const Packing& packing, std::size_t i, const Mask& nodes, std::size_t last_kind,
                 std::size_t last_bin) {
  if (!steps_.Take()) return false;
  while (i < hardest_.size() && !nodes.Has(nodes_[hardest_[i]])) ++i;
  if (i == hardest_.size()) return true;
  const std::size_t kind = kinds_[hardest_[i]];
  const std::size_t node = nodes_[hardest_[i]];
  // Exchangeable nodes go into the bins in order.
  for (std::size_t bin = kind == last_kind ? last_bin : 0; bin < bins_.size(); ++bin) {
    bool seen = false;
    for (std::size_t earlier = kind == last_kind ? last_bin : 0; earlier < bin; ++earlier)
      seen = seen || LooksLike(packing, bin, earlier);
    if (seen || !Fits(packing, bin, node)) continue;
    Put(packing, bin, node);
    if (Place(packing, i + 1, nodes, kind, bin)) return true;
    Remove(packing, bin, node);
    if (steps_.Exceeded()) return false;
  }
  return false;
}

bool Pack::Repack(const Packing& packing, const Mask& nodes) {
  Empty(packing);
  return Place(packing, 0, nodes, nodes_.size(), 0);
}

bool Pack::PackAll(std::size_t n) {
  const Packing packing = Row(nodes_.size() + 1);
  Copy(Row(n), packing);
  Mask all = out_;
  bool simple = true;
  for (std::size_t position = n; position-- > 0;) {
    all.Add(nodes_[position]);
    simple = simple && PutSomewhere(packing, nodes_[position]);
  }
  return simple || Repack(packing, all);
}

// `load`: the sum of the ratios of what is left out; the bins hold at most 1 each. Row(n) is a packing of out_.
bool Pack::Walk(std::size_t n, int keep, double load, Closest& closest) {
  if (!steps_.Take() || closest.Hopeless(mask_, keep)) return false;
  const std::size_t leave = n - static_cast<std::size_t>(keep);
  if (load + lightest_[n * (nodes_.size() + 1) + leave] > static_cast<double>(bins_.size()) + kRounding) return false;
  if (leave == 0) {
    Mask mask = mask_;
    for (std::size_t i = 0; i < n; ++i) mask.Add(nodes_[i]);
    return closest.Offer(mask);
  }
  if (keep == 0) return PackAll(n) && closest.Offer(mask_);
  const std::size_t position = n - 1;
  const std::size_t node = nodes_[position];
  int& kept = kept_of_kind_[kinds_[position]];
  if (kept == 0 && ratio_[position] < kNever) {
    out_.Add(node);
    Copy(Row(n), Row(position));
    const bool fits = PutSomewhere(Row(position), node) || Repack(Row(position), out_);
    if (fits && Walk(position, keep, load + ratio_[position], closest)) return true;
    out_.Drop(node);
    if (steps_.Exceeded()) return false;
  }
  Copy(Row(n), Row(position));
  mask_.Add(node);
  ++kept;
  const bool done = Walk(position, keep - 1, load, closest);
  --kept;
  mask_.Drop(node);
  return done;
}

std::optional<Mask> Pack::Exactly(int count) {
  if (count < 1 || count > static_cast<int>(nodes_.size())) return std::nullopt;
  Closest closest(distances_, within_);
  Empty(Row(nodes_.size()));
  mask_ = out_ = Mask();
  std::fill(kept_of_kind_.begin(), kept_of_kind_.end(), 0);
  Walk(nodes_.size(), count, 0, closest);
  if (!closest.found()) return std::nullopt;
  return closest.best();
}

std::optional<Mask> Pack::KeepHardest(int count) {
  const Packing packing = Row(nodes_.size() + 1);
  Empty(packing);
  Mask kept;
  for (std::size_t position : hardest_) {
    if (kept.Count() < count) {
      kept.Add(nodes_[position]);
    } else if (!PutSomewhere(packing, nodes_[position])) {
      return std::nullopt;
    }
  }
  return kept;
}

}  // namespace berth::allocator
