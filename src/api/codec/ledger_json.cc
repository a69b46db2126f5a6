#include <cstdint>
#include <string>

#include "api/codec/json_parts.h"

namespace berth::codec {

namespace {

constexpr std::int64_t kMostAsked = 1'000'000'000;  // thousandths of CPUs: more than any machine has

}  // namespace

QosClass ReadQos(const Reader& reader) {
  return reader.OneOf({QosClass::kGuaranteed, QosClass::kBurstable, QosClass::kBestEffort});
}

ContainerKind ReadContainerKind(const Reader& reader) {
  return reader.OneOf({ContainerKind::kInit, ContainerKind::kSidecar, ContainerKind::kApp});
}

TopologyHint ReadHint(const Reader& reader) {
  TopologyHint hint;
  if (const Reader nodes = reader.Field("nodes"); !nodes.IsNull()) hint.nodes = nodes.Ids<NodeSet>();
  hint.preferred = reader.Field("preferred").Bool();
  return hint;
}

Trace ReadTrace(const Reader& reader) {
  Trace out;
  for (const Reader& step : reader.Items())
    out.Add(step.Field("stage").String(), step.Field("container").String(), step.Field("resource").String(),
            step.Field("text").String());
  return out;
}

namespace {

Json BlocksJson(const std::vector<MemoryBlock>& blocks) {
  Json out = Json::array();
  for (const MemoryBlock& b : blocks)
    out.push_back({{"nodes", FormatIds(b.nodes)}, {"type", b.type}, {"size", b.size.v}});
  return out;
}

std::vector<MemoryBlock> ReadBlocks(const Reader& reader) {
  std::vector<MemoryBlock> out;
  for (const Reader& b : reader.Items())
    out.push_back({b.Field("nodes").Ids<NodeSet>(), b.Field("type").String(), b.Field("size").Size()});
  return out;
}

Json ReusableJson(const Reusable& reusable) {
  Json memory = Json::array();
  for (const auto& [key, size] : reusable.memory)
    memory.push_back({{"nodes", FormatIds(key.first)}, {"type", key.second}, {"size", size.v}});
  Json devices = Json::object();
  for (const auto& [resource, ids] : reusable.devices) devices[resource] = ids;
  return {{"cpus", FormatIds(reusable.cpus)}, {"memory", std::move(memory)}, {"devices", std::move(devices)}};
}

Reusable ReadReusable(const Reader& reader) {
  Reusable out;
  out.cpus = reader.Field("cpus").Ids<CpuSet>();
  for (const Reader& m : reader.Field("memory").Items())
    out.memory[{m.Field("nodes").Ids<NodeSet>(), m.Field("type").String()}] = m.Field("size").Size();
  for (const auto& [resource, ids] : reader.Field("devices").Members()) out.devices[resource] = ids.Strings();
  return out;
}

PodRecord ReadRecord(const Reader& reader) {
  PodRecord pod;
  pod.uid = reader.Field("uid").String();
  pod.namespace_ = reader.Field("namespace").String();
  pod.name = reader.Field("name").String();
  pod.qos = ReadQos(reader.Field("qosClass"));
  pod.sequence = reader.Field("sequence").Integer<std::uint64_t>();
  pod.requests = reader.Field("requests").Resources();
  for (const Reader& p : reader.Field("placements").Items()) pod.placements.push_back(ReadPlacement(p));
  pod.reusable = ReadReusable(reader.Field("reusable"));
  if (reader.Has("rule")) pod.rule = reader.Field("rule").String();
  if (reader.Has("partial")) pod.partial = reader.Field("partial").Bool();
  if (reader.Has("allocated"))
    for (const auto& [container, resources] : reader.Field("allocated").Members())
      pod.allocated.emplace(container, ReadResources(resources));
  if (reader.Has("identity")) pod.identity = reader.Field("identity").String();
  if (reader.Has("restarts"))
    for (std::string& id : reader.Field("restarts").Strings()) pod.restarts.insert(std::move(id));
  return pod;
}

Json MemoryJson(const std::map<NumaId, MemoryNodeState>& memory) {
  Json out = Json::array();
  for (const auto& [node, state] : memory) {
    Json types = Json::object();
    for (const auto& [type, table] : state.types)
      types[type] = {{"total", table.total.v},
                     {"systemReserved", table.system_reserved.v},
                     {"allocatable", table.allocatable.v},
                     {"reserved", table.reserved.v},
                     {"free", table.free.v}};
    out.push_back({{"node", Raw(node)},
                   {"assignments", state.assignments},
                   {"cells", FormatIds(state.cells)},
                   {"types", std::move(types)}});
  }
  return out;
}

MemoryNodeState ReadMemoryNode(const Reader& reader) {
  MemoryNodeState state;
  state.assignments = reader.Field("assignments").Integer<int>();
  state.cells = reader.Field("cells").Ids<NodeSet>();
  for (const auto& [type, t] : reader.Field("types").Members())
    state.types[type] = {t.Field("total").Size(), t.Field("systemReserved").Size(), t.Field("allocatable").Size(),
                         t.Field("reserved").Size(), t.Field("free").Size()};
  return state;
}

/// Nothing where there are none: files of others stay as they are.
void PutPools(Json& out, const CpuPools& pools) {
  for (const auto& [name, pool] : pools) {
    Json& entry = out["pools"][name];
    entry["cpus"] = FormatIds(pool.cpus);
    if (!pool.idle.empty()) entry["idle"] = FormatIds(pool.idle);
  }
}

CpuPools ReadPools(const Reader& of) {
  CpuPools out;
  if (!of.Has("pools")) return out;
  for (const auto& [name, pool] : of.Field("pools").Members()) {
    CpuPool& entry = out[name];
    entry.cpus = pool.Field("cpus").Ids<CpuSet>();
    if (pool.Has("idle")) entry.idle = pool.Field("idle").Ids<CpuSet>();
  }
  return out;
}

std::map<NumaId, MemoryNodeState> ReadMemory(const Reader& reader) {
  std::map<NumaId, MemoryNodeState> out;
  for (const Reader& node : reader.Items())
    if (!out.emplace(node.Field("node").IdInSet<NumaId>(), ReadMemoryNode(node)).second)
      node.Note("this node is listed twice");
  return out;
}

}  // namespace

Placement ReadPlacement(const Reader& reader) {
  Placement p;
  p.container = reader.Field("container").String();
  p.kind = ReadContainerKind(reader.Field("kind"));
  if (const Reader hint = reader.Field("hint"); !hint.IsNull()) p.hint = ReadHint(hint);
  if (const Reader cpus = reader.Field("cpus"); !cpus.IsNull()) p.cpus = cpus.Ids<CpuSet>();
  if (reader.Has("mixed")) p.mixed = reader.Field("mixed").Bool();
  if (const Reader memory = reader.Field("memory"); !memory.IsNull()) p.memory = ReadBlocks(memory);
  p.devices = ReadDevices(reader.Field("devices"));
  if (reader.Has("promised")) p.promised = reader.Field("promised").Ids<CpuSet>();
  if (reader.Has("nodes")) p.nodes = reader.Field("nodes").Ids<NodeSet>();
  if (reader.Has("nodeCpus")) p.node_cpus = reader.Field("nodeCpus").Ids<CpuSet>();
  if (reader.Has("pool")) {
    p.pool = reader.Field("pool").String();
    p.pool_request = reader.Field("poolRequest").Integer<std::int64_t>();
    if (p.pool_request < 0 || p.pool_request > kMostAsked) reader.Field("poolRequest").Note("no number of CPUs");
  }
  return p;
}

Decision ReadDecision(const Reader& reader) {
  if (!reader.Field("admitted").Bool()) {
    Reject no{.reason = reader.Field("reason").String(),
              .message = reader.Field("message").String(),
              .container = {},
              .details = reader.Field("details").Strings()};
    if (const Reader container = reader.Field("container"); !container.IsNull()) no.container = container.String();
    return no;
  }
  Admit out;
  if (const Reader pod = reader.Field("pod"); !pod.IsNull()) out.delta.put = ReadRecord(pod);
  if (const Reader removed = reader.Field("removed"); !removed.IsNull()) out.delta.removed = removed.String();
  out.delta.shared = reader.Field("shared").Ids<CpuSet>();
  out.delta.memory = ReadMemory(reader.Field("memory"));
  out.delta.pools = ReadPools(reader);
  return out;
}

Json ToJson(const ResourceList& list) {
  Json out = Json::object();
  for (const auto& [name, amount] : list) out[name] = amount.ToString();
  return out;
}

Json ToJson(const TopologyHint& hint) {
  return {{"nodes", hint.nodes ? Json(FormatIds(*hint.nodes)) : Json()}, {"preferred", hint.preferred}};
}

Json ToJson(const Placement& placement) {
  Json out = {{"container", placement.container},
              {"kind", Name(placement.kind)},
              {"hint", placement.hint ? ToJson(*placement.hint) : Json()},
              {"cpus", placement.cpus ? Json(FormatIds(*placement.cpus)) : Json()},
              {"memory", placement.memory ? BlocksJson(*placement.memory) : Json()},
              {"devices", DevicesJson(placement.devices)}};
  if (placement.mixed) out["mixed"] = true;  // files of others stay as they are
  if (placement.promised) out["promised"] = FormatIds(*placement.promised);
  if (!placement.nodes.empty()) out["nodes"] = FormatIds(placement.nodes);
  if (!placement.node_cpus.empty()) out["nodeCpus"] = FormatIds(placement.node_cpus);
  if (!placement.pool.empty()) {
    out["pool"] = placement.pool;
    out["poolRequest"] = placement.pool_request;
  }
  return out;
}

Json ToJson(const PodRecord& pod) {
  Json placements = Json::array();
  for (const Placement& p : pod.placements) placements.push_back(ToJson(p));
  Json out = {{"uid", pod.uid},
              {"namespace", pod.namespace_},
              {"name", pod.name},
              {"qosClass", Name(pod.qos)},
              {"sequence", pod.sequence},
              {"requests", ToJson(pod.requests)},
              {"placements", std::move(placements)},
              {"reusable", ReusableJson(pod.reusable)}};
  if (!pod.rule.empty()) out["rule"] = pod.rule;
  if (pod.partial) out["partial"] = true;  // others never were: files stay as they are
  for (const auto& [container, resources] : pod.allocated) out["allocated"][container] = ResourcesJson(resources);
  if (!pod.identity.empty()) out["identity"] = pod.identity;
  if (!pod.restarts.empty()) out["restarts"] = pod.restarts;
  return out;
}

Json ToJson(const Ledger& ledger) {
  Json pods = Json::array();
  for (const auto& [uid, pod] : ledger.pods) pods.push_back(ToJson(pod));
  Json out = {{"revision", ledger.revision},
              {"nextSequence", ledger.next_sequence},
              {"cpuPolicy", ledger.cpu_policy},
              {"memoryPolicy", ledger.memory_policy},
              {"shared", FormatIds(ledger.shared)},
              {"memory", MemoryJson(ledger.memory)},
              {"pods", std::move(pods)}};
  PutPools(out, ledger.pools);
  return out;
}

Result<Ledger> LedgerFromJson(const Json& json) {
  Reader::Problem problem{.code = Code::kCorrupt, .error = {}};
  const Reader reader(json, "", problem);
  Ledger ledger;
  ledger.revision = reader.Field("revision").Integer<std::uint64_t>();
  ledger.next_sequence = reader.Field("nextSequence").Integer<std::uint64_t>();
  ledger.cpu_policy = reader.Field("cpuPolicy").String();
  ledger.memory_policy = reader.Field("memoryPolicy").String();
  ledger.shared = reader.Field("shared").Ids<CpuSet>();
  ledger.memory = ReadMemory(reader.Field("memory"));
  ledger.pools = ReadPools(reader);
  for (const Reader& item : reader.Field("pods").Items()) {
    PodRecord pod = ReadRecord(item);
    std::string uid = pod.uid;
    if (!ledger.pods.emplace(std::move(uid), std::move(pod)).second) item.Note("this pod's uid is listed twice");
  }
  if (problem.error) return Wrap(*std::move(problem.error), "ledger");
  return ledger;
}

Json ToJson(const Decision& decision) {
  if (const auto* no = std::get_if<Reject>(&decision))
    return {{"admitted", false},
            {"reason", no->reason},
            {"message", no->message},
            {"container", no->container.empty() ? Json() : Json(no->container)},
            {"details", no->details}};
  const LedgerDelta& delta = std::get<Admit>(decision).delta;
  Json out = {{"admitted", true},
              {"pod", delta.put ? ToJson(*delta.put) : Json()},
              {"removed", delta.removed ? Json(*delta.removed) : Json()},
              {"shared", FormatIds(delta.shared)},
              {"memory", MemoryJson(delta.memory)}};
  PutPools(out, delta.pools);
  return out;
}

Json ToJson(const Trace& trace) {
  Json out = Json::array();
  for (const TraceStep& step : trace.steps())
    out.push_back(
        {{"stage", step.stage}, {"container", step.container}, {"resource", step.resource}, {"text", step.text}});
  return out;
}

}  // namespace berth::codec
