// Device inventory, capacity and allocatable of the node, as device plug-ins reported them: for decisions and figures.
#ifndef BERTH_PODS_DEVICE_BOOK_H_
#define BERTH_PODS_DEVICE_BOOK_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/quantity.h"
#include "engine/engine.h"
#include "model/device.h"
#include "plugin/plugins.h"

namespace berth::pods {

/// Thread: the loop's only; what inventory() points to never changes.
class DeviceBook {
 public:
  /// `plugins`: nullptr: this node has none. Outlives the book.
  explicit DeviceBook(plugin::Plugins* plugins);

  /// Looks at what is known now. False: nothing changed.
  bool Refresh();

  plugin::Plugins* plugins() const { return plugins_; }
  const plugin::Known& known() const { return *known_; }
  std::shared_ptr<const DeviceInventory> inventory() const { return {known_, &known_->devices}; }
  /// For decisions.
  const engine::Inputs& inputs() const { return inputs_; }
  /// Nullptr: nobody serves it, and nobody is waited for.
  const plugin::Served* Find(std::string_view resource) const;
  /// Plug-ins that have registered so far.
  std::uint64_t registrations() const { return known_->registrations; }
  /// All devices, and those that are healthy; 0 of what was there and is gone.
  const ResourceList& capacity() const { return capacity_; }
  const ResourceList& allocatable() const { return allocatable_; }

 private:
  plugin::Plugins* plugins_;
  std::shared_ptr<const plugin::Known> known_;
  engine::Inputs inputs_;
  ResourceList capacity_;
  ResourceList allocatable_;
};

}  // namespace berth::pods

#endif  // BERTH_PODS_DEVICE_BOOK_H_
