#include "simulator/offline/version_comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <variant>

#include "base/words.h"
#include "config/config_file.h"
#include "config/kubelet_validation.h"
#include "manifest/field_reader.h"
#include "simulator/offline/placement_text.h"

namespace berth::offline {
namespace {

/// Of an admitted pod; empty: it was not.
std::span<const Placement> PlacesOf(const Outcome* outcome) {
  const auto* const admit = outcome != nullptr && outcome->decision ? std::get_if<Admit>(&*outcome->decision) : nullptr;
  if (admit == nullptr || !admit->delta.put) return {};
  return admit->delta.put->placements;
}

std::string PlaceText(const Placement& place) {
  std::string out = (place.cpus ? "CPUs " : "") + CpuText(place);
  if (const std::string memory = MemoryText(place); !memory.empty()) out += ", memory " + memory;
  if (const std::string devices = DeviceText(place); !devices.empty()) out += ", " + devices;
  return out;
}

std::string TextOf(const Outcome* outcome, const std::string& container) {
  if (outcome == nullptr) return "";
  const std::span<const Placement> places = PlacesOf(outcome);
  const auto found = std::ranges::find(places, container, &Placement::container);
  if (found != places.end()) return PlaceText(*found);
  return places.empty() ? ResultCell(*outcome).text : "";
}

/// Those that have a place in either, in the order of their pod; one without a name: there is none.
std::vector<std::string> ContainersOf(const Outcome* first, const Outcome* second) {
  std::vector<std::string> out;
  for (const Outcome* const outcome : {first, second})
    for (const Placement& place : PlacesOf(outcome))
      if (std::ranges::find(out, place.container) == out.end()) out.push_back(place.container);
  if (out.empty()) out.emplace_back();
  return out;
}

std::string TotalsText(const OutcomeComparison& compared, std::string_view first, std::string_view second) {
  const int all = compared.same + compared.elsewhere + compared.only_first + compared.only_second;
  return fmt::format(
      "{} as kubelet {} and as {}: {} the same, {} with other places, {} admitted by {} alone, {} by {}\n",
      Counted(all, "decision"), first, second, compared.same, compared.elsewhere, compared.only_first, first,
      compared.only_second, second);
}

Result<allocator::Node> DecidingAs(const allocator::Node& node, KubeletVersion version) {
  manifest::Report report;
  config::CheckKubeletConfiguration(node.config(), version, report);
  BERTH_RETURN_IF_ERROR(config::ErrorOf(report, "as kubelet " + std::string(Name(version))));
  allocator::EngineOptions options = node.options();
  options.kubelet_version = version;
  return allocator::Node::Make(node.machine(), node.config(), options);
}

}  // namespace

Result<OfflineNode> AsVersion(const OfflineNode& node, KubeletVersion version) {
  BERTH_TRY(allocator::Node other, DecidingAs(node.node, version));
  OfflineNode out = node;
  out.node = std::move(other);
  if (out.ledger.pods.empty()) out.ledger = out.node.EmptyLedger();  // reserved CPUs may be others
  return out;
}

OutcomeComparison CompareOutcomes(const std::vector<Outcome>& first, const std::vector<Outcome>& second) {
  std::map<std::pair<int, std::string>, std::pair<const Outcome*, const Outcome*>> steps;
  for (const Outcome& outcome : first) steps[{outcome.number, outcome.pod}].first = &outcome;
  for (const Outcome& outcome : second) steps[{outcome.number, outcome.pod}].second = &outcome;
  OutcomeComparison out;
  for (const auto& [step, both] : steps) {
    const auto& [one, other] = both;
    const std::size_t before = out.differences.size();
    for (const std::string& container : ContainersOf(one, other)) {
      OutcomeDifference found{step.first, step.second, container, TextOf(one, container), TextOf(other, container)};
      if (found.first != found.second) out.differences.push_back(std::move(found));
    }
    const bool decided = (one != nullptr && one->decision) || (other != nullptr && other->decision);
    if (!decided) continue;
    const bool in_first = !PlacesOf(one).empty();
    if (in_first != !PlacesOf(other).empty())
      ++(in_first ? out.only_first : out.only_second);
    else
      ++(in_first && out.differences.size() > before ? out.elsewhere : out.same);
  }
  return out;
}

std::string CompareText(const std::vector<VersionRun>& runs, const view::TableOptions& style) {
  std::string out;
  const std::string first(Name(runs.front().version));
  for (const VersionRun& run : std::span(runs).subspan(1)) {
    const std::string second(Name(run.version));
    const OutcomeComparison compared = CompareOutcomes(runs.front().outcomes, run.outcomes);
    view::Table table({{"STEP", view::Align::kRight},
                       {"POD"},
                       {"CONTAINER"},
                       {first, view::Align::kLeft, true},
                       {second, view::Align::kLeft, true}});
    for (const OutcomeDifference& d : compared.differences)
      table.AddRow({std::to_string(d.number), d.pod, d.container, d.first, d.second});
    if (!out.empty()) out += "\n";
    if (!table.empty()) out += table.Format(style) + "\n";
    out += TotalsText(compared, first, second);
  }
  return out;
}

codec::Json CompareJson(const std::vector<VersionRun>& runs) {
  codec::Json out = codec::Json::array();
  for (const VersionRun& run : std::span(runs).subspan(1)) {
    const OutcomeComparison compared = CompareOutcomes(runs.front().outcomes, run.outcomes);
    codec::Json differences = codec::Json::array();
    for (const OutcomeDifference& d : compared.differences)
      differences.push_back(
          {{"step", d.number}, {"pod", d.pod}, {"container", d.container}, {"first", d.first}, {"second", d.second}});
    out.push_back({{"first", Name(runs.front().version)},
                   {"second", Name(run.version)},
                   {"differences", std::move(differences)},
                   {"same", compared.same},
                   {"elsewhere", compared.elsewhere},
                   {"onlyFirst", compared.only_first},
                   {"onlySecond", compared.only_second}});
  }
  return out;
}

/// All that differs is how the static CPU policy picks CPUs.
std::vector<VersionDifference> OtherVersions(const allocator::NodeNow& now, const Pod& pod, const Decision& decision) {
  std::vector<VersionDifference> out;
  if (now.node.config().cpu_manager_policy != "static") return out;
  const auto outcome_of = [&](Decision of) {
    return std::vector{Outcome{
        .number = 1, .pod = FullName(pod), .added = AddStep{.file = "", .pod = pod}, .decision = std::move(of)}};
  };
  const std::vector<Outcome> here = outcome_of(decision);
  for (const KubeletVersion version : kKubeletVersions) {
    if (version == now.node.options().kubelet_version) continue;
    const auto other = DecidingAs(now.node, version);
    if (!other) continue;
    const std::vector<Outcome> there = outcome_of(allocator::Decide(*other, now.ledger, pod, now.inputs, nullptr));
    for (OutcomeDifference& d : CompareOutcomes(here, there).differences)
      out.push_back({version, std::move(d.container), std::move(d.first), std::move(d.second)});
  }
  return out;
}

}  // namespace berth::offline
