// Devices where they sit, and who holds them.
#ifndef BERTH_VIEW_DEVICE_TABLE_H_
#define BERTH_VIEW_DEVICE_TABLE_H_

#include <string>
#include <vector>

#include "model/device.h"
#include "model/ledger.h"
#include "model/machine.h"
#include "view/table.h"

namespace berth::view {

/// One device of a node.
struct DeviceState {
  std::string resource;
  Device device;
  const PciDevice* function = nullptr;  ///< what it is or sits on; nullptr: not known
  std::string holder;                   ///< "namespace/pod/container"; "": free
};
/// Devices by resource and id, those that are held and not listed any more too (as not healthy). Points into `machine`.
std::vector<DeviceState> DescribeDevices(const Machine& machine, const Ledger& ledger, const DeviceInventory& devices);

/// A row for each device that is held or not healthy, and one for all free devices of a resource at one place; by NUMA
/// node, PCI root and switch. "" without devices, else ends in a newline.
std::string DeviceTable(const Machine& machine, const Ledger& ledger, const DeviceInventory& devices,
                        const TableOptions& options = {});

}  // namespace berth::view

#endif  // BERTH_VIEW_DEVICE_TABLE_H_
