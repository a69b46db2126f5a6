#include "daemon/node_devices.h"

#include <utility>

#include "config/berth_config.h"
#include "host/machine/local_hardware.h"

namespace berth::daemon {

NodeDevices::NodeDevices(const Settings& settings, const Machine& machine, os::Fs& root,
                         const std::optional<checkpoint::Saved>& saved, http::LostSocketTeller on_lost_socket,
                         std::vector<std::string>& warnings) {
  if (const auto opened = OpenServer(settings, machine, saved, std::move(on_lost_socket)); !opened)
    warnings.push_back("no devices of plug-ins: " + opened.error().message);
  if (settings.berth.local_devices.empty()) return;
  if (const auto opened = OpenLocal(settings.berth.local_devices, root); !opened)
    warnings.push_back("no devices of localDevices: " + opened.error().message);
}

Result<void> NodeDevices::OpenServer(const Settings& settings, const Machine& machine,
                                     const std::optional<checkpoint::Saved>& saved,
                                     http::LostSocketTeller on_lost_socket) {
  const std::string folder = config::DevicePluginDir(settings.berth);
  if (folder.empty()) return {};
  device_manager::ServerOptions options{.folder = folder,
                                        .registry = device_manager::RegistryBeside(folder),
                                        .nodes = {},
                                        .awaited = {},
                                        .patience = {},
                                        .on_lost_socket = std::move(on_lost_socket)};
  for (const NumaNode& node : machine.nodes) options.nodes.Insert(node.id);
  if (saved)
    for (const auto& [uid, record] : saved->ledger.pods)
      for (const Placement& placement : record.placements)
        for (const DeviceAssignment& devices : placement.devices) options.awaited.insert(devices.resource);
  BERTH_TRY(server_, device_manager::PluginServer::Start(std::move(options)));
  return {};
}

Result<void> NodeDevices::OpenLocal(const std::vector<LocalDeviceRule>& rules, os::Fs& root) {
  BERTH_TRY(LocalHardware hardware, machine::ReadLocalHardware(root, rules));
  BERTH_TRY(with_local_, device_manager::WithLocalDevices(server_.get(), rules, std::move(hardware)));
  return {};
}

}  // namespace berth::daemon
