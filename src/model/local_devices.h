// Devices that a node gives out by its settings, without a plug-in: which hardware is meant, and what a container gets
// with it.
#ifndef BERTH_MODEL_LOCAL_DEVICES_H_
#define BERTH_MODEL_LOCAL_DEVICES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_set.h"
#include "base/result.h"
#include "model/device.h"

namespace berth {

/// Which PCI functions are meant; "" or nothing: any.
struct PciMatch {
  std::optional<std::uint16_t> vendor;
  std::optional<std::uint16_t> device;
  std::string class_prefix;  ///< hexadecimal digits of the class from the left: "02", "0108", "010802"
  std::string driver;        ///< "vfio-pci"
  std::string address;       ///< "0000:3b:00.1", with * and ?
  friend bool operator==(const PciMatch&, const PciMatch&) = default;
};

/// One resource's share of the settings.
struct LocalDeviceRule {
  std::string resource;            ///< "berth.dev/nic"
  std::vector<PciMatch> pci;       ///< each function that one of them means is a device
  std::vector<std::string> paths;  ///< each device node of these is one: "/dev/ttyUSB*"
  std::string permissions = "rw";  ///< of r, w, m
  friend bool operator==(const LocalDeviceRule&, const LocalDeviceRule&) = default;
};

/// A PCI function as the kernel shows it.
struct PciFunction {
  std::string address;
  std::uint32_t class_id = 0;
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  std::string driver;                     ///< "": none is bound
  std::string iommu_group;                ///< "": none
  std::optional<NumaId> node;             ///< nullopt: the kernel names none
  std::vector<std::string> device_nodes;  ///< "/dev/nvme0"
  friend bool operator==(const PciFunction&, const PciFunction&) = default;
};

/// A device node of this host that some rule's paths mean.
struct HostNode {
  std::string path;
  std::optional<NumaId> node;
  std::string pci;  ///< address of the function behind it; "": none is known
  friend bool operator==(const HostNode&, const HostNode&) = default;
};

struct LocalHardware {
  std::vector<PciFunction> pci;  ///< by address
  std::vector<HostNode> nodes;   ///< by path
  friend bool operator==(const LocalHardware&, const LocalHardware&) = default;
};

bool Means(const PciMatch& match, const PciFunction& function);
/// Whether `path` is one of a rule's; * and ? do not stand for '/'.
bool MeansPath(std::string_view pattern, const std::string& path);

/// What there is of each rule's resource; ids are PCI addresses and paths. A function or node that several rules mean
/// is the first one's. A resource of which nothing is there is registered without devices. A function bound to vfio-pci
/// that has no IOMMU group cannot be given to anybody, and is not healthy.
DeviceInventory LocalInventory(const std::vector<LocalDeviceRule>& rules, const LocalHardware& hardware);

/// What a container gets with `ids` of a resource: the functions' device nodes (of those bound to vfio-pci their IOMMU
/// group's and /dev/vfio/vfio), the nodes themselves, and variables that name them: PCIDEVICE_<RESOURCE> the functions,
/// BERTH_DEVICE_<RESOURCE> the nodes. Errors: kNotFound for an id that is not (any more) one of the resource.
Result<DeviceAnswer> LocalAnswer(const std::vector<LocalDeviceRule>& rules, const LocalHardware& hardware,
                                 std::string_view resource, const std::vector<std::string>& ids);

/// "vendor.example/fast-nic" -> "VENDOR_EXAMPLE_FAST_NIC".
std::string VariablePart(std::string_view resource);

}  // namespace berth

#endif  // BERTH_MODEL_LOCAL_DEVICES_H_
