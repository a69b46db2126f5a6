#include "api/codec/node_state_json.h"

#include <algorithm>
#include <utility>

#include "api/codec/json_parts.h"
#include "api/codec/reader.h"
#include "api/codec/views.h"

namespace berth::codec {
namespace {

using Options = KubeletConfiguration::Options;

/// The kubelet's own names, so that a person reads what stands in the node's file.
Json DecidingSettingsJson(const KubeletConfiguration& config) {
  return {{"cpuManagerPolicy", config.cpu_manager_policy},
          {"cpuManagerPolicyOptions", config.cpu_manager_policy_options},
          {"memoryManagerPolicy", config.memory_manager_policy},
          {"reservedMemory", ListJson(config.reserved_memory,
                                      [](const MemoryReservation& reservation) -> Json {
                                        return {{"numaNode", Raw(reservation.node)},
                                                {"limits", ToJson(reservation.limits)}};
                                      })},
          {"topologyManagerPolicy", config.topology_manager_policy},
          {"topologyManagerScope", config.topology_manager_scope},
          {"topologyManagerPolicyOptions", config.topology_manager_policy_options},
          {"reservedSystemCPUs", config.reserved_system_cpus},
          {"systemReserved", ToJson(config.system_reserved)},
          {"kubeReserved", ToJson(config.kube_reserved)},
          {"evictionHard", config.eviction_hard ? Json(*config.eviction_hard) : Json()},
          {"mergeDefaultEvictionSettings", config.merge_default_eviction_settings},
          {"maxPods", config.max_pods},
          {"podsPerCore", config.pods_per_core},
          {"featureGates", config.feature_gates}};
}

Options ReadOptions(const Reader& reader) {
  Options out;
  for (const auto& [key, value] : reader.Members()) out.emplace(key, value.String());
  return out;
}

KubeletConfiguration ReadDecidingSettings(const Reader& reader) {
  KubeletConfiguration config;
  config.cpu_manager_policy = reader.Field("cpuManagerPolicy").String();
  config.cpu_manager_policy_options = ReadOptions(reader.Field("cpuManagerPolicyOptions"));
  config.memory_manager_policy = reader.Field("memoryManagerPolicy").String();
  for (const Reader& item : reader.Field("reservedMemory").Items())
    config.reserved_memory.push_back({item.Field("numaNode").IdInSet<NumaId>(), item.Field("limits").Resources()});
  config.topology_manager_policy = reader.Field("topologyManagerPolicy").String();
  config.topology_manager_scope = reader.Field("topologyManagerScope").String();
  config.topology_manager_policy_options = ReadOptions(reader.Field("topologyManagerPolicyOptions"));
  config.reserved_system_cpus = reader.Field("reservedSystemCPUs").String();
  config.system_reserved = reader.Field("systemReserved").Resources();
  config.kube_reserved = reader.Field("kubeReserved").Resources();
  // The server leaves out what is null.
  if (reader.Has("evictionHard"))
    if (const Reader hard = reader.Field("evictionHard"); !hard.IsNull()) config.eviction_hard = ReadOptions(hard);
  config.merge_default_eviction_settings = reader.Field("mergeDefaultEvictionSettings").Bool();
  config.max_pods = reader.Field("maxPods").Integer<std::int32_t>();
  config.pods_per_core = reader.Field("podsPerCore").Integer<std::int32_t>();
  for (const auto& [gate, on] : reader.Field("featureGates").Members()) config.feature_gates[gate] = on.Bool();
  return config;
}

/// No fewer values than the text has: each but the first is behind one of these.
std::size_t ValuesAtMost(std::string_view text) {
  return 1 +
         static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return c == ',' || c == '{' || c == '['; }));
}

Result<void> CheckFrame(const Json& json) {
  Reader::Problem problem;
  const Reader reader(json, "", problem);
  const std::string version = reader.Field("apiVersion").String();
  const std::string kind = reader.Field("kind").String();
  const auto format = reader.Field("formatVersion").Integer<std::int64_t>();
  if (problem.error) return std::unexpected(*std::move(problem.error));
  if (version != "berth.dev/v1alpha1" || kind != "NodeState")
    return Fail(Code::kInvalid, "apiVersion, kind: expected berth.dev/v1alpha1, NodeState");
  if (format > kNodeStateFormat)
    return Fail(Code::kUnsupported, "formatVersion: " + std::to_string(format) +
                                        " was written by a newer berthd, this one reads " +
                                        std::to_string(kNodeStateFormat));
  if (format < 1) return Fail(Code::kInvalid, "formatVersion: expected 1 or more");
  return {};
}

