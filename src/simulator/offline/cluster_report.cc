#include "simulator/offline/cluster_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

namespace berth::offline {
namespace {

/// "12.3".
std::string Tenths(double value) {
  const auto tenths = std::llround(value * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string Percent(double part) { return Tenths(part * 100) + "%"; }

std::string Gibibytes(double bytes) {
  return std::to_string(std::llround(bytes / static_cast<double>(GiB(1).v))) + "Gi";
}

double MeanWait(const ClusterOutcome& outcome) {
  return outcome.admitted == 0 ? 0 : outcome.waited_s / static_cast<double>(outcome.admitted);
}

codec::Json SamplesJson(const ClusterOutcome& outcome) {
  codec::Json out = codec::Json::array();
  for (const ClusterSample& sample : outcome.samples)
    out.push_back({{"seconds", std::llround(sample.at_s)},
                   {"running", sample.running},
                   {"waiting", sample.waiting},
                   {"rejectedByNode", sample.rejected},
                   {"freeCpus", sample.free_cpus},
                   {"strandedCpus", sample.stranded_cpus},
                   {"freeMemoryBytes", sample.free_memory},
                   {"strandedMemoryBytes", sample.stranded_memory}});
  return out;
}

// ---- picture ----

constexpr int kWidth = 760;
constexpr int kHeight = 150;  // of a chart
constexpr int kLeft = 70;
constexpr int kTop = 50;
constexpr int kGap = 60;
constexpr std::array<const char*, 6> kColors{"#b3413c", "#b58a1f", "#2f6f9f", "#4f8a4b", "#7a4f9a", "#555555"};

struct Chart {
  std::string title;
  std::function<double(const ClusterSample&)> value;
  std::function<std::string(double)> text;
};

std::string Whole(double value) { return std::to_string(std::llround(value)); }

std::vector<Chart> Charts() {
  return {{"pods rejected by their node, so far",
           [](const ClusterSample& s) { return static_cast<double>(s.rejected); }, Whole},
          {"free CPUs that are stranded, %",
           [](const ClusterSample& s) {
             return s.free_cpus == 0 ? 0.0
                                     : 100 * static_cast<double>(s.stranded_cpus) / static_cast<double>(s.free_cpus);
           },
           Tenths},
          {"pods that wait", [](const ClusterSample& s) { return static_cast<double>(s.waiting); }, Whole}};
}

std::string Text(int x, int y, const std::string& anchor, const std::string& text) {
  return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" text-anchor=\"" + anchor + "\">" +
         text + "</text>\n";
}

std::string LineOf(const ClusterOutcome& outcome, const Chart& chart, double until, double most, int top,
                   const char* color) {
  std::string points;
  for (const ClusterSample& sample : outcome.samples) {
    const double x = kLeft + kWidth * sample.at_s / until;
    const double y = top + kHeight * (1 - chart.value(sample) / most);
    points += Tenths(x) + "," + Tenths(y) + " ";
  }
  return "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + std::string(color) + "\" points=\"" + points +
         "\"/>\n";
}

std::string Draw(const std::vector<ClusterOutcome>& outcomes, const Chart& chart, int top) {
  double until = 1;
  double most = 0;
  for (const ClusterOutcome& outcome : outcomes)
    for (const ClusterSample& sample : outcome.samples) {
      until = std::max(until, sample.at_s);
      most = std::max(most, chart.value(sample));
    }
  if (most <= 0) most = 1;
  std::string out = Text(kLeft, top - 8, "start", chart.title);
  out += "<rect x=\"" + std::to_string(kLeft) + "\" y=\"" + std::to_string(top) + "\" width=\"" +
         std::to_string(kWidth) + "\" height=\"" + std::to_string(kHeight) + "\" fill=\"none\" stroke=\"#999\"/>\n";
  out += Text(kLeft - 6, top + 10, "end", chart.text(most)) + Text(kLeft - 6, top + kHeight, "end", "0");
  out += Text(kLeft + kWidth, top + kHeight + 16, "end", Tenths(until / 3600) + " h");
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    out += LineOf(outcomes[i], chart, until, most, top, kColors[i % kColors.size()]);
  return out;
}

}  // namespace

view::Table ClusterTable(const std::vector<ClusterOutcome>& outcomes) {
  using view::Align;
  view::Table out({{"RULE"},
                   {"ADMITTED", Align::kRight},
                   {"AT ONCE", Align::kRight},
                   {"REJECTED BY NODE", Align::kRight},
                   {"WAITING", Align::kRight},
                   {"MEAN WAIT", Align::kRight},
                   {"REQUESTED", Align::kRight},
                   {"STRANDED CPUS", Align::kRight},
                   {"STRANDED MEMORY", Align::kRight},
                   {"FRAGMENTATION", Align::kRight}});
  for (const ClusterOutcome& outcome : outcomes) {
    const ClusterMeans means = MeansOf(outcome);
    out.AddRow({RowName(outcome.rules),
                std::to_string(outcome.admitted),
                std::to_string(outcome.at_once),
                {std::to_string(outcome.rejected), outcome.rejected > 0 ? view::Style::kBad : view::Style::kPlain},
                std::to_string(outcome.waiting),
                Tenths(MeanWait(outcome)) + "s",
                Percent(means.requested),
                Tenths(means.stranded_cpus),
                Gibibytes(means.stranded_memory),
                Percent(means.fragmentation)});
  }
  return out;
}

codec::Json ToJson(const std::vector<ClusterOutcome>& outcomes) {
  codec::Json out = codec::Json::array();
  for (const ClusterOutcome& outcome : outcomes) {
    const ClusterMeans means = MeansOf(outcome);
    out.push_back({{"rule", Name(outcome.rules.rule)},
                   {"percentageOfNodesToScore", outcome.rules.percent_to_score},
                   {"admitted", outcome.admitted},
                   {"admittedAtOnce", outcome.at_once},
                   {"rejectedByNode", outcome.rejected},
                   {"waiting", outcome.waiting},
                   {"meanWaitSeconds", MeanWait(outcome)},
                   {"requested", means.requested},
                   {"strandedCpus", means.stranded_cpus},
                   {"strandedMemoryBytes", std::llround(means.stranded_memory)},
                   {"fragmentation", means.fragmentation},
                   {"samples", SamplesJson(outcome)}});
  }
  return out;
}

std::string ClusterPicture(const std::vector<ClusterOutcome>& outcomes) {
  const std::vector<Chart> charts = Charts();
  const int height = kTop + static_cast<int>(charts.size()) * (kHeight + kGap);
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(kLeft + kWidth + 20) +
                    "\" height=\"" + std::to_string(height) + "\" font-family=\"sans-serif\" font-size=\"12\">\n" +
                    "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const int x = kLeft + 120 * static_cast<int>(i);
    out += "<rect x=\"" + std::to_string(x) + "\" y=\"12\" width=\"20\" height=\"4\" fill=\"" +
           kColors[i % kColors.size()] + "\"/>\n" + Text(x + 26, 18, "start", RowName(outcomes[i].rules));
  }
  int top = kTop;
  for (const Chart& chart : charts) {
    out += Draw(outcomes, chart, top);
    top += kHeight + kGap;
  }
  return out + "</svg>\n";
}

}  // namespace berth::offline
