#include "node/device_manager/local_plugins.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/text.h"
#include "host/os/event_fd.h"

namespace berth::device_manager {
namespace {

/// Stands where a plug-in's socket does: these are always there.
constexpr std::string_view kSettingsEndpoint = "localDevices";

/// Where no plug-in can register.
class NoPlugins final : public Plugins {
 public:
  explicit NoPlugins(os::EventFd silent) : silent_(std::move(silent)) {}

  int event_fd() const override { return silent_.get(); }
  std::shared_ptr<const Known> known() const override { return known_; }
  std::vector<Note> TakeNotes() override { return {}; }
  DeviceFigures figures() const override { return {}; }
  os::MonoTime next_due() const override { return os::MonoTime::max(); }
  void Forget(os::MonoTime) override {}
  Result<DeviceAnswer> Allocate(const std::string& resource, const std::vector<std::string>&) override {
    return Nobody(resource);
  }
  Result<void> PreStart(const std::string& resource, const std::vector<std::string>&) override {
    return Nobody(resource);
  }
  Result<std::vector<std::string>> Prefer(const std::string& resource, const PreferenceQuestion&) override {
    return Nobody(resource);
  }

 private:
  static std::unexpected<Error> Nobody(const std::string& resource) {
    return Fail(Code::kUnreachable, "no device plug-in of " + resource + " can register here");
  }

  const os::EventFd silent_;
  const std::shared_ptr<const Known> known_ = std::make_shared<const Known>();
};

class LocalPlugins final : public Plugins {
 public:
  LocalPlugins(std::unique_ptr<Plugins> none, Plugins& plugins, std::vector<LocalDeviceRule> rules,
               LocalHardware hardware)
      : none_(std::move(none)),
        plugins_(plugins),
        rules_(std::move(rules)),
        hardware_(std::move(hardware)),
        inventory_(LocalInventory(rules_, hardware_)) {}

  int event_fd() const override { return plugins_.event_fd(); }
  os::MonoTime next_due() const override { return plugins_.next_due(); }
  void Forget(os::MonoTime now) override { plugins_.Forget(now); }
  DeviceFigures figures() const override { return plugins_.figures(); }

  std::shared_ptr<const Known> known() const override {
    std::shared_ptr<const Known> theirs = plugins_.known();
    const MutexLock lock(mutex_);
    if (all_ != nullptr && theirs == theirs_) return all_;
    auto all = std::make_shared<Known>(*theirs);
    for (const auto& [resource, devices] : inventory_) {
      all->devices.insert_or_assign(resource, devices);
      all->resources.insert_or_assign(resource, Served{.endpoint = std::string(kSettingsEndpoint), .ready = true});
      all->gone.erase(resource);
    }
    theirs_ = std::move(theirs);
    all_ = std::move(all);
    return all_;
  }

  std::vector<Note> TakeNotes() override {
    std::vector<Note> out = plugins_.TakeNotes();
    const std::shared_ptr<const Known> theirs = plugins_.known();
    const MutexLock lock(mutex_);
    for (const auto& [resource, devices] : inventory_)
      if (theirs->resources.contains(resource) && told_.insert(resource).second)
        out.push_back({.warning = true,
                       .reason = "DevicePluginIgnored",
                       .message = "a device plug-in has registered " + Printable(resource, 80) +
                                  ", which localDevices names: its devices are not used"});
    return out;
  }

  Result<DeviceAnswer> Allocate(const std::string& resource, const std::vector<std::string>& ids) override {
    if (!inventory_.contains(resource)) return plugins_.Allocate(resource, ids);
    return LocalAnswer(rules_, hardware_, resource, ids);
  }
  Result<void> PreStart(const std::string& resource, const std::vector<std::string>& ids) override {
    return inventory_.contains(resource) ? Result<void>() : plugins_.PreStart(resource, ids);
  }
  Result<std::vector<std::string>> Prefer(const std::string& resource, const PreferenceQuestion& question) override {
    if (!inventory_.contains(resource)) return plugins_.Prefer(resource, question);
    return std::vector<std::string>();
  }

 private:
  const std::unique_ptr<Plugins> none_;  // `plugins_`, where there are no others
  Plugins& plugins_;
  const std::vector<LocalDeviceRule> rules_;
  const LocalHardware hardware_;
  const DeviceInventory inventory_;
  mutable Mutex mutex_;
  mutable std::shared_ptr<const Known> theirs_ BERTH_GUARDED_BY(mutex_);
  mutable std::shared_ptr<const Known> all_ BERTH_GUARDED_BY(mutex_);
  std::set<std::string> told_ BERTH_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::unique_ptr<Plugins>> WithLocalDevices(Plugins* plugins, std::vector<LocalDeviceRule> rules,
                                                  LocalHardware hardware) {
  std::unique_ptr<Plugins> none;
  if (plugins == nullptr) {
    BERTH_TRY(os::EventFd silent, os::EventFd::Open());
    none = std::make_unique<NoPlugins>(std::move(silent));
    plugins = none.get();
  }
  return std::make_unique<LocalPlugins>(std::move(none), *plugins, std::move(rules), std::move(hardware));
}

}  // namespace berth::device_manager
