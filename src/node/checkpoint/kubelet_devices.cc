#include "node/checkpoint/kubelet_devices.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "api/codec/codec.h"
#include "base/base64.h"
#include "base/text.h"
#include "node/checkpoint/alloc_response.h"
#include "node/checkpoint/kubelet_dump.h"
#include "node/checkpoint/kubelet_files.h"

namespace berth::checkpoint {
namespace {

using codec::Json;
using Ids = KubeletDeviceState::Ids;
using Entry = KubeletDeviceState::Entry;

std::unexpected<Error> DamagedDevices(const std::string& what) {
  return Fail(Code::kCorrupt, "not a sound device checkpoint of a kubelet: " + what);
}

// ---- what the checksum covers ----

std::string ListText(const Ids& ids) { return ids ? "[" + Join(*ids, " ") + "]" : "<nil>"; }

std::string DevicesText(const Entry& entry) {
  if (!entry.devices) return "<nil>";
  std::map<std::int64_t, const Ids*> sorted;
  for (const auto& [node, ids] : *entry.devices) sorted[ParseDecimal<std::int64_t>(node).value_or(-1)] = &ids;
  std::vector<std::string> parts;
  for (const auto& [node, ids] : sorted) parts.push_back(std::to_string(node) + ":" + ListText(*ids));
  return "map[" + Join(parts, " ") + "]";
}

std::string ResponseText(const Entry& entry) {
  if (!entry.response) return "<nil>";
  std::vector<std::string> parts;
  for (const char byte : FromBase64(*entry.response).value_or(""))
    parts.push_back(std::to_string(static_cast<unsigned char>(byte)));
  return "[" + Join(parts, " ") + "]";
}

std::string DumpOf(const KubeletDeviceState& state) {
  std::string entries = "<nil>";
  if (state.entries) {
    std::vector<std::string> parts;
    for (const Entry& e : *state.entries)
      parts.push_back("{PodUID:(string)" + e.pod + " ContainerName:(string)" + e.container + " ResourceName:(string)" +
                      e.resource + " DeviceIDs:(checkpoint.DevicesPerNUMA)" + DevicesText(e) + " AllocResp:([]uint8)" +
                      ResponseText(e) + "}");
    entries = "[" + Join(parts, " ") + "]";
  }
  std::vector<std::string> registered;
  for (const auto& [resource, ids] : state.registered) registered.push_back(resource + ":" + ListText(ids));
  return "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)" + entries +
         " RegisteredDevices:(map[string][]string)map[" + Join(registered, " ") + "]}";
}

// ---- reading ----

Result<std::string> String(const Json& object, const char* name, const std::string& where) {
  const Json* value = Member(object, name);
  if (value == nullptr || value->is_null()) return std::string();
  if (!value->is_string()) return DamagedDevices(where + "." + name + " is not a string");
  return value->get<std::string>();
}

Result<Ids> List(const Json& value, const std::string& where) {
  if (value.is_null()) return Ids();
  if (!value.is_array()) return DamagedDevices(where + " is not a list");
  std::vector<std::string> out;
  for (const Json& id : value) {
    if (!id.is_string()) return DamagedDevices(where + " holds something that is no device id");
    out.push_back(id.get<std::string>());
  }
  return Ids(std::move(out));
}

Result<Entry> ReadEntry(const Json& json, const std::string& where) {
  if (!json.is_object()) return DamagedDevices(where + " is not an object");
  Entry out;
  BERTH_TRY(out.pod, String(json, "PodUID", where));
  BERTH_TRY(out.container, String(json, "ContainerName", where));
  BERTH_TRY(out.resource, String(json, "ResourceName", where));
  if (const Json* devices = Member(json, "DeviceIDs"); devices != nullptr && !devices->is_null()) {
    if (devices->is_array())
      return Fail(Code::kUnsupported,
                  "the device checkpoint lists device ids without NUMA nodes: it was written by a "
                  "kubelet before 1.20");
    if (!devices->is_object()) return DamagedDevices(where + ".DeviceIDs is not an object");
    out.devices.emplace();
    for (const auto& [node, ids] : devices->items()) {
      if (!ParseDecimal<std::uint32_t>(node) && node != "-1")
        return DamagedDevices(where + ".DeviceIDs." + Printable(node) + " is no NUMA node id");
      BERTH_TRY((*out.devices)[node], List(ids, where + ".DeviceIDs." + node));
    }
  }
  const Json* response = Member(json, "AllocResp");
  if (response == nullptr || response->is_null()) return out;
  if (!response->is_string() || !FromBase64(response->get_ref<const std::string&>()))
    return DamagedDevices(where + ".AllocResp is no base64");
  out.response = response->get<std::string>();
  return out;
}

Result<KubeletDeviceState> ReadData(const Json& data) {
  KubeletDeviceState out;
  if (const Json* entries = Member(data, "PodDeviceEntries"); entries != nullptr && !entries->is_null()) {
    if (!entries->is_array()) return DamagedDevices("PodDeviceEntries is not a list");
    out.entries.emplace();
    for (const Json& entry : *entries) {
      BERTH_TRY(Entry read, ReadEntry(entry, "PodDeviceEntries[" + std::to_string(out.entries->size()) + "]"));
      out.entries->push_back(std::move(read));
    }
  }
  const Json* registered = Member(data, "RegisteredDevices");
  if (registered == nullptr || !registered->is_object()) return DamagedDevices("RegisteredDevices is not an object");
  for (const auto& [resource, ids] : registered->items()) {
    BERTH_TRY(out.registered[resource], List(ids, "RegisteredDevices." + Printable(resource)));
  }
  return out;
}

/// A field of the data that no version known here has.
std::optional<std::string> ForeignField(const Json& data) {
  static constexpr std::array<std::string_view, 2> kKnown{"PodDeviceEntries", "RegisteredDevices"};
  for (const auto& [name, value] : data.items())
    if (std::ranges::none_of(kKnown, [&](std::string_view known) { return Member(data, known) == &value; }))
      return name;
  return std::nullopt;
}

/// A device on several nodes stands at each of them.
std::map<std::string, Ids> DevicesByNode(const DeviceAssignment& given) {
  std::map<std::string, Ids> out;
  const auto put = [&](const std::string& node, const std::string& id) {
    Ids& ids = out[node];
    if (!ids) ids.emplace();
    ids->push_back(id);
  };
  for (const std::string& id : given.ids) {
    NodeSet nodes;
    if (given.answer)
      if (const auto known = given.answer->nodes.find(id); known != given.answer->nodes.end()) nodes = known->second;
    if (nodes.empty()) put("-1", id);
    for (const NumaId node : nodes) put(std::to_string(static_cast<std::uint32_t>(node)), id);
  }
  return out;
}

Json ListJson(const Ids& ids) { return ids ? Json(*ids) : Json(); }

}  // namespace

std::string FormatKubeletState(const KubeletDeviceState& state) {
  Json entries;
  if (state.entries) {
    entries = Json::array();
    for (const Entry& e : *state.entries) {
      Json devices;
      if (e.devices) {
        devices = Json::object();
        for (const auto& [node, ids] : *e.devices) devices[node] = ListJson(ids);
      }
      entries.push_back({{"PodUID", e.pod},
                         {"ContainerName", e.container},
                         {"ResourceName", e.resource},
                         {"DeviceIDs", std::move(devices)},
                         {"AllocResp", e.response ? Json(*e.response) : Json()}});
    }
  }
  Json registered = Json::object();
  for (const auto& [resource, ids] : state.registered) registered[resource] = ListJson(ids);
  const Json file = {{"Data", {{"PodDeviceEntries", std::move(entries)}, {"RegisteredDevices", std::move(registered)}}},
                     {"Checksum", Fnv1a(DumpOf(state))}};
  return EscapeLikeTheKubelet(codec::FormatJson(file));
}

Result<KubeletDeviceState> ParseKubeletDeviceState(std::string_view text) {
  auto file = codec::ParseJson(text, "the file");
  if (!file) return Fail(Code::kCorrupt, file.error().message);
  if (!file->is_object()) return DamagedDevices("the top level is not an object");
  const Json* data = Member(*file, "Data");
  if (data == nullptr || !data->is_object()) return DamagedDevices("Data is not an object");
  BERTH_TRY(KubeletDeviceState state, ReadData(*data));
  const Json* checksum = Member(*file, "Checksum");
  if (checksum == nullptr || !checksum->is_number_unsigned()) return DamagedDevices("Checksum is not a number");
  if (checksum->get<std::uint64_t>() == Fnv1a(DumpOf(state))) return state;
  if (const auto field = ForeignField(*data))
    return Fail(Code::kUnsupported, "the device checkpoint has a field \"" + Printable(*field) +
                                        "\" and a checksum of no version known here: it was written by another version "
                                        "of the kubelet; update Berth");
  return Fail(Code::kCorrupt,
              "the device checkpoint is damaged: its Checksum does not fit Data" + std::string(kDamagedFileCure));
}

KubeletDeviceState ExportDeviceState(const Ledger& ledger, const DeviceInventory& inventory) {
  KubeletDeviceState out;
  std::map<std::string, std::set<std::string>> registered;
  for (const auto& [resource, devices] : inventory) {
    std::set<std::string>& healthy = registered[resource];
    for (const Device& device : devices)
      if (device.healthy) healthy.insert(device.id);
  }
  for (const auto& [uid, pod] : ledger.pods) {
    for (const Placement& placement : pod.placements) {
      for (const DeviceAssignment& given : placement.devices) {
        if (!out.entries) out.entries.emplace();
        Entry& entry = out.entries->emplace_back(Entry{uid, placement.container, given.resource, {}, {}});
        entry.devices = DevicesByNode(given);
        if (given.answer) entry.response = ToBase64(FormatAllocResponse(*given.answer));
        if (!inventory.contains(given.resource)) registered[given.resource].insert(given.ids.begin(), given.ids.end());
      }
    }
  }
  for (const auto& [resource, ids] : registered) out.registered[resource] = std::vector(ids.begin(), ids.end());
  return out;
}

}  // namespace berth::checkpoint
