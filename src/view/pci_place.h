// PCI topology of functions, in few words: their root, and the lowest bridge they share with others.
#ifndef BERTH_VIEW_PCI_PLACE_H_
#define BERTH_VIEW_PCI_PLACE_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"

namespace berth::view {

/// Name of a PCI base class that workloads use; "" for bridges and the machine's own parts.
std::string_view PciKind(const PciDevice& device);

struct PciPlace {
  std::string root;    ///< "0000:3a"; "": not known
  std::string bridge;  ///< "0000:3a:00.0": the lowest bridge that is above another of the functions too; "": none
};

class PciPlaces {
 public:
  /// `functions` are those that are shown; they outlive this.
  explicit PciPlaces(const std::vector<const PciDevice*>& functions);

  PciPlace Of(const PciDevice& function) const;
  /// Some function's root is known.
  bool known() const { return !above_.empty(); }

 private:
  std::map<std::string, std::size_t> above_;  // bridge -> functions below it
};

}  // namespace berth::view

#endif  // BERTH_VIEW_PCI_PLACE_H_
