#include "berth/offline_input.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <set>

#include "api/client.h"
#include "base/text.h"
#include "berth/replay_invariants.h"
#include "berth/replay_run.h"
#include "codec/codec.h"
#include "machine/load.h"
#include "manifest/manifest.h"
#include "manifest/tree.h"
#include "os/fs.h"
#include "state/store.h"

namespace berth::cli {
namespace {

using Tree = manifest::Node;

Result<std::string> ReadText(const std::string& file) {
  if (file == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  const std::filesystem::path path(file);
  const std::string folder = path.parent_path().empty() ? "." : path.parent_path().string();
  auto fs = os::OpenFs(folder);
  if (!fs) return Wrap(std::move(fs).error(), "read " + file);
  auto text = (*fs)->Read(path.filename().string());
  if (!text) return Wrap(std::move(text).error(), "read " + file);
  return *std::move(text);
}

bool IsSocket(const std::string& path) {
  std::error_code ignored;
  return !path.empty() && std::filesystem::is_socket(path, ignored);
}

void Print(const std::vector<manifest::Warning>& warnings, std::ostream& err) {
  for (const manifest::Warning& w : warnings) err << "berth: warning: " << w.where << ": " << w.message << "\n";
}

Result<Machine> LoadMachine(const OfflineOptions& options) {
  if (options.machine.empty() && IsSocket(options.ledger)) {
    BERTH_TRY(const codec::Json json, api::Call(options.ledger, "GET", "/v1/machine"));
    return codec::MachineFromJson(json);
  }
  return machine::Load(options.machine.empty() ? "host" : options.machine);
}

struct NodeSettings {
  KubeletConfiguration config;
  bool node_fit = true;
};

/// From the file, from the running node whose ledger is used, or the defaults.
Result<NodeSettings> LoadNodeSettings(const OfflineOptions& options, std::ostream& err) {
  NodeSettings out{.config = {}, .node_fit = options.node_fit};
  std::string text;
  std::string name = options.config;
  if (!options.config.empty()) {
    BERTH_TRY(text, ReadText(options.config));
  } else if (IsSocket(options.ledger)) {
    BERTH_TRY(const codec::Json node, api::Call(options.ledger, "GET", "/v1/node"));
    const auto served = node.find("kubeletConfiguration");
    if (served == node.end() || !served->is_string())
      return Fail(Code::kUnsupported,
                  "the berthd on " + options.ledger + " does not tell its configuration; give the file with --config");
    text = served->get<std::string>();
    name = "configuration of the running node";
    out.node_fit = out.node_fit && !(node.contains("nodeFit") && node["nodeFit"] == false);
  }
  if (Trim(text).empty()) return out;
  BERTH_TRY(auto parsed, manifest::ParseKubeletConfiguration(text, name));
  Print(parsed.warnings, err);
  out.config = std::move(parsed.config);
  return out;
}

Result<Ledger> LoadLedger(const std::string& from) {
  if (IsSocket(from)) {
    BERTH_TRY(const codec::Json json, api::Call(from, "GET", "/v1/ledger"));
    return codec::LedgerFromJson(json);
  }
  BERTH_TRY(const std::string text, ReadText(from));
  return ParseLedger(text, from);
}

/// The node as it was if only its reserved CPUs were others when the ledger was made.
NodeFacts WithOtherReserved(NodeFacts node, const StateFacts& state) {
  node.reserved = CpuSet();
  if (!node.strict) return node;
  CpuSet known = state.shared;
  for (const HolderFacts& holder : state.holders) known |= holder.cpus;
  node.reserved = node.cpus - known;
  return node;
}

/// A ledger made on another machine or under other settings would only give nonsense. Other reserved CPUs are no reason
/// to refuse: pods that run keep what they have when they change.
Result<void> CheckFits(const OfflineNode& node, const std::string& from, std::ostream& err) {
  const Ledger empty = node.node.EmptyLedger();
  std::string problem;
  if (node.ledger.cpu_policy != empty.cpu_policy) {
    problem = "it was made under CPU manager policy \"" + node.ledger.cpu_policy + "\", the configuration says \"" +
              empty.cpu_policy + "\"";
  } else if (node.ledger.memory_policy != empty.memory_policy) {
    problem = "it was made under memory manager policy \"" + node.ledger.memory_policy +
              "\", the configuration says \"" + empty.memory_policy + "\"";
  } else {
    std::set<std::string> pods;
    for (const auto& [uid, pod] : node.ledger.pods) pods.insert(uid);
    const NodeFacts facts =
        FactsOf(node.node.machine(), node.node.config(), node.node.reserved_cpus(), node.inputs.devices);
    StateFacts state = FactsOf(node.ledger, std::move(pods));
    for (HolderFacts& holder : state.holders) holder.devices.clear();  // the inventory of another day may lack some
    problem = BrokenPromise(facts, state).value_or("");
    if (!problem.empty() && !BrokenPromise(WithOtherReserved(facts, state), state)) {
      err << "berth: warning: the ledger " << from << " was made with other reserved CPUs: " << problem << "\n";
      return {};
    }
  }
  if (problem.empty()) return {};
  return Fail(Code::kInvalid, "the ledger " + from + " does not fit this machine and configuration: " + problem +
                                  "; give the --machine and --config it was made with");
}

// ---- device inventory ----

std::unexpected<Error> Bad(const std::string& file, const std::string& path, const std::string& what) {
  return Fail(Code::kInvalid, file + ": " + path + ": " + what);
}

Result<NumaId> ReadNode(const Tree& node, const std::string& file, const std::string& path) {
  const auto id = node.kind == Tree::Kind::kNumber ? ParseDecimal<std::uint32_t>(node.text) : std::nullopt;
  if (!id || *id > kMaxId) return Bad(file, path, "expected NUMA node ids, e.g. [0]");
  return NumaId{*id};
}

Result<Device> ReadDevice(const Tree& item, const std::string& file, const std::string& path) {
  if (item.kind != Tree::Kind::kMap) return Bad(file, path, "expected {id: …, numa: […], healthy: true}");
  Device out;
  for (std::size_t i = 0; i < item.keys.size(); ++i) {
    const std::string& key = item.keys[i];
    const Tree& value = item.items[i];
    if (key == "id" && (value.kind == Tree::Kind::kString || value.kind == Tree::Kind::kNumber)) {
      out.id = value.text;
    } else if (key == "healthy" && value.kind == Tree::Kind::kBool) {
      out.healthy = value.text == "true";
    } else if (key == "numa" && value.kind == Tree::Kind::kList) {
      for (const Tree& node : value.items) {
        BERTH_TRY(const NumaId id, ReadNode(node, file, path + ".numa"));
        out.nodes.Insert(id);
      }
    } else if (key == "numa" && value.kind != Tree::Kind::kNull) {
      BERTH_TRY(const NumaId id, ReadNode(value, file, path + ".numa"));
      out.nodes.Insert(id);
    } else if (key != "numa") {
      return Bad(file, path + "." + Printable(key),
                 "not a field of a device, or a value of the wrong kind; "
                 "use id (text), numa (node ids), healthy (true or false)");
    }
  }
  if (out.id.empty()) return Bad(file, path + ".id", "the field is missing");
  return out;
}

Result<std::vector<Device>> ReadDevices(const Tree& list, const std::string& file, const std::string& resource) {
  std::vector<Device> out;
  if (list.kind == Tree::Kind::kNull) return out;
  if (list.kind != Tree::Kind::kList) return Bad(file, resource, "expected a list of devices");
  for (const Tree& item : list.items) {
    BERTH_TRY(Device device, ReadDevice(item, file, resource + "[" + std::to_string(out.size()) + "]"));
    out.push_back(std::move(device));
  }
  std::ranges::sort(out, {}, &Device::id);
  if (const auto twice = std::ranges::adjacent_find(out, {}, &Device::id); twice != out.end())
    return Bad(file, resource, "the device \"" + twice->id + "\" is listed twice");
  return out;
}

/// Devices on nodes that the machine does not have.
Result<void> CheckDevices(const DeviceInventory& devices, const Machine& machine, const std::string& file) {
  const NodeSet nodes = NodeIds(machine);
  for (const auto& [resource, list] : devices)
    for (const Device& device : list)
      if (!device.nodes.IsSubsetOf(nodes))
        return Bad(file, resource,
                   "the device \"" + device.id + "\" is on NUMA node " + FormatIds(device.nodes - nodes) +
                       "; the machine has " + FormatIds(nodes));
  return {};
}

}  // namespace

Result<DeviceInventory> ParseDeviceInventory(std::string_view text, const std::string& file) {
  const manifest::Documents read = manifest::ReadDocuments(text);
  if (!read.errors.empty()) return Fail(Code::kInvalid, file + ": " + read.errors.front());
  DeviceInventory out;
  for (const manifest::Document& document : read.documents) {
    if (document.root.kind != Tree::Kind::kMap)
      return Bad(file, "document", "expected resource names with lists of devices");
    for (std::size_t i = 0; i < document.root.keys.size(); ++i) {
      const std::string& resource = document.root.keys[i];
      if (!resource.contains('/'))
        return Bad(file, Printable(resource), "not a device resource; they are named like vendor.example/gpu");
      BERTH_TRY(out[resource], ReadDevices(document.root.items[i], file, resource));
    }
  }
  return out;
}

Result<Ledger> ParseLedger(std::string_view text, const std::string& file) {
  if (text.starts_with("berth-ledger")) {
    auto saved = state::DecodeSaved(text);
    if (!saved) return Wrap(std::move(saved).error(), "read the ledger " + file);
    return std::move(saved->ledger);
  }
  BERTH_TRY(const codec::Json json, codec::ParseJson(text, file));
  auto ledger = codec::LedgerFromJson(json.is_object() && json.contains("ledger") ? json["ledger"] : json);
  if (!ledger) return Wrap(std::move(ledger).error(), "read the ledger " + file);
  return *std::move(ledger);
}

Result<OfflineNode> LoadOfflineNode(const OfflineOptions& options, std::ostream& err) {
  BERTH_TRY(Machine machine, LoadMachine(options));
  BERTH_TRY(NodeSettings settings, LoadNodeSettings(options, err));
  engine::Inputs inputs;
  if (!options.devices.empty()) {
    BERTH_TRY(const std::string text, ReadText(options.devices));
    BERTH_TRY(inputs.devices, ParseDeviceInventory(text, options.devices));
    BERTH_RETURN_IF_ERROR(CheckDevices(inputs.devices, machine, options.devices));
  }
  BERTH_TRY(engine::Node node,
            engine::Node::Make(std::move(machine), std::move(settings.config), {.node_fit = settings.node_fit}));
  Ledger ledger = node.EmptyLedger();
  OfflineNode out{.node = std::move(node), .ledger = std::move(ledger), .inputs = std::move(inputs), .node_name = {}};
  if (options.ledger.empty()) return out;
  if (IsSocket(options.ledger)) {
    BERTH_TRY(const codec::Json status, api::Call(options.ledger, "GET", "/v1/status"));
    if (const auto name = status.find("nodeName"); name != status.end() && name->is_string())
      out.node_name = name->get<std::string>();
  }
  BERTH_TRY(out.ledger, LoadLedger(options.ledger));
  BERTH_RETURN_IF_ERROR(CheckFits(out, options.ledger, err));
  return out;
}

Result<std::vector<Pod>> LoadPods(const std::string& file, std::ostream& err) {
  BERTH_TRY(const std::string text, ReadText(file));
  BERTH_TRY(auto parsed, manifest::ParsePods(text, file == "-" ? "standard input" : file, {.to_be_run = false}));
  Print(parsed.warnings, err);
  if (parsed.pods.empty()) return Fail(Code::kInvalid, file + ": there is no pod in it");
  return std::move(parsed.pods);
}

}  // namespace berth::cli
