#include "conformance/replay_case.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/codec/reader.h"
#include "base/text.h"
#include "config/kubelet_reader.h"
#include "host/machine/load_machine.h"
#include "manifest/manifest.h"
#include "model/kubelet_rules.h"

namespace berth::conformance {
namespace {

using codec::Json;
using codec::Reader;

/// The member `key` of an object, nullptr if it is absent.
const Json* Find(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

std::unexpected<Error> Bad(const std::string& field, const std::string& what) {
  return Fail(Code::kInvalid, field + ": " + what);
}

Result<Machine> ReadMachine(const Json& json) {
  const Json* machine = Find(json, "machine");
  if (machine == nullptr || !machine->is_object()) return Bad("case.machine", "expected a MachineInfo object");
  return machine::ParseMachineInfo(codec::FormatJson(*machine), "case.machine");
}

// ---- trace ----

/// Outer error: malformed. Inner error: a configuration that is refused.
Result<Result<KubeletConfiguration>> ReadConfig(const Json& json, KubeletVersion version) {
  const Json* config = Find(json, "config");
  if (config != nullptr && !config->is_object()) return Bad("case.config", "expected an object");
  auto parsed = config::ParseKubeletConfigurationFields(config == nullptr ? "{}" : codec::FormatJson(*config),
                                                        "case.config", version);
  if (!parsed) return Result<KubeletConfiguration>(std::unexpected(std::move(parsed).error()));
  return Result<KubeletConfiguration>(std::move(parsed->config));
}

DeviceInventory ReadDevices(const Reader& list, const NodeSet& nodes) {
  DeviceInventory out;
  for (const Reader& item : list.Items()) {
    Device device{.id = item.Field("id").String()};
    if (device.id.empty()) item.Field("id").Note("a device needs an id");
    if (item.Has("numa"))
      for (const Reader& node : item.Field("numa").Items()) {
        const NumaId id = node.IdInSet<NumaId>();
        if (!nodes.Contains(id)) node.Note("the machine has no such NUMA node; it has " + FormatIds(nodes));
        device.nodes.Insert(id);
      }
    if (item.Has("healthy")) device.healthy = item.Field("healthy").Bool();
    out[item.Field("resource").String()].push_back(std::move(device));
  }
  for (auto& [resource, devices] : out) {
    std::ranges::sort(devices, {}, &Device::id);
    const auto twice = std::ranges::adjacent_find(devices, {}, &Device::id);
    if (twice != devices.end()) list.Note("the device \"" + twice->id + "\" of " + resource + " is listed twice");
  }
  return out;
}

Result<Pod> ReadPod(const Json& json, const std::string& where) {
  if (!json.is_object()) return Bad(where, "expected a v1.Pod object");
  BERTH_TRY(Pod pod, manifest::ParsePodJson(codec::FormatJson(json), where));
  if (pod.uid.empty()) return Bad(where + ".metadata.uid", "the field is missing");
  return pod;
}

Result<ReplayStep> ReadStep(const Json& json, const std::string& where) {
  if (!json.is_object()) return Bad(where, "expected an object");
  const Json* op = Find(json, "op");
  if (op == nullptr || !op->is_string()) return Bad(where + ".op", "expected \"add\", \"remove\" or \"restart\"");
  const auto& name = op->get_ref<const std::string&>();
  if (name == "add") {
    const Json* pod = Find(json, "pod");
    if (pod == nullptr) return Bad(where + ".pod", "the field is missing");
    BERTH_TRY(Pod value, ReadPod(*pod, where + ".pod"));
    return AddPod{std::move(value)};
  }
  if (name == "remove") {
    const Json* uid = Find(json, "uid");
    if (uid == nullptr || !uid->is_string()) return Bad(where + ".uid", "expected a string");
    return RemovePod{uid->get<std::string>()};
  }
  if (name == "restart") return RestartManagers{};
  return Bad(where + ".op", "unknown operation \"" + Printable(name) + "\"; use add, remove or restart");
}

Result<TraceCase> ReadTrace(const Json& json, KubeletVersion version) {
  BERTH_TRY(Machine machine, ReadMachine(json));
  BERTH_TRY(auto config, ReadConfig(json, version));
  TraceCase out{.machine = std::move(machine),
                .config = std::move(config),
                .inputs = {},
                .own = {},
                .kubelet_version = version,
                .steps = {}};
  Reader::Problem problem;
  const Reader reader(json, "case", problem);
  if (reader.Has("devices")) out.inputs.devices = ReadDevices(reader.Field("devices"), NodeIds(out.machine));
  out.own = codec::ReadOwnRules(reader);
  if (problem.error) return std::unexpected(*std::move(problem.error));
  const Json* steps = Find(json, "steps");
  if (steps == nullptr || !steps->is_array()) return Bad("case.steps", "expected an array");
  for (const Json& step : *steps) {
    BERTH_TRY(ReplayStep value, ReadStep(step, "case.steps[" + std::to_string(out.steps.size()) + "]"));
    // To a recorded kubelet they were annotations like others.
    if (auto* const add = std::get_if<AddPod>(&value); add != nullptr && !reader.Has("own"))
      std::erase_if(add->pod.annotations, [](const auto& entry) { return entry.first.starts_with("berth.dev/"); });
    out.steps.push_back(std::move(value));
  }
  return out;
}

// ---- merge ----

// A merge of lists as a node makes them stays far below these.
constexpr std::size_t kMaxMergeNodes = 64;
constexpr std::size_t kMaxMergeLists = 64;
constexpr std::size_t kMaxListHints = 4096;

Hints ReadHints(const Reader& list) {
  if (list.IsNull()) return std::nullopt;
  std::vector<TopologyHint> out;
  const std::vector<Reader> items = list.Items();
  if (items.size() > kMaxListHints) {
    list.Note(std::to_string(items.size()) + " hints; a list may hold " + std::to_string(kMaxListHints));
    return out;
  }
  for (const Reader& item : items) {
    TopologyHint hint{.preferred = item.Field("preferred").Bool()};
    if (const Reader nodes = item.Field("nodes"); !nodes.IsNull()) {
      hint.nodes.emplace();
      for (const Reader& node : nodes.Items()) hint.nodes->Insert(node.IdInSet<NumaId>());
    }
    out.push_back(std::move(hint));
  }
  return out;
}

std::vector<Hints> ReadLists(const Reader& providers) {
  std::vector<Hints> out;
  for (const Reader& provider : providers.Items()) {
    const auto resources = provider.Members();
    if (out.size() + std::max<std::size_t>(resources.size(), 1) > kMaxMergeLists) {
      provider.Note("more than " + std::to_string(kMaxMergeLists) + " lists of hints in all");
      return out;
    }
    if (resources.empty()) out.emplace_back(std::nullopt);
    for (const auto& [resource, list] : resources) out.push_back(ReadHints(list));
  }
  return out;
}

Result<MergeCase> ReadMerge(const Json& json) {
  Reader::Problem problem;
  const Reader merge = Reader(json, "case", problem).Field("merge");
  MergeCase out;
  const Reader nodes = merge.Field("nodes");
  for (const Reader& node : nodes.Items()) out.input.nodes.Insert(node.IdInSet<NumaId>());
  if (out.input.nodes.Count() > static_cast<int>(kMaxMergeNodes))
    nodes.Note(std::to_string(out.input.nodes.Count()) + " nodes; a merge is of " + std::to_string(kMaxMergeNodes) +
               " at most");
  if (const Reader policy = merge.Field("policy"); const auto known = allocator::ParseTopologyPolicy(policy.String()))
    out.input.policy = *known;
  else
    policy.Note("unknown policy; use none, best-effort, restricted or single-numa-node");
  if (merge.Has("preferClosest")) out.input.prefer_closest = merge.Field("preferClosest").Bool();
  if (merge.Has("distances")) {
    for (const auto& [key, row] : merge.Field("distances").Members()) {
      const auto id = ParseDecimal<std::uint32_t>(key);
      if (!id || *id > kMaxId) row.Note("the key is no NUMA node id");
      auto& distances = out.input.distances[NumaId{id.value_or(0)}];
      for (const Reader& d : row.Items()) distances.push_back(d.Integer<unsigned>());
    }
  }
  out.input.lists = ReadLists(merge.Field("providers"));
  if (problem.error) return std::unexpected(*std::move(problem.error));
  return out;
}

// ---- take ----

Result<TakeCase> ReadTake(const Json& json, KubeletVersion version) {
  BERTH_TRY(Machine machine, ReadMachine(json));
  TakeCase out{.machine = std::move(machine), .takes = {}};
  Reader::Problem problem;
  for (const Reader& item : Reader(json, "case", problem).Field("takes").Items()) {
    allocator::TakeRequest take{.available = item.Field("available").Ids<CpuSet>(),
                                .num = item.Field("num").Integer<int>()};
    if (item.Has("distributed")) take.distributed = item.Field("distributed").Bool();
    if (item.Has("group")) take.group = item.Field("group").Integer<int>();
    if (item.Has("uncore")) take.uncore = item.Field("uncore").Bool();
    if (item.Has("spread")) take.spread = item.Field("spread").Bool();
    if (item.Has("bySocket")) take.by_socket = item.Field("bySocket").Bool();
    if (item.Has("hintedNodes")) take.hinted_nodes = item.Field("hintedNodes").Integer<int>();
    take.rules = KubeletRulesOf(version);
    if (take.group < 1) item.Field("group").Note("must be at least 1");
    out.takes.push_back(std::move(take));
  }
  if (problem.error) return std::unexpected(*std::move(problem.error));
  return out;
}

template <class T>
Result<ReplayCase> Named(const std::string& name, Result<T> what) {
  if (!what) return std::unexpected(std::move(what).error());
  return ReplayCase{.name = name, .what = *std::move(what)};
}

}  // namespace

Result<ReplayCase> ParseReplayCase(const codec::Json& json, KubeletVersion version) {
  if (!json.is_object()) return Bad("case", "expected an object");
  Reader::Problem problem;
  const Reader reader(json, "case", problem);
  const std::string name = reader.Field("name").String();
  const std::string kind = reader.Field("kind").String();
  if (reader.Has("kubeletVersion")) {
    const Reader field = reader.Field("kubeletVersion");
    const auto said = ParseKubeletVersion(field.String());
    if (!said) field.Note(said.error().message);
    version = said.value_or(version);
  }
  if (problem.error) return std::unexpected(*std::move(problem.error));
  if (kind == "trace") return Named(name, ReadTrace(json, version));
  if (kind == "merge") return Named(name, ReadMerge(json));
  if (kind == "take") return Named(name, ReadTake(json, version));
  return Bad("case.kind", "unknown kind \"" + Printable(kind) + "\"; use trace, merge or take");
}

}  // namespace berth::conformance
