#include <string>

#include "api/codec/json_parts.h"
#include "api/codec/views.h"

namespace berth::codec {
namespace {

using Words = std::map<std::string, std::string>;

Words ReadWords(const Reader& reader) {
  Words out;
  for (const auto& [key, value] : reader.Members()) out.emplace(key, value.String());
  return out;
}

Json AnswerJson(const DeviceAnswer& answer) {
  Json nodes = Json::object();
  for (const auto& [id, where] : answer.nodes) nodes[id] = FormatIds(where);
  return {{"nodes", std::move(nodes)},
          {"env", answer.env},
          {"mounts", ListJson(answer.mounts,
                              [](const DeviceMount& mount) -> Json {
                                return {{"containerPath", mount.container_path},
                                        {"hostPath", mount.host_path},
                                        {"readOnly", mount.read_only}};
                              })},
          {"devices", ListJson(answer.device_nodes,
                               [](const DeviceNode& node) -> Json {
                                 return {{"containerPath", node.container_path},
                                         {"hostPath", node.host_path},
                                         {"permissions", node.permissions}};
                               })},
          {"annotations", answer.annotations},
          {"cdiDevices", answer.cdi_devices}};
}

DeviceAnswer ReadAnswer(const Reader& reader) {
  DeviceAnswer out;
  for (const auto& [id, where] : reader.Field("nodes").Members()) out.nodes.emplace(id, where.Ids<NodeSet>());
  out.env = ReadWords(reader.Field("env"));
  for (const Reader& mount : reader.Field("mounts").Items())
    out.mounts.push_back({.container_path = mount.Field("containerPath").String(),
                          .host_path = mount.Field("hostPath").String(),
                          .read_only = mount.Field("readOnly").Bool()});
  for (const Reader& node : reader.Field("devices").Items())
    out.device_nodes.push_back({.container_path = node.Field("containerPath").String(),
                                .host_path = node.Field("hostPath").String(),
                                .permissions = node.Field("permissions").String()});
  out.annotations = ReadWords(reader.Field("annotations"));
  out.cdi_devices = reader.Field("cdiDevices").Strings();
  return out;
}

}  // namespace

Json DevicesJson(const std::vector<DeviceAssignment>& devices) {
  return ListJson(devices, [](const DeviceAssignment& given) {
    Json out = {{"resource", given.resource}, {"ids", given.ids}};
    if (given.answer) out["answer"] = AnswerJson(*given.answer);
    return out;
  });
}

std::vector<DeviceAssignment> ReadDevices(const Reader& reader) {
  std::vector<DeviceAssignment> out;
  for (const Reader& given : reader.Items()) {
    DeviceAssignment& device = out.emplace_back();
    device.resource = given.Field("resource").String();
    device.ids = given.Field("ids").Strings();
    if (given.Has("answer")) device.answer = ReadAnswer(given.Field("answer"));
  }
  return out;
}

Json ToJson(const DeviceInventory& devices) {
  Json out = Json::object();
  for (const auto& [resource, list] : devices)
    out[resource] = ListJson(list, [](const Device& device) {
      Json numa = Json::array();
      for (const NumaId node : device.nodes) numa.push_back(Raw(node));
      Json one = {{"id", device.id}, {"numa", std::move(numa)}, {"healthy", device.healthy}};
      if (!device.pci.empty()) one["pci"] = device.pci;
      return one;
    });
  return out;
}

Result<DeviceInventory> DeviceInventoryFromJson(const Json& json) {
  Reader::Problem problem{.code = Code::kInvalid, .error = {}};
  DeviceInventory out;
  for (const auto& [resource, list] : Reader(json, "", problem).Members()) {
    std::vector<Device>& devices = out[resource];
    for (const Reader& item : list.Items()) {
      Device& device = devices.emplace_back();
      device.id = item.Field("id").String();
      for (const Reader& node : item.Field("numa").Items()) device.nodes.Insert(node.IdInSet<NumaId>());
      device.healthy = item.Field("healthy").Bool();
      if (item.Has("pci")) device.pci = item.Field("pci").String();
    }
  }
  if (problem.error) return Wrap(*std::move(problem.error), "devices");
  return out;
}

}  // namespace berth::codec
