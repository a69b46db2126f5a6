#include "berth/diff_command.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/codec/views.h"
#include "base/text.h"
#include "berth/manifests_at.h"
#include "berth/pod_name.h"
#include "berth/state_command.h"
#include "berth/tree_command.h"
#include "host/os/input.h"
#include "manifest/manifest.h"
#include "view/style.h"
#include "view/table.h"

namespace berth::cli {
namespace {

using codec::Json;

/// One thing that differs.
struct Difference {
  std::string between;  ///< "ledger and kernel", "manifest and ledger"
  std::string where;
  std::string text;
};

/// The promises of the ledger, and values of groups.
Result<void> CompareKernel(const Session& session, std::vector<Difference>& out) {
  constexpr const char* kBetween = "ledger and kernel";
  BERTH_TRY(const std::vector<Checked> checked, CheckNode(session));
  for (const Checked& part : checked)
    for (const std::string& problem : part.broken) out.push_back({kBetween, part.what, problem});
  BERTH_TRY(TreeView tree, session.berthd().Tree());
  KeepWrong(tree);
  const auto add = [&](const std::string& path, const std::vector<ValueLine>& values) {
    for (const ValueLine& line : values)
      out.push_back({kBetween, path, line.file + " is " + line.found + ", should be " + line.wanted});
  };
  for (const GroupView& group : tree.groups) {
    if (!group.problem.empty()) out.push_back({kBetween, group.path, group.problem});
    add(group.path, group.values);
  }
  for (const HostGroup& group : tree.host_groups) add(group.path, group.values);
  return {};
}

bool HasPlace(const PodView& pod) {
  return std::ranges::any_of(pod.containers, [](const ContainerView& of) { return of.place.has_value(); });
}

/// Manifests that berthd knows, against what holds a place.
void ComparePods(const PodList& pods, std::vector<Difference>& out) {
  constexpr const char* kBetween = "manifest and ledger";
  for (const auto& pod : pods.pods) {
    const bool over = pod->phase == PodPhase::kSucceeded || (pod->phase == PodPhase::kFailed && pod->admitted_at);
    if (pod->source.empty() && HasPlace(*pod))
      out.push_back({kBetween, FullName(*pod), "holds a place, and no manifest is known"});
    else if (!pod->source.empty() && !HasPlace(*pod) && !over)
      out.push_back({kBetween, FullName(*pod),
                     "has a manifest and no place: " + (pod->reason.empty() ? "not decided yet" : pod->reason)});
  }
}

Result<void> CompareFile(const std::string& file, const PodList& pods, const std::string& node_name,
                         const Session& session, std::vector<Difference>& out) {
  BERTH_TRY(const std::string text, os::ReadInput(file));
  BERTH_TRY(const manifest::ParsedPods parsed, manifest::ParsePods(text, file, {.origin = os::OriginOf(file)}));
  for (const Pod& wanted : parsed.pods) {
    const auto found = PickNamedPod(pods, FullName(wanted), node_name);
    if (!found) {
      out.push_back({"manifest and node", FullName(wanted), "is in " + file + " and not on the node"});
      continue;
    }
    BERTH_TRY(const PodDetails on_node, session.berthd().GetPod((*found)->namespace_, (*found)->name));
    for (const std::string& difference : ManifestDifferences(on_node.manifest, wanted))
      out.push_back({"manifest and node", FullName(**found), difference});
  }
  return {};
}

Result<std::vector<Difference>> CompareAll(const DiffOptions& options, const Session& session) {
  std::vector<Difference> out;
  BERTH_TRY(const DaemonStatus status, session.berthd().Status());
  BERTH_RETURN_IF_ERROR(CompareKernel(session, out));
  BERTH_TRY(const PodList pods, session.berthd().Pods());
  ComparePods(pods, out);
  for (const std::string& name : options.files) {
    BERTH_TRY(const std::vector<std::string> files, ManifestsAt(name));
    for (const std::string& file : files)
      BERTH_RETURN_IF_ERROR(CompareFile(file, pods, status.node_name, session, out));
  }
  return out;
}

/// "/spec/containers/0/name" as "spec.containers[0].name".
std::string PathText(std::string_view pointer) {
  std::string out;
  for (const std::string_view part : Split(pointer, '/')) {
    if (part.empty()) continue;
    if (ParseDecimal<std::uint32_t>(part))
      out += "[" + std::string(part) + "]";
    else
      out += (out.empty() ? "" : ".") + std::string(part);
  }
  return out;
}

std::string ValueText(const Json& json, const std::string& pointer) {
  const Json::json_pointer at(pointer);
  if (!json.contains(at)) return "nothing";
  const Json& value = json[at];
  return value.is_string() ? value.get<std::string>() : codec::FormatJson(value);
}

/// What a person wrote of it.
Json Written(const Pod& pod) {
  Json whole = codec::ToJson(pod);
  Json out = {{"spec", whole.contains("spec") ? whole["spec"] : Json::object()}};
  out["spec"].erase("nodeName");  // the node's own
  if (!pod.labels.empty()) out["metadata"]["labels"] = pod.labels;
  return out;
}

}  // namespace

std::vector<std::string> ManifestDifferences(const Pod& on_node, const Pod& wanted) {
  const Json now = Written(on_node);
  const Json then = Written(wanted);
  std::vector<std::string> out;
  for (const Json& change : Json::diff(now, then)) {
    const auto pointer = change["path"].get<std::string>();
    out.push_back(PathText(pointer) + ": " + ValueText(now, pointer) + ", in the manifest " + ValueText(then, pointer));
  }
  return out;
}

int RunDiff(const DiffOptions& options, const Session& session) {
  const auto found = CompareAll(options, session);
  if (!found) return session.Report(found.error());
  const int status = found->empty() ? kOk : kFailed;
  if (!session.for_people()) {
    Json list = Json::array();
    for (const Difference& of : *found)
      list.push_back({{"between", of.between}, {"where", of.where}, {"text", of.text}});
    const int printed = session.PrintData({{"same", found->empty()}, {"differences", std::move(list)}});
    return printed == kOk ? status : printed;
  }
  if (found->empty()) {
    session.err() << "Ledger, kernel and manifests say the same.\n";
    return kOk;
  }
  view::Table table({{"BETWEEN"}, {"WHERE"}, {"WHAT", view::Align::kLeft, true}});
  for (const Difference& of : *found) table.AddRow({of.between, of.where, {of.text, view::Style::kWarn}});
  session.out() << table.Format(session.table());
  return status;
}

}  // namespace berth::cli
