#include "allocator/resize/resizing.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "allocator/admission/fill.h"
#include "allocator/admission/node_fit.h"
#include "allocator/admission/pod_guard.h"
#include "allocator/admission/shortage.h"
#include "allocator/cpu_manager/cpu_policy.h"
#include "allocator/cpu_manager/other_size.h"
#include "allocator/cpu_manager/pools.h"
#include "allocator/device_manager/device_policy.h"
#include "allocator/memory_manager/memory_fit.h"
#include "allocator/memory_manager/memory_policy.h"
#include "allocator/node/node_tables.h"
#include "allocator/reason/failure.h"
#include "base/words.h"
#include "model/pod_wishes.h"
#include "model/resize_changes.h"

namespace berth::allocator {
namespace {

Reject Never(std::string message, std::string container = "") {
  return {.reason = std::string(kInfeasible),
          .message = std::move(message),
          .container = std::move(container),
          .details = {}};
}

std::int64_t BytesOf(const Placement& placement, std::string_view type) {
  if (!placement.memory) return 0;
  for (const MemoryBlock& block : *placement.memory)
    if (block.type == type) return block.size.v;
  return 0;
}

/// The nodes its memory is booked on, all types on the same.
NodeSet GroupOf(const Placement& placement) { return MemoryNodes(placement); }

}  // namespace

Resizing::Resizing(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, DecisionLog log)
    : tables_(node.tables()),
      node_fit_(node.options().node_fit),
      pod_(pod),
      before_(ledger.pods.find(pod.uid)->second),
      log_(log),
      books_(tables_, ledger, inputs) {
  books_.rules = RulesFor(tables_, pod);
  demand_ = DemandOf(tables_, books_.rules, pod);
  books_.record = before_;
  books_.record.requests = PodRequests(pod);
  books_.record.rule = books_.rules.policy == nullptr ? "" : books_.rules.policy->name;
}

std::optional<Reject> Resizing::WhyNever() {
  if (before_.partial) return Never("what the pod was given is known in part only; it can be resized when it is new");
  if (demand_.qos != before_.qos)
    return Never("Pod QOS Class may not change as a result of resizing (it is " + std::string(Name(before_.qos)) +
                 ", and would be " + std::string(Name(demand_.qos)) + ")");
  if (!books_.rules.problem.empty()) return Never(books_.rules.problem);
  auto kept = KeptCpus(pod_);
  if (!kept) return Never("annotation " + std::string(kKeepCpusAnnotation) + ": " + kept.error().message);
  kept_ = *std::move(kept);
  if (demand_.containers.size() != before_.placements.size()) return Never("it has other containers than it had");
  for (std::size_t i = 0; i < before_.placements.size(); ++i) {
    const ContainerDemand& demand = demand_.containers[i];
    const Placement& placement = before_.placements[i];
    if (placement.container != demand.container->name || placement.kind != demand.kind)
      return Never("it has other containers than it had", demand.container->name);
    if (placement.pool != demand.pool)
      return Never(
          "its annotation " + std::string(kPoolAnnotation) + " has changed: another pool makes another pod of it",
          demand.container->name);
    if (demand.kind == ContainerKind::kInit) continue;  // over, or as it was: nothing of it changes
    if (auto part = PartOfCore(books_, demand.cpus)) return Never(*std::move(part), placement.container);
    parts_.push_back(PartOf(i, demand));
  }
  return std::nullopt;
}

/// Under a policy that manages nothing (any more), what it has stays.
Resizing::Part Resizing::PartOf(std::size_t position, const ContainerDemand& demand) const {
  const Placement& placement = before_.placements[position];
  Part out{.position = position, .demand = &demand, .had = demand.cpus};
  if (tables_.StaticCpus()) out.had = placement.cpus ? placement.cpus->Count() : 0;
  if (demand.memory.empty()) return out;
  out.other_memory = placement.memory && placement.memory->size() != demand.memory.size();
  for (const MemoryNeed& need : demand.memory) {
    const std::int64_t before = BytesOf(placement, need.type);
    out.more_memory = out.more_memory || need.bytes > before;
    out.other_memory = out.other_memory || need.bytes != before;
  }
  return out;
}

void Resizing::Say(const Part& part, std::string_view resource, std::string text) const {
  if (log_) log_.Add("resize", before_.placements[part.position].container, resource, std::move(text));
}

std::optional<Reject> Resizing::Run() {
  for (const Part& part : parts_) {
    if (part.demand->cpus < part.had)
      if (auto reject = ShrinkCpus(part)) return reject;
    if (part.other_memory && !part.more_memory)
      if (auto reject = ChangeMemory(part, {{}, true, false})) return reject;
  }
  if (auto reject = Align()) return reject;
  for (const Part& part : parts_) PlacementOf(part).pool_request = part.demand->pool_request;
  if (auto reject = SettlePools(books_, log_)) return reject;
  if (auto reject = CheckSharedPool(books_, log_)) return reject;
  if (ExclusiveCpus(books_.record).Count() > ExclusiveCpus(before_).Count())
    if (auto reject = CheckShare(books_)) return reject;
  return node_fit_ ? CheckNode() : std::nullopt;
}

// ---- less ----------------------------------------------------------------------------------------------------------

std::optional<Reject> Resizing::ShrinkCpus(const Part& part) {
  Placement& placement = PlacementOf(part);
  const CpuSet have = *placement.cpus;
  const int num = part.demand->cpus;
  CpuSet left;
  if (const auto kept = kept_.find(placement.container); kept != kept_.end() && num > 0) {
    if (!kept->second.IsSubsetOf(have) || kept->second.Count() != num)
      return Never("annotation " + std::string(kKeepCpusAnnotation) + " names CPUs " + FormatIds(kept->second) +
                       ": it has to keep " + std::to_string(num) + " of " + FormatIds(have),
                   placement.container);
    if (!FitsStrictL3(books_, kept->second))
      return Never("annotation " + std::string(kKeepCpusAnnotation) + " names CPUs " + FormatIds(kept->second) +
                       ", which are of more than one L3 group (l3=strict)",
                   placement.container);
    left = kept->second;
  } else if (num > 0) {
    const auto chosen = ChooseFewer(books_, placement.promised.value_or(have) & have, have, num);
    if (!chosen) return Never(chosen.error().message, placement.container);
    left = *chosen;
  }
  if (books_.rules.cpu.full_pcpus_only && tables_.topology.Whole(left, Level::kCore) != left)
    return Never("SMT Alignment Error: no cores of its own make up exactly " + std::to_string(num) + " CPUs",
                 placement.container);
  Say(part, "cpu",
      left.empty() ? "gives its CPUs " + FormatIds(have) + " back and runs in the shared pool"
                   : "keeps CPUs " + FormatIds(left) + " of " + FormatIds(have));
  GiveBack(placement, std::move(left));
  return std::nullopt;
}

void Resizing::GiveBack(Placement& placement, CpuSet left) {
  Placement back;
  back.cpus = *placement.cpus - left;
  if (placement.promised) *placement.promised &= left;
  if (left.empty() || placement.promised == left || (placement.promised && placement.promised->empty()))
    placement.promised.reset();
  placement.mixed = placement.mixed && !left.empty();
  if (left.empty())
    placement.cpus.reset();
  else
    placement.cpus = std::move(left);
  for (const Placement& other : books_.record.placements)  // an init container's, which it had taken over
    if (&other != &placement && other.cpus && other.kind == ContainerKind::kInit)
      books_.record.reusable.cpus |= *other.cpus & *back.cpus;
  ReleaseCpus(books_, books_.record, back);
}

// ---- more ----------------------------------------------------------------------------------------------------------

/// As in an admission: container by container, or together.
std::optional<Reject> Resizing::Align() {
  std::vector<Part> growing;
  std::ranges::copy_if(parts_, std::back_inserter(growing), &Part::Grows);
  if (growing.empty()) return std::nullopt;
  const bool aligns = books_.rules.topology_policy != TopologyPolicy::kNone;
  std::optional<MaskHint> hint;
  if (aligns && books_.rules.scope == Scope::kPod) {
    if (auto reject = AlignParts(parts_, demand_.cpus, ExclusiveCpus(books_.record), hint)) return reject;
    for (const Part& part : growing)
      if (auto reject = Grow(part, hint)) return reject;
    return std::nullopt;
  }
  for (const Part& part : growing) {
    if (aligns)
      if (auto reject = AlignParts({part}, part.demand->cpus, PlacementOf(part).cpus.value_or(CpuSet()), hint))
        return reject;
    if (auto reject = Grow(part, hint)) return reject;
  }
  return std::nullopt;
}

/// The nodes that have all they have, and what they shall have beside. `cpus`, `have`: of all of them together.
std::optional<Reject> Resizing::AlignParts(const std::vector<Part>& parts, int cpus, const CpuSet& have,
                                           std::optional<MaskHint>& hint) {
  std::vector<HintList> lists;
  for (const Part& part : parts) AddHeldDevices(part, lists);
  if (cpus > 0) {
    const CpuSet left_by_init = std::exchange(books_.record.reusable.cpus, have);
    lists.push_back(CpuHints(books_, cpus, books_.rules.scope != Scope::kPod));
    books_.record.reusable.cpus = left_by_init;
  }
  for (const Part& part : parts)
    if (!part.demand->memory.empty()) lists.push_back(HeldMemory(part));
  Merged merged = tables_.aligner.Merge(lists, static_cast<bool>(log_), books_.rules.topology_policy);
  PreferNodesForCpus(books_, have, std::max(0, cpus - have.Count()), lists, merged);
  const std::string container = parts.size() == 1 ? PlacementOf(parts[0]).container : "";
  if (log_) log_.AddHints(tables_.nodes, container, lists, merged);
  hint = merged.hint;
  if (merged.admit) return std::nullopt;
  Reject out;
  out.reason = kTopologyAffinity;
  out.message = "Resources cannot be allocated with Topology locality";
  out.container = container;
  const int more = std::max(0, cpus - have.Count());
  const std::vector<MemoryNeed> none;
  const std::vector<DeviceNeed> no_devices;
  for (const Shortage& shortage : ShortagesOf(books_, {container, more, &none, &no_devices}))
    out.details.push_back(ShortageText(shortage));
  if (!have.empty())
    out.details.push_back("it keeps CPUs " + FormatIds(have) + ", and policy " +
                          std::string(Name(books_.rules.topology_policy)) +
                          " wants what is added on the nodes of what it has");
  return out;
}

/// Devices never change: hints as if there were no others.
void Resizing::AddHeldDevices(const Part& part, std::vector<HintList>& out) {
  for (const DeviceAssignment& held : PlacementOf(part).devices) {
    DevicePool* const pool = books_.devices.Find(held.resource);
    if (pool == nullptr || !pool->registered) continue;
    const std::vector<char> taken = pool->taken;
    const std::vector<char> reusable = pool->reusable;
    std::size_t found = 0;
    for (std::size_t i = 0; i < pool->devices.size(); ++i) {
      const bool its_own = std::ranges::find(held.ids, pool->devices[i]->id) != held.ids.end();
      found += its_own && pool->devices[i]->healthy ? 1 : 0;
      pool->taken[i] = its_own ? 0 : 1;
      pool->reusable[i] = its_own ? 1 : 0;
    }
    // What has failed meanwhile says nothing about where it is.
    if (found == held.ids.size())
      AddDeviceHints(books_, {{held.resource, static_cast<std::int64_t>(held.ids.size())}}, true, out);
    pool->taken = taken;
    pool->reusable = reusable;
  }
}

/// Its memory stays where it is: that set of nodes or none.
HintList Resizing::HeldMemory(const Part& part) {
  const Placement& placement = PlacementOf(part);
  if (!placement.memory || placement.memory->empty()) return MemoryHints(books_, part.demand->memory);
  const Mask group = tables_.nodes.ToMask(GroupOf(placement));
  std::vector<MemoryNeed> more;
  HintList out{.resources = {}, .kind = HintList::Kind::kHints, .hints = {}, .family = {}};
  for (const MemoryNeed& need : part.demand->memory) {
    out.resources.push_back(need.type);
    more.push_back({need.type, std::max<std::int64_t>(0, need.bytes - BytesOf(placement, need.type))});
  }
  if (MemoryFit::Free(books_, more, group))
    out.hints.push_back({group, false, group.Count() == MemoryFit(books_, part.demand->memory).narrowest()});
  return out;
}

std::optional<Reject> Resizing::Grow(const Part& part, const std::optional<MaskHint>& hint) {
  const MaskHint affinity = hint.value_or(MaskHint{{}, true, false});
  if (part.demand->cpus > part.had)
    if (auto reject = GrowCpus(part, affinity)) return reject;
  if (part.more_memory)
    if (auto reject = ChangeMemory(part, affinity)) return reject;
  if (hint) PlacementOf(part).hint = ToHint(tables_.nodes, *hint);
  return std::nullopt;
}

std::optional<Reject> Resizing::GrowCpus(const Part& part, const MaskHint& hint) {
  Placement& placement = PlacementOf(part);
  const CpuSet have = placement.cpus.value_or(CpuSet());
  const int more = part.demand->cpus - have.Count();
  if (std::string l3 = L3ShortageOfMore(books_, have, more); !l3.empty())
    return Reject{.reason = std::string(kL3Alignment),
                  .message = "L3 Alignment Error: " + l3,
                  .container = placement.container,
                  .details = {}};
  const auto added = ChooseMore(books_, have, more, hint);
  if (!added) {
    Reject out = Unexpected(placement.container, added.error().message);
    const std::vector<MemoryNeed> none;
    const std::vector<DeviceNeed> no_devices;
    for (const Shortage& shortage : ShortagesOf(books_, {placement.container, more, &none, &no_devices}))
      out.details.push_back(ShortageText(shortage));
    return out;
  }
  if (books_.rules.cpu.full_pcpus_only && tables_.topology.Whole(*added, Level::kCore) != *added)
    return Reject{.reason = std::string(kSmtAlignment),
                  .message = "SMT Alignment Error: no free cores make up exactly " + Counted(more, "CPU") + " more",
                  .container = placement.container,
                  .details = {}};
  books_.shared -= *added;
  books_.apart -= *added;
  books_.record.reusable.cpus -= *added;
  if (!have.empty() && !placement.promised) placement.promised = have;
  placement.cpus = have | *added;
  placement.mixed = part.demand->mixed;
  Say(part, "cpu",
      (have.empty() ? std::string("gets CPUs ") : "keeps CPUs " + FormatIds(have) + " and gets ") + FormatIds(*added) +
          "; the shared pool is " + FormatIds(books_.shared));
  return std::nullopt;
}

/// Given back as a whole and booked anew on the same nodes.
std::optional<Reject> Resizing::ChangeMemory(const Part& part, const MaskHint& hint) {
  Placement& placement = PlacementOf(part);
  if (!placement.memory || placement.memory->empty()) {
    placement.memory.reset();
    std::optional<Reject> reject = AllocateMemory(books_, *part.demand, hint, placement, log_);
    SettleOverlapping(books_, books_.record);
    return reject;
  }
  const NodeSet group = GroupOf(placement);
  const Mask mask = tables_.nodes.ToMask(group);
  ReleaseMemory(books_, placement);
  placement.memory.reset();
  SettleMemory(books_, books_.record);
  if (!MemoryFit::Free(books_, part.demand->memory, mask)) {
    Reject out = Unexpected(placement.container, "failed to find NUMA nodes to extend the current topology hint");
    for (const MemoryNeed& need : part.demand->memory)
      if (!MemoryFit::Free(books_, {need}, mask))
        out.details.push_back(need.type + ": " + BytesText(need.bytes) + " asked, less is free on " +
                              NodesText(tables_.nodes, mask) + ", where its memory stays");
    return out;
  }
  placement.memory.emplace();
  for (const MemoryNeed& need : part.demand->memory) {
    books_.memory.Book(mask, books_.memory.layout().Find(need.type), need.bytes);
    placement.memory->push_back({group, need.type, {need.bytes}});
    Say(part, need.type, BytesText(need.bytes) + " booked on " + NodesText(tables_.nodes, mask));
  }
  SettleOverlapping(books_, books_.record);
  return std::nullopt;
}

/// Only what it asks more of than before: what shrinks is never refused.
std::optional<Reject> Resizing::CheckNode() {
  ResourceList all = books_.record.requests;
  std::erase_if(books_.record.requests, [&](const auto& entry) {
    const auto before = before_.requests.find(entry.first);
    return before != before_.requests.end() && entry.second <= before->second;
  });
  std::optional<Reject> out = CheckNodeFit(books_, log_);
  books_.record.requests = std::move(all);
  return out;
}

LedgerDelta Resizing::TakeDelta() {
  LedgerDelta out;
  out.shared = std::move(books_.shared);
  out.pools = std::move(books_.pools);
  out.memory = books_.memory.Changed();
  out.put = std::move(books_.record);
  return out;
}

}  // namespace berth::allocator
