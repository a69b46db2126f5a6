#include "view/device_table.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "view/pci_place.h"

namespace berth::view {
namespace {

/// Resource and id -> who holds it.
using Holders = std::map<std::pair<std::string, std::string>, std::string>;

Holders HoldersOf(const Ledger& ledger) {
  Holders out;
  for (const auto& [uid, pod] : ledger.pods)
    for (const Placement& placement : pod.placements)
      for (const DeviceAssignment& given : placement.devices)
        for (const std::string& id : given.ids) {
          std::string& names = out[{given.resource, id}];
          names += (names.empty() ? "" : ", ") + FullName(pod) + "/" + placement.container;
        }
  return out;
}

const PciDevice* FunctionOf(const Machine& machine, const Device& device) {
  const std::string& address = device.pci.empty() ? device.id : device.pci;
  const auto found = std::ranges::find(machine.pci, address, &PciDevice::address);
  return found == machine.pci.end() ? nullptr : &*found;
}

/// Nodes, root, bridge, resource, holder or health: what devices of one row have in common.
using RowKey = std::tuple<NodeSet, std::string, std::string, std::string, std::string>;

}  // namespace

std::vector<DeviceState> DescribeDevices(const Machine& machine, const Ledger& ledger, const DeviceInventory& devices) {
  Holders holders = HoldersOf(ledger);
  std::vector<DeviceState> out;
  for (const auto& [resource, list] : devices)
    for (const Device& device : list) {
      DeviceState& state = out.emplace_back(
          DeviceState{.resource = resource, .device = device, .function = FunctionOf(machine, device), .holder = {}});
      if (const auto held = holders.extract({resource, device.id})) state.holder = held.mapped();
    }
  for (auto& [name, holder] : holders) {
    Device gone{.id = name.second, .nodes = {}, .healthy = false};
    const PciDevice* const function = FunctionOf(machine, gone);
    out.push_back({.resource = name.first, .device = std::move(gone), .function = function, .holder = holder});
  }
  std::ranges::sort(out, {}, [](const DeviceState& one) { return std::tie(one.resource, one.device.id); });
  return out;
}

std::string DeviceTable(const Machine& machine, const Ledger& ledger, const DeviceInventory& devices,
                        const TableOptions& options) {
  const std::vector<DeviceState> states = DescribeDevices(machine, ledger, devices);
  std::vector<const PciDevice*> functions;
  for (const DeviceState& state : states)
    if (state.function != nullptr) functions.push_back(state.function);
  std::ranges::sort(functions);
  functions.erase(std::ranges::unique(functions).begin(), functions.end());
  const PciPlaces places(functions);

  std::vector<std::pair<RowKey, std::string>> rows;  // with their devices
  std::map<RowKey, std::size_t> free;                // -> row
  for (const DeviceState& state : states) {
    const PciPlace place = state.function == nullptr ? PciPlace() : places.Of(*state.function);
    const std::string use = !state.holder.empty() ? state.holder : state.device.healthy ? "free" : "";
    RowKey key{state.device.nodes, place.root, place.bridge, state.resource,
               use + (state.device.healthy ? ""
                      : use.empty()        ? "not healthy"
                                           : " (not healthy)")};
    if (const auto same = free.find(key); same != free.end()) {
      rows[same->second].second += "," + state.device.id;
      continue;
    }
    if (use == "free") free.emplace(key, rows.size());
    rows.emplace_back(std::move(key), state.device.id);
  }
  std::ranges::sort(rows, {}, [](const auto& row) {
    const auto& [nodes, root, bridge, resource, use] = row.first;
    const std::optional<NumaId> first = nodes.First();
    return std::tuple(first ? Raw(*first) : kMaxId + 1, root, bridge, resource, row.second);
  });

  std::vector<Column> columns = {{"NODE", Align::kRight}};
  if (places.known()) columns.insert(columns.end(), {{"ROOT"}, {"SWITCH"}});
  columns.insert(columns.end(), {{"RESOURCE"}, {"DEVICE", Align::kLeft, true}, {"HELD BY", Align::kLeft, true}});
  Table table(std::move(columns));
  for (const auto& [key, ids] : rows) {
    const auto& [nodes, root, bridge, resource, use] = key;
    std::vector<Cell> row = {FormatIds(nodes)};
    if (places.known()) row.insert(row.end(), {root, bridge});
    row.insert(row.end(), {resource, ids, use});
    table.AddRow(std::move(row));
  }
  return table.empty() ? "" : table.Format(options);
}

}  // namespace berth::view
