// Device plug-in interface of the node: known devices and resources, and the calls Allocate, PreStartContainer and
// GetPreferredAllocation. Design: docs/design/devices.md.
#ifndef BERTH_NODE_DEVICE_MANAGER_PLUGINS_H_
#define BERTH_NODE_DEVICE_MANAGER_PLUGINS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/loop_thread.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "model/device.h"
#include "model/node_figures.h"

namespace berth::device_manager {

/// What a plug-in wants to be asked (DevicePluginOptions).
struct PluginOptions {
  bool pre_start = false;  ///< before each start of a container that has devices of it
  bool preferred = false;  ///< which devices it would choose
  friend bool operator==(const PluginOptions&, const PluginOptions&) = default;
};

/// One resource.
struct Served {
  std::string endpoint;  ///< file name of the plug-in's socket, "localDevices"; "": none has registered since the start
  bool ready = false;    ///< it is connected, and has said which devices there are
  PluginOptions options;
  friend bool operator==(const Served&, const Served&) = default;
};

/// All of it at one moment.
struct Known {
  DeviceInventory devices;
  /// Of each resource of `devices`: those of plug-ins, and those that are waited for.
  std::map<std::string, Served, std::less<>> resources;
  std::set<std::string, std::less<>> gone;  ///< were there, and nobody waits for them any more
  std::uint64_t registrations = 0;          ///< of all plug-ins, that were taken since the start
};

/// Something an operator should know.
struct Note {
  bool warning = false;
  std::string reason;
  std::string message;
};

/// GetPreferredAllocation's question about one container.
struct PreferenceQuestion {
  std::vector<std::string> available;
  std::vector<std::string> must;  ///< it has these already; among `available`
  std::int32_t size = 0;          ///< how many it shall have in the end
  friend bool operator==(const PreferenceQuestion&, const PreferenceQuestion&) = default;
};

/// Thread: any. Allocate, PreStart and Prefer wait for the plug-in, for a bounded time.
class Plugins {
 public:
  virtual ~Plugins() = default;

  /// Readable from a change of `known` or a new note on, until TakeNotes.
  virtual int event_fd() const = 0;
  virtual std::shared_ptr<const Known> known() const = 0;
  virtual std::vector<Note> TakeNotes() = 0;
  /// Since the start.
  virtual DeviceFigures figures() const = 0;
  /// When Forget has something to do.
  virtual os::MonoTime next_due() const = 0;
  /// What plug-ins that did not come back in time had is no resource of the node any more.
  virtual void Forget(os::MonoTime now) = 0;

  /// Errors of the three: kUnreachable: the plug-in is not there (any more), and may be asked when it is back;
  /// kTimeout; kInvalid: its answer makes no sense; else its own words.
  virtual Result<DeviceAnswer> Allocate(const std::string& resource, const std::vector<std::string>& ids)
      BERTH_EXCLUDES(loop_thread) = 0;
  virtual Result<void> PreStart(const std::string& resource, const std::vector<std::string>& ids)
      BERTH_EXCLUDES(loop_thread) = 0;
  /// Ids in the order to prefer; some may not be among those of the question.
  virtual Result<std::vector<std::string>> Prefer(const std::string& resource, const PreferenceQuestion& question)
      BERTH_EXCLUDES(loop_thread) = 0;
};

}  // namespace berth::device_manager

#endif  // BERTH_NODE_DEVICE_MANAGER_PLUGINS_H_
