#include "berth/node.h"

#include <algorithm>
#include <map>

#include "berth/age.h"
#include "machine/load.h"
#include "view/map.h"
#include "view/table.h"

namespace berth::cli {
namespace {

using codec::Json;

/// What a map is drawn from.
struct Picture {
  Machine machine;
  Ledger ledger;
  CpuSet reserved;
};

Result<Picture> LoadPicture(const std::string& from, const Session& session) {
  Picture picture;
  if (!from.empty()) {
    BERTH_TRY(picture.machine, machine::Load(from));
    return picture;
  }
  BERTH_TRY(const Json machine, session.Get("/v1/machine"));
  BERTH_TRY(const Json ledger, session.Get("/v1/ledger"));
  BERTH_TRY(const Json node, session.Get("/v1/node"));
  BERTH_TRY(picture.machine, codec::MachineFromJson(machine));
  BERTH_TRY(picture.ledger, codec::LedgerFromJson(ledger));
  BERTH_TRY(picture.reserved, CpuSet::Parse(Text(node, "reservedCpus")));
  return picture;
}

/// Every CPU with its place and holders.
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
  return {{"machine", picture.machine.source}, {"cpus", std::move(cpus)}};
}

/// ", 3 lost" when there are some.
std::string HistoryLoss(const Json& history) {
  const auto lost = Number(history, "lost");
  return lost > 0 ? ", " + std::to_string(lost) + " lost since the start" : "";
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
  if (!session.for_people()) return session.PrintData(MapJson(*picture));
  view::MapOptions map{.width = MapWidth(options.width, session), .color = session.color()};
  map.unicode = session.around().unicode && !options.ascii;
  session.out() << view::RenderMap(picture->machine, picture->ledger, picture->reserved, map);
  return kOk;
}

int RunNode(const Session& session) {
  const auto node = session.Get("/v1/node");
  if (!node) return session.Report(node.error());
  if (!session.for_people()) return session.PrintData(*node);
  std::ostream& out = session.out();
  out << "CPU policy:      " << Text(*node, "cpuPolicy") << "\nMemory policy:   " << Text(*node, "memoryPolicy")
      << "\nTopology policy: " << Text(*node, "topologyPolicy") << ", scope " << Text(*node, "topologyScope")
      << "\nCPUs:            " << Text(*node, "allCpus")
      << "\nReserved CPUs:   " << (Text(*node, "reservedCpus").empty() ? "none" : Text(*node, "reservedCpus"))
      << "\n\n";
  view::Table table({{"RESOURCE"}, {"CAPACITY", view::Align::kRight}, {"ALLOCATABLE", view::Align::kRight}});
  const Json& capacity = Member(*node, "capacity");
  const Json& allocatable = Member(*node, "allocatable");
  if (capacity.is_object())
    for (const auto& [name, amount] : capacity.items())
      table.AddRow({name, Text(capacity, name.c_str()), Text(allocatable, name.c_str())});
  out << table.Format(session.table());
  return kOk;
}

int RunStatus(const Session& session) {
  const auto status = session.Get("/v1/status");
  if (!status) return session.Report(status.error());
  if (!session.for_people()) return session.PrintData(*status);
  const std::string started = Text(*status, "startedAt");
  const std::string age = FormatAge(started, os::SystemClock().Wall());
  std::ostream& out = session.out();
  out << "berthd:        " << Text(*status, "version") << ", pid " << Number(*status, "pid") << ", up "
      << (age.empty() ? "?" : age) << " (since " << started << ")\n"
      << "Node:          " << Text(*status, "nodeName") << ", " << Text(*status, "machineSource") << '\n'
      << "Runtime:       " << Text(*status, "runtime")
      << (Text(*status, "runtimeEndpoint").empty() ? "" : " at " + Text(*status, "runtimeEndpoint")) << ", cgroups "
      << Text(*status, "cgroupVersion") << '\n'
      << "Pods:          " << Number(*status, "pods") << '\n'
      << "Ledger:        revision " << Number(*status, "ledgerRevision") << '\n'
      << "Cgroup writes: " << Number(*status, "cgroupWrites") << " since the start\n";
  if (const Json& history = Member(*status, "history"); history.is_object())
    out << "History:       " << Number(history, "kept") << " events" << HistoryLoss(history) << '\n';
  for (const Json& warning : Member(*status, "warnings"))
    if (warning.is_string())
      out << view::Paint("Warning:       " + warning.get<std::string>(), view::Style::kWarn, session.color()) << '\n';
  return kOk;
}

}  // namespace berth::cli
