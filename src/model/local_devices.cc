#include "model/local_devices.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/text.h"

namespace berth {
namespace {

constexpr std::string_view kVfioDriver = "vfio-pci";
constexpr std::string_view kVfioFolder = "/dev/vfio/";

bool Fits(std::string_view pattern, const std::string& text) {
  return ::fnmatch(std::string(pattern).c_str(), text.c_str(), FNM_PATHNAME | FNM_NOESCAPE) == 0;
}

/// The rule that has a function or node: the first that means it. nullptr: none does.
const LocalDeviceRule* RuleOf(const std::vector<LocalDeviceRule>& rules, const PciFunction& function) {
  for (const LocalDeviceRule& rule : rules)
    if (std::ranges::any_of(rule.pci, [&](const PciMatch& match) { return Means(match, function); })) return &rule;
  return nullptr;
}
const LocalDeviceRule* RuleOf(const std::vector<LocalDeviceRule>& rules, const HostNode& node) {
  for (const LocalDeviceRule& rule : rules)
    if (std::ranges::any_of(rule.paths, [&](const std::string& path) { return MeansPath(path, node.path); }))
      return &rule;
  return nullptr;
}

NodeSet NodesOf(const std::optional<NumaId>& node) { return node ? NodeSet{*node} : NodeSet(); }

/// Gathers what comes with each device.
class Giver {
 public:
  void Give(const PciFunction& function, const std::string& permissions) {
    out_.nodes[function.address] = NodesOf(function.node);
    addresses_.push_back(function.address);
    if (function.driver != kVfioDriver) {
      for (const std::string& path : function.device_nodes) GiveNode(path, permissions);
      return;
    }
    GiveNode(std::string(kVfioFolder) + "vfio", permissions);
    GiveNode(std::string(kVfioFolder) + function.iommu_group, permissions);
  }
  void Give(const HostNode& node, const std::string& permissions) {
    out_.nodes[node.path] = NodesOf(node.node);
    paths_.push_back(node.path);
    GiveNode(node.path, permissions);
  }
  DeviceAnswer Take(std::string_view resource) && {
    if (!addresses_.empty()) out_.env["PCIDEVICE_" + VariablePart(resource)] = Join(addresses_, ",");
    if (!paths_.empty()) out_.env["BERTH_DEVICE_" + VariablePart(resource)] = Join(paths_, ",");
    return std::move(out_);
  }

 private:
  /// Functions of one IOMMU group share its node.
  void GiveNode(const std::string& path, const std::string& permissions) {
    if (std::ranges::find(out_.device_nodes, path, &DeviceNode::host_path) == out_.device_nodes.end())
      out_.device_nodes.push_back({.container_path = path, .host_path = path, .permissions = permissions});
  }

  DeviceAnswer out_;
  std::vector<std::string> addresses_;
  std::vector<std::string> paths_;
};

}  // namespace

bool Means(const PciMatch& match, const PciFunction& function) {
  std::array<char, 8> digits{};
  std::snprintf(digits.data(), digits.size(), "%06x", function.class_id & 0xffffffU);
  const auto is = [](const auto& wanted, const auto& found) { return !wanted || *wanted == found; };
  return is(match.vendor, function.vendor) && is(match.device, function.device) &&
         std::string_view(digits.data()).starts_with(match.class_prefix) &&
         (match.driver.empty() || match.driver == function.driver) &&
         (match.address.empty() || Fits(match.address, function.address));
}

bool MeansPath(std::string_view pattern, const std::string& path) { return Fits(pattern, path); }

DeviceInventory LocalInventory(const std::vector<LocalDeviceRule>& rules, const LocalHardware& hardware) {
  DeviceInventory out;
  for (const LocalDeviceRule& rule : rules) out.try_emplace(rule.resource);
  for (const PciFunction& function : hardware.pci)
    if (const LocalDeviceRule* const rule = RuleOf(rules, function))
      out[rule->resource].push_back({.id = function.address,
                                     .nodes = NodesOf(function.node),
                                     .healthy = function.driver != kVfioDriver || !function.iommu_group.empty()});
  for (const HostNode& node : hardware.nodes)
    if (const LocalDeviceRule* const rule = RuleOf(rules, node))
      out[rule->resource].push_back({.id = node.path, .nodes = NodesOf(node.node), .healthy = true, .pci = node.pci});
  for (auto& [resource, devices] : out) std::ranges::sort(devices, {}, &Device::id);
  return out;
}

Result<DeviceAnswer> LocalAnswer(const std::vector<LocalDeviceRule>& rules, const LocalHardware& hardware,
                                 std::string_view resource, const std::vector<std::string>& ids) {
  Giver giver;
  for (const std::string& id : ids) {
    const auto function = std::ranges::find(hardware.pci, id, &PciFunction::address);
    const auto node = std::ranges::find(hardware.nodes, id, &HostNode::path);
    const LocalDeviceRule* rule = nullptr;
    if (function != hardware.pci.end()) rule = RuleOf(rules, *function);
    if (node != hardware.nodes.end()) rule = RuleOf(rules, *node);
    if (rule == nullptr || rule->resource != resource)
      return Fail(Code::kNotFound, "device " + Printable(id, 200) + " of " + Printable(resource, 80) +
                                       " is not there any more, or not meant by localDevices");
    if (node != hardware.nodes.end())
      giver.Give(*node, rule->permissions);
    else
      giver.Give(*function, rule->permissions);
  }
  return std::move(giver).Take(resource);
}

std::string VariablePart(std::string_view resource) {
  std::string out(resource);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if ((c < 'A' || c > 'Z') && (c < '0' || c > '9')) c = '_';
  }
  return out;
}

}  // namespace berth
