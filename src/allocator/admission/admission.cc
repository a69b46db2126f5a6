#include "allocator/admission/admission.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/admission/fill.h"
#include "allocator/admission/pod_guard.h"
#include "allocator/admission/shortage.h"
#include "allocator/cpu_manager/cpu_policy.h"
#include "allocator/cpu_manager/pools.h"
#include "allocator/device_manager/close_plan.h"
#include "allocator/device_manager/device_policy.h"
#include "allocator/memory_manager/memory_policy.h"
#include "allocator/reason/failure.h"
#include "base/words.h"

namespace berth::allocator {
namespace {

/// Looking ahead: placements that are tried for one pod, and sets of one size that are listed for one container.
constexpr int kMostTries = 512;
constexpr std::size_t kMostListedSets = 512;

/// Which sets of nodes a resource prefers, in words.
std::string PreferredText(const NodeIndex& nodes, const HintList& list) {
  const ListedHints preferred = ListPreferredHints(list);
  if (!preferred.complete)
    return "prefers " + Counted(list.family->preferred_count, "node") + " of " +
           NodesText(nodes, list.family->family.universe);
  std::string where;
  for (const MaskHint& hint : preferred.hints) where += (where.empty() ? "" : " or ") + NodesText(nodes, hint.mask);
  return where.empty() ? "no set of nodes is preferred" : "prefers " + where;
}

/// The fewest nodes that some resource prefers; nullopt: none prefers any.
std::optional<int> NarrowestOf(const std::vector<HintList>& lists) {
  std::optional<int> out;
  for (const HintList& list : lists)
    if (list.family) out = std::min(out.value_or(list.family->preferred_count), list.family->preferred_count);
  return out;
}

/// What all managers say: devices first, as in the kubelet.
/// of_container: not of the whole pod.
std::vector<HintList> HintsOf(PodBooks& books, int cpus, const std::vector<MemoryNeed>& memory,
                              const std::vector<DeviceNeed>& devices, bool of_container) {
  std::vector<HintList> out;
  out.reserve(devices.size() + 2);
  AddDeviceHints(books, devices, of_container, out);
  if (cpus > 0) out.push_back(CpuHints(books, cpus, of_container));
  if (!memory.empty()) out.push_back(MemoryHints(books, memory));
  return out;
}

/// What an allocation takes before it may still fail: as it is now, to be put back into the books for a moment. CPUs
/// are taken at once, and after them only memory may be short.
class Untouched {
 public:
  Untouched(PodBooks& books, const ContainerDemand& demand) : takes_cpus_(demand.cpus > 0 && !demand.memory.empty()) {
    if (takes_cpus_) {
      shared_ = books.shared;
      apart_ = books.apart;
      cpus_ = books.record.reusable.cpus;
    }
    for (const DeviceNeed& need : demand.devices)
      if (DevicePool* const pool = books.devices.Find(need.resource))
        pools_.push_back({.pool = pool, .taken = pool->taken, .reusable = pool->reusable});
  }

  void Exchange(PodBooks& books) {
    if (takes_cpus_) {
      std::swap(books.shared, shared_);
      std::swap(books.apart, apart_);
      std::swap(books.record.reusable.cpus, cpus_);
    }
    for (Marks& marks : pools_) {
      std::swap(marks.pool->taken, marks.taken);
      std::swap(marks.pool->reusable, marks.reusable);
    }
  }