NodeState ReadParts(const Json& json, const Reader& reader) {
  const auto take = [&](const char* key, auto read, auto& into) {
    const Reader field = reader.Field(key);
    const auto at = json.find(key);
    if (at == json.end()) return;  // noted
    auto value = read(*at);
    if (value)
      into = *std::move(value);
    else
      reader.Note(value.error().message);
  };
  NodeState state;
  state.node = reader.Field("metadata").Field("name").String();
  state.berth_version = reader.Field("berthVersion").String();
  state.generation = reader.Field("generation").Integer<std::uint64_t>();
  state.time = ReadTime(reader.Field("time"));
  state.config = ReadDecidingSettings(reader.Field("configuration"));
  const Reader options = reader.Field("options");
  state.kubelet_version = ReadKubeletVersion(options);
  state.node_fit = options.Field("nodeFit").Bool();
  state.whole_cores = options.Field("wholeCores").Bool();
  state.close_devices = options.Field("closeDevices").Bool();
  const auto newer = [&](const char* name) { return options.Has(name) && options.Field(name).Bool(); };
  state.judge_by_free_memory = newer("judgeByFreeMemory");
  state.memory_groups_overlap = newer("memoryGroupsOverlap");
  state.pod_falls_back = newer("podFallsBack");
  state.keep_rest_aligned = newer("keepRestAligned");
  state.look_ahead = newer("lookAhead");
  state.own = ReadOwnRules(options);
  take("machine", MachineFromJson, state.machine);
  take("devices", DeviceInventoryFromJson, state.devices);
  take("ledger", LedgerFromJson, state.ledger);
  return state;
}

}  // namespace

Json ToJson(const NodeState& state) {
  Json options = {{"kubeletVersion", Name(state.kubelet_version)},
                  {"nodeFit", state.node_fit},
                  {"wholeCores", state.whole_cores},
                  {"closeDevices", state.close_devices},
                  {"judgeByFreeMemory", state.judge_by_free_memory},
                  {"memoryGroupsOverlap", state.memory_groups_overlap},
                  {"podFallsBack", state.pod_falls_back},
                  {"keepRestAligned", state.keep_rest_aligned},
                  {"lookAhead", state.look_ahead}};
  PutOwnRules(options, state.own);
  return {{"apiVersion", "berth.dev/v1alpha1"},
          {"kind", "NodeState"},
          {"metadata", {{"name", state.node}}},
          {"formatVersion", kNodeStateFormat},
          {"berthVersion", state.berth_version},
          {"generation", state.generation},
          {"time", TimeJson(state.time)},
          {"options", std::move(options)},
          {"configuration", DecidingSettingsJson(state.config)},
          {"machine", ToJson(state.machine)},
          {"devices", ToJson(state.devices)},
          {"ledger", ToJson(state.ledger)}};
}

Result<std::string> FormatNodeState(const NodeState& state) { return FormatNodeState(ToJson(state)); }

Result<std::string> FormatNodeState(const Json& object) {
  std::string text = FormatJson(object);
  if (text.size() > kMostOfNodeState || ValuesAtMost(text) > kMostNodeStateValues)
    return Fail(Code::kInvalid, "the state of node " + object["metadata"]["name"].get<std::string>() + " has " +
                                    std::to_string(text.size()) + " bytes and is too large to be published");
  return text;
}

Result<NodeState> ReadNodeState(std::string_view text) {
  if (text.size() > kMostOfNodeState)
    return Fail(Code::kInvalid, "node state: more than " + std::to_string(kMostOfNodeState) + " bytes");
  if (ValuesAtMost(text) > kMostNodeStateValues)
    return Fail(Code::kInvalid, "node state: more than " + std::to_string(kMostNodeStateValues) + " values");
  const auto json = ParseJson(text, "node state");
  if (!json) return std::unexpected(json.error());
  if (auto frame = CheckFrame(*json); !frame) return Wrap(std::move(frame).error(), "node state");
  Reader::Problem problem;
  NodeState state = ReadParts(*json, Reader(*json, "", problem));
  if (problem.error) return Wrap(*std::move(problem.error), "node state");
  state = Compact(std::move(state));
  if (auto checked = CheckNodeState(state); !checked) return std::unexpected(std::move(checked).error());
  return state;
}

}  // namespace berth::codec
