#include "allocator/device_manager/device_policy.h"

#include <algorithm>
#include <string>
#include <utility>

#include "allocator/device_manager/candidates.h"
#include "allocator/reason/failure.h"
#include "base/words.h"

namespace berth::allocator {
namespace {

/// rules/devices#choice, steps 1 and 3; "" if the devices can be chosen.
std::string ShortageOf(const DevicePool& pool, const DeviceNeed& need, const Candidates& from) {
  if (!pool.registered) return "cannot allocate unregistered device " + need.resource;
  if (pool.Healthy() == 0) return "no healthy devices present; cannot allocate unhealthy devices " + need.resource;
  const std::int64_t left = need.count - static_cast<std::int64_t>(from.reused);
  if (left <= from.available) return "";
  return "requested number of devices unavailable for " + need.resource + ". Requested: " + std::to_string(left) +
         ", Available: " + std::to_string(from.available);
}

struct DeviceChoice {
  std::vector<std::size_t> devices;
  std::string error;
};

/// first: devices to take before equally near ones, or nullptr.
DeviceChoice Choose(const DevicePool& pool, const DeviceNeed& need, Candidates from,
                    const std::vector<std::size_t>* first) {
  // The first two errors come before looking at the number, so that even zero devices of a dead plugin are refused.
  DeviceChoice out{.devices = std::move(from.fixed), .error = ShortageOf(pool, need, from)};
  if (!out.error.empty()) return out;
  if (first != nullptr) PutFirst(*first, from.open);
  out.devices.insert(out.devices.end(), from.open.begin(), from.open.begin() + from.left);
  return out;
}

DeviceAssignment AssignmentOf(const DevicePool& pool, const DeviceNeed& need, const std::vector<std::size_t>& devices) {
  DeviceAssignment out;
  out.resource = need.resource;
  for (std::size_t i : devices) out.ids.push_back(pool.devices[i]->id);
  std::sort(out.ids.begin(), out.ids.end());
  return out;
}

std::string IdsText(const std::vector<std::string>& ids) {
  std::string out;
  for (const std::string& id : ids) out += (out.empty() ? "" : ", ") + id;
  return out;
}

/// Adds devices that sit on these nodes to what a need counts.
void Count(const Mask& nodes, std::int64_t devices, Need& need) {
  if (nodes.Count() == 1) {
    need.on[nodes.First()] += devices;
    return;
  }
  const auto same =
      std::find_if(need.shared.begin(), need.shared.end(), [&](const Shared& part) { return part.nodes == nodes; });
  if (same == need.shared.end()) {
    need.shared.push_back({nodes, devices});
  } else {
    same->amount += devices;
  }
}

/// The least number of nodes whose devices, taken or not, are enough; all of the machine's if they never are.
int NarrowestFor(const DevicePool& pool, const Mask& hosts, std::int64_t request, std::size_t all_nodes, bool& exact) {
  Need need{.amount = request, .on = std::vector<std::int64_t>(all_nodes)};
  for (const Mask& nodes : pool.nodes)
    if (!nodes.empty()) Count(nodes, 1, need);
  if (need.Of(hosts) < request) return static_cast<int>(all_nodes);
  const Cover::Request wanted{.needs = {&need}, .allowed = hosts, .must = {}};
  Steps steps = Steps::For(hosts);
  Cover cover(wanted, steps);
  std::optional<Mask> mask = cover.Fewest(1);
  if (!mask) exact = false, mask = cover.Shrunk(1);
  return mask->Count();
}

/// Sets of the nodes that have devices of the resource (rules/devices#hints).
HintFamily SetsFor(const DevicePool& pool, std::int64_t request, bool reuse, std::size_t all_nodes, bool& exact) {
  HintFamily out;
  for (const Mask& nodes : pool.nodes) out.family.universe |= nodes;
  out.preferred_count = NarrowestFor(pool, out.family.universe, request, all_nodes, exact);
  Need need{.amount = request, .on = std::vector<std::int64_t>(all_nodes)};
  for (std::size_t i = 0; i < pool.devices.size(); ++i) {
    const Mask& nodes = pool.nodes[i];
    if (nodes.empty()) continue;
    const bool reused = reuse && pool.reusable[i] != 0;
    // Counted apart: a device that is both reusable and available counts twice, as the kubelet counts it.
    Count(nodes, (pool.Available(i) ? 1 : 0) + (reused ? 1 : 0), need);
    if (reused && nodes.Count() == 1) out.family.must |= nodes;
    if (reused && nodes.Count() > 1)
      out.family.needs.push_back({.amount = 1, .on = std::vector<std::int64_t>(all_nodes), .shared = {{nodes, 1}}});
  }
  if (request > 0) out.family.needs.push_back(std::move(need));
  return out;
}

}  // namespace

void AddDeviceHints(PodBooks& books, const std::vector<DeviceNeed>& needs, bool reuse, std::vector<HintList>& out) {
  for (const DeviceNeed& need : needs) {
    const DevicePool* pool = books.devices.Find(need.resource);
    if (pool == nullptr) continue;
    HintList& list = out.emplace_back();
    list.resources = {need.resource};
    if (!pool->topology) continue;
    list.kind = HintList::Kind::kHints;
    std::int64_t usable = 0;
    for (std::size_t i = 0; i < pool->devices.size(); ++i)
      if (pool->Available(i) || (reuse && pool->reusable[i] != 0)) ++usable;
    if (usable < need.count) continue;
    HintFamily sets = SetsFor(*pool, need.count, reuse, books.tables->nodes.size(), list.exact);
    if (!sets.family.Impossible()) list.family = std::move(sets);
  }
}

std::optional<Reject> AllocateDevices(PodBooks& books, const ContainerDemand& demand, const MaskHint& hint,
                                      const ClosePlan& close, Placement& placement, const DecisionLog& log) {
  const std::string& name = demand.container->name;
  for (const DeviceNeed& need : demand.devices) {
    DevicePool* pool = books.devices.Find(need.resource);
    if (pool == nullptr) continue;
    Candidates from = CandidatesFor(*pool, need, hint, true, books.devices.Preferred(need.resource));
    // Taken over even if there are not enough others: a BookKeeper looks at the books then too.
    for (std::size_t k = 0; k < from.reused; ++k) pool->taken[from.fixed[k]] = 1;
    const DeviceChoice choice = Choose(*pool, need, std::move(from), close.Of(need.resource));
    if (!choice.error.empty()) return Unexpected(name, choice.error);
    if (choice.devices.empty()) continue;
    for (std::size_t i : choice.devices) pool->taken[i] = 1;
    const DeviceAssignment& given = placement.devices.emplace_back(AssignmentOf(*pool, need, choice.devices));
    if (log) log.Add("allocate", name, need.resource, Counted(need.count, "device") + " taken: " + IdsText(given.ids));
  }
  if (log && close.exact)
    if (std::string text = ClosenessText(books, placement); !text.empty()) log.Add("close", name, "", std::move(text));
  if (log && !close.exact) log.Add("close", name, "", "too many devices to compare: taken as without closeDevices");
  // Only now, so that one container's resources do not meet its own leftovers.
  for (const DeviceAssignment& given : placement.devices) {
    DevicePool* pool = books.devices.Find(given.resource);
    std::vector<std::string>& left = books.record.reusable.devices[given.resource];
    for (std::size_t i = 0; i < pool->devices.size(); ++i)
      if (std::binary_search(given.ids.begin(), given.ids.end(), pool->devices[i]->id))
        pool->reusable[i] = demand.kind == ContainerKind::kInit ? 1 : 0;
    left.clear();
    for (std::size_t i = 0; i < pool->devices.size(); ++i)
      if (pool->reusable[i] != 0) left.push_back(pool->devices[i]->id);
    if (left.empty()) books.record.reusable.devices.erase(given.resource);
  }
  return std::nullopt;
}

}  // namespace berth::allocator
