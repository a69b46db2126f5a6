#include "node/pods/device_book.h"

#include <algorithm>
#include <utility>

namespace berth::pods {

DeviceBook::DeviceBook(device_manager::Plugins* plugins)
    : plugins_(plugins), known_(std::make_shared<const device_manager::Known>()) {
  Refresh();
}

bool DeviceBook::Refresh() {
  if (plugins_ == nullptr) return false;
  auto now = plugins_->known();
  if (now == known_) return false;
  known_ = std::move(now);
  inputs_.devices = known_->devices;
  capacity_.clear();
  allocatable_.clear();
  for (const auto& [name, devices] : known_->devices) {
    capacity_[name] = Quantity::FromUnits(static_cast<std::int64_t>(devices.size()));
    allocatable_[name] = Quantity::FromUnits(std::ranges::count(devices, true, &Device::healthy));
  }
  for (const std::string& name : known_->gone) capacity_[name] = allocatable_[name] = Quantity();
  return true;
}

const device_manager::Served* DeviceBook::Find(std::string_view resource) const {
  const auto found = known_->resources.find(resource);
  return found != known_->resources.end() ? &found->second : nullptr;
}

}  // namespace berth::pods
