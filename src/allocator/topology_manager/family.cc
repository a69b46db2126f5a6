#include "allocator/topology_manager/family.h"

#include <algorithm>

namespace berth::allocator {

std::int64_t Need::Of(const Mask& mask) const {
  std::int64_t sum = 0;
  mask.ForEach([&](std::size_t node) { sum += on[node]; });
  for (const Shared& part : shared)
    if (part.nodes.Meets(mask)) sum += part.amount;
  return sum;
}

std::int64_t Need::AtMost(std::size_t node) const {
  std::int64_t sum = on[node];
  for (const Shared& part : shared)
    if (part.nodes.Has(node)) sum += part.amount;
  return sum;
}

bool Family::Contains(const Mask& mask) const {
  return !mask.empty() && mask.Within(universe) && must.Within(mask) &&
         std::all_of(needs.begin(), needs.end(), [&](const Need& need) { return need.Of(mask) >= need.amount; });
}

Family Family::Within(const Mask& inside) const {
  const Mask outside = universe - inside;
  Family out;
  out.universe = inside;
  out.must = must & inside;
  for (const Need& need : needs) {
    const std::int64_t left = need.amount - need.Of(outside);
    if (left <= 0) continue;
    Need& kept = out.needs.emplace_back();
    kept.amount = left;
    kept.on = need.on;
    for (const Shared& part : need.shared)
      if (!part.nodes.Meets(outside)) kept.shared.push_back(part);
  }
  return out;
}

}  // namespace berth::allocator
