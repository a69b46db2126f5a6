#include "node/checkpoint/kubelet_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/codec/codec.h"
#include "base/text.h"
#include "node/checkpoint/kubelet_dump.h"

namespace berth::checkpoint {
namespace {

using codec::Json;

std::unexpected<Error> Damaged(const std::string& what) {
  return Fail(Code::kCorrupt, "not a sound kubelet state file: " + what + std::string(kDamagedFileCure));
}

bool AbsentOrNull(const Json* value) { return value == nullptr || value->is_null(); }

// ---- the formats ----

template <class FileVersion, class DumpForm>
struct FileFormat {
  FileVersion version;
  DumpForm dump{};                    ///< what the field checksum is computed over
  bool checksum_may_be_zero = false;  ///< a checksum of 0, or none, is accepted
  bool data = false;  ///< the field `data` holds everything as text, with pod entries and its own checksum
};

/// In the order of reading. A version is written by its first row.
constexpr auto kCpuFormats = std::to_array<FileFormat<KubeletCpuVersion, CpuDump>>({
    {.version = KubeletCpuVersion::kV4, .data = true},
    {.version = KubeletCpuVersion::kV3, .dump = {.pod_entries = true}},
    {.version = KubeletCpuVersion::kV2, .checksum_may_be_zero = true},
    {.version = KubeletCpuVersion::kV2, .dump = {.type = "CPUManagerCheckpointV2"}, .checksum_may_be_zero = true},
    {.version = KubeletCpuVersion::kV1, .dump = {.entries_by_id = true}, .checksum_may_be_zero = true},
});
constexpr auto kMemoryFormats = std::to_array<FileFormat<KubeletMemoryVersion, MemoryDump>>({
    {.version = KubeletMemoryVersion::kV3, .data = true},
    {.version = KubeletMemoryVersion::kV2, .dump = {.pod_entries = true}},
    {.version = KubeletMemoryVersion::kV1, .checksum_may_be_zero = true},
    {.version = KubeletMemoryVersion::kV1, .dump = {.type = "MemoryManagerCheckpointV1"}, .checksum_may_be_zero = true},
});

constexpr const char* kPodEntries = "podEntries";

constexpr bool HasPods(const auto& format) { return format.dump.pod_entries || format.data; }

const auto& FormatsOf(const KubeletCpuState&) { return kCpuFormats; }
const auto& FormatsOf(const KubeletMemoryState&) { return kMemoryFormats; }

std::uint32_t DataChecksum(const std::string& data) { return Fnv1a("(string)" + data); }

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

/// Errors: kCorrupt.
Result<Json> ReadObject(std::string_view text, std::string_view what) {
  auto json = codec::ParseJson(text, what);
  if (!json) return Fail(Code::kCorrupt, json.error().message + std::string(kDamagedFileCure));
  if (!json->is_object()) return Damaged("the top level of " + std::string(what) + " is not an object");
  return *std::move(json);
}

Result<std::uint32_t> ReadChecksum(const Json& file, const char* name) {
  BERTH_TRY(const std::int64_t number, NumberField(file, name));
  if (number < 0 || number > 0xffffffffLL) return Damaged(std::string(name) + " is out of range");
  return static_cast<std::uint32_t>(number);
}

/// For a file that has a checksum of no version. `what` says which.
std::unexpected<Error> NoVersionFits(const Json& file, const std::string& what) {
  static constexpr std::array<std::string_view, 8> kFields{
      "policyName", "defaultCpuSet", "machineState", "entries", kPodEntries, "checksum", "data", "dataChecksum"};
  for (const auto& [name, value] : file.items()) {
    if (std::ranges::none_of(kFields, [&](std::string_view known) { return Member(file, known) == &value; }))
      return Fail(Code::kUnsupported, "the kubelet state file has a field \"" + Printable(name) +
                                          "\" and a checksum of no version known here: it was written by another "
                                          "version of the kubelet; update Berth");
  }
  return Fail(Code::kCorrupt, "the kubelet state file is damaged: " + what + std::string(kDamagedFileCure));
}

/// What counts of a file.
struct FileContent {
  bool data = false;           ///< it stood in the file's `data`, whose checksum fits
  std::uint32_t checksum = 0;  ///< over the fields beside `data`
  Json json;
};

/// What stands beside `data` is for older kubelets, and may say anything.
Result<FileContent> OpenFile(std::string_view text) {
  FileContent out;
  BERTH_TRY(out.json, ReadObject(text, "the file"));
  BERTH_TRY(out.checksum, ReadChecksum(out.json, "checksum"));
  BERTH_TRY(const std::string data, StringField(out.json, "data"));
  BERTH_TRY(const std::uint32_t data_checksum, ReadChecksum(out.json, "dataChecksum"));
  out.data = !data.empty() || data_checksum != 0;
  if (!out.data) return out;
  if (data_checksum != DataChecksum(data)) return NoVersionFits(out.json, "its dataChecksum does not fit its data");
  BERTH_TRY(out.json, ReadObject(data, "data"));
  return out;
}

bool HasShape(const KubeletCpuState& state, const CpuDump& dump) {
  return dump.entries_by_id ? state.entries.empty() : state.by_container_id.empty();
}
bool HasShape(const KubeletMemoryState&, const MemoryDump&) { return true; }

/// Fills `version`: that of the first format which fits the file. Pod entries of a format without them are kept, as
/// the kubelet 1.36 does.
template <class State>
Result<void> FindVersion(const FileContent& file, State& state) {
  const auto& formats = FormatsOf(state);
  const auto fits = [&](const auto& format) {
    if (format.data != file.data || !HasShape(state, format.dump)) return false;
    if (format.data) return true;
    return file.checksum == 0 ? format.checksum_may_be_zero : file.checksum == Fnv1a(Dump(file.json, format.dump));
  };
  const auto found = std::ranges::find_if(formats, fits);
  if (found == formats.end()) return NoVersionFits(file.json, "its checksum does not fit its content");
  const bool kept = !state.pods.empty() && !HasPods(*found);
  state.version =
      (kept ? std::ranges::find_if(formats, [](const auto& f) { return f.dump.pod_entries; }) : found)->version;
  return {};
}

/// Says of an error that it is about what stands in `data`.
template <class State>
Result<State> InData(const FileContent& file, Result<State> state) {
  if (state || !file.data) return state;
  return Wrap(std::move(state).error(), "data");
}

// ---- cpu_manager_state ----

/// Fills entries (by container id, or by pod and container). Errors: kCorrupt.
Result<void> ReadCpuEntries(const FileContent& file, KubeletCpuState& state) {
  BERTH_TRY(const Json* entries, ObjectField(file.json, "entries"));
  if (entries == nullptr) return {};
  for (const auto& [key, value] : entries->items()) {
    const std::string where = "entries." + Printable(key);
    if (value.is_string() && !file.data) {
      BERTH_TRY(state.by_container_id[key], CpuList(value, where));
      continue;
    }
    if (!value.is_object())
      return Damaged(where + (file.data ? " is not an object" : " is neither an object nor a CPU list"));
    auto& pod = state.entries[key];
    for (const auto& [container, cpus] : value.items()) {
      BERTH_TRY(pod[container], CpuList(cpus, where + "." + Printable(container)));
    }
  }
  return {};
}

Result<void> ReadCpuPods(const Json& file, KubeletCpuState& state) {
  BERTH_TRY(const Json* pods, ObjectField(file, kPodEntries));
  if (pods == nullptr) return {};
  for (const auto& [uid, pod] : pods->items()) {
    const std::string where = "podEntries." + Printable(uid);
    if (!pod.is_object()) return Damaged(where + " is not an object");
    BERTH_TRY(const std::string list, StringField(pod, "cpuSet"));
    BERTH_TRY(state.pods[uid], CpuList(list, where + ".cpuSet"));
  }
  return {};
}

Result<KubeletCpuState> ReadCpuState(const FileContent& file) {
  KubeletCpuState state;
  BERTH_TRY(state.policy, StringField(file.json, "policyName"));
  BERTH_TRY(const std::string shared, StringField(file.json, "defaultCpuSet"));
  BERTH_RETURN_IF_ERROR(ReadCpuEntries(file, state));
  BERTH_RETURN_IF_ERROR(ReadCpuPods(file.json, state));
  if (!state.by_container_id.empty() && !(state.entries.empty() && state.pods.empty()))
    return Damaged("entries of two formats are mixed");
  BERTH_RETURN_IF_ERROR(FindVersion(file, state));
  BERTH_TRY(state.default_cpus, CpuList(shared, "defaultCpuSet"));
  return state;
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
  BERTH_TRY(const Json* pods, ObjectField(file, kPodEntries));
  if (pods == nullptr) return {};
  for (const auto& [uid, pod] : pods->items()) {
    const std::string where = "podEntries." + Printable(uid);
    if (!pod.is_object()) return Damaged(where + " is not an object");
    const Json* blocks = Member(pod, "memoryBlocks");
    BERTH_TRY(state.pods[uid], ReadBlocks(blocks == nullptr ? Json() : *blocks, where));
  }
  return {};
}

Result<KubeletMemoryState> ReadMemoryState(const FileContent& file) {
  KubeletMemoryState state;
  BERTH_TRY(state.policy, StringField(file.json, "policyName"));
  BERTH_RETURN_IF_ERROR(ReadMachineState(file.json, state));
  BERTH_RETURN_IF_ERROR(ReadMemoryEntries(file.json, state));
  BERTH_RETURN_IF_ERROR(FindVersion(file, state));
  return state;
}

// ---- writing ----

template <class State>
const auto& FormatOf(const State& state) {
  return *std::ranges::find_if(FormatsOf(state), [&](const auto& f) { return f.version == state.version; });
}

/// `content`: the fields in the file's order, without checksums.
std::string FileText(const Json& content, const auto& format) {
  Json file = content;
  if (format.data) file.erase(std::string(kPodEntries));
  file["checksum"] = Fnv1a(Dump(file, format.dump));
  if (format.data) {
    const std::string data = EscapeLikeTheKubelet(codec::FormatJson(content));
    file["data"] = data;
    file["dataChecksum"] = DataChecksum(data);
  }
  return EscapeLikeTheKubelet(codec::FormatJson(file));
}

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
  Json content = {{"policyName", state.policy}, {"defaultCpuSet", FormatIds(state.default_cpus)}};
  Json entries = Json::object();
  if (state.version == KubeletCpuVersion::kV1) {
    for (const auto& [id, cpus] : state.by_container_id) entries[id] = FormatIds(cpus);
  } else {
    for (const auto& [uid, containers] : state.entries) {
      Json& pod = entries[uid] = Json::object();
      for (const auto& [name, cpus] : containers) pod[name] = FormatIds(cpus);
    }
  }
  if (!entries.empty()) content["entries"] = std::move(entries);
  const auto& format = FormatOf(state);
  if (HasPods(format) && !state.pods.empty()) {
    Json& pods = content[kPodEntries] = Json::object();
    for (const auto& [uid, cpus] : state.pods) pods[uid] = {{"cpuSet", FormatIds(cpus)}};
  }
  return FileText(content, format);
}

std::string FormatKubeletState(const KubeletMemoryState& state) {
  Json content = {{"policyName", state.policy}};
  std::map<std::string, Json> by_text;  // the file sorts node ids as strings
  for (const auto& [id, node] : state.nodes) by_text[std::to_string(Raw(id))] = NodeJson(node);
  Json& nodes = content["machineState"] = Json::object();
  for (auto& [id, node] : by_text) nodes[id] = std::move(node);
  if (!state.entries.empty()) {
    Json& entries = content["entries"] = Json::object();
    for (const auto& [uid, containers] : state.entries) {
      Json& pod = entries[uid] = Json::object();
      for (const auto& [name, blocks] : containers) pod[name] = BlocksJson(blocks);
    }
  }
  const auto& format = FormatOf(state);
  if (HasPods(format) && !state.pods.empty()) {
    Json& pods = content[kPodEntries] = Json::object();
    for (const auto& [uid, blocks] : state.pods) pods[uid] = {{"memoryBlocks", BlocksJson(blocks)}};
  }
  return FileText(content, format);
}

Result<KubeletCpuState> ParseKubeletCpuState(std::string_view text) {
  BERTH_TRY(const FileContent file, OpenFile(text));
  return InData(file, ReadCpuState(file));
}

Result<KubeletMemoryState> ParseKubeletMemoryState(std::string_view text) {
  BERTH_TRY(const FileContent file, OpenFile(text));
  return InData(file, ReadMemoryState(file));
}

/// A kubelet knows no named pools: to it their containers run in the shared pool.
KubeletCpuState ExportCpuState(const Ledger& ledger, KubeletVersion version) {
  KubeletCpuState out{.version = version < KubeletVersion::k1_37 ? KubeletCpuVersion::kV2 : KubeletCpuVersion::kV4,
                      .policy = ledger.cpu_policy,
                      .default_cpus = ledger.shared | PooledCpus(ledger)};
  for (const auto& [uid, pod] : ledger.pods)
    for (const Placement& p : pod.placements)
      if (p.cpus) out.entries[uid][p.container] = *p.cpus;
  return out;
}

KubeletMemoryState ExportMemoryState(const Ledger& ledger, KubeletVersion version) {
  KubeletMemoryState out{
      .version = version < KubeletVersion::k1_37 ? KubeletMemoryVersion::kV1 : KubeletMemoryVersion::kV3,
      .policy = ledger.memory_policy,
      .nodes = ledger.memory};
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
