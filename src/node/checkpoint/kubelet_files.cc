#include "node/checkpoint/kubelet_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "api/codec/codec.h"
#include "base/text.h"
#include "node/checkpoint/kubelet_dump.h"

namespace berth::checkpoint {
namespace {

using codec::Json;

std::unexpected<Error> Damaged(const std::string& what) {
  return Fail(Code::kCorrupt, "not a sound kubelet state file: " + what);
}

bool AbsentOrNull(const Json* value) { return value == nullptr || value->is_null(); }

std::string Finish(Json file, const std::string& dump) {
  file["checksum"] = Fnv1a(dump);
  return EscapeLikeTheKubelet(codec::FormatJson(file));
}

// ---- reading: types of the fields ----

Result<std::string> StringField(const Json& object, const char* name) {
  const Json* value = Member(object, name);
  if (AbsentOrNull(value)) return std::string();
  if (!value->is_string()) return Damaged(std::string(name) + " is not a string");
  return value->get<std::string>();
}

/// An unsigned 64-bit number of the file, as the signed one with the same bits.
Result<std::int64_t> NumberField(const Json& object, const char* name) {
  const Json* value = Member(object, name);
  if (AbsentOrNull(value)) return 0;
  if (!value->is_number_integer()) return Damaged(std::string(name) + " is not a whole number");
  return value->is_number_unsigned() ? static_cast<std::int64_t>(value->get<std::uint64_t>())
                                     : value->get<std::int64_t>();
}

/// nullptr: absent or null. Errors: not an object.
Result<const Json*> ObjectField(const Json& object, const char* name) {
  const Json* value = Member(object, name);
  if (AbsentOrNull(value)) return nullptr;
  if (!value->is_object()) return Damaged(std::string(name) + " is not an object");
  return value;
}

Result<CpuSet> CpuList(const Json& value, const std::string& where) {
  if (!value.is_string()) return Damaged(where + " is not a CPU list");
  auto cpus = CpuSet::Parse(value.get_ref<const std::string&>());
  if (!cpus) return Damaged(where + ": " + cpus.error().message);
  return *std::move(cpus);
}

/// The file's JSON. Errors: kCorrupt.
Result<Json> ReadObject(std::string_view text) {
  auto json = codec::ParseJson(text, "the file");
  if (!json) return Fail(Code::kCorrupt, json.error().message);
  if (!json->is_object()) return Damaged("the top level is not an object");
  return *std::move(json);
}

Result<std::uint32_t> ReadChecksum(const Json& file) {
  BERTH_TRY(const std::int64_t number, NumberField(file, "checksum"));
  if (number < 0 || number > 0xffffffffLL) return Damaged("the checksum is out of range");
  return static_cast<std::uint32_t>(number);
}

/// For a file whose checksum fits no version.
std::unexpected<Error> NoVersionFits(const Json& file, std::span<const std::string_view> known) {
  for (const auto& [name, value] : file.items()) {
    if (std::ranges::none_of(known, [&](std::string_view k) { return Member(file, k) == &value; }))
      return Fail(Code::kUnsupported,
                  "the kubelet state file has a field \"" + Printable(name) +
                      "\" and a checksum of no version known here: it was written by another version of the kubelet");
  }
  return Fail(Code::kCorrupt, "the kubelet state file is damaged: its checksum does not fit its content");
}

// ---- cpu_manager_state ----

/// Fills entries (by container id, or by pod and container). Errors: kCorrupt.
Result<void> ReadCpuEntries(const Json& file, KubeletCpuState& state) {
  BERTH_TRY(const Json* entries, ObjectField(file, "entries"));
  if (entries == nullptr) return {};
  for (const auto& [key, value] : entries->items()) {
    const std::string where = "entries." + Printable(key);
    if (value.is_string()) {
      BERTH_TRY(state.by_container_id[key], CpuList(value, where));
      continue;
    }
    if (!value.is_object()) return Damaged(where + " is neither an object nor a CPU list");
    auto& pod = state.entries[key];
    for (const auto& [container, cpus] : value.items()) {
      BERTH_TRY(pod[container], CpuList(cpus, where + "." + Printable(container)));
    }
  }
  if (!state.entries.empty() && !state.by_container_id.empty()) return Damaged("entries of two formats are mixed");
  return {};
}

Result<void> ReadCpuPods(const Json& file, KubeletCpuState& state) {
  BERTH_TRY(const Json* pods, ObjectField(file, "podEntries"));
  if (pods == nullptr) return {};
  for (const auto& [uid, pod] : pods->items()) {
    const std::string where = "podEntries." + Printable(uid);
    if (!pod.is_object()) return Damaged(where + " is not an object");
    BERTH_TRY(const std::string list, StringField(pod, "cpuSet"));
    BERTH_TRY(state.pods[uid], CpuList(list, where + ".cpuSet"));
  }
  return {};
}

/// The version whose checksum fits; tried in the kubelet's order.
std::optional<KubeletCpuVersion> CpuVersionOf(const Json& file, const KubeletCpuState& state, std::uint32_t checksum) {
  const auto fits = [&](const CpuDump& how) { return checksum == Fnv1a(Dump(file, how)); };
  if (state.by_container_id.empty()) {
    if (checksum != 0 && fits({.pod_entries = true})) return KubeletCpuVersion::kV3;
    if (checksum == 0 || fits({}) || fits({.type = "CPUManagerCheckpointV2"}))
      return state.pods.empty() ? KubeletCpuVersion::kV2 : KubeletCpuVersion::kV3;
  }
  if (state.entries.empty() && (checksum == 0 || fits({.entries_by_id = true}))) return KubeletCpuVersion::kV1;
  return std::nullopt;
}

// ---- memory_manager_state ----

Result<NodeSet> NodeList(const Json& object, const char* name, const std::string& where) {
  const Json* value = Member(object, name);
  NodeSet out;
  if (AbsentOrNull(value)) return out;
  if (!value->is_array()) return Damaged(where + "." + name + " is not a list");
  for (const Json& id : *value) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > kMaxId)
      return Damaged(where + "." + name + " holds something that is no NUMA node id");
    out.Insert(NumaId{id.get<std::uint32_t>()});
  }
  return out;
}