 private:
  struct Marks {
    DevicePool* pool;
    std::vector<char> taken;
    std::vector<char> reusable;
  };
  bool takes_cpus_;
  CpuSet shared_;
  CpuSet apart_;
  CpuSet cpus_;
  std::vector<Marks> pools_;
};

/// Containers of the pod itself that were placed before. What an init container has is left to those after it.
void AddOwnHolders(const PodRecord& record, std::string_view resource, std::vector<std::string>& details) {
  for (const Placement& placement : record.placements)
    for (const DeviceAssignment& given : placement.devices)
      if (given.resource == resource && placement.kind != ContainerKind::kInit && !given.ids.empty())
        details.push_back(given.resource + ": " +
                          (placement.kind == ContainerKind::kSidecar ? "sidecar \"" : "container \"") +
                          placement.container + "\" of this pod holds " +
                          Counted(static_cast<std::int64_t>(given.ids.size()), "device"));
}

}  // namespace

Admission::Admission(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, DecisionLog log,
                     BookKeeper* keeper)
    : tables_(node.tables()), log_(log), keeper_(keeper), books_(tables_, ledger, inputs) {
  books_.rules = RulesFor(tables_, pod);
  demand_ = DemandOf(tables_, books_.rules, pod);
  books_.record.uid = pod.uid;
  books_.record.namespace_ = pod.namespace_;
  books_.record.name = pod.name;
  books_.record.qos = demand_.qos;
  books_.record.sequence = ledger.next_sequence;
  books_.record.requests = PodRequests(pod);
  if (books_.rules.policy != nullptr) books_.record.rule = books_.rules.policy->name;
  if (keeper_ != nullptr) keeper_->Open(books_);
}

void Admission::GoOn(PodRecord placed, std::string_view container) {
  goes_on_ = true;
  placed.requests = std::move(books_.record.requests);
  placed.qos = books_.record.qos;
  placed.rule = std::move(books_.record.rule);
  for (const auto& [key, bytes] : placed.reusable.memory)
    books_.reusable_memory.push_back({tables_.nodes.ToMask(key.first), key.second, bytes.v});
  std::ranges::sort(books_.reusable_memory, {}, [](const ReusableMemory& m) { return std::tie(m.nodes, m.type); });
  placed.reusable.memory.clear();
  books_.record = std::move(placed);
  std::erase_if(demand_.containers, [&](const ContainerDemand& c) { return c.container->name != container; });
}

std::optional<Reject> Admission::Run() {
  if (log_) LogDemand();
  std::optional<Reject> reject = CheckWishes(books_, log_);
  if (reject) {
    // Nothing is tried: the pod would have something else than what it asks for.
  } else if (books_.rules.topology_policy == TopologyPolicy::kNone) {
    reject = RunUnaligned();
  } else if (books_.rules.scope == Scope::kPod && !goes_on_) {
    reject = RunPodScopeFirst();
  } else {
    reject = RunContainerScopeFirst();
  }
  if (!reject) reject = SettlePools(books_, log_);
  if (!reject) reject = CheckShare(books_);
  if (reject && log_) log_.Add("reject", reject->container, "", reject->reason + ": " + reject->message);
  return reject;
}

std::optional<Reject> Admission::RunUnaligned() {
  for (const ContainerDemand& c : demand_.containers)
    if (auto reject = Place(c, std::nullopt)) return reject;
  return std::nullopt;
}

/// As the kubelet, and where an option says so else with other nodes for the containers (rules/topology#look-ahead).
/// What is refused both ways is refused for the reasons of the first.
std::optional<Reject> Admission::RunContainerScopeFirst() {
  if (!tables_.options.look_ahead || goes_on_ || books_.rules.topology_policy == TopologyPolicy::kBestEffort)
    return RunContainerScope();
  const PodBooks before = books_;
  std::optional<Reject> reject = RunContainerScope();
  if (!reject) return std::nullopt;
  books_ = before;
  const DecisionLog log = std::exchange(log_, DecisionLog());
  int tries = kMostTries;
  std::vector<MaskHint> hints;
  const bool found = FindHints(tries, hints);
  tried_ahead_ += kMostTries - std::max(tries, 0);
  log_ = log;
  if (!found) return reject;
  if (!log_) return std::nullopt;  // the books are those that were found
  books_ = before;
  log_.Add("lookahead", "", "", "the pod fits with other nodes for its earlier containers");
  return RunContainerScope(hints);
}

/// Depth first: hints with which all containers from the one at hints.size() on can be placed. False: there are none
/// within `tries` placements; the books are as they were then.
bool Admission::FindHints(int& tries, std::vector<MaskHint>& hints) {
  if (hints.size() == demand_.containers.size()) return true;
  const ContainerDemand& demand = demand_.containers[hints.size()];
  const PodBooks before = books_;
  for (const MaskHint& hint : HintsToTry(demand)) {
    if (tries-- <= 0) return false;
    hints.push_back(hint);
    if (!Place(demand, hint) && FindHints(tries, hints)) return true;
    hints.pop_back();
    books_ = before;
  }
  return false;
}

/// The merged hint, then all others that the policy admits.
std::vector<MaskHint> Admission::HintsToTry(const ContainerDemand& demand) {
  const std::vector<HintList> lists = HintsOf(books_, demand.cpus, demand.memory, demand.devices, true);
  const TopologyPolicy policy = books_.rules.topology_policy;
  Merged merged = tables_.aligner.Merge(lists, false, policy);
  PreferNodesForCpus(books_, {}, demand.cpus, lists, merged);
  PreferCloseNodes(books_, demand.devices, true, lists, merged);
  std::vector<MaskHint> out;
  if (!merged.admit) return out;
  out.push_back(merged.hint);
  if (merged.hint.any) return out;
  for (const Mask& mask : tables_.aligner.Preferred(lists, kMostListedSets, policy))
    if (mask != merged.hint.mask) out.push_back({mask, false, true});
  return out;
}

std::optional<Reject> Admission::RunContainerScope(const std::vector<MaskHint>& hints) {
  std::size_t at = 0;
  for (const ContainerDemand& c : demand_.containers) {
    if (keeper_ != nullptr) keeper_->BeforeHints(books_);
    const std::vector<HintList> lists = HintsOf(books_, c.cpus, c.memory, c.devices, true);
    Merged merged = tables_.aligner.Merge(lists, static_cast<bool>(log_), books_.rules.topology_policy);
    PreferNodesForCpus(books_, {}, c.cpus, lists, merged);
    PreferCloseNodes(books_, c.devices, true, lists, merged);
    if (!hints.empty() && std::exchange(merged.hint, hints[at++]) != merged.hint)
      merged.rule = "all resources prefer these nodes; with fitter ones a later container has no place";
    if (log_) log_.AddHints(tables_.nodes, c.container->name, lists, merged);
    if (!merged.admit) return Misaligned(c.container->name, c.cpus, c.memory, c.devices, lists);
    if (auto reject = Place(c, merged.hint)) return reject;
  }
  return std::nullopt;
}

/// As a whole, and where an option says so else container by container (rules/topology#pod-falls-back). What is refused
/// both ways is refused for the reasons of the whole.
std::optional<Reject> Admission::RunPodScopeFirst() {
  if (!tables_.options.pod_falls_back) return RunPodScope();
  const PodBooks before = books_;
  std::optional<Reject> reject = RunPodScope();
  if (!reject) return std::nullopt;
  books_ = before;
  const DecisionLog log = std::exchange(log_, DecisionLog());
  const bool alone = !RunContainerScopeFirst();
  log_ = log;
  if (!alone) return reject;
  if (!log_) return std::nullopt;  // the books are those that were found
  books_ = before;
  log_.Add("fallback", "", "", "the pod fits nowhere as a whole; its containers are placed one by one");
  return RunContainerScopeFirst();
}

std::optional<Reject> Admission::RunPodScope() {
  if (keeper_ != nullptr) keeper_->BeforeHints(books_);
  const std::vector<HintList> lists = HintsOf(books_, demand_.cpus, demand_.memory, demand_.devices, false);
  Merged merged = tables_.aligner.Merge(lists, static_cast<bool>(log_), books_.rules.topology_policy);
  PreferNodesForCpus(books_, {}, demand_.cpus, lists, merged);
  PreferCloseNodes(books_, demand_.devices, false, lists, merged);
  if (log_) log_.AddHints(tables_.nodes, "", lists, merged);
  if (!merged.admit) return Misaligned("", demand_.cpus, demand_.memory, demand_.devices, lists);
  const ClosePlan close = PlanClose(books_, demand_.devices, merged.hint, false);
  for (const ContainerDemand& c : demand_.containers)
    if (auto reject = Place(c, merged.hint, &close)) return reject;
  return std::nullopt;
}

std::optional<Reject> Admission::Place(const ContainerDemand& demand, const std::optional<MaskHint>& hint,
                                       const ClosePlan* pod_plan) {
  const std::string& name = demand.container->name;
  // Without alignment every manager is told "any node, not preferred".
  const MaskHint affinity = hint.value_or(MaskHint{{}, true, false});
  Placement placement;
  placement.container = name;
  placement.kind = demand.kind;
  if (hint) placement.hint = ToHint(tables_.nodes, *hint);
  placement.nodes = books_.rules.wishes.numa_nodes;
  placement.node_cpus = books_.rules.node_cpus;
  placement.pool = demand.pool;
  placement.pool_request = demand.pool_request;
  if (keeper_ != nullptr) keeper_->BeforeDevices(books_, demand);
  Untouched before(books_, demand);
  const ClosePlan plan = pod_plan == nullptr ? PlanClose(books_, demand.devices, affinity, true) : ClosePlan();
  std::optional<Reject> reject =
      AllocateDevices(books_, demand, affinity, pod_plan == nullptr ? plan : *pod_plan, placement, log_);
  if (!reject) {
    if (keeper_ != nullptr) keeper_->BeforeCpus(books_);
    books_.near_cpus = NearCpus(placement, pod_plan != nullptr);
    reject = AllocateCpus(books_, demand, affinity, placement, log_);
  }
  if (!reject) {
    if (keeper_ != nullptr) keeper_->BeforeMemory(books_);
    reject = AllocateMemory(books_, demand, affinity, placement, log_);
  }
  if (reject) {  // what it took itself is not what it is short of
    before.Exchange(books_);
    AddShortages(*reject, {name, demand.cpus, &demand.memory, &demand.devices}, {});
    before.Exchange(books_);
  }
  books_.record.placements.push_back(std::move(placement));
  if (!reject) SettleOverlapping(books_, books_.record);
  return reject;
}

/// In scope pod a container without devices belongs to those of the containers before it.
CpuSet Admission::NearCpus(const Placement& placement, bool of_pod) {
  if (!placement.devices.empty() || !of_pod) return CpusNearDevices(books_, {&placement});
  std::vector<const Placement*> before;
  for (const Placement& other : books_.record.placements) before.push_back(&other);
  return CpusNearDevices(books_, before);
}

Reject Admission::Misaligned(std::string_view container, int cpus, const std::vector<MemoryNeed>& memory,
                             const std::vector<DeviceNeed>& devices, const std::vector<HintList>& lists) {
  Reject out;
  out.reason = kTopologyAffinity;
  out.message = "Resources cannot be allocated with Topology locality";
  out.container = container;
  const std::string wants = WidthText(lists);
  AddShortages(out, {container, cpus, &memory, &devices}, lists);
  if (std::string l3 = container.empty() ? "" : L3Shortage(books_, cpus); !l3.empty())
    out.details.push_back(std::move(l3));
  if (!wants.empty()) out.details.push_back(wants);
  if (!out.details.empty()) return out;
  for (const HintList& list : lists) {
    if (list.kind != HintList::Kind::kHints) continue;
    const std::string text = PreferredText(tables_.nodes, list);
    for (const std::string& resource : list.resources) out.details.push_back(resource + ": " + text);
  }
  out.details.push_back("policy " + std::string(Name(books_.rules.topology_policy)) +
                        " wants one set of nodes that all resources prefer");
  return out;
}

/// Where some resource can only be had on more nodes than another one prefers: "" if not.
std::string Admission::WidthText(const std::vector<HintList>& lists) const {
  if (books_.rules.topology_policy != TopologyPolicy::kRestricted) return "";
  const std::optional<int> narrowest = NarrowestOf(lists);
  std::string narrow;
  std::string wide;
  for (const HintList& list : lists) {
    if (!narrowest || !list.family) continue;
    std::string& out = list.family->preferred_count == *narrowest ? narrow : wide;
    for (const std::string& resource : list.resources)
      out += (out.empty() ? "" : ", ") + resource +
             (&out == &wide ? " needs " + Counted(list.family->preferred_count, "node") : "");
  }
  if (wide.empty()) return "";
  return "policy restricted wants all resources on equally few nodes: " + narrow + " fits on " +
         Counted(*narrowest, "node") + ", " + wide;
}

void Admission::AddShortages(Reject& reject, const Request& request, const std::vector<HintList>& lists) {
  std::vector<Shortage> found = ShortagesOf(books_, request);
  if (found.empty() && books_.rules.topology_policy == TopologyPolicy::kRestricted)
    if (const std::optional<int> narrowest = NarrowestOf(lists)) found = TooWide(books_, request, *narrowest);
  for (const Shortage& shortage : found) {
    reject.details.push_back(ShortageText(shortage));
    log_.AddShortage(shortage);
  }
  for (const DeviceNeed& need : *request.devices)
    if (std::ranges::find(found, need.resource, &Shortage::resource) != found.end())
      AddOwnHolders(books_.record, need.resource, reject.details);
}

void Admission::LogDemand() const {
  log_.Add("qos", "", "", "the pod is " + std::string(Name(demand_.qos)));
  for (const ContainerDemand& c : demand_.containers)
    log_.Add(
        "cpu", c.container->name, "cpu",
        c.cpus > 0 ? "asks for " + Counted(c.cpus, "exclusive CPU") + (c.mixed ? " and the shared pool beside" : "")
        : !c.pool.empty()
            ? "runs in " + PoolText(c.pool) + ": its annotation says so"
            : std::string(books_.rules.wishes.Of(c.container->name) != nullptr
                              ? "runs in the shared pool: its annotation says so"
                          : !tables_.StaticCpus()                ? "runs on all CPUs: CPU policy none"
                          : demand_.qos != QosClass::kGuaranteed ? "runs in the shared pool: not Guaranteed"
                                                                 : "runs in the shared pool: no whole number of CPUs"));
}

LedgerDelta Admission::TakeDelta() {
  LedgerDelta out;
  out.shared = std::move(books_.shared);
  out.memory = books_.memory.Changed();
  out.pools = std::move(books_.pools);
  out.put = std::move(books_.record);
  for (const ReusableMemory& entry : books_.reusable_memory)
    if (entry.bytes > 0)
      out.put->reusable.memory[{tables_.nodes.ToNodes(entry.nodes), entry.type}] = Bytes{entry.bytes};
  return out;
}

}  // namespace berth::allocator
