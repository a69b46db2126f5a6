#include "allocator/explain/nearest.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/demand/demand.h"
#include "allocator/node/node_tables.h"
#include "model/resources.h"

namespace berth::allocator {
namespace {

/// Values tried for one amount before the search narrows down between two of them.
constexpr std::size_t kMostValues = 256;

/// One amount of one container. Containers by position: init containers first.
struct Knob {
  std::size_t container = 0;
  std::string resource;
  Quantity from;
};

Container& ContainerAt(Pod& pod, std::size_t position) {
  const std::size_t inits = pod.init_containers.size();
  return position < inits ? pod.init_containers[position] : pod.containers[position - inits];
}

/// A limit moves with its request where both are equal or it would be below, so that the QoS class stays.
Pod With(const Pod& pod, const Knob& knob, const Quantity& to) {
  Pod out = pod;
  Resources& resources = ContainerAt(out, knob.container).resources;
  for (ResourceList* const list : {&resources.requests, &resources.limits}) {
    const auto entry = list->find(knob.resource);
    if (entry == list->end()) continue;
    if (to.IsZero()) {
      list->erase(entry);
    } else if (list == &resources.requests || entry->second == knob.from || entry->second < to) {
      entry->second = to;
    }
  }
  return out;
}

std::vector<Knob> Knobs(const Pod& pod) {
  std::vector<Knob> out;
  std::size_t position = 0;
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    std::set<std::string> names;
    for (const auto& [name, amount] : container.resources.requests) names.insert(name);
    for (const auto& [name, amount] : container.resources.limits) names.insert(name);
    for (const std::string& name : names) {
      const auto request = container.resources.requests.find(name);
      const Quantity from = request != container.resources.requests.end()
                                ? request->second
                                : container.resources.limits.find(name)->second;
      if (from.Sign() > 0) out.push_back({position, name, from});
    }
    ++position;
  });
  return out;
}

Quantity ToQuantity(const Knob& knob, std::int64_t units) {
  return IsMemoryType(knob.resource) ? Quantity::FromBytes({units}) : Quantity::FromUnits(units);
}

std::int64_t Floor(const Quantity& q) { return q.IsInteger() ? q.Value() : q.Value() - 1; }

/// The CPUs of the container are exclusive.
bool Exclusive(const Attempt& attempt, const Pod& pod, const Knob& knob) {
  const NodeTables& tables = attempt.node().tables();
  return knob.resource == "cpu" && DemandOf(tables, RulesFor(tables, pod), pod).containers[knob.container].cpus > 0;
}

/// The finest change that is offered: 1 CPU (a core under full-pcpus-only), 1 MiB, a huge page, a device.
std::int64_t StepOf(const Attempt& attempt, const Pod& pod, const Knob& knob) {
  const NodeTables& tables = attempt.node().tables();
  if (knob.resource == "memory") return MiB(1).v;
  if (const auto page = PageSizeOf(knob.resource)) return page->v;
  if (knob.resource == "cpu" && RulesFor(tables, pod).cpu.full_pcpus_only && Exclusive(attempt, pod, knob))
    return std::max(1, tables.topology.cpus_per_core());
  return 1;
}

/// How many multiples of the step are below the amount.
std::int64_t StepsBelow(const Knob& knob, std::int64_t step) { return (knob.from.Value() - 1) / step; }

/// Where the answer is likely to change: what nodes have free of a type, alone and together, with and without the rest
/// of the pod, and even shares of the amount.
std::vector<std::int64_t> MemoryMarks(const Attempt& attempt, const Pod& pod, const Knob& knob) {
  std::vector<std::int64_t> free;
  for (const auto& [node, state] : attempt.ledger().memory)
    if (const auto it = state.types.find(knob.resource); it != state.types.end()) free.push_back(it->second.free.v);
  std::sort(free.rbegin(), free.rend());
  std::vector<std::int64_t> sums = free;
  std::int64_t sum = 0;
  for (std::int64_t amount : free) sums.push_back(sum += amount);
  const ResourceList others = PodRequests(With(pod, knob, Quantity()));
  const auto other = others.find(knob.resource);
  const std::int64_t rest = other == others.end() ? 0 : other->second.Value();
  std::vector<std::int64_t> out;
  for (std::int64_t amount : sums) {
    out.push_back(amount);
    if (amount > rest) out.push_back(amount - rest);
    for (std::int64_t part = 2; part <= 4; ++part) out.push_back(amount / part);
  }
  const std::int64_t from = knob.from.Value();
  for (std::int64_t part = 1; part < 32; ++part) out.push_back(from / 32 * part);
  for (std::int64_t part = 64; part <= 4096; part *= 2) out.push_back(from / part);
  return out;
}

