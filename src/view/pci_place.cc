#include "view/pci_place.h"

#include <string_view>

namespace berth::view {

std::string_view PciKind(const PciDevice& device) {
  switch (device.class_id >> 16) {
    case 0x01: return "storage";
    case 0x02: return "network";
    case 0x03: return "display";
    case 0x0b: return "processor";
    case 0x0d: return "wireless";
    case 0x12: return "accelerator";
    default: return device.name.empty() ? "" : "other";
  }
}

PciPlaces::PciPlaces(const std::vector<const PciDevice*>& functions) {
  for (const PciDevice* function : functions)
    for (const std::string& bridge : function->above) ++above_[bridge];
}

PciPlace PciPlaces::Of(const PciDevice& function) const {
  PciPlace out;
  if (function.above.empty()) return out;
  constexpr std::string_view kRoot = "pci";
  const std::string& root = function.above.front();
  out.root = root.starts_with(kRoot) ? root.substr(kRoot.size()) : root;
  for (std::size_t i = 1; i < function.above.size(); ++i)
    if (const auto found = above_.find(function.above[i]); found != above_.end() && found->second > 1)
      out.bridge = function.above[i];
  return out;
}

}  // namespace berth::view
