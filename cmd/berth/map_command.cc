#include "berth/map_command.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "api/codec/views.h"
#include "berth/running_node.h"
#include "berth/state_command.h"
#include "host/machine/load_machine.h"
#include "host/os/input.h"
#include "simulator/offline/offline_node.h"
#include "simulator/offline/simulation.h"
#include "view/changes.h"
#include "view/device_table.h"
#include "view/map.h"
#include "view/map_svg.h"

namespace berth::cli {
namespace {

using codec::Json;

/// What a map is drawn from.
struct Picture {
  Machine machine;
  Ledger ledger;
  CpuSet reserved;
  DeviceInventory devices;
  std::optional<Ledger> before;  ///< of another state
  bool rejected = false;         ///< a pod that was to be placed
};

/// With simulated pods.
Result<Picture> PlaceOnPaper(const MapCommandOptions& options, const Session& session) {
  offline::OfflineOptions node_options{.machine = options.machine, .config = options.config};
  if (options.machine.empty()) node_options.ledger = session.socket();
  node_options.ask = AskRunning;
  BERTH_TRY(offline::OfflineNode node, offline::LoadOfflineNode(node_options, session.err()));
  BERTH_TRY(const std::vector<offline::Step> steps, offline::ReadSteps(options.with, node.ledger, session.err()));
  Picture out{.machine = node.node.machine(),
              .ledger = {},
              .reserved = node.node.reserved_cpus(),
              .devices = node.inputs.devices,
              .before = node.ledger};
  int number = 0;
  for (const offline::Step& step : steps) {
    const offline::Outcome outcome = offline::TakeStep(step, ++number, node);
    out.rejected = out.rejected || offline::Rejection(outcome) != nullptr;
    session.err() << offline::ReasonsText(outcome);
  }
  out.ledger = std::move(node.ledger);
  return out;
}

/// A state file, or JSON of `berth state show` or `berth simulate`.
Result<Ledger> ReadBefore(const std::string& file) {
  BERTH_TRY(const std::string text, os::ReadInput(file));
  const auto json = codec::ParseJson(text, file);
  if (!json || !json->is_object() || json->contains("checksum")) return ReadStateFile(file);
  auto ledger = codec::LedgerFromJson(json->contains("ledger") ? json->at("ledger") : *json);
  if (ledger) return ledger;
  auto other = ReadStateFile(file);
  return other ? std::move(other) : Result<Ledger>(Wrap(std::move(ledger).error(), file));
}

Result<Picture> LoadPicture(const MapCommandOptions& options, const Session& session) {
  if (!options.with.empty()) return PlaceOnPaper(options, session);
  Picture picture;
  if (!options.machine.empty()) {
    BERTH_TRY(picture.machine, machine::Load(options.machine));
    return picture;
  }
  if (!options.compare.empty()) {
    BERTH_TRY(picture.before, ReadBefore(options.compare));
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
  Json out = {{"machine", picture.machine.source}, {"cpus", std::move(cpus)}, {"devices", std::move(devices)}};
  if (!picture.before) return out;
  out["changes"] = Json::array();
  for (const view::Change& change : view::ChangesOf(*picture.before, picture.ledger))
    out["changes"].push_back(
        {{"who", change.who}, {"what", change.what}, {"before", change.before}, {"after", change.after}});
  return out;
}

int MapWidth(int asked, const Session& session) {
  constexpr int kDefault = 100;
  constexpr int kWidest = 200;  // longer lines are hard to follow, however wide the terminal
  if (asked > 0) return asked;
  return session.around().width > 0 ? std::min(session.around().width, kWidest) : kDefault;
}

void PrintText(const Picture& picture, const MapCommandOptions& options, const Session& session) {
  view::MapOptions map{.width = MapWidth(options.width, session), .color = session.color()};
  map.unicode = session.around().unicode && !options.ascii;
  const view::TableOptions table{.width = map.width, .color = map.color};
  if (picture.before) {
    const std::vector<view::Change> changes = view::ChangesOf(*picture.before, picture.ledger);
    session.out() << (changes.empty() ? "Nothing changes.\n" : view::ChangesTable(changes, table)) << "\n";
  }
  session.out() << view::RenderMap(picture.machine, picture.ledger, picture.reserved, map);
  if (const std::string devices = view::DeviceTable(picture.machine, picture.ledger, picture.devices, table);
      !devices.empty())
    session.out() << "\n" << devices;
}

}  // namespace

int RunMap(const MapCommandOptions& options, const Session& session) {
  const auto picture = LoadPicture(options, session);
  const bool asks = options.machine.empty();
  if (!picture && !asks) {
    session.err() << "berth: " << picture.error().message << '\n';
    return kFailed;
  }
  if (!picture) return session.Report(picture.error());
  const Ledger* const before = picture->before ? &*picture->before : nullptr;
  const int status = picture->rejected ? kRejected : kOk;
  if (session.draws())
    return std::max<int>(session.PrintDrawing(view::RenderMapSvg(picture->machine, picture->ledger, picture->reserved,
                                                                 picture->devices, before)),
                         status);
  if (session.format() == OutputFormat::kHtml)
    session.out() << view::RenderMapPage(picture->machine, picture->ledger, picture->reserved, picture->devices,
                                         before);
  else if (session.for_people())
    PrintText(*picture, options, session);
  else
    return std::max<int>(session.PrintData(MapJson(*picture)), status);
  return status;
}

}  // namespace berth::cli
