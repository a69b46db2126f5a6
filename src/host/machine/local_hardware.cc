#include "host/machine/local_hardware.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "host/machine/tree_files.h"
#include "host/machine/tree_views.h"

namespace berth::machine {
namespace {

constexpr std::string_view kPciFunctions = "sys/bus/pci/devices";

std::string LastPart(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

/// "DEVNAME=snd/timer" in the text the kernel has of a device.
std::optional<std::string> DeviceName(std::string_view uevent) {
  constexpr std::string_view kKey = "DEVNAME=";
  for (const std::string_view line : Split(uevent, '\n'))
    if (line.starts_with(kKey)) return std::string(Trim(line.substr(kKey.size())));
  return std::nullopt;
}

/// Device nodes the kernel has, by path ("/dev/snd/timer"), with the address of the PCI function behind each, or "".
Result<std::map<std::string, std::string>> NodesOfKernel(TreeFiles& files) {
  std::map<std::string, std::string> out;
  for (const std::string_view kind : {"char", "block"}) {
    const std::string folder = "sys/dev/" + std::string(kind);
    BERTH_TRY(const std::vector<std::string> numbers, files.Names(folder));
    for (const std::string& number : numbers) {
      const std::optional<std::string> link = files.Link(folder + "/" + number);
      constexpr std::string_view kUp = "../../";
      if (!link || !link->starts_with(kUp)) continue;
      auto uevent = files.Text("sys/" + link->substr(kUp.size()) + "/uevent");
      if (!uevent) continue;  // gone meanwhile
      const std::string name = DeviceName(uevent->value_or("")).value_or(LastPart(*link));
      out.emplace("/dev/" + name, PciBehind(*link));
    }
  }
  return out;
}

PciFunction FunctionOf(TreeFiles& files, const PciDevice& device, const std::map<std::string, std::string>& nodes) {
  PciFunction out{.address = device.address,
                  .class_id = device.class_id,
                  .vendor = device.vendor,
                  .device = device.device,
                  .driver = {},
                  .iommu_group = {},
                  .node = device.node,
                  .device_nodes = {}};
  const std::string entry = std::string(kPciFunctions) + "/" + device.address;
  if (const auto driver = files.Link(entry + "/driver")) out.driver = LastPart(*driver);
  if (const auto group = files.Link(entry + "/iommu_group")) out.iommu_group = LastPart(*group);
  for (const auto& [path, address] : nodes)
    if (address == device.address) out.device_nodes.push_back(path);
  return out;
}

/// What one rule's path means, as the folder has it.
Result<void> FindNodes(TreeFiles& files, const std::string& pattern, const std::map<std::string, std::string>& known,
                       std::map<std::string, std::string>& out) {
  const std::string folder = pattern.substr(0, pattern.rfind('/'));
  if (!folder.starts_with('/')) return {};
  BERTH_TRY(const std::vector<std::string> names, files.Names(folder.substr(1)));
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    if (!MeansPath(pattern, path)) continue;
    auto found = known.find(path);
    if (const auto link = files.Link(path.substr(1)); link && found == known.end())
      found = std::ranges::find_if(known, [&](const auto& node) { return LastPart(node.first) == LastPart(*link); });
    if (found != known.end()) out.emplace(path, found->second);
  }
  return {};
}

}  // namespace

Result<LocalHardware> ReadLocalHardware(os::Fs& root, const std::vector<LocalDeviceRule>& rules) {
  LocalHardware out;
  if (rules.empty()) return out;
  TreeFiles files(root);
  BERTH_TRY(const auto known, NodesOfKernel(files));
  BERTH_TRY(const std::vector<PciDevice> devices, ReadPci(files));
  for (const PciDevice& device : devices) out.pci.push_back(FunctionOf(files, device, known));
  std::map<std::string, std::string> meant;
  for (const LocalDeviceRule& rule : rules)
    for (const std::string& pattern : rule.paths) BERTH_RETURN_IF_ERROR(FindNodes(files, pattern, known, meant));
  for (const auto& [path, address] : meant) {
    const auto function = std::ranges::find(out.pci, address, &PciFunction::address);
    out.nodes.push_back(
        {.path = path, .node = function == out.pci.end() ? std::nullopt : function->node, .pci = address});
  }
  return out;
}

}  // namespace berth::machine
