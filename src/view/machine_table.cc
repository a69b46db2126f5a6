#include "view/machine_table.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/words.h"
#include "view/pci_place.h"
#include "view/size.h"

namespace berth::view {
namespace {

constexpr std::size_t kMatrixNodes = 16;  // a wider matrix does not fit 100 columns

std::string HugePagesText(const std::vector<HugePages>& list) {
  std::string out;
  for (const HugePages& pages : list) {
    if (pages.count == 0) continue;
    out += (out.empty() ? "" : ", ") + std::to_string(pages.count) + " x " + FormatSize(pages.page_size);
  }
  return out;
}

std::vector<const NumaNode*> ById(const Machine& machine) {
  std::vector<const NumaNode*> out;
  for (const NumaNode& node : machine.nodes) out.push_back(&node);
  std::ranges::sort(out, {}, &NumaNode::id);
  return out;
}

struct Shape {
  std::set<SocketId> sockets;
  std::set<std::pair<SocketId, DieId>> dies;
  std::size_t cores = 0;
  std::set<std::size_t> threads;  ///< per core
  CpuSet performance, efficiency;
};

Shape ShapeOf(const Machine& machine) {
  Shape shape;
  for (const NumaNode& node : machine.nodes) {
    for (const Core& core : node.cores) {
      shape.sockets.insert(core.socket);
      shape.dies.insert({core.socket, core.die});
      shape.threads.insert(core.threads.size());
      ++shape.cores;
      if (core.kind == CoreKind::kUniform) continue;
      for (const CpuId cpu : core.threads)
        (core.kind == CoreKind::kPerformance ? shape.performance : shape.efficiency).Insert(cpu);
    }
  }
  return shape;
}

std::string CoresText(const Shape& shape) {
  std::string out = Counted(shape.cores, "core") + " in " + Counted(shape.sockets.size(), "socket");
  if (shape.dies.size() > shape.sockets.size()) out += ", " + Counted(shape.dies.size(), "die");
  if (shape.threads.empty()) return out;
  const std::size_t low = *shape.threads.begin();
  const std::size_t high = *shape.threads.rbegin();
  if (low != high) return out + ", " + std::to_string(low) + " to " + std::to_string(high) + " threads each";
  return out + ", " + Counted(low, "thread") + " each";
}

std::string L3Text(const Machine& machine) {
  if (machine.l3.empty()) return "none are known: prefer-align-cpus-by-uncorecache has nothing to go by";
  std::map<Bytes, std::size_t> sizes;
  for (const L3Group& group : machine.l3) ++sizes[group.size];
  std::string out;
  for (const auto& [size, count] : sizes)
    out += (out.empty() ? "" : ", ") + Counted(count, "group") + " of " + FormatSize(size);
  return out;
}

std::string Summary(const Machine& machine) {
  const Shape shape = ShapeOf(machine);
  const CpuSet usable = UsableCpus(machine);
  std::vector<std::pair<std::string_view, std::string>> rows = {
      {"Machine", Printable(machine.source, 80)},
      {"CPUs", std::to_string(usable.Count()) + " usable of " + std::to_string(machine.present.Count()) + " present"},
      {"Cores", CoresText(shape)},
      {"Memory", TwoMemorySizes(machine).value_or(FormatSize(machine.memory))}};
  const auto add = [&](std::string_view name, std::string text) {
    if (!text.empty()) rows.emplace_back(name, std::move(text));
  };
  add("Huge pages", HugePagesText(machine.hugepages));
  add("L3 caches", L3Text(machine));
  add("Offline", FormatIds(machine.present - machine.online));
  add("Not on a node", FormatIds(machine.online - usable));
  add("Isolated", FormatIds(machine.isolated));
  add("nohz_full", FormatIds(machine.nohz_full));
  add("P-cores", FormatIds(shape.performance));
  add("E-cores", FormatIds(shape.efficiency));
  std::string out;
  for (const auto& [name, text] : rows) out += PadRight(name, 15) + text + "\n";
  return out;
}

std::string NodeTable(const std::vector<const NumaNode*>& nodes, const TableOptions& options) {
  Table table({{"NODE", Align::kRight},
               {"SOCKETS", Align::kLeft, true},
               {"CORES", Align::kRight},
               {"CPUS", Align::kLeft, true},
               {"MEMORY", Align::kRight},
               {"HUGE PAGES", Align::kLeft, true}});
  for (const NumaNode* node : nodes) {
    std::set<SocketId> sockets;
    CpuSet cpus;
    for (const Core& core : node->cores) {
      sockets.insert(core.socket);
      for (const CpuId cpu : core.threads) cpus.Insert(cpu);
    }
    std::string names;
    for (const SocketId socket : sockets) names += (names.empty() ? "" : ",") + std::to_string(Raw(socket));
    table.AddRow({std::to_string(Raw(node->id)), names, std::to_string(node->cores.size()), FormatIds(cpus),
                  FormatSize(node->memory), HugePagesText(node->hugepages)});
  }
  return table.Format(options);
}

/// A matrix, or for many nodes the values that occur. "" when no node has distances.
std::string DistanceTable(const std::vector<const NumaNode*>& nodes, const TableOptions& options) {
  std::set<unsigned> values;
  for (const NumaNode* node : nodes) values.insert(node->distances.begin(), node->distances.end());
  if (values.empty() || nodes.size() < 2) return {};
  if (nodes.size() > kMatrixNodes) {
    std::string out;
    for (const unsigned value : values) out += (out.empty() ? "" : ", ") + std::to_string(value);
    return "\nDISTANCES  " + out + " (-o json lists them all)\n";
  }
  std::vector<Column> columns = {{"DISTANCES", Align::kRight}};
  for (const NumaNode* node : nodes) columns.push_back({std::to_string(Raw(node->id)), Align::kRight});
  Table table(std::move(columns));
  for (const NumaNode* node : nodes) {
    std::vector<Cell> row = {std::to_string(Raw(node->id))};
    for (std::size_t i = 0; i < nodes.size(); ++i)
      row.emplace_back(i < node->distances.size() ? std::to_string(node->distances[i]) : std::string());
    table.AddRow(std::move(row));
  }
  return "\n" + table.Format(options);
}

std::string L3Table(const Machine& machine, const TableOptions& options) {
  if (machine.l3.empty()) return {};
  Table table({{"L3", Align::kRight}, {"SIZE", Align::kRight}, {"CPUS", Align::kLeft, true}});
  for (const L3Group& group : machine.l3)
    table.AddRow({std::to_string(Raw(group.id)), FormatSize(group.size), FormatIds(group.cpus)});
  return "\n" + table.Format(options);
}

std::string PciTable(const Machine& machine, const TableOptions& options) {
  std::vector<const PciDevice*> shown;
  for (const PciDevice& device : machine.pci)
    if (!PciKind(device).empty()) shown.push_back(&device);
  const PciPlaces places(shown);
  std::vector<Column> columns = {{"PCI DEVICE"}, {"KIND"}, {"ID"}, {"NODE", Align::kRight}};
  if (places.known()) columns.insert(columns.end(), {{"ROOT"}, {"SWITCH"}});
  columns.insert(columns.end(), {{"NAME", Align::kLeft, true}, {"NEAR CPUS", Align::kLeft, true}});
  Table table(std::move(columns));
  for (const PciDevice* device : shown) {
    std::array<char, 16> id{};
    std::snprintf(id.data(), id.size(), "%04x:%04x", unsigned{device->vendor}, unsigned{device->device});
    std::vector<Cell> row = {device->address, PciKind(*device), id.data(),
                             device->node ? std::to_string(Raw(*device->node)) : ""};
    if (const PciPlace place = places.Of(*device); places.known()) row.insert(row.end(), {place.root, place.bridge});
    row.insert(row.end(), {device->name, FormatIds(device->local_cpus)});
    table.AddRow(std::move(row));
  }
  std::string out = table.empty() ? "" : "\n" + table.Format(options);
  if (const std::size_t hidden = machine.pci.size() - shown.size(); hidden != 0)
    out += "\n" + Counted(hidden, "PCI function") + " more (-o json lists them)\n";
  return out;
}

}  // namespace

std::optional<std::string> TwoMemorySizes(const Machine& machine) {
  Bytes nodes{};
  for (const NumaNode& node : machine.nodes)
    if (__builtin_add_overflow(nodes.v, node.memory.v, &nodes.v)) return std::nullopt;
  const std::string all = FormatSize(machine.memory);
  const std::string on_nodes = FormatSize(nodes);
  if (machine.memory.v <= 0 || nodes.v <= 0 || all == on_nodes) return std::nullopt;
  return all + " (the kernel's MemTotal), " + on_nodes + " on its NUMA nodes";
}

std::string MachineTable(const Machine& machine, const TableOptions& options) {
  const std::vector<const NumaNode*> nodes = ById(machine);
  return Summary(machine) + "\n" + NodeTable(nodes, options) + DistanceTable(nodes, options) +
         L3Table(machine, options) + PciTable(machine, options);
}

}  // namespace berth::view
