#include "berth/node.h"

#include <algorithm>
#include <map>

#include "berth/age.h"
#include "codec/views.h"
#include "machine/load.h"
#include "os/clock.h"
#include "view/device_table.h"
#include "view/map.h"
#include "view/map_svg.h"
#include "view/table.h"

namespace berth::cli {
namespace {

using codec::Json;

/// What a map is drawn from.
struct Picture {
  Machine machine;
  Ledger ledger;
  CpuSet reserved;
  DeviceInventory devices;
};

Result<Picture> LoadPicture(const std::string& from, const Session& session) {
  Picture picture;
  if (!from.empty()) {
    BERTH_TRY(picture.machine, machine::Load(from));
    return picture;
  }
  BERTH_TRY(picture.machine, session.berthd().GetMachine());
  BERTH_TRY(picture.ledger, session.berthd().GetLedger());
  BERTH_TRY(const NodeView node, session.berthd().Node());
  picture.reserved = node.reserved_cpus;
  BERTH_TRY(picture.devices, session.berthd().Devices());
  return picture;
}

/// Every CPU and device with its place and holders.
Json MapJson(const Picture& picture) {
  struct Place {
    NumaId node;
    SocketId socket;
    CoreId core;
  };
  std::map<CpuId, Place> places;
  for (const NumaNode& node : picture.machine.nodes)
    for (const Core& core : node.cores)
      for (const CpuId cpu : core.threads) places[cpu] = {node.id, core.socket, IdOf(core)};
  Json cpus = Json::array();
  for (const view::CpuState& state : view::DescribeCpus(picture.machine, picture.ledger, picture.reserved)) {
    Json one = {{"cpu", Raw(state.cpu)}, {"use", view::Name(state.use)}, {"isolated", state.isolated}};
    const auto place = places.find(state.cpu);
    const bool known = place != places.end();
    one["node"] = known ? Json(Raw(place->second.node)) : Json();
    one["socket"] = known ? Json(Raw(place->second.socket)) : Json();
    one["core"] = known ? Json(Raw(place->second.core)) : Json();
    one["holders"] = state.holders;
    cpus.push_back(std::move(one));
  }
  Json devices = Json::array();
  for (const view::DeviceState& state : view::DescribeDevices(picture.machine, picture.ledger, picture.devices))
    devices.push_back({{"resource", state.resource},
                       {"id", state.device.id},
                       {"healthy", state.device.healthy},
                       {"nodes", FormatIds(state.device.nodes)},
                       {"pci", state.function == nullptr ? "" : state.function->address},
                       {"above", state.function == nullptr ? std::vector<std::string>() : state.function->above},
                       {"holder", state.holder}});
  return {{"machine", picture.machine.source}, {"cpus", std::move(cpus)}, {"devices", std::move(devices)}};
}

/// ", 3 lost" when there are some.
std::string HistoryLoss(const HistoryStatus& history) {
  return history.lost > 0 ? ", " + std::to_string(history.lost) + " lost since the start" : "";
}

int MapWidth(int asked, const Session& session) {
  constexpr int kDefault = 100;
  constexpr int kWidest = 200;  // longer lines are hard to follow, however wide the terminal
  if (asked > 0) return asked;
  return session.around().width > 0 ? std::min(session.around().width, kWidest) : kDefault;
}

}  // namespace

int RunMap(const MapCommandOptions& options, const Session& session) {
  const auto picture = LoadPicture(options.from, session);
  if (!picture && !options.from.empty()) {
    session.err() << "berth: " << picture.error().message << '\n';
    return kFailed;
  }
  if (!picture) return session.Report(picture.error());
  if (session.format() == OutputFormat::kSvg) {
    session.out() << view::RenderMapSvg(picture->machine, picture->ledger, picture->reserved, picture->devices);
    return kOk;
  }
  if (!session.for_people()) return session.PrintData(MapJson(*picture));
  view::MapOptions map{.width = MapWidth(options.width, session), .color = session.color()};
  map.unicode = session.around().unicode && !options.ascii;
  session.out() << view::RenderMap(picture->machine, picture->ledger, picture->reserved, map);
  const view::TableOptions table{.width = map.width, .color = map.color};
  if (const std::string devices = view::DeviceTable(picture->machine, picture->ledger, picture->devices, table);
      !devices.empty())
    session.out() << "\n" << devices;
  return kOk;
}

int RunNode(const Session& session) {
  const auto node = session.berthd().Node();
  if (!node) return session.Report(node.error());
  if (!session.for_people()) return session.PrintData(codec::ToJson(*node));
  std::ostream& out = session.out();
  out << "CPU policy:      " << node->cpu_policy << "\nMemory policy:   " << node->memory_policy
      << "\nTopology policy: " << node->topology_policy << ", scope " << node->topology_scope
      << "\nCPUs:            " << FormatIds(node->all_cpus)
      << "\nReserved CPUs:   " << (node->reserved_cpus.empty() ? "none" : FormatIds(node->reserved_cpus)) << "\n\n";
  view::Table table({{"RESOURCE"}, {"CAPACITY", view::Align::kRight}, {"ALLOCATABLE", view::Align::kRight}});
  for (const auto& [name, amount] : node->capacity) {
    const auto allocatable = node->allocatable.find(name);
    table.AddRow(
        {name, amount.ToString(), allocatable != node->allocatable.end() ? allocatable->second.ToString() : ""});
  }
  out << table.Format(session.table());
  return kOk;
}

/// "3 ms (sync)".
std::string AbsenceText(const LoopAbsence& absence) {
  return std::to_string(absence.ms) + " ms" + (absence.what.empty() ? "" : " (" + absence.what + ")");
}

int RunStatus(const Session& session) {
  const auto status = session.berthd().Status();
  if (!status) return session.Report(status.error());
  if (!session.for_people()) return session.PrintData(codec::ToJson(*status));
  const std::string age = FormatAge(status->started_at, os::SystemClock().Wall());
  std::ostream& out = session.out();
  out << "berthd:        " << status->version << ", pid " << status->pid << ", up " << (age.empty() ? "?" : age)
      << " (since " << (status->started_at ? FormatTime(*status->started_at) : "") << ")\n"
      << "Node:          " << status->node_name << ", " << status->machine_source << '\n'
      << "Runtime:       " << status->runtime
      << (status->runtime_endpoint.empty() ? "" : " at " + status->runtime_endpoint) << ", cgroups "
      << status->cgroup_version << '\n'
      << "Pods:          " << status->pods << '\n'
      << "Ledger:        revision " << status->ledger_revision << '\n'
      << "Cgroup writes: " << status->cgroup_writes << " since the start\n";
  out << "Loop:          away at most " << AbsenceText(status->loop.longest_lately) << " in the last minute, "
      << AbsenceText(status->loop.longest) << " since the start\n";
  if (status->history)
    out << "History:       " << status->history->kept << " events" << HistoryLoss(*status->history) << '\n';
  for (const std::string& warning : status->warnings)
    out << view::Paint("Warning:       " + warning, view::Style::kWarn, session.color()) << '\n';
  return kOk;
}

}  // namespace berth::cli