/// Every count that the machine could give, evenly thinned where there are many.
std::vector<std::int64_t> CountMarks(const Attempt& attempt, const Knob& knob, std::int64_t step) {
  std::int64_t most = attempt.node().all_cpus().Count();
  if (knob.resource != "cpu") {
    const auto devices = attempt.inputs().devices.find(knob.resource);
    most = devices == attempt.inputs().devices.end() ? 0 : static_cast<std::int64_t>(devices->second.size());
  }
  const std::int64_t steps = std::min(most / step, StepsBelow(knob, step));
  const std::int64_t stride = steps / static_cast<std::int64_t>(kMostValues) + 1;
  std::vector<std::int64_t> out;
  for (std::int64_t n = steps; n > 0; n -= stride) out.push_back(n * step);
  if (stride > 1) out.push_back(step);
  return out;
}

/// What node allocatable has left of a resource beside the rest of this pod.
std::optional<Quantity> FitStep(const Attempt& attempt, const Pod& pod, const Knob& knob) {
  const ResourceList& allocatable = attempt.node().allocatable();
  const auto total = allocatable.find(knob.resource);
  if (total == allocatable.end()) return std::nullopt;
  Quantity left = total->second;
  for (const auto& [uid, record] : attempt.ledger().pods)
    if (const auto it = record.requests.find(knob.resource); it != record.requests.end()) left -= it->second;
  const ResourceList rest = PodRequests(With(pod, knob, Quantity()));
  if (const auto it = rest.find(knob.resource); it != rest.end()) left -= it->second;
  if (left.Sign() <= 0 || left >= knob.from) return std::nullopt;
  return left;
}

/// Huge pages and devices; a container without CPU time or memory is no answer.
bool MayBeLeftOut(std::string_view resource) { return IsHugePages(resource) || !IsNativeResource(resource); }

