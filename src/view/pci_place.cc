#include "view/pci_place.h"

#include <string_view>

namespace berth::view {

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
