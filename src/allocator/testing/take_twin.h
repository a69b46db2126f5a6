// Taking CPUs once more, straight from the rules (rules/cpu#orders to rules/cpu#distributed): plain lists of numbers,
// nothing prepared, nothing shared with the real thing. For machines whose cores have equal sizes, unless the request's
// rules go by real ones.
#ifndef BERTH_ALLOCATOR_TESTING_TAKE_TWIN_H_
#define BERTH_ALLOCATOR_TESTING_TAKE_TWIN_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocator/cpu_selection/take.h"
#include "base/id_set.h"
#include "model/machine.h"

namespace berth::allocator::testing {

/// The machine and the request must outlive it. Time grows with the number of sets of nodes: for a handful of nodes.
class TakeTwin {
 public:
  TakeTwin(const Machine& machine, const TakeRequest& request) : in_(request), machine_(machine) {
    for (const NumaNode& node : machine.nodes)
      for (const Core& core : node.cores)
        for (CpuId cpu : core.threads)
          rows_.push_back(
              {Raw(cpu),
               {Raw(node.id), Raw(core.socket), core.uncore.empty() ? Raw(core.socket) : Raw(core.uncore.front().id),
                Raw(*std::min_element(core.threads.begin(), core.threads.end()))}});
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.cpu < b.cpu; });
    for (Of level : {kNode, kSocketOf, kUncoreOf, kCoreOf})
      counts_[level] = static_cast<int>(Distinct(All(), level).size());
  }

  /// nullopt: an error, or the endless loop.
  std::optional<CpuSet> Run() const {
    Ids free;
    for (CpuId cpu : in_.available) free.push_back(Raw(cpu));
    const std::optional<Ids> taken = in_.distributed ? Distributed(free) : Packed(free, in_.num, in_.uncore);
    if (!taken) return std::nullopt;
    CpuSet out;
    for (unsigned cpu : *taken) out.Insert(CpuId{cpu});
    return out;
  }

 private:
  using Ids = std::vector<unsigned>;

  enum Of { kNode, kSocketOf, kUncoreOf, kCoreOf };

  struct Row {
    unsigned cpu;
    unsigned of[4];
  };
  struct State {
    Ids free;
    int need;
    Ids result;
    void Take(const Ids& cpus) {
      for (unsigned cpu : cpus) std::erase(free, cpu), result.push_back(cpu), --need;
    }
  };

  unsigned At(unsigned cpu, Of level) const {
    for (const Row& row : rows_)
      if (row.cpu == cpu) return row.of[level];
    return 0;
  }
  Ids All() const {
    Ids out;
    for (const Row& row : rows_) out.push_back(row.cpu);
    return out;
  }
  Ids In(const Ids& cpus, Of level, unsigned id) const {
    Ids out;
    for (unsigned cpu : cpus)
      if (At(cpu, level) == id) out.push_back(cpu);
    return out;
  }
  Ids Distinct(const Ids& cpus, Of level) const {
    Ids out;
    for (unsigned cpu : cpus) out.push_back(At(cpu, level));
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  int Average(Of level) const { return static_cast<int>(rows_.size()) / counts_[level]; }
  bool NumaFirst() const { return counts_[kSocketOf] >= counts_[kNode]; }

  Ids ByFree(Ids ids, const Ids& free, Of level) const {
    std::stable_sort(ids.begin(), ids.end(),
                     [&](unsigned a, unsigned b) { return In(free, level, a).size() < In(free, level, b).size(); });
    return ids;
  }
  Ids Within(const Ids& free, Of outer, Of inner) const {
    Ids out;
    for (unsigned id : Order(free, outer))
      for (unsigned part : ByFree(Distinct(In(free, outer, id), inner), free, inner)) out.push_back(part);
    return out;
  }
  Ids Order(const Ids& free, Of level) const {
    switch (level) {
      case kNode: return NumaFirst() ? ByFree(Distinct(free, kNode), free, kNode) : Within(free, kSocketOf, kNode);
      case kSocketOf:
        return NumaFirst() ? Within(free, kNode, kSocketOf) : ByFree(Distinct(free, kSocketOf), free, kSocketOf);
      case kUncoreOf: return Within(free, kNode, kUncoreOf);
      case kCoreOf: return Within(free, NumaFirst() ? kSocketOf : kNode, kCoreOf);
    }
    return {};
  }
  void TakeFull(State& s, Of level) const {
    std::vector<Ids> full;
    for (unsigned id : Order(s.free, level)) {
      const Ids all = In(All(), level, id);
      const bool average = !in_.rules.real_sizes && (level == kSocketOf || level == kCoreOf);
      const std::size_t size = average ? static_cast<std::size_t>(Average(level)) : all.size();
      if (In(s.free, level, id).size() == size) full.push_back(all);
    }
    // Ours, not the rules': a unit that spans two groups is listed twice, and taken once (docs/differences.md).
    for (const Ids& cpus : full)
      if (s.need >= static_cast<int>(cpus.size()) && In(s.free, level, At(cpus[0], level)) == cpus) s.Take(cpus);
  }
  void UncoreStep(State& s) const {
    const int per_core = Average(kCoreOf);
    for (unsigned id : Order(s.free, kUncoreOf)) {
      if (s.need >= Average(kUncoreOf)) TakeFull(s, kUncoreOf);
      if (s.need < 1) return;
      const Ids there = In(s.free, kUncoreOf, id);
      Ids cores = Distinct(there, kCoreOf);
      const std::size_t want = static_cast<std::size_t>((s.need + per_core - 1) / per_core);
      if (cores.size() > want) cores.resize(want);
      Ids cpus;
      for (unsigned cpu : there)
        if (std::find(cores.begin(), cores.end(), At(cpu, kCoreOf)) != cores.end()) cpus.push_back(cpu);
      if (s.need % 2 != 0 && per_core > 1 && static_cast<int>(cpus.size()) > s.need) cpus.pop_back();
      if (static_cast<int>(cpus.size()) == s.need) s.Take(cpus);
      if (s.need < 1) return;
    }
  }
  std::optional<Ids> Packed(const Ids& free, int num, bool uncore) const {
    State s{free, num, {}};
    if (num < 1) return Ids();
    if (num > static_cast<int>(free.size())) return std::nullopt;
    TakeFull(s, NumaFirst() ? kNode : kSocketOf);
    if (s.need > 0) TakeFull(s, NumaFirst() ? kSocketOf : kNode);
    if (s.need > 0 && uncore) UncoreStep(s);
    if (s.need > 0 && !in_.spread) TakeFull(s, kCoreOf);
    if (s.need > 0 && in_.spread && in_.rules.one_cpu_per_core) {
      TakeOnePerCore(s);
      return s.result;
    }
    Ids order;
    for (unsigned id : Order(s.free, in_.spread ? kSocketOf : kCoreOf))
      for (unsigned cpu : In(s.free, in_.spread ? kSocketOf : kCoreOf, id)) order.push_back(cpu);
    for (unsigned cpu : order)
      if (s.need > 0) s.Take({cpu});
    return s.result;
  }
  /// The lowest free CPU of each core in turn, a socket after the other.
  void TakeOnePerCore(State& s) const {
    const Ids sockets = Order(s.free, kSocketOf);
    const Ids cores = Order(s.free, kCoreOf);
    for (unsigned socket : sockets)
      while (s.need > 0 && !In(s.free, kSocketOf, socket).empty())
        for (unsigned core : cores)
          if (const Ids left = In(In(s.free, kSocketOf, socket), kCoreOf, core); s.need > 0 && !left.empty())
            s.Take({left.front()});
  }

  // ---- distributed ----

  /// A slice of a growing buffer, as 2.14.1 describes it.
  struct Slice {
    std::shared_ptr<Ids> buffer = std::make_shared<Ids>();
    std::size_t size = 0;
    Slice Plus(unsigned x) const {
      Slice out = *this;
      if (size == buffer->size()) {
        out.buffer = std::make_shared<Ids>(buffer->begin(), buffer->end());
        out.buffer->resize(size == 0 ? 1 : size * 2);
      }
      (*out.buffer)[size] = x;
      ++out.size;
      return out;
    }
    Ids Read() const { return {buffer->begin(), buffer->begin() + static_cast<std::ptrdiff_t>(size)}; }
    Slice Copy() const { return {std::make_shared<Ids>(Read()), size}; }
  };
  template <class F>
  static bool Choose(const Ids& items, std::size_t k, std::size_t start, const Slice& slice, const F& f) {
    if (slice.size == k) return f(slice);
    for (std::size_t i = start; i + (k - slice.size) <= items.size(); ++i)
      if (!Choose(items, k, i + 1, slice.Plus(items[i]), f)) return false;
    return true;
  }
  static double Deviation(const std::vector<int>& xs) {
    double sum = 0;
    for (int x : xs) sum += x;
    const double mean = std::round(1000 * (sum / static_cast<double>(xs.size()))) / 1000;
    double squares = 0;
    for (int x : xs) squares += (x - mean) * (x - mean);
    return std::round(1000 * std::sqrt(squares / static_cast<double>(xs.size()))) / 1000;
  }
  static constexpr double kWorst = std::numeric_limits<double>::infinity();

  /// free: by node id, -1 where there is none free.
  double Remainder(const Ids& nodes, const std::vector<int>& free, int rest, Slice& best) const {
    const int g = in_.group;
    Ids candidates;
    for (unsigned m : nodes)
      if (free[m] >= g) candidates.push_back(m);
    double balance = kWorst;
    for (std::size_t j = candidates.size(); j > 0; --j)
      Choose(candidates, j, 0, {}, [&](const Slice& s) {
        std::vector<int> x = free;
        int sum = 0;
        for (unsigned m : s.Read()) sum += x[m];
        if (sum < rest) return true;
        for (int t = rest; t > 0;) {
          const int before = t;
          for (unsigned m : s.Read())
            if (t > 0 && x[m] >= g) x[m] -= g, t -= g;
          if (t == before) return true;
        }
        if (const double b = Sd(x); b < balance) balance = b, best = Remembered(s);
        return true;
      });
    return balance;
  }
  Slice Remembered(const Slice& s) const { return in_.rules.copy_combinations ? s.Copy() : s; }
  bool WithinSocket() const { return in_.by_socket && in_.rules.distribute_within_socket; }
  /// Whether all CPUs of `avail` on the nodes are of one socket.
  bool InOneSocket(const Ids& avail, const Ids& nodes) const {
    Ids cpus;
    for (unsigned m : nodes)
      for (unsigned cpu : In(avail, kNode, m)) cpus.push_back(cpu);
    return Distinct(cpus, kSocketOf).size() == 1;
  }
  static double Sd(std::vector<int> by_node) {
    std::erase(by_node, -1);
    return Deviation(by_node);
  }

  std::optional<Ids> Distributed(const Ids& avail) const {
    const int n = in_.num;
    const int g = in_.group;
    if (n % g != 0) return Packed(avail, n, false);
    if (n < 1) return Ids();
    if (n > static_cast<int>(avail.size())) return std::nullopt;
    const auto up = [](int a, int b) { return (a + b - 1) / b; };
    const Ids nodes = Order(avail, kNode);
    std::vector<int> free(machine_.nodes.size(), -1);
    for (unsigned m : nodes) free[m] = static_cast<int>(In(avail, kNode, m).size());
    const int needed = up(n, g);
    const int most = std::min(needed, static_cast<int>(Distinct(avail, kNode).size()));
    int least = up(needed, up(up(static_cast<int>(rows_.size()), g), counts_[kNode]));
    if (in_.rules.keep_hint_width && least < in_.hinted_nodes && in_.hinted_nodes <= most) least = in_.hinted_nodes;
    for (int k = least; k <= most; ++k) {
      double best = kWorst;
      bool best_within = false;
      Slice combo;
      Slice remainder;
      const auto share = [&](const Ids& of, bool clip) {
        int out = n / k / g * g;
        for (unsigned m : of)
          if (clip) out = std::min(out, free[m] / g * g);
        return out;
      };
      Choose(nodes, static_cast<std::size_t>(k), 0, {}, [&](const Slice& s) {
        if (best == 0 && (!WithinSocket() || best_within)) return false;
        const int d = share(s.Read(), WithinSocket());
        int sum = 0;
        int groups = 0;
        bool enough = true;
        for (unsigned m : s.Read()) sum += free[m], groups += free[m] / g, enough = enough && free[m] >= d;
        if (sum < n || groups * g < n || !enough) return true;
        std::vector<int> left = free;
        for (unsigned m : s.Read()) left[m] -= d;
        Slice rem;
        const double b = n == d * k ? Sd(left) : Remainder(s.Read(), left, n - d * k, rem);
        if (b == kWorst) return true;
        const bool within = WithinSocket() && InOneSocket(avail, s.Read());
        const bool by_place = best != kWorst && within != best_within;
        if (by_place ? within : b < best) best = b, best_within = within, combo = Remembered(s), remainder = rem;
        return true;
      });
      if (best == kWorst) continue;
      const int d = share(combo.Read(), in_.rules.clip_even_share);
      State s{avail, n, {}};
      const auto give = [&](unsigned m, int count) {
        s.Take(Packed(In(s.free, kNode, m), count, false).value_or(Ids()));
      };
      for (unsigned m : combo.Read()) give(m, d);
      for (int rest = n - d * k; rest > 0;) {
        const int before = rest;
        for (unsigned m : remainder.Read())
          if (rest > 0 && static_cast<int>(In(s.free, kNode, m).size()) >= g) give(m, g), rest -= g;
        if (rest == before) return Packed(avail, n, false);  // the kubelet's endless loop
      }
      if (s.need != 0) return std::nullopt;
      return s.result;
    }
    return Packed(avail, n, false);
  }

  const TakeRequest& in_;
  const Machine& machine_;
  std::vector<Row> rows_;
  int counts_[4] = {};
};

/// For messages.
inline std::string RequestText(const TakeRequest& r) {
  return FormatIds(r.available) + " num " + std::to_string(r.num) + " distributed " + std::to_string(r.distributed) +
         " group " + std::to_string(r.group) + " by socket " + std::to_string(r.by_socket) + " hinted nodes " +
         std::to_string(r.hinted_nodes) + " uncore " + std::to_string(r.uncore) + " spread " + std::to_string(r.spread);
}

}  // namespace berth::allocator::testing

#endif  // BERTH_ALLOCATOR_TESTING_TAKE_TWIN_H_
