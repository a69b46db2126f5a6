#include "berth/simulate.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "offline/simulation.h"
#include "view/device_table.h"
#include "view/map.h"

namespace berth::cli {
namespace {

using codec::Json;
using offline::OfflineNode;

void PrintMap(const OfflineNode& node, const Session& session) {
  const int width = session.around().width > 0 ? session.around().width : 100;
  session.out() << "\n"
                << view::RenderMap(node.node.machine(), node.ledger, node.node.reserved_cpus(),
                                   {.width = width, .color = session.color(), .unicode = session.around().unicode});
  const std::string devices = view::DeviceTable(node.node.machine(), node.ledger, node.inputs.devices,
                                                {.width = width, .color = session.color()});
  if (!devices.empty()) session.out() << "\n" << devices;
}

/// One table for all steps; with the map, a table and a picture for each.
class PeoplePrinter {
 public:
  PeoplePrinter(const Session& session, bool map) : session_(session), map_(map), table_(offline::OutcomeTable()) {}

  void Step(const offline::Outcome& outcome, const OfflineNode& node) {
    offline::AddRows(outcome, table_);
    outcomes_.push_back(outcome);
    if (!map_) return;
    if (outcome.number > 1) session_.out() << "\n";
    Flush();
    PrintMap(node, session_);
  }

  void Finish(const OfflineNode& node) {
    if (!map_) Flush();
    if (!node.ledger.shared.empty()) session_.out() << "\nshared pool: " << FormatIds(node.ledger.shared) << "\n";
  }

 private:
  void Flush() {
    session_.out() << table_.Format(session_.table());
    for (const offline::Outcome& outcome : outcomes_) session_.out() << offline::ReasonsText(outcome);
    table_ = offline::OutcomeTable();
    outcomes_.clear();
  }

  const Session& session_;
  bool map_;
  view::Table table_;
  std::vector<offline::Outcome> outcomes_;
};

}  // namespace

int RunSimulate(const SimulateOptions& options, const Session& session) {
  const auto fail = [&](const Error& error) {
    session.err() << "berth: " << error.message << "\n";
    return kFailed;
  };
  if (!options.cluster.nodes.empty()) {
    if (options.map || !options.node.ledger.empty())
      return fail(
          {.code = Code::kInvalid, .message = "--map and --ledger are of one node: leave them out with --cluster"});
    ClusterOptions cluster = options.cluster;
    cluster.workload.manifests = options.steps;
    return RunSimulateCluster(cluster, options.node, session);
  }
  if (session.format() == OutputFormat::kSvg)
    return fail({.code = Code::kInvalid, .message = "-o svg is a picture of a cluster: give --cluster"});
  if (options.steps.empty()) {
    session.err() << "berth simulate: steps is required\nSee 'berth simulate --help'.\n";
    return kUsage;
  }
  auto node = offline::LoadOfflineNode(options.node, session.err());
  if (!node) return fail(node.error());
  const auto steps = offline::ReadSteps(options.steps, node->ledger, session.err());
  if (!steps) return fail(steps.error());

  PeoplePrinter people(session, options.map);
  Json data = {{"machine", node->node.machine().source}, {"steps", Json::array()}};
  bool rejected = false;
  int number = 0;
  for (const offline::Step& step : *steps) {
    const offline::Outcome outcome = offline::TakeStep(step, ++number, *node);
    rejected = rejected || offline::Rejection(outcome) != nullptr;
    if (session.for_people())
      people.Step(outcome, *node);
    else
      data["steps"].push_back(offline::ToJson(outcome));
  }
  if (session.for_people()) {
    people.Finish(*node);
  } else {
    data["ledger"] = codec::ToJson(node->ledger);
    session.PrintData(data);
  }
  return rejected ? kRejected : kOk;
}

}  // namespace berth::cli
