// Device inventory, capacity and allocatable of the node, as device plug-ins reported them: for decisions and figures.
#ifndef BERTH_NODE_PODS_DEVICE_BOOK_H_
#define BERTH_NODE_PODS_DEVICE_BOOK_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "allocator/engine.h"
#include "base/quantity.h"
#include "model/device.h"
#include "node/device_manager/plugins.h"

namespace berth::pods {

/// Thread: the loop's only; what inventory() points to never changes.
class DeviceBook {
 public:
  /// `plugins`: nullptr: this node has none. Outlives the book.
  explicit DeviceBook(device_manager::Plugins* plugins);

  /// Looks at what is known now. False: nothing changed.
  bool Refresh();

  device_manager::Plugins* plugins() const { return plugins_; }
  const device_manager::Known& known() const { return *known_; }
  std::shared_ptr<const device_manager::Known> SharedKnown() const { return known_; }
  std::shared_ptr<const DeviceInventory> inventory() const { return {known_, &known_->devices}; }
  /// For decisions.
  const allocator::Inputs& inputs() const { return inputs_; }
  /// Nullptr: nobody serves it, and nobody is waited for.
  const device_manager::Served* Find(std::string_view resource) const;
  /// Plug-ins that have registered so far.
  std::uint64_t registrations() const { return known_->registrations; }
  /// All devices, and those that are healthy; 0 of what was there and is gone.
  const ResourceList& capacity() const { return capacity_; }
  const ResourceList& allocatable() const { return allocatable_; }

 private:
  device_manager::Plugins* plugins_;
  std::shared_ptr<const device_manager::Known> known_;
  allocator::Inputs inputs_;
  ResourceList capacity_;
  ResourceList allocatable_;
};

}  // namespace berth::pods

#endif  // BERTH_NODE_PODS_DEVICE_BOOK_H_