Result<MemoryTable> ReadTable(const Json& table, const std::string& where) {
  if (!table.is_object()) return Damaged(where + " is not an object");
  MemoryTable out;
  for (const auto& [name, field] : {std::pair{"total", &out.total},
                                    {"systemReserved", &out.system_reserved},
                                    {"allocatable", &out.allocatable},
                                    {"reserved", &out.reserved},
                                    {"free", &out.free}}) {
    BERTH_TRY(field->v, NumberField(table, name));
  }
  return out;
}

Result<MemoryNodeState> ReadNode(const Json& node, const std::string& where) {
  if (!node.is_object()) return Damaged(where + " is not an object");
  MemoryNodeState out;
  BERTH_TRY(const std::int64_t assignments, NumberField(node, "numberOfAssignments"));
  out.assignments = static_cast<int>(assignments);
  BERTH_TRY(out.cells, NodeList(node, "cells", where));
  BERTH_TRY(const Json* tables, ObjectField(node, "memoryMap"));
  if (tables == nullptr) return out;
  for (const auto& [type, table] : tables->items()) {
    BERTH_TRY(out.types[type], ReadTable(table, where + ".memoryMap." + Printable(type)));
  }
  return out;
}

Result<KubeletMemoryState::Blocks> ReadBlocks(const Json& list, const std::string& where) {
  KubeletMemoryState::Blocks out;
  if (list.is_null()) return out;
  if (!list.is_array()) return Damaged(where + " is not a list");
  for (const Json& item : list) {
    if (!item.is_object()) return Damaged(where + " holds something that is not an object");
    MemoryBlock block;
    BERTH_TRY(block.nodes, NodeList(item, "numaAffinity", where));
    BERTH_TRY(block.type, StringField(item, "type"));
    BERTH_TRY(block.size.v, NumberField(item, "size"));
    out.push_back(std::move(block));
  }
  return out;
}

