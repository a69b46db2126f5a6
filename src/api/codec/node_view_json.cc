#include "api/codec/json_parts.h"

namespace berth::codec {
namespace {

Json HistoryJson(const std::optional<HistoryStatus>& history) {
  if (!history) return nullptr;
  return {{"path", history->path},
          {"kept", history->kept},
          {"waiting", history->waiting},
          {"lost", history->lost},
          {"problem", history->problem}};
}

std::optional<HistoryStatus> ReadHistory(const Reader& reader) {
  if (reader.IsNull()) return std::nullopt;
  return HistoryStatus{.path = reader.Field("path").String(),
                       .kept = reader.Field("kept").Integer<std::uint64_t>(),
                       .waiting = reader.Field("waiting").Integer<std::size_t>(),
                       .lost = reader.Field("lost").Integer<std::uint64_t>(),
                       .problem = reader.Field("problem").String()};
}

Json LoopJson(const LoopStatus& loop) {
  return {{"turns", loop.turns},
          {"longestAwayMs", loop.longest.ms},
          {"longestAwayWhat", loop.longest.what},
          {"longestAwayLastMinuteMs", loop.longest_lately.ms},
          {"longestAwayLastMinuteWhat", loop.longest_lately.what}};
}

LoopStatus ReadLoop(const Reader& reader) {
  return {.turns = reader.Field("turns").Integer<std::uint64_t>(),
          .longest = {.ms = reader.Field("longestAwayMs").Integer<std::int64_t>(),
                      .what = reader.Field("longestAwayWhat").String()},
          .longest_lately = {.ms = reader.Field("longestAwayLastMinuteMs").Integer<std::int64_t>(),
                             .what = reader.Field("longestAwayLastMinuteWhat").String()}};
}

Json ConditionsJson(const NodeConditions& conditions) {
  return {{"memoryPressure", conditions.memory_pressure}, {"pidPressure", conditions.pid_pressure},
          {"ledgerProblem", conditions.ledger_problem},   {"poolProblem", conditions.pool_problem},
          {"runtimeProblem", conditions.runtime_problem}, {"releasing", conditions.releasing}};
}

NodeConditions ReadConditions(const Reader& reader) {
  return {.memory_pressure = reader.Field("memoryPressure").Bool(),
          .pid_pressure = reader.Field("pidPressure").Bool(),
          .ledger_problem = reader.Field("ledgerProblem").String(),
          .pool_problem = reader.Field("poolProblem").String(),
          .runtime_problem = reader.Field("runtimeProblem").String(),
          .releasing = reader.Field("releasing").Strings()};
}

Json LineJson(const ValueLine& line) {
  return {
      {"file", line.file}, {"wanted", line.wanted}, {"found", line.found}, {"same", line.Same()}, {"why", line.why}};
}

ValueLine ReadLine(const Reader& reader) {
  return {.file = reader.Field("file").String(),
          .wanted = reader.Field("wanted").String(),
          .found = reader.Field("found").String(),
          .why = reader.Field("why").String()};
}

Json GroupJson(const GroupView& group) {
  return {{"path", group.path},
          {"what", group.what},
          {"problem", group.problem},
          {"values", ListJson(group.values, LineJson)}};
}

GroupView ReadGroup(const Reader& reader) {
  GroupView out{.path = reader.Field("path").String(),
                .what = reader.Field("what").String(),
                .problem = reader.Field("problem").String(),
                .values = {}};
  for (const Reader& item : reader.Field("values").Items()) out.values.push_back(ReadLine(item));
  return out;
}

Json HostGroupJson(const HostGroup& group) {
  return {{"setting", group.setting},     {"path", group.path},
          {"processes", group.processes}, {"memory", group.memory ? Json(group.memory->v) : Json()},
          {"problem", group.problem},     {"values", ListJson(group.values, LineJson)}};
}

HostGroup ReadHostGroup(const Reader& reader) {
  HostGroup out{.setting = reader.Field("setting").String(),
                .path = reader.Field("path").String(),
                .processes = reader.Field("processes").Integer<std::int64_t>(),
                .memory = {},
                .problem = reader.Field("problem").String()};
  if (const Reader memory = reader.Field("memory"); !memory.IsNull()) out.memory = memory.Size();
  for (const Reader& value : reader.Field("values").Items()) out.values.push_back(ReadLine(value));
  return out;
}

}  // namespace

Json ToJson(const DaemonStatus& status) {
  Json calls = Json::object();
  for (const auto& [name, count] : status.runtime_calls)
    calls[name] = {{"calls", count.calls}, {"failed", count.failed}};
  return {{"version", status.version},
          {"nodeName", status.node_name},
          {"pid", status.pid},
          {"startedAt", TimeJson(status.started_at)},
          {"cgroupVersion", status.cgroup_version},
          {"runtime", status.runtime},
          {"runtimeEndpoint", status.runtime_endpoint},
          {"machineSource", status.machine_source},
          {"ledgerRevision", status.ledger_revision},
          {"pods", status.pods},
          {"cgroupWrites", status.cgroup_writes},
          {"runtimeCalls", std::move(calls)},
          {"podFolder", status.pod_folder},
          {"cgroupRoot", status.cgroup_root},
          {"cgroupDriver", status.cgroup_driver},
          {"loop", LoopJson(status.loop)},
          {"history", HistoryJson(status.history)},
          {"warnings", status.warnings}};
}

Result<DaemonStatus> DaemonStatusFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    DaemonStatus out;
    out.version = reader.Field("version").String();
    out.node_name = reader.Field("nodeName").String();
    out.pid = reader.Field("pid").Integer<int>();
    out.started_at = ReadTime(reader.Field("startedAt"));
    out.cgroup_version = reader.Field("cgroupVersion").String();
    out.runtime = reader.Field("runtime").String();
    out.runtime_endpoint = reader.Field("runtimeEndpoint").String();
    out.machine_source = reader.Field("machineSource").String();
    out.ledger_revision = reader.Field("ledgerRevision").Integer<std::uint64_t>();
    out.pods = reader.Field("pods").Integer<std::size_t>();
    out.cgroup_writes = reader.Field("cgroupWrites").Integer<std::uint64_t>();
    for (const auto& [name, count] : reader.Field("runtimeCalls").Members())
      out.runtime_calls[name] = {.calls = count.Field("calls").Integer<std::uint64_t>(),
                                 .failed = count.Field("failed").Integer<std::uint64_t>()};
    out.pod_folder = reader.Field("podFolder").String();
    out.cgroup_root = reader.Field("cgroupRoot").String();
    out.cgroup_driver = reader.Field("cgroupDriver").String();
    out.loop = ReadLoop(reader.Field("loop"));
    out.history = ReadHistory(reader.Field("history"));
    out.warnings = reader.Field("warnings").Strings();
    return out;
  });
}

