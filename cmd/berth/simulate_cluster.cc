#include "berth/simulate_cluster.h"

#include "base/words.h"
#include "berth/progress.h"
#include "fleet/fleet.h"
#include "offline/cluster_nodes.h"
#include "offline/cluster_report.h"
#include "offline/cluster_run.h"

namespace berth::cli {
namespace {

using offline::ClusterOutcome;
using offline::SchedulerRule;

Result<void> AddNodes(const std::vector<offline::NodeGroup>& groups, fleet::Fleet& fleet) {
  std::size_t number = 0;
  for (const offline::NodeGroup& group : groups) {
    BERTH_TRY(const engine::Node node,
              engine::Node::Make(group.description.machine, group.description.config, group.description.options));
    const Ledger empty = node.EmptyLedger();
    for (std::size_t i = 0; i < group.count; ++i) {
      BERTH_TRY([[maybe_unused]] const fleet::NodeIndex added,
                fleet.Put("node-" + std::to_string(++number), group.description, empty));
    }
  }
  return {};
}

fleet::Preference PreferenceOf(const std::string& word) {
  if (word == "tight") return fleet::Preference::kTight;
  if (word == "packed") return fleet::Preference::kPacked;
  return word == "spread" ? fleet::Preference::kSpread : fleet::Preference::kBalanced;
}

void Print(const offline::Workload& workload, const std::vector<ClusterOutcome>& outcomes, std::size_t nodes,
           std::uint64_t seed, const Session& session) {
  const std::int64_t cpus = outcomes.empty() ? 0 : outcomes.front().cpus;
  if (!session.for_people()) {
    session.PrintData({{"nodes", nodes},
                       {"allocatableCpus", cpus},
                       {"pods", workload.arrivals.size()},
                       {"seed", seed},
                       {"usualCpus", workload.usual.cpus},
                       {"usualMemoryBytes", workload.usual.memory},
                       {"rules", offline::ToJson(outcomes)}});
    return;
  }
  const auto hours = workload.arrivals.empty() ? 0.0 : workload.arrivals.back().at_s / 3600;
  const auto tenths = static_cast<std::int64_t>(hours * 10);
  session.out() << Counted(static_cast<std::int64_t>(nodes), "node") << " with " << cpus << " allocatable CPUs; "
                << Counted(static_cast<std::int64_t>(workload.arrivals.size()), "pod") << " come in " << tenths / 10
                << "." << tenths % 10 << " h (seed " << seed
                << "); usual request: " << Counted(workload.usual.cpus, "CPU") << ", "
                << Quantity::FromBytes(MiB(workload.usual.memory >> 20)).ToString() << "\n\n"
                << offline::ClusterTable(outcomes).Format(session.table());
}

/// Each rule has the cluster for itself. Gives the exit status.
Result<int> RunAll(const ClusterOptions& options, const offline::OfflineOptions& node, const Session& session) {
  BERTH_TRY(const std::vector<offline::NodeGroup> groups, offline::ReadNodeGroups(options.nodes, node, session.err()));
  std::vector<ClusterOutcome> outcomes;
  offline::Workload workload;
  std::size_t nodes = 0;
  Progress progress(session);
  for (const SchedulerRule rule :
       {SchedulerRule::kDefault, SchedulerRule::kTopology, SchedulerRule::kExtender, SchedulerRule::kExtenderAll}) {
    if (options.rule != "all" && options.rule != offline::Name(rule)) continue;
    // In a small cluster all nodes are compared anyway.
    if (options.rule == "all" && rule == SchedulerRule::kExtenderAll && offline::EnoughToCompare(nodes) == nodes)
      continue;
    fleet::Fleet fleet;
    BERTH_RETURN_IF_ERROR(AddNodes(groups, fleet));
    if (outcomes.empty()) {
      BERTH_TRY(workload, offline::MakeWorkload(options.workload, fleet, session.err()));
      nodes = fleet.size();
    }
    progress.Tell("the scheduler " + std::string(offline::Name(rule)) + ": " +
                  std::to_string(workload.arrivals.size()) + " pods on " + std::to_string(nodes) + " nodes");
    outcomes.push_back(offline::RunCluster(fleet, workload, {.rule = rule, .preference = PreferenceOf(options.score)}));
  }
  progress.Clear();
  if (session.draws()) return session.PrintDrawing(offline::ClusterPicture(outcomes));
  Print(workload, outcomes, nodes, options.workload.seed, session);
  return kOk;
}

}  // namespace

int RunSimulateCluster(const ClusterOptions& options, const offline::OfflineOptions& node, const Session& session) {
  const auto status = RunAll(options, node, session);
  if (status) return *status;
  session.err() << "berth: " << status.error().message << "\n";
  return kFailed;
}

}  // namespace berth::cli
