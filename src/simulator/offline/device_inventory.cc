#include "simulator/offline/device_inventory.h"

#include <algorithm>

#include "base/text.h"
#include "manifest/document_tree.h"

namespace berth::offline {
namespace {

using Tree = manifest::Node;

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
    } else if (key == "pci" && value.kind == Tree::Kind::kString) {
      out.pci = value.text;
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
                 "use id (text), numa (node ids), healthy (true or false), pci (address)");
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

}  // namespace berth::offline
