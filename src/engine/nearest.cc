#include "engine/nearest.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "engine/demand.h"
#include "engine/tables.h"

namespace berth::engine {
namespace {

/// Values tried for one amount.
constexpr std::size_t kMostValues = 64;

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

/// Requests and limits move together, so that the QoS class stays.
Pod With(const Pod& pod, const Knob& knob, const Quantity& to) {
  Pod out = pod;
  Resources& resources = ContainerAt(out, knob.container).resources;
  for (ResourceList* const list : {&resources.requests, &resources.limits}) {
    const auto entry = list->find(knob.resource);
    if (entry == list->end()) continue;
    if (to.IsZero()) {
      list->erase(entry);
    } else if (list == &resources.requests || entry->second > to || resources.requests.contains(knob.resource)) {
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

/// At most kMostValues, evenly picked, the first and the last always among them.
template <class T>
std::vector<T> Thin(const std::vector<T>& values) {
  if (values.size() <= kMostValues) return values;
  std::vector<T> out;
  for (std::size_t i = 0; i < kMostValues; ++i) out.push_back(values[i * (values.size() - 1) / (kMostValues - 1)]);
  return out;
}

std::vector<Quantity> SmallerCounts(const Quantity& from, bool to_zero) {
  std::vector<std::int64_t> counts;
  const std::int64_t most = std::min<std::int64_t>(from.Value() - 1, 4096);
  for (std::int64_t n = most; n >= 1; --n) counts.push_back(n);
  std::vector<Quantity> out;
  for (std::int64_t n : Thin(counts)) out.push_back(Quantity::FromUnits(n));
  if (to_zero) out.emplace_back();
  return out;
}

/// What nodes have free of a type, alone and together, fullest first: where the answer can change.
std::vector<Quantity> MemorySteps(const Attempt& attempt, const std::string& type, const Quantity& from) {
  std::vector<std::int64_t> free;
  for (const auto& [node, state] : attempt.ledger().memory)
    if (const auto it = state.types.find(type); it != state.types.end()) free.push_back(it->second.free.v);
  std::sort(free.rbegin(), free.rend());
  std::set<std::int64_t> values(free.begin(), free.end());
  std::int64_t sum = 0;
  for (std::int64_t amount : free) values.insert(sum += amount);
  for (std::int64_t part = 2; part <= 64; part *= 2) values.insert(from.Value() / part);
  std::vector<std::int64_t> smaller;
  for (auto it = values.rbegin(); it != values.rend(); ++it)
    if (*it > 0 && *it < from.Value()) smaller.push_back(*it);
  std::vector<Quantity> out;
  for (std::int64_t amount : Thin(smaller)) out.push_back(Quantity::FromBytes({amount}));
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

/// Values to try, nearest first.
std::vector<Quantity> Values(const Attempt& attempt, const Pod& pod, const Knob& knob) {
  std::vector<Quantity> out;
  if (IsMemoryType(knob.resource)) {
    out = MemorySteps(attempt, knob.resource, knob.from);
  } else if (knob.resource == "cpu") {
    out = SmallerCounts(knob.from, false);
    const int per_core = std::max(1, attempt.node().tables().topology.cpus_per_core());
    const std::int64_t n = knob.from.Value();
    if (n % per_core != 0) out.push_back(Quantity::FromUnits((n / per_core + 1) * per_core));
    if (n <= 1) out.push_back(Quantity::FromMilli(knob.from.MilliValue() / 2));
  } else if (!IsNativeResource(knob.resource)) {
    out = SmallerCounts(knob.from, true);
  }
  if (const auto step = FitStep(attempt, pod, knob)) out.push_back(*step);
  const auto distance = [&](const Quantity& q) { return q > knob.from ? q - knob.from : knob.from - q; };
  std::sort(out.begin(), out.end(), [&](const Quantity& a, const Quantity& b) {
    return distance(a) != distance(b) ? distance(a) < distance(b) : a < b;
  });
  return out;
}

/// Share of the amount that is changed, in millionths.
std::int64_t Share(const Quantity& from, const Quantity& to) {
  const std::int64_t base = std::max<std::int64_t>(1, from.MilliValue() / 1000);
  const Quantity difference = to > from ? to - from : from - to;
  return difference.MilliValue() / base;
}

/// The nearest value of one amount with which the pod is admitted.
std::optional<Quantity> FirstAdmitted(const Attempt& attempt, const Pod& pod, const Knob& knob) {
  for (const Quantity& value : Values(attempt, pod, knob))
    if (attempt.Admits(With(pod, knob, value))) return value;
  return std::nullopt;
}

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

/// `least` with one amount as in `pod`.
Pod Restored(Pod least, const Pod& pod, const Knob& knob) {
  Pod original = pod;
  const Resources& before = ContainerAt(original, knob.container).resources;
  Resources& after = ContainerAt(least, knob.container).resources;
  if (const auto it = before.requests.find(knob.resource); it != before.requests.end())
    after.requests.insert_or_assign(knob.resource, it->second);
  if (const auto it = before.limits.find(knob.resource); it != before.limits.end())
    after.limits.insert_or_assign(knob.resource, it->second);
  return least;
}

/// The least of every amount, if that is admitted, then each raised again as far as it goes.
std::optional<Pod> ChangeMany(const Attempt& attempt, const Pod& pod, const std::vector<Knob>& knobs) {
  Pod least = pod;
  for (const Knob& knob : knobs) {
    const std::vector<Quantity> values = Values(attempt, pod, knob);
    if (!values.empty()) least = With(least, knob, *std::min_element(values.begin(), values.end()));
  }
  if (!attempt.Admits(least)) return std::nullopt;
  for (const Knob& knob : knobs) {
    std::vector<Quantity> values = Values(attempt, pod, knob);
    values.insert(values.begin(), knob.from);
    for (const Quantity& value : values) {
      Pod raised = With(Restored(least, pod, knob), knob, value);
      if (!attempt.Admits(raised)) continue;
      least = std::move(raised);
      break;
    }
  }
  return least;
}

}  // namespace

std::optional<NearestRequest> FindNearest(const Attempt& attempt, const Pod& pod) {
  const std::vector<Knob> knobs = Knobs(pod);
  std::optional<Pod> best;
  std::int64_t best_share = 0;
  for (const Knob& knob : knobs) {
    const std::optional<Quantity> value = FirstAdmitted(attempt, pod, knob);
    if (!value) continue;
    const std::int64_t share = Share(knob.from, *value);
    if (best && share >= best_share) continue;
    best = With(pod, knob, *value);
    best_share = share;
  }
  if (!best) best = ChangeMany(attempt, pod, knobs);
  if (!best) return std::nullopt;
  return ToResult(pod, *std::move(best), knobs);
}

}  // namespace berth::engine
