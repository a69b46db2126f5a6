#include "kubernetes/scheduler_server/figures.h"

#include "telemetry/metrics/exposition_format.h"

namespace berth::scheduler_server {
namespace {

using metrics::Family;

constexpr Family kReady{"berth_scheduler_ready", metrics::Kind::kGauge,
                        "Whether all of the cluster is known, so that calls are answered: 1 or 0."};
constexpr Family kCalls{
    "berth_scheduler_calls_total", metrics::Kind::kCounter, "Calls of the scheduler.", {"verb", "result"}};
constexpr Family kCallTime{"berth_scheduler_call_seconds",
                           metrics::Kind::kHistogram,
                           "Seconds that a call took, with the wait for what may change.",
                           {"verb"}};
constexpr Family kNodes{"berth_scheduler_nodes",
                        metrics::Kind::kGauge,
                        "Nodes that publish a state, by whether it can be used.",
                        {"state"}};
constexpr Family kPods{"berth_scheduler_pods",
                       metrics::Kind::kGauge,
                       "Pods that count where no node shows them: undecided (told nodes, and nothing heard of them) "
                       "and awaited (bound or nominated); and unreadable ones, which do not count.",
                       {"state"}};
constexpr Family kTrouble{"berth_scheduler_trouble",
                          metrics::Kind::kGauge,
                          "Whether the API server cannot be followed at this time, 1 or 0; by what is followed.",
                          {"resource"}};

double Number(std::size_t value) { return static_cast<double>(value); }

}  // namespace

std::string_view Name(Verb verb) { return verb == Verb::kFilter ? "filter" : "prioritize"; }

std::string_view Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAnswered: return "answered";
    case Outcome::kNotReady: return "not_ready";
    case Outcome::kInvalid: return "invalid";
    case Outcome::kRefused: return "refused";
  }
  return "";
}

std::string FormatMetrics(const ClusterFigures& cluster, const CallFigures& calls) {
  metrics::Page page;
  page.Begin(kReady);
  page.Add(cluster.ready ? 1 : 0);
  page.Begin(kCalls);
  for (std::size_t verb = 0; verb < kVerbs.size(); ++verb)
    for (std::size_t outcome = 0; outcome < kOutcomes.size(); ++outcome)
      page.Add(Number(calls.counts[verb][outcome]), {Name(kVerbs[verb]), Name(kOutcomes[outcome])});
  page.Begin(kCallTime);
  for (std::size_t verb = 0; verb < kVerbs.size(); ++verb) page.Add(calls.seconds[verb], {Name(kVerbs[verb])});
  page.Begin(kNodes);
  page.Add(Number(cluster.books.nodes), {"usable"});
  page.Add(Number(cluster.books.unusable), {"unusable"});
  page.Begin(kPods);
  page.Add(Number(cluster.books.undecided), {"undecided"});
  page.Add(Number(cluster.books.awaited), {"awaited"});
  page.Add(Number(cluster.unreadable_pods), {"unreadable"});
  page.Begin(kTrouble);
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind)
    page.Add(cluster.trouble[kind] ? 1 : 0, {Name(kKinds[kind])});
  return std::move(page).text();
}

}  // namespace berth::scheduler_server
