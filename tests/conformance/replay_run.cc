#include "conformance/replay_run.h"

#include <algorithm>
#include <utility>

#include "model/kubelet_version.h"
#include "node/checkpoint/kubelet_files.h"
#include "simulator/offline/start_containers.h"

namespace berth::conformance {
namespace {

using codec::Json;

/// Nanoseconds that `work` took; nullopt without a clock.
template <class Work>
std::optional<std::int64_t> Timed(const os::Clock* clock, Work&& work) {
  if (clock == nullptr) {
    work();
    return std::nullopt;
  }
  const os::MonoTime start = clock->Now();
  work();
  return (clock->Now() - start).count();
}

Json NodesJson(const std::optional<NodeSet>& nodes) {
  if (!nodes) return nullptr;
  Json out = Json::array();
  for (NumaId id : *nodes) out.push_back(Raw(id));
  return out;
}

Json HintJson(const TopologyHint& hint) { return {{"nodes", NodesJson(hint.nodes)}, {"preferred", hint.preferred}}; }

std::string DeviceLabel(const DeviceInventory& inventory, const std::string& resource, const std::string& id) {
  if (const auto devices = inventory.find(resource); devices != inventory.end())
    if (const auto device = std::ranges::find(devices->second, id, &Device::id); device != devices->second.end())
      return DevicePlace(resource, device->nodes);
  return DevicePlace(resource, {});
}

Json BlocksJson(std::vector<MemoryBlock> blocks) {
  std::ranges::sort(blocks, {}, &MemoryBlock::type);
  Json out = Json::array();
  for (const MemoryBlock& block : blocks)
    out.push_back({{"numaAffinity", NodesJson(block.nodes)}, {"type", block.type}, {"size", block.size.v}});
  return out;
}

/// Adds cpus, shared, memory and devices as they are after a step.
void AddState(const Ledger& ledger, const DeviceInventory& inventory, Json& step) {
  Json cpus = Json::object();
  Json memory = Json::object();
  Json devices = Json::object();
  for (const auto& [uid, pod] : ledger.pods) {
    for (const Placement& p : pod.placements) {
      if (p.cpus) cpus[uid][p.container] = FormatIds(*p.cpus);
      if (p.memory) memory[uid][p.container] = BlocksJson(*p.memory);
      std::map<std::string, int> counts;
      for (const DeviceAssignment& assigned : p.devices)
        for (const std::string& id : assigned.ids) ++counts[DeviceLabel(inventory, assigned.resource, id)];
      for (const auto& [label, count] : counts) devices[uid][p.container][label] = count;
    }
  }
  if (!cpus.empty()) step["cpus"] = std::move(cpus);
  step["shared"] = FormatIds(ledger.shared);
  for (const auto& [name, pool] : ledger.pools) step["pools"][name] = FormatIds(pool.cpus);
  if (!memory.empty()) step["memory"] = std::move(memory);
  if (!devices.empty()) step["devices"] = std::move(devices);
}

/// A step of the trace on the recorded node: the answer without the state.
Json RunStep(const TraceCase& trace, std::size_t i, const TraceGuide& guide, RecordedNode& node,
             const os::Clock* clock) {
  Json out = {{"admit", true}};
  std::optional<std::int64_t> ns;
  if (const auto* add = std::get_if<AddPod>(&trace.steps[i])) {
    RecordedNode::Step answer;
    const DeviceWishes* wishes = i < guide.wishes.size() ? &guide.wishes[i] : nullptr;
    ns = Timed(clock, [&] { answer = node.Add(add->pod, nullptr, wishes); });
    out["admit"] = answer.admit;
    if (!answer.admit) out["reason"] = answer.reason;
    for (const auto& [container, hint] : answer.hints) out["hints"][container] = HintJson(hint);
  } else if (const auto* remove = std::get_if<RemovePod>(&trace.steps[i])) {
    ns = Timed(clock, [&] { node.Remove(remove->uid); });
  } else {
    const bool swept = i >= guide.cpus_swept.size() || guide.cpus_swept[i];
    ns = Timed(clock, [&] { node.Restart(swept); });
  }
  if (ns) out["ns"] = *ns;
  return out;
}

/// The file as JSON again: it is compared and printed as such.
Json FileJson(const std::string& text) {
  auto json = codec::ParseJson(text, "state file");
  return json ? *std::move(json) : Json();
}

Result<allocator::Node> MakeNode(const TraceCase& trace) {
  if (!trace.config) return std::unexpected(trace.config.error());
  return allocator::Node::Make(trace.machine, *trace.config,
                               {.kubelet_version = trace.kubelet_version, .node_fit = false, .own = trace.own});
}

/// Uids that may hold something, step by step. A rejected pod may, on the recorded node, until the next sweep.
void FollowPods(const ReplayStep& step, std::set<std::string>& pods) {
  if (const auto* add = std::get_if<AddPod>(&step)) pods.insert(add->pod.uid);
  if (const auto* remove = std::get_if<RemovePod>(&step)) pods.erase(remove->uid);
}

void Run(const TraceCase& trace, const os::Clock* clock, const TraceGuide& guide, ReplayResult& result) {
  const auto made = MakeNode(trace);
  if (!made) {
    result.json["error"] = made.error().message;
    return;
  }
  result.node =
      FactsOf(made->machine(), made->config(), made->reserved_cpus(), trace.inputs.devices, made->apart_cpus());
  RecordedNode node(*made, trace.inputs, guide.reserved);
  std::set<std::string> pods;
  Json& steps = result.json["steps"] = Json::array();
  for (std::size_t i = 0; i < trace.steps.size(); ++i) {
    Json answer = RunStep(trace, i, guide, node, clock);
    AddState(node.ledger(), trace.inputs.devices, answer);
    steps.push_back(std::move(answer));
    FollowPods(trace.steps[i], pods);
    result.states.push_back(FactsOf(node.ledger(), pods));
    result.states.back().exact_books = false;
    result.leaked.push_back(node.HasLeakedDevices());
  }
  result.json["cpu_manager_state"] =
      FileJson(checkpoint::FormatKubeletState(checkpoint::ExportCpuState(node.ledger(), trace.kubelet_version)));
  result.json["memory_manager_state"] =
      FileJson(checkpoint::FormatKubeletState(checkpoint::ExportMemoryState(node.ledger(), trace.kubelet_version)));
}

void Run(const MergeCase& merge, const os::Clock* clock, const TraceGuide&, ReplayResult& result) {
  allocator::MergeResult merged;
  const auto ns = Timed(clock, [&] { merged = allocator::MergeHints(merge.input); });
  result.json["hint"] = HintJson(merged.hint);
  result.json["admit"] = merged.admit;
  if (ns) result.json["ns"] = *ns;
}

void Run(const TakeCase& take, const os::Clock* clock, const TraceGuide&, ReplayResult& result) {
  const auto topology = allocator::CpuTopology::Make(take.machine);
  if (!topology) {
    result.json["error"] = topology.error().message;
    return;
  }
  Json& takes = result.json["takes"] = Json::array();
  Json times = Json::array();
  for (const allocator::TakeRequest& request : take.takes) {
    Result<CpuSet> taken;
    if (const auto ns = Timed(clock, [&] { taken = allocator::TakeCpus(*topology, request); })) times.push_back(*ns);
    takes.push_back(taken ? FormatIds(*taken) : "error: " + taken.error().message);
  }
  if (clock != nullptr) result.json["ns"] = std::move(times);
}

// ---- the same trace on a node of our own ----

/// The answer without the state. `pods`: uids that may hold something afterwards.
Json RunOwnStep(const TraceCase& trace, const ReplayStep& step, const allocator::Node& node, Ledger& ledger,
                std::set<std::string>& pods) {
  Json out = {{"admit", true}};
  if (const auto* remove = std::get_if<RemovePod>(&step)) {
    Apply(ledger, allocator::Release(node, ledger, remove->uid, nullptr));
    pods.erase(remove->uid);
  }
  const auto* add = std::get_if<AddPod>(&step);
  if (add == nullptr) return out;
  const Decision decision = allocator::Decide(node, ledger, add->pod, trace.inputs, nullptr);
  if (const auto* reject = std::get_if<Reject>(&decision)) {
    out["admit"] = false;
    out["reason"] = reject->reason;
    return out;
  }
  const LedgerDelta& delta = std::get<Admit>(decision).delta;
  const std::string& policy = node.config().topology_manager_policy;
  if (delta.put && !policy.empty() && policy != "none")
    for (const Placement& p : delta.put->placements)
      if (p.hint) out["hints"][p.container] = HintJson(*p.hint);
  Apply(ledger, delta);
  offline::StartContainers(node, ledger, add->pod.uid);
  pods.insert(add->pod.uid);
  return out;
}

/// Whether both say the same about who holds what, and about what is left.
bool SameBooks(const StateFacts& a, const StateFacts& b) {
  const auto held = [](const StateFacts& state) {
    std::map<std::pair<std::string, std::string>, Json> out;
    for (const HolderFacts& h : state.holders) {
      Json devices = Json::object();
      for (auto [resource, ids] : h.devices) {
        std::ranges::sort(ids);
        if (!ids.empty()) devices[resource] = ids;
      }
      if (h.cpus.empty() && h.memory.empty() && devices.empty()) continue;
      out[{h.pod, h.container}] = {FormatIds(h.cpus), BlocksJson(h.memory), std::move(devices)};
    }
    return out;
  };
  return a.shared == b.shared && a.pools == b.pools && a.memory == b.memory && held(a) == held(b);
}

bool FreeOfHabits(const ReplayStep& step, const DeviceInventory& devices) {
  const auto* add = std::get_if<AddPod>(&step);
  if (add == nullptr) return std::holds_alternative<RemovePod>(step);
  const bool guaranteed = QosOf(add->pod) == QosClass::kGuaranteed;
  int containers = 0;
  bool managed = guaranteed;
  ForEachContainer(add->pod, [&](const Container& c, ContainerKind) {
    ++containers;
    managed =
        managed || std::ranges::any_of(c.resources.limits, [&](const auto& e) { return devices.contains(e.first); });
  });
  return containers == 1 || !managed;
}

}  // namespace

ReplayResult RunReplayCase(const ReplayCase& replay, const os::Clock* clock, const TraceGuide& guide) {
  ReplayResult result;
  result.json["name"] = replay.name;
  std::visit([&](const auto& what) { Run(what, clock, guide, result); }, replay.what);
  return result;
}

std::vector<OwnStep> RunOnOwnNode(const TraceCase& trace, const ReplayResult& recorded) {
  std::vector<OwnStep> out;
  const auto node = MakeNode(trace);
  if (!node) return out;
  RecordedNode unguided(*node, trace.inputs);
  Ledger ledger = node->EmptyLedger();
  std::set<std::string> pods;
  bool same_books = true;
  for (std::size_t i = 0; i < trace.steps.size() && i < recorded.states.size(); ++i) {
    const ReplayStep& step = trace.steps[i];
    RunStep(trace, i, {}, unguided, nullptr);
    OwnStep own{.answer = RunOwnStep(trace, step, *node, ledger, pods), .state = {}, .comparable = false};
    AddState(ledger, trace.inputs.devices, own.answer);
    own.state = FactsOf(ledger, pods);
    const bool no_guide_needed = SameBooks(FactsOf(unguided.ledger(), {}), recorded.states[i]);
    own.comparable = same_books && no_guide_needed && FreeOfHabits(step, trace.inputs.devices);
    same_books = no_guide_needed && !recorded.leaked[i] && SameBooks(own.state, recorded.states[i]);
    out.push_back(std::move(own));
  }
  return out;
}

}  // namespace berth::conformance
