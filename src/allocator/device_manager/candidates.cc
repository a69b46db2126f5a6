#include "allocator/device_manager/candidates.h"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::allocator {
namespace {

/// How near devices are to the hinted nodes, in the order in which they are taken.
enum class Nearness { kAligned, kUnaligned, kNoAffinity };
using ByNearness = std::array<std::vector<std::size_t>, 3>;

std::vector<std::size_t>& At(ByNearness& groups, Nearness nearness) {
  return groups[static_cast<std::size_t>(nearness)];
}

/// Available devices but for `without`, which is ascending, by nearness; each group in the pool's order (the kubelet's
/// order among equals is arbitrary).
ByNearness Sort(const DevicePool& pool, const MaskHint& hint, const std::vector<std::size_t>& without) {
  ByNearness out;
  for (std::size_t k = 0; k < pool.devices.size(); ++k) {
    const std::size_t i = pool.order.empty() ? k : pool.order[k];
    if (!pool.Available(i) || std::ranges::binary_search(without, i)) continue;
    Nearness nearness = Nearness::kNoAffinity;
    if (!hint.any && !pool.nodes[i].empty())
      nearness = pool.nodes[i].Meets(hint.mask) ? Nearness::kAligned : Nearness::kUnaligned;
    At(out, nearness).push_back(i);
  }
  return out;
}

std::vector<std::size_t> PositionsOf(const DevicePool& pool, const std::vector<std::string>& ids,
                                     const std::vector<std::size_t>& among) {
  std::vector<std::size_t> out;
  for (const std::string& id : ids)
    for (const std::size_t i : among)
      if (pool.devices[i]->id == id) out.push_back(i);
  return out;
}

void AppendAll(std::vector<std::size_t>& out, const std::vector<std::size_t>& more) {
  out.insert(out.end(), more.begin(), more.end());
}

}  // namespace

Candidates CandidatesFor(const DevicePool& pool, const DeviceNeed& need, const MaskHint& hint, bool reuse,
                         const std::vector<std::string>* preferred) {
  Candidates out;
  for (std::size_t i = 0; reuse && i < pool.devices.size() && out.reused < static_cast<std::size_t>(need.count); ++i)
    if (pool.registered && pool.reusable[i] != 0) out.fixed.push_back(i), ++out.reused;
  out.left = need.count - static_cast<std::int64_t>(out.reused);
  ByNearness groups = Sort(pool, hint, out.fixed);
  for (const std::vector<std::size_t>& group : groups) out.available += static_cast<std::int64_t>(group.size());
  const auto aligned = static_cast<std::int64_t>(At(groups, Nearness::kAligned).size());
  if (out.left < aligned) {
    out.open = std::move(At(groups, Nearness::kAligned));
  } else {
    // The plugin's choice goes before unaligned and unplaced devices, whatever it is.
    AppendAll(out.fixed, At(groups, Nearness::kAligned));
    out.left -= aligned;
    out.open = std::move(At(groups, Nearness::kUnaligned));
    AppendAll(out.open, At(groups, Nearness::kNoAffinity));
  }
  if (preferred != nullptr) PutFirst(PositionsOf(pool, *preferred, out.open), out.open);
  return out;
}

void PutFirst(const std::vector<std::size_t>& first, std::vector<std::size_t>& devices) {
  if (devices.empty()) return;
  std::vector<char> waiting(*std::ranges::max_element(devices) + 1);
  for (const std::size_t i : devices) waiting[i] = 1;
  std::vector<std::size_t> out;
  out.reserve(devices.size());
  for (const std::vector<std::size_t>* list : {&first, &std::as_const(devices)})
    for (const std::size_t i : *list)
      if (i < waiting.size() && std::exchange(waiting[i], 0) != 0) out.push_back(i);
  devices = std::move(out);
}

}  // namespace berth::allocator
