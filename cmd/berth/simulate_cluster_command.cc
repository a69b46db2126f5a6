#include "berth/simulate_cluster_command.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/mutex.h"
#include "base/words.h"
#include "berth/progress.h"
#include "simulator/cluster/fleet.h"
#include "simulator/offline/cluster_nodes.h"
#include "simulator/offline/cluster_report.h"
#include "simulator/offline/cluster_run.h"

namespace berth::cli {
namespace {

using offline::ClusterOutcome;
using offline::SchedulerRule;

Result<void> AddNodes(const std::vector<offline::NodeGroup>& groups, cluster::Fleet& fleet) {
  std::size_t number = 0;
  for (const offline::NodeGroup& group : groups) {
    BERTH_TRY(const allocator::Node node,
              allocator::Node::Make(group.description.machine, group.description.config, group.description.options));
    const Ledger empty = node.EmptyLedger();
    for (std::size_t i = 0; i < group.count; ++i) {
      BERTH_TRY([[maybe_unused]] const cluster::NodeIndex added,
                fleet.Put("node-" + std::to_string(++number), group.description, empty));
    }
  }
  return {};
}

cluster::Preference PreferenceOf(const std::string& word) {
  if (word == "tight") return cluster::Preference::kTight;
  if (word == "packed") return cluster::Preference::kPacked;
  return word == "spread" ? cluster::Preference::kSpread : cluster::Preference::kBalanced;
}

void Print(const offline::Workload& workload, const std::vector<ClusterOutcome>& outcomes, std::size_t nodes,
           const offline::WorkloadOptions& asked, const Session& session) {
  const std::int64_t cpus = outcomes.empty() ? 0 : outcomes.front().cpus;
  if (!session.for_people()) {
    session.PrintData({{"nodes", nodes},
                       {"allocatableCpus", cpus},
                       {"pods", workload.arrivals.size() - workload.filling},
                       {"podsAtStart", workload.filling},
                       {"hours", asked.hours},
                       {"seed", asked.seed},
                       {"usualCpus", workload.usual.cpus},
                       {"usualMemoryBytes", workload.usual.memory},
                       {"rules", offline::ToJson(outcomes)}});
    return;
  }
  const auto pods = static_cast<std::int64_t>(workload.arrivals.size() - workload.filling);
  session.out() << Counted(static_cast<std::int64_t>(nodes), "node") << " with " << cpus << " allocatable CPUs and "
                << Counted(static_cast<std::int64_t>(workload.filling), "pod") << " to begin with; " << pods
                << (pods == 1 ? " comes" : " come") << " in " << asked.hours << " h (seed " << asked.seed
                << "); usual request: " << Counted(workload.usual.cpus, "CPU") << ", "
                << Quantity::FromBytes(MiB(workload.usual.memory >> 20)).ToString() << "\n\n"
                << offline::ClusterTable(outcomes).Format(session.table());
}

std::vector<offline::ClusterRules> RulesOf(const ClusterOptions& options) {
  std::vector<offline::ClusterRules> out;
  for (const SchedulerRule rule : {SchedulerRule::kDefault, SchedulerRule::kTopology, SchedulerRule::kExtender}) {
    if (options.rule != "all" && options.rule != offline::Name(rule)) continue;
    for (const unsigned percent : options.percents.empty() ? std::vector<unsigned>{0} : options.percents)
      out.push_back({.rule = rule, .percent_to_score = percent, .preference = PreferenceOf(options.score)});
  }
  return out;
}

/// How far each simulation is, in one line. Thread: any.
class Shares {
 public:
  Shares(const Session& session, const std::vector<offline::ClusterRules>& rules)
      : progress_(session), rules_(rules), done_(rules.size()) {}
  void Tell(std::size_t i, double done) BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    done_[i] = static_cast<int>(done * 100);
    std::string text;
    for (std::size_t k = 0; k < done_.size(); ++k)
      text += (k == 0 ? "" : "; ") + offline::RowName(rules_[k]) + ": " + std::to_string(done_[k]) + " %";
    progress_.Tell(text);
  }

 private:
  Mutex mutex_;
  Progress progress_ BERTH_GUARDED_BY(mutex_);
  const std::vector<offline::ClusterRules>& rules_;
  std::vector<int> done_ BERTH_GUARDED_BY(mutex_);
};

/// Each rule has the cluster for itself, and as many run at one time as the host has CPUs.
std::vector<ClusterOutcome> SimulateRules(const std::vector<offline::NodeGroup>& groups,
                                          const offline::Workload& workload,
                                          const std::vector<offline::ClusterRules>& rules, const Session& session) {
  std::vector<ClusterOutcome> out(rules.size());
  Shares shares(session, rules);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t k = next++; k < rules.size(); k = next++) {
      const std::size_t i = rules.size() - 1 - k;  // the extender takes longest
      cluster::Fleet fleet;
      BERTH_CHECK(AddNodes(groups, fleet).has_value());  // it went well before
      out[i] = offline::RunCluster(fleet, workload, rules[i], [&](double done) { shares.Tell(i, done); });
      shares.Tell(i, 1);
    }
  };
  const std::size_t threads = std::min<std::size_t>(rules.size(), std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::jthread& other : others) other.join();
  return out;
}

/// Gives the exit status.
Result<int> RunAll(const ClusterOptions& options, const offline::OfflineOptions& node, const Session& session) {
  BERTH_TRY(const std::vector<offline::NodeGroup> groups, offline::ReadNodeGroups(options.nodes, node, session.err()));
  offline::Workload workload;
  std::size_t nodes = 0;
  {
    cluster::Fleet fleet;
    BERTH_RETURN_IF_ERROR(AddNodes(groups, fleet));
    BERTH_TRY(workload, offline::MakeWorkload(options.workload, fleet, session.err()));
    nodes = fleet.size();
  }
  const std::vector<ClusterOutcome> outcomes = SimulateRules(groups, workload, RulesOf(options), session);
  if (session.draws()) return session.PrintDrawing(offline::ClusterPicture(outcomes));
  Print(workload, outcomes, nodes, options.workload, session);
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
