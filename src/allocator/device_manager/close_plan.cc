#include "allocator/device_manager/close_plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "allocator/device_manager/candidates.h"
#include "allocator/device_manager/closest.h"
#include "base/text.h"

namespace berth::allocator {
namespace {

/// Sets of nodes that are compared, and devices that are looked at for that, at the most.
constexpr std::size_t kMostSets = 256;
constexpr std::size_t kMostLooks = std::size_t{1} << 16;

/// A resource's part of the question: places, and the devices they are of.
struct Part {
  std::string_view resource;
  CloseResource places;
  std::vector<std::size_t> open;  // as places.candidates
};

/// nullopt: the resource is none of the engine's business, or there are not enough of it.
std::optional<Part> PartFor(PodBooks& books, const DeviceNeed& need, const MaskHint& hint, bool reuse) {
  const DevicePool* const pool = books.devices.Find(need.resource);
  if (pool == nullptr) return std::nullopt;
  const std::vector<std::string>* const preferred = books.devices.Preferred(need.resource);
  Candidates from = CandidatesFor(*pool, need, hint, reuse, preferred);
  if (from.left > static_cast<std::int64_t>(from.open.size())) return std::nullopt;
  if (from.left == 0) {  // all that are there: which containers of a pod get which is left open
    from.open.assign(from.fixed.begin() + static_cast<std::ptrdiff_t>(from.reused), from.fixed.end());
    from.fixed.resize(from.reused);
    from.left = static_cast<std::int64_t>(from.open.size());
  }
  const auto left = static_cast<std::size_t>(from.left);
  Part out{.resource = need.resource, .places = {}, .open = {}};
  // A plug-in that was asked for several knows how they are linked with each other: the others gather around its
  // choice.
  const bool chosen = preferred != nullptr && !preferred->empty() && left > 1;
  if (chosen) from.fixed.insert(from.fixed.end(), from.open.begin(), from.open.begin() + from.left);
  for (const std::size_t i : from.fixed) out.places.fixed.push_back(pool->places[i]);
  if (chosen) return out;
  for (const std::size_t i : from.open) out.places.candidates.push_back(pool->places[i]);
  out.places.need = left;
  out.open = std::move(from.open);
  return out;
}

/// Fewer than two devices have nobody to be close to.
bool AreSeveral(const std::vector<DeviceNeed>& needs) {
  std::int64_t devices = 0;
  for (const DeviceNeed& need : needs) devices += std::min<std::int64_t>(need.count, 2);
  return devices > 1;
}

/// What the roots and bridges say about some devices of one container.
struct Gathered {
  std::vector<std::size_t> way;  // common to all of them
  std::vector<std::string> ids;
};

}  // namespace

const std::vector<std::size_t>* ClosePlan::Of(std::string_view resource) const {
  const auto found = first.find(resource);
  return found == first.end() ? nullptr : &found->second;
}

ClosePlan PlanClose(PodBooks& books, const std::vector<DeviceNeed>& needs, const MaskHint& hint, bool reuse) {
  ClosePlan out;
  if (!books.tables->places || !AreSeveral(needs)) return out;
  std::vector<Part> parts;
  std::vector<CloseResource> resources;
  for (const DeviceNeed& need : needs) {
    std::optional<Part> part = PartFor(books, need, hint, reuse);
    if (!part) continue;
    resources.push_back(std::move(part->places));
    parts.push_back(*std::move(part));
  }
  const std::optional<CloseChoice> choice = ChooseClosest(*books.tables->places, resources);
  if (!choice) {
    out.exact = false;
    return out;
  }
  out.closeness = choice->closeness;
  for (std::size_t r = 0; r < parts.size(); ++r)
    for (const std::size_t chosen : choice->chosen[r])
      out.first[std::string(parts[r].resource)].push_back(parts[r].open[chosen]);
  return out;
}

void PreferCloseNodes(PodBooks& books, const std::vector<DeviceNeed>& needs, bool reuse,
                      const std::vector<HintList>& lists, Merged& merged) {
  if (!books.tables->places || !merged.hint.preferred || merged.hint.any || !AreSeveral(needs)) return;
  std::size_t devices = 0;
  for (const DeviceNeed& need : needs)
    if (const DevicePool* const pool = books.devices.Find(need.resource)) devices += pool->devices.size();
  const std::vector<Mask> sets = books.tables->aligner.Equals(
      lists, merged.hint.mask, std::min(kMostSets, kMostLooks / std::max(devices, kMostSets)),
      books.rules.topology_policy);
  if (sets.size() < 2) return;
  const Mask lowest = merged.hint.mask;
  std::optional<std::int64_t> best;
  for (const Mask& mask : sets) {
    const ClosePlan plan = PlanClose(books, needs, {mask, false, true}, reuse);
    if (!plan.exact || (best && plan.closeness <= *best)) continue;
    best = plan.closeness;
    merged.hint.mask = mask;
  }
  if (merged.hint.mask != lowest)
    merged.rule = "all resources prefer these nodes; of equally few, their devices lie closest together";
}

CpuSet CpusNearDevices(PodBooks& books, const std::vector<const Placement*>& placements) {
  std::optional<CpuSet> out;
  if (!books.tables->places) return {};
  for (const Placement* placement : placements)
    for (const DeviceAssignment& given : placement->devices) {
      const DevicePool* const pool = books.devices.Find(given.resource);
      for (std::size_t i = 0; pool != nullptr && i < pool->devices.size(); ++i) {
        if (!std::ranges::binary_search(given.ids, pool->devices[i]->id)) continue;
        const CpuSet local = books.tables->places->LocalCpus(*pool->devices[i]);
        if (!local.empty()) out = out ? *out & local : local;
      }
    }
  return out.value_or(CpuSet());
}

std::string ClosenessText(PodBooks& books, const Placement& placement) {
  if (!books.tables->places) return "";
  const DevicePlaces& places = *books.tables->places;
  constexpr std::size_t kNotKnown = std::numeric_limits<std::size_t>::max();  // told last
  std::map<std::size_t, Gathered> roots;
  std::size_t devices = 0;
  for (const DeviceAssignment& given : placement.devices) {
    const DevicePool* const pool = books.devices.Find(given.resource);
    for (std::size_t i = 0; i < pool->devices.size(); ++i) {
      if (!std::ranges::binary_search(given.ids, pool->devices[i]->id)) continue;
      std::vector<std::size_t> way = places.Way(pool->places[i]);
      Gathered& here = roots[way.empty() ? kNotKnown : way.front()];
      if (!here.ids.empty()) way.erase(std::ranges::mismatch(way, here.way).in1, way.end());
      here.way = std::move(way);
      here.ids.push_back(pool->devices[i]->id);
      ++devices;
    }
  }
  std::string out;
  if (devices < 2) return out;
  for (const auto& [root, here] : roots) {
    out += (out.empty() ? "" : "; ") + Join(here.ids, ", ");
    if (here.way.size() > 1) out += " below " + places.name(here.way.back()) + " of " + places.name(root);
    if (here.way.size() == 1) out += " on " + places.name(root);
    if (here.way.empty()) out += ": place not known";
  }
  return out;
}

}  // namespace berth::allocator