Result<void> ReadMachineState(const Json& file, KubeletMemoryState& state) {
  BERTH_TRY(const Json* nodes, ObjectField(file, "machineState"));
  if (nodes == nullptr) return {};
  for (const auto& [key, node] : nodes->items()) {
    const auto id = ParseDecimal<std::uint32_t>(key);
    if (!id || *id > kMaxId) return Damaged("machineState." + Printable(key) + " is no NUMA node id");
    BERTH_TRY(state.nodes[NumaId{*id}], ReadNode(node, "machineState." + key));
  }
  return {};
}

Result<void> ReadMemoryEntries(const Json& file, KubeletMemoryState& state) {
  BERTH_TRY(const Json* entries, ObjectField(file, "entries"));
  if (entries != nullptr) {
    for (const auto& [uid, pod] : entries->items()) {
      const std::string where = "entries." + Printable(uid);
      if (!pod.is_object()) return Damaged(where + " is not an object");
      for (const auto& [container, blocks] : pod.items()) {
        BERTH_TRY(state.entries[uid][container], ReadBlocks(blocks, where + "." + Printable(container)));
      }
    }
  }
  BERTH_TRY(const Json* pods, ObjectField(file, "podEntries"));
  if (pods == nullptr) return {};
  for (const auto& [uid, pod] : pods->items()) {
    const std::string where = "podEntries." + Printable(uid);
    if (!pod.is_object()) return Damaged(where + " is not an object");
    const Json* blocks = Member(pod, "memoryBlocks");
    BERTH_TRY(state.pods[uid], ReadBlocks(blocks == nullptr ? Json() : *blocks, where));
  }
  return {};
}

// ---- writing ----

Json IdList(const NodeSet& nodes) {
  Json out = Json::array();
  for (NumaId id : nodes) out.push_back(Raw(id));
  return out;
}

std::uint64_t Unsigned(Bytes bytes) { return static_cast<std::uint64_t>(bytes.v); }

Json BlocksJson(const KubeletMemoryState::Blocks& blocks) {
  Json out = Json::array();
  for (const MemoryBlock& block : blocks)
    out.push_back({{"numaAffinity", IdList(block.nodes)}, {"type", block.type}, {"size", Unsigned(block.size)}});
  return out;
}

Json NodeJson(const MemoryNodeState& node) {
  Json tables = Json::object();
  for (const auto& [type, t] : node.types)
    tables[type] = {{"total", Unsigned(t.total)},
                    {"systemReserved", Unsigned(t.system_reserved)},
                    {"allocatable", Unsigned(t.allocatable)},
                    {"reserved", Unsigned(t.reserved)},
                    {"free", Unsigned(t.free)}};
  return {{"numberOfAssignments", node.assignments}, {"memoryMap", std::move(tables)}, {"cells", IdList(node.cells)}};
}

}  // namespace

