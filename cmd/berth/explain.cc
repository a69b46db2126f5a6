#include "berth/explain.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "engine/explanation/explain.h"
#include "offline/explanation.h"

namespace berth::cli {
namespace {

using codec::Json;
using offline::OfflineNode;
using offline::OfflineOptions;

std::unexpected<Error> Refuse(const std::string& what) { return Fail(Code::kInvalid, what); }

/// The names a pod may have on the node and in a manifest: static pods get "-<node>" at the end.
std::vector<std::string> NamesOf(const std::string& full_name, const std::string& node_name) {
  std::vector<std::string> out{full_name};
  if (node_name.empty()) return out;
  const std::string suffix = "-" + node_name;
  out.push_back(full_name + suffix);
  if (full_name.ends_with(suffix)) out.push_back(full_name.substr(0, full_name.size() - suffix.size()));
  return out;
}

Result<Pod> ChoosePod(const ExplainOptions& options, const std::string& node_name, std::ostream& err) {
  BERTH_TRY(std::vector<Pod> pods, offline::LoadPods(options.file, err));
  if (options.pod.empty()) {
    if (pods.size() == 1) return std::move(pods.front());
    return Refuse(options.file + " holds " + std::to_string(pods.size()) +
                  " pods; choose one with --pod NAMESPACE/NAME");
  }
  const std::string wanted = options.pod.contains('/') ? options.pod : "default/" + options.pod;
  for (const std::string& name : NamesOf(wanted, node_name)) {
    const auto found = std::ranges::find_if(pods, [&](const Pod& pod) { return FullName(pod) == name; });
    if (found != pods.end()) return std::move(*found);
  }
  return Refuse(options.file + " holds no pod " + Printable(wanted));
}

/// Takes a pod of the same name off the node, so that the answer is the one it would get now. True: there was one.
bool TakeOff(const std::string& full_name, OfflineNode& node) {
  for (const std::string& name : NamesOf(full_name, node.node_name)) {
    const PodRecord* const pod = FindPod(node.ledger, name);
    if (pod == nullptr) continue;
    Apply(node.ledger, engine::Release(node.node, node.ledger, pod->uid, nullptr));
    return true;
  }
  return false;
}

bool NothingNamed(const OfflineOptions& options) {
  return options.machine.empty() && options.config.empty() && options.ledger.empty();
}

}  // namespace

int RunExplain(const ExplainOptions& options, const Session& session) {
  OfflineOptions where = options.node;
  const bool running_node = NothingNamed(where);
  if (running_node) where.ledger = session.socket();
  const auto fail = [&](const Error& error) -> int {
    session.err() << "berth: " << error.message << "\n";
    return kFailed;
  };
  if (std::error_code ignored; running_node && !std::filesystem::is_socket(where.ledger, ignored)) {
    session.err() << "berth: no berthd listens on " << where.ledger
                  << "; start one, name its socket with --socket, or explain offline with --machine and --config\n";
    return kUnreachable;
  }
  auto node = offline::LoadOfflineNode(where, session.err());
  if (!node) return running_node ? session.Report(node.error()) : fail(node.error());
  auto pod = ChoosePod(options, node->node_name, session.err());
  if (!pod) return fail(pod.error());

  const bool was_there = TakeOff(FullName(*pod), *node);
  if (pod->uid.empty() || node->ledger.pods.contains(pod->uid)) pod->uid = "explained";
  const engine::Explanation explanation = engine::Explain(node->node, node->ledger, *pod, node->inputs);
  if (session.for_people()) {
    if (was_there) session.out() << "(explained as if " << FullName(*pod) << " were not on the node yet)\n";
    session.out() << offline::FormatExplanation(explanation, *pod, {.table = session.table(), .trace = session.wide()});
  } else {
    Json data = {{"pod", FullName(*pod)}, {"qosClass", Name(QosOf(*pod))}, {"machine", node->node.machine().source}};
    data.update(offline::ToJson(explanation));
    session.PrintData(data);
  }
  return std::holds_alternative<Reject>(explanation.decision) ? kRejected : kOk;
}

}  // namespace berth::cli