Json ToJson(const Health& health) { return {{"started", health.started}, {"notReady", health.not_ready}}; }

Result<Health> HealthFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    return Health{.started = reader.Field("started").Bool(), .not_ready = reader.Field("notReady").Strings()};
  });
}

Json ToJson(const NodeView& node) {
  Json out = {{"capacity", ToJson(node.capacity)},
              {"allocatable", ToJson(node.allocatable)},
              {"reservedCpus", FormatIds(node.reserved_cpus)},
              {"allCpus", FormatIds(node.all_cpus)},
              {"cpuPolicy", node.cpu_policy},
              {"memoryPolicy", node.memory_policy},
              {"topologyPolicy", node.topology_policy},
              {"topologyScope", node.topology_scope},
              {"kubeletVersion", Name(node.kubelet_version)},
              {"nodeFit", node.node_fit},
              {"wholeCores", node.whole_cores},
              {"closeDevices", node.close_devices},
              {"judgeByFreeMemory", node.judge_by_free_memory},
              {"memoryGroupsOverlap", node.memory_groups_overlap},
              {"podFallsBack", node.pod_falls_back},
              {"keepRestAligned", node.keep_rest_aligned},
              {"lookAhead", node.look_ahead},
              {"preemptsForCritical", node.preempts_for_critical},
              {"kubeletConfiguration", node.kubelet_configuration},
              {"conditions", ConditionsJson(node.conditions)}};
  PutOwnRules(out, node.own);
  return out;
}

Result<NodeView> NodeViewFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    NodeView out;
    out.capacity = reader.Field("capacity").Resources();
    out.allocatable = reader.Field("allocatable").Resources();
    out.reserved_cpus = reader.Field("reservedCpus").Ids<CpuSet>();
    out.all_cpus = reader.Field("allCpus").Ids<CpuSet>();
    out.cpu_policy = reader.Field("cpuPolicy").String();
    out.memory_policy = reader.Field("memoryPolicy").String();
    out.topology_policy = reader.Field("topologyPolicy").String();
    out.topology_scope = reader.Field("topologyScope").String();
    out.kubelet_version = ReadKubeletVersion(reader);
    out.node_fit = reader.Field("nodeFit").Bool();
    out.whole_cores = reader.Field("wholeCores").Bool();
    out.close_devices = reader.Field("closeDevices").Bool();
    const auto option = [&](const char* name) { return reader.Has(name) && reader.Field(name).Bool(); };
    out.judge_by_free_memory = option("judgeByFreeMemory");
    out.memory_groups_overlap = option("memoryGroupsOverlap");
    out.pod_falls_back = option("podFallsBack");
    out.keep_rest_aligned = option("keepRestAligned");
    out.look_ahead = option("lookAhead");
    out.preempts_for_critical = option("preemptsForCritical");
    out.own = ReadOwnRules(reader);
    out.kubelet_configuration = reader.Field("kubeletConfiguration").String();
    out.conditions = ReadConditions(reader.Field("conditions"));
    return out;
  });
}

Json ToJson(const TreeView& tree) {
  return {{"cgroupVersion", tree.cgroup_version},
          {"driver", tree.driver},
          {"root", tree.root},
          {"hostGroups", ListJson(tree.host_groups, HostGroupJson)},
          {"groups", ListJson(tree.groups, GroupJson)}};
}

Result<TreeView> TreeViewFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    TreeView out;
    out.cgroup_version = reader.Field("cgroupVersion").String();
    out.driver = reader.Field("driver").String();
    out.root = reader.Field("root").String();
    for (const Reader& item : reader.Field("hostGroups").Items()) out.host_groups.push_back(ReadHostGroup(item));
    for (const Reader& item : reader.Field("groups").Items()) out.groups.push_back(ReadGroup(item));
    return out;
  });
}

}  // namespace berth::codec