std::uint32_t Fnv1a(std::string_view bytes) {
  std::uint32_t hash = 2166136261U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

std::string FormatKubeletState(const KubeletCpuState& state) {
  Json file = {{"policyName", state.policy}, {"defaultCpuSet", FormatIds(state.default_cpus)}};
  Json entries = Json::object();
  if (state.version == KubeletCpuVersion::kV1) {
    for (const auto& [id, cpus] : state.by_container_id) entries[id] = FormatIds(cpus);
  } else {
    for (const auto& [uid, containers] : state.entries) {
      Json& pod = entries[uid] = Json::object();
      for (const auto& [name, cpus] : containers) pod[name] = FormatIds(cpus);
    }
  }
  if (!entries.empty()) file["entries"] = std::move(entries);
  const bool with_pods = state.version == KubeletCpuVersion::kV3;
  if (with_pods && !state.pods.empty()) {
    Json& pods = file["podEntries"] = Json::object();
    for (const auto& [uid, cpus] : state.pods) pods[uid] = {{"cpuSet", FormatIds(cpus)}};
  }
  const std::string dump =
      Dump(file, CpuDump{.entries_by_id = state.version == KubeletCpuVersion::kV1, .pod_entries = with_pods});
  return Finish(std::move(file), dump);
}

std::string FormatKubeletState(const KubeletMemoryState& state) {
  Json file = {{"policyName", state.policy}};
  std::map<std::string, Json> by_text;  // the file sorts node ids as strings
  for (const auto& [id, node] : state.nodes) by_text[std::to_string(Raw(id))] = NodeJson(node);
  Json& nodes = file["machineState"] = Json::object();
  for (auto& [id, node] : by_text) nodes[id] = std::move(node);
  if (!state.entries.empty()) {
    Json& entries = file["entries"] = Json::object();
    for (const auto& [uid, containers] : state.entries) {
      Json& pod = entries[uid] = Json::object();
      for (const auto& [name, blocks] : containers) pod[name] = BlocksJson(blocks);
    }
  }
  const bool with_pods = state.version == KubeletMemoryVersion::kV2;
  if (with_pods && !state.pods.empty()) {
    Json& pods = file["podEntries"] = Json::object();
    for (const auto& [uid, blocks] : state.pods) pods[uid] = {{"memoryBlocks", BlocksJson(blocks)}};
  }
  const std::string dump = Dump(file, MemoryDump{.pod_entries = with_pods});
  return Finish(std::move(file), dump);
}

Result<KubeletCpuState> ParseKubeletCpuState(std::string_view text) {
  static constexpr std::array<std::string_view, 5> kFields{"policyName", "defaultCpuSet", "entries", "podEntries",
                                                           "checksum"};
  BERTH_TRY(const Json file, ReadObject(text));
  KubeletCpuState state;
  BERTH_TRY(state.policy, StringField(file, "policyName"));
  BERTH_TRY(const std::string shared, StringField(file, "defaultCpuSet"));
  BERTH_RETURN_IF_ERROR(ReadCpuEntries(file, state));
  BERTH_RETURN_IF_ERROR(ReadCpuPods(file, state));
  BERTH_TRY(const std::uint32_t checksum, ReadChecksum(file));
  const auto version = CpuVersionOf(file, state, checksum);
  if (!version) return NoVersionFits(file, kFields);
  BERTH_TRY(state.default_cpus, CpuList(shared, "defaultCpuSet"));
  state.version = *version;
  return state;
}

Result<KubeletMemoryState> ParseKubeletMemoryState(std::string_view text) {
  static constexpr std::array<std::string_view, 5> kFields{"policyName", "machineState", "entries", "podEntries",
                                                           "checksum"};
  BERTH_TRY(const Json file, ReadObject(text));
  KubeletMemoryState state;
  BERTH_TRY(state.policy, StringField(file, "policyName"));
  BERTH_RETURN_IF_ERROR(ReadMachineState(file, state));
  BERTH_RETURN_IF_ERROR(ReadMemoryEntries(file, state));
  BERTH_TRY(const std::uint32_t checksum, ReadChecksum(file));
  const auto fits = [&](const MemoryDump& how) { return checksum == Fnv1a(Dump(file, how)); };
  if (checksum != 0 && fits({.pod_entries = true})) {
    state.version = KubeletMemoryVersion::kV2;
  } else if (checksum == 0 || fits({}) || fits({.type = "MemoryManagerCheckpointV1"})) {
    state.version = state.pods.empty() ? KubeletMemoryVersion::kV1 : KubeletMemoryVersion::kV2;
  } else {
    return NoVersionFits(file, kFields);
  }
  return state;
}

/// A kubelet knows no named pools: to it their containers run in the shared pool.
KubeletCpuState ExportCpuState(const Ledger& ledger) {
  KubeletCpuState out{.policy = ledger.cpu_policy, .default_cpus = ledger.shared | PooledCpus(ledger)};
  for (const auto& [uid, pod] : ledger.pods)
    for (const Placement& p : pod.placements)
      if (p.cpus) out.entries[uid][p.container] = *p.cpus;
  return out;
}

KubeletMemoryState ExportMemoryState(const Ledger& ledger) {
  KubeletMemoryState out{.policy = ledger.memory_policy, .nodes = ledger.memory};
  for (const auto& [uid, pod] : ledger.pods) {
    for (const Placement& p : pod.placements) {
      if (!p.memory) continue;
      auto& blocks = out.entries[uid][p.container] = *p.memory;
      std::ranges::sort(blocks, {}, &MemoryBlock::type);
    }
  }
  return out;
}

}  // namespace berth::checkpoint