/// Smaller values to try first, nearest first. Amounts that are whole stay whole.
std::vector<Quantity> Values(const Attempt& attempt, const Pod& pod, const Knob& knob) {
  const bool memory = IsMemoryType(knob.resource);
  const bool cpu = knob.resource == "cpu";
  const std::int64_t step = StepOf(attempt, pod, knob);
  std::vector<std::int64_t> marks;
  if (memory) {
    marks = MemoryMarks(attempt, pod, knob);
  } else if (cpu || !IsNativeResource(knob.resource)) {
    marks = CountMarks(attempt, knob, step);
  }
  std::vector<Quantity> out;
  if (const auto left = FitStep(attempt, pod, knob)) {
    marks.push_back(Floor(*left));
    if (!memory && !Exclusive(attempt, pod, knob)) out.push_back(*left);
  }
  for (std::int64_t mark : marks)
    if (const std::int64_t whole = mark / step * step; whole > 0) out.push_back(ToQuantity(knob, whole));
  if (cpu && knob.from <= Quantity::FromUnits(1)) out.push_back(Quantity::FromMilli(knob.from.MilliValue() / 2));
  if (MayBeLeftOut(knob.resource)) out.emplace_back();
  std::erase_if(out, [&](const Quantity& q) { return q >= knob.from || (q.IsZero() && !MayBeLeftOut(knob.resource)); });
  std::sort(out.begin(), out.end(), std::greater<>());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Share of the amount that is changed.
double Share(const Quantity& from, const Quantity& to) {
  const Quantity difference = to > from ? to - from : from - to;
  return static_cast<double>(difference.MilliValue()) /
         static_cast<double>(std::max<std::int64_t>(1, from.MilliValue()));
}

/// The amounts of one pod as they are changed; knobs and amounts by position.
class AmountSearch {
 public:
  AmountSearch(const Attempt& attempt, const Pod& pod) : attempt_(attempt), pod_(pod), knobs_(Knobs(pod)) {
    for (const Knob& knob : knobs_) {
      steps_.push_back(StepOf(attempt, pod, knob));
      values_.push_back(Values(attempt, pod, knob));
    }
  }

  const std::vector<Knob>& knobs() const { return knobs_; }
  /// No combination was left out.
  bool complete() const { return complete_; }

  /// One changed amount, the relatively smallest change that does.
  std::optional<Pod> ChangeOne() {
    std::optional<Pod> best;
    double best_share = 0;
    for (std::size_t i = 0; i < knobs_.size(); ++i) {
      const std::optional<Quantity> value = Nearest(i);
      if (!value) continue;
      const double share = Share(knobs_[i].from, *value);
      if (best && share >= best_share) continue;
      best = With(pod_, knobs_[i], *value);
      best_share = share;
    }
    return best;
  }

  /// Several amounts. All combinations if they are few; else the least of every amount (or an even share of its
  /// values), if that is admitted, then each raised again as far as it goes.
  std::optional<Pod> ChangeMany() {
    if (auto up = RoundedUp()) return up;
    if (Combinations() * attempt_.dearest() <= attempt_.left()) return TryAll();
    constexpr std::size_t kShares = 16;
    for (std::size_t share = kShares; share > 0; --share) {
      std::vector<Quantity> amounts = Shares(share, kShares);
      if (!attempt_.Admits(Build(amounts))) continue;
      for (std::size_t i = 0; i < knobs_.size(); ++i) Raise(amounts, i);
      return Build(amounts);
    }
    return std::nullopt;
  }

 private:
  std::vector<Quantity> Unchanged() const {
    std::vector<Quantity> out;
    for (const Knob& knob : knobs_) out.push_back(knob.from);
    return out;
  }

  Pod Build(const std::vector<Quantity>& amounts) const {
    Pod out = pod_;
    for (std::size_t i = 0; i < knobs_.size(); ++i)
      if (amounts[i] != knobs_[i].from) out = With(out, knobs_[i], amounts[i]);
    return out;
  }

  bool Admits(std::vector<Quantity> amounts, std::size_t i, const Quantity& value) const {
    amounts[i] = value;
    return attempt_.Admits(Build(amounts));
  }

  /// The highest admitted value of one amount above `floor`, the others as in `amounts`; one step more is rejected.
  /// Requires: the amount as the pod has it is rejected.
  std::optional<Quantity> Highest(const std::vector<Quantity>& amounts, std::size_t i, const Quantity& floor) const {
    Quantity rejected = knobs_[i].from;
    for (const Quantity& value : values_[i]) {
      if (value <= floor) break;
      if (Admits(amounts, i, value)) return Bisect(amounts, i, value, rejected);
      rejected = value;
    }
    if (floor.Sign() > 0) return Bisect(amounts, i, floor, rejected);
    return std::nullopt;
  }

  Quantity Bisect(const std::vector<Quantity>& amounts, std::size_t i, Quantity admitted,
                  const Quantity& rejected) const {
    const std::int64_t step = steps_[i];
    std::int64_t low = Floor(admitted) / step;
    std::int64_t high = rejected.Value() / step + (rejected.Value() % step != 0 ? 1 : 0);
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      const Quantity value = ToQuantity(knobs_[i], middle * step);
      if (Admits(amounts, i, value)) {
        low = middle;
        admitted = value;
      } else {
        high = middle;
      }
    }
    return admitted;
  }

  /// Smaller, or the next whole number of cores, whichever is nearer; of two that are as near the one that is enough.
  std::optional<Quantity> Nearest(std::size_t i) const {
    const Knob& knob = knobs_[i];
    std::optional<Quantity> out = Highest(Unchanged(), i, Quantity());
    const std::int64_t step = steps_[i];
    if (knob.resource != "cpu" || !knob.from.IsInteger() || knob.from.Value() % step == 0 ||
        knob.from > Quantity::FromUnits(attempt_.node().all_cpus().Count()))
      return out;
    const Quantity up = Quantity::FromUnits((knob.from.Value() / step + 1) * step);
    const bool nearer = !out || up - knob.from <= knob.from - *out;  // who asks for seven is served by eight
    return nearer && Admits(Unchanged(), i, up) ? up : out;
  }

  /// With every amount that is no whole number of cores at the next one; nullopt: there is none, or it is rejected.
  std::optional<Pod> RoundedUp() const {
    std::vector<Quantity> amounts = Unchanged();
    for (std::size_t i = 0; i < knobs_.size(); ++i)
      if (const Quantity& from = knobs_[i].from; knobs_[i].resource == "cpu" && from.IsInteger() &&
                                                 from <= Quantity::FromUnits(attempt_.node().all_cpus().Count()))
        amounts[i] = Quantity::FromUnits((from.Value() + steps_[i] - 1) / steps_[i] * steps_[i]);
    if (amounts == Unchanged()) return std::nullopt;
    Pod out = Build(amounts);
    return attempt_.Admits(out) ? std::optional(std::move(out)) : std::nullopt;
  }

  std::vector<Quantity> Shares(std::size_t share, std::size_t of) const {
    std::vector<Quantity> out = Unchanged();
    for (std::size_t i = 0; i < out.size(); ++i)
      if (!values_[i].empty()) out[i] = values_[i][(values_[i].size() - 1) * share / of];
    return out;
  }

  void Raise(std::vector<Quantity>& amounts, std::size_t i) const {
    if (Admits(amounts, i, knobs_[i].from)) {
      amounts[i] = knobs_[i].from;
    } else if (const auto value = Highest(amounts, i, amounts[i])) {
      amounts[i] = *value;
    }
  }

  /// Values of one amount in whole steps: as it is, every smaller one, none where it may be left out.
  std::vector<Quantity> AllValues(std::size_t i) const {
    std::vector<Quantity> out = values_[i];
    for (std::int64_t n = StepsBelow(knobs_[i], steps_[i]); n > 0; --n)
      out.push_back(ToQuantity(knobs_[i], n * steps_[i]));
    out.push_back(knobs_[i].from);
    std::sort(out.begin(), out.end(), std::greater<>());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  std::int64_t Combinations() const {
    std::int64_t out = 1;
    for (std::size_t i = 0; i < knobs_.size() && out <= attempt_.left(); ++i)
      out *= std::min<std::int64_t>(StepsBelow(knobs_[i], steps_[i]), attempt_.left()) + 3;
    return out;
  }

  std::optional<Pod> TryAll() {
    std::vector<std::vector<Quantity>> all;
    for (std::size_t i = 0; i < knobs_.size(); ++i) all.push_back(AllValues(i));
    std::optional<Pod> best;
    double best_share = 0;
    std::vector<std::size_t> at(knobs_.size());
    for (bool more = !at.empty(); more;) {
      std::vector<Quantity> amounts;
      double share = 0;
      for (std::size_t i = 0; i < at.size(); ++i) {
        amounts.push_back(all[i][at[i]]);
        share += Share(knobs_[i].from, amounts[i]);
      }
      if (Pod pod = Build(amounts); (!best || share < best_share) && attempt_.Admits(pod)) {
        best = std::move(pod);
        best_share = share;
      }
      more = false;
      for (std::size_t i = 0; i < at.size() && !more; ++i) {
        more = ++at[i] < all[i].size();
        if (!more) at[i] = 0;
      }
    }
    complete_ = true;
    return best;
  }

  const Attempt& attempt_;
  const Pod& pod_;
  std::vector<Knob> knobs_;
  std::vector<std::int64_t> steps_;
  std::vector<std::vector<Quantity>> values_;
  bool complete_ = false;
};

NearestRequest ToResult(const Pod& pod, Pod changed, const std::vector<Knob>& knobs) {
  NearestRequest out;
  for (const Knob& knob : knobs) {
    Container& container = ContainerAt(changed, knob.container);
    const auto find = [&](const ResourceList& list) { return list.find(knob.resource); };
    Quantity to;
    if (const auto it = find(container.resources.requests); it != container.resources.requests.end()) {
      to = it->second;
    } else if (const auto limit = find(container.resources.limits); limit != container.resources.limits.end()) {
      to = limit->second;
    }
    if (to != knob.from) out.changes.push_back({container.name, knob.resource, knob.from, to});
  }
  out.pod = std::move(changed);
  out.pod.uid = pod.uid;
  return out;
}

}  // namespace

NearestSearch FindNearest(const Attempt& attempt, const Pod& pod) {
  AmountSearch search(attempt, pod);
  NearestSearch out;
  std::optional<Pod> best = search.ChangeOne();
  out.exhaustive = best.has_value();
  if (!best) {
    best = search.ChangeMany();
    out.exhaustive = best.has_value() || search.complete();
  }
  out.exhaustive = out.exhaustive && attempt.left() > 0;
  if (best) out.nearest = ToResult(pod, *std::move(best), search.knobs());
  return out;
}

}  // namespace berth::allocator
