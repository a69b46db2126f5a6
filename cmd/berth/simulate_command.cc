#include "berth/simulate_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "berth/progress.h"
#include "model/kubelet_version.h"
#include "simulator/offline/queueing.h"
#include "simulator/offline/simulation.h"
#include "simulator/offline/version_comparison.h"
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

std::string_view VersionOf(const OfflineNode& node) { return Name(node.node.options().kubelet_version); }

void PrintVersion(const OfflineNode& node, const Session& session) {
  session.out() << "\ndecided as kubelet " << VersionOf(node) << "\n";
}

/// One table for all steps; with the map, a table and a picture for each.
class PeoplePrinter {
 public:
  PeoplePrinter(const Session& session, bool map) : session_(session), map_(map), table_(offline::OutcomeTable()) {}

  /// What came of one step.
  void Step(const std::vector<offline::Outcome>& outcomes, const OfflineNode& node) {
    for (const offline::Outcome& outcome : outcomes) {
      offline::AddRows(outcome, table_);
      outcomes_.push_back(outcome);
    }
    if (!map_) return;
    if (outcomes_.front().number > 1) session_.out() << "\n";
    Flush();
    PrintMap(node, session_);
  }

  void Finish(const OfflineNode& node, const std::vector<std::string>& waiting) {
    if (!map_) Flush();
    if (!waiting.empty()) session_.out() << "\nwaiting: " << Join(waiting, ", ") << "\n";
    for (const auto& [name, pool] : node.ledger.pools)
      session_.out() << "\n" << PoolText(name) << ": " << CpusText(pool) << "\n";
    if (!node.ledger.shared.empty()) session_.out() << "\nshared pool: " << FormatIds(node.ledger.shared) << "\n";
    PrintVersion(node, session_);
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

/// What came of all steps.
struct Course {
  std::vector<offline::Outcome> outcomes;
  std::vector<std::string> waiting;  ///< in the end

  bool all_admitted() const {
    return waiting.empty() && std::ranges::none_of(outcomes, [](const offline::Outcome& outcome) {
             return offline::Rejection(outcome) != nullptr && outcome.place == 0;
           });
  }
};

/// `hear` is told what came of each step.
Course TakeAll(const std::vector<offline::Step>& steps, OfflineNode& node,
               const std::function<void(const std::vector<offline::Outcome>&)>& hear) {
  Course out;
  offline::Queueing queueing(node);
  int number = 0;
  for (const offline::Step& step : steps) {
    const std::vector<offline::Outcome> outcomes = queueing.Take(step, ++number);
    hear(outcomes);
    out.outcomes.insert(out.outcomes.end(), outcomes.begin(), outcomes.end());
  }
  out.waiting = queueing.Waiting();
  return out;
}

Json CourseJson(const Course& course, const OfflineNode& node) {
  Json out = {{"kubeletVersion", VersionOf(node)}, {"steps", Json::array()}};
  for (const offline::Outcome& outcome : course.outcomes) out["steps"].push_back(offline::ToJson(outcome));
  if (node.queue.most_waiting > 0) out["waiting"] = course.waiting;
  out["ledger"] = codec::ToJson(node.ledger);
  return out;
}

/// The steps once for each version, from `start` on, and what comes out otherwise. Errors: of offline::AsVersion.
Result<int> RunVersions(const std::vector<offline::Step>& steps, const std::vector<std::string>& versions,
                        const OfflineNode& start, const Session& session) {
  std::vector<offline::VersionRun> runs;
  Json each = Json::array();
  bool all = true;
  Progress progress(session);
  for (const std::string& name : versions) {
    BERTH_TRY(const KubeletVersion version, ParseKubeletVersion(name));
    BERTH_TRY(OfflineNode node, offline::AsVersion(start, version));
    Course course = TakeAll(steps, node, [&](const std::vector<offline::Outcome>& outcomes) {
      progress.Tell(fmt::format("kubelet {}: step {} of {}", name, outcomes.front().number, steps.size()));
    });
    all = all && course.all_admitted();
    if (!session.for_people()) each.push_back(CourseJson(course, node));
    runs.push_back({.version = version, .outcomes = std::move(course.outcomes)});
  }
  progress.Clear();
  if (session.for_people())
    session.out() << offline::CompareText(runs, session.table());
  else
    session.PrintData({{"machine", start.node.machine().source},
                       {"versions", std::move(each)},
                       {"comparisons", offline::CompareJson(runs)}});
  return all ? kOk : kRejected;
}

/// Of a text that the command line has checked.
int CopiesOf(const std::string& replicas) {
  constexpr int kMost = 100'000;
  return replicas == "max" ? kMost : ParseDecimal<int>(replicas).value_or(1);
}

/// How many copies of each pod fit, one after the other.
int RunCopies(const std::vector<offline::Step>& steps, const std::string& replicas, bool map, OfflineNode& node,
              const Session& session) {
  const int asked = CopiesOf(replicas);
  std::vector<offline::Fit> fits;
  bool all = true;
  Progress progress(session);
  for (const offline::Step& step : steps) {
    if (const auto* add = std::get_if<offline::AddStep>(&step))
      fits.push_back(offline::AddCopies(*add, asked, node, [&](int fit) {
        progress.Tell(FullName(add->pod) + ": " + std::to_string(fit) + " fit");
      }));
    else
      offline::TakeStep(step, 0, node);
  }
  progress.Clear();
  Json list = Json::array();
  for (const offline::Fit& fit : fits) {
    all = all && (!fit.next || (replicas == "max" && fit.fit > 0));
    list.push_back(offline::ToJson(fit));
  }
  if (!session.for_people()) {
    session.PrintData({{"machine", node.node.machine().source},
                       {"kubeletVersion", VersionOf(node)},
                       {"fits", std::move(list)},
                       {"ledger", codec::ToJson(node.ledger)}});
  } else {
    session.out() << offline::FitTable(fits).Format(session.table());
    if (map) PrintMap(node, session);
    PrintVersion(node, session);
  }
  return all ? kOk : kRejected;
}

}  // namespace

int RunSimulate(const SimulateOptions& options, const Session& session) {
  const auto fail = [&](const Error& error) {
    session.err() << "berth: " << error.message << "\n";
    return kFailed;
  };
  std::vector<std::string> words = options.files;
  words.insert(words.end(), options.steps.begin(), options.steps.end());
  if (options.versions.size() > 1 && (!options.cluster.nodes.empty() || !options.replicas.empty() || options.map))
    return fail({.code = Code::kInvalid,
                 .message = "--cluster, --replicas and --map are of one version: give one with --kubelet-version"});
  offline::OfflineOptions where = options.node;
  if (!options.versions.empty()) where.kubelet_version = options.versions.front();
  if (!options.cluster.nodes.empty()) {
    if (!options.replicas.empty())
      return fail({.code = Code::kInvalid, .message = "--replicas is of one node: with --cluster it is --pods"});
    if (options.map || !options.node.ledger.empty())
      return fail(
          {.code = Code::kInvalid, .message = "--map and --ledger are of one node: leave them out with --cluster"});
    ClusterOptions cluster = options.cluster;
    cluster.workload.manifests = words;
    return RunSimulateCluster(cluster, where, session);
  }
  if (session.draws())
    return fail({.code = Code::kInvalid,
                 .message = "-o svg and png are pictures of a cluster: give --cluster; one node is drawn by 'berth map "
                            "-m MACHINE --with FILE -o svg'"});
  if (words.empty()) {
    session.err() << "berth simulate: -f FILE or a step is required\nSee 'berth simulate --help'.\n";
    return kUsage;
  }
  auto node = offline::LoadOfflineNode(where, session.err());
  if (!node) return fail(node.error());
  const auto steps = offline::ReadSteps(words, node->ledger, session.err());
  if (!steps) return fail(steps.error());
  if (!options.replicas.empty()) return RunCopies(*steps, options.replicas, options.map, *node, session);

  if (options.versions.size() > 1) {
    const auto done = RunVersions(*steps, options.versions, *node, session);
    return done ? *done : fail(done.error());
  }

  PeoplePrinter people(session, options.map);
  Progress progress(session);
  const Course course = TakeAll(*steps, *node, [&](const std::vector<offline::Outcome>& outcomes) {
    if (!options.map) progress.Tell(fmt::format("step {} of {}", outcomes.front().number, steps->size()));
    if (session.for_people()) people.Step(outcomes, *node);
  });
  progress.Clear();
  if (session.for_people()) {
    people.Finish(*node, course.waiting);
  } else {
    Json data = {{"machine", node->node.machine().source}};
    data.update(CourseJson(course, *node));
    session.PrintData(data);
  }
  return course.all_admitted() ? kOk : kRejected;
}

}  // namespace berth::cli
