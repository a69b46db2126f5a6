#include "berth/explain_command.h"

#include "api/codec/views.h"
#include "base/text.h"
#include "berth/nearest_word.h"
#include "simulator/offline/pod_explanation.h"

namespace berth::cli {
namespace {

using offline::OfflineOptions;

std::unexpected<Error> Refuse(const std::string& what) { return Fail(Code::kInvalid, what); }

Result<Pod> ChoosePod(const ExplainOptions& options, const std::string& node_name, std::ostream& err) {
  BERTH_TRY(std::vector<Pod> pods, offline::LoadPods(options.file, err));
  if (options.pod.empty()) {
    if (pods.size() == 1) return std::move(pods.front());
    return Refuse(options.file + " holds " + std::to_string(pods.size()) +
                  " pods; choose one with --pod NAMESPACE/NAME");
  }
  std::vector<std::string> known;
  for (const Pod& pod : pods) known.push_back(FullName(pod));
  const bool any_namespace = !options.pod.contains('/');
  for (const std::string& name : offline::NamesOf(options.pod, node_name)) {
    std::vector<Pod*> found;
    for (Pod& pod : pods)
      if ((any_namespace ? pod.name : FullName(pod)) == name) found.push_back(&pod);
    if (found.size() == 1) return std::move(*found.front());
    if (found.size() < 2) continue;
    std::vector<std::string> several;
    for (const Pod* const pod : found) several.push_back(FullName(*pod));
    return Refuse(options.file + " holds several pods " + Printable(name) +
                  "; choose one with --pod NAMESPACE/NAME: " + ListSome(several));
  }
  const std::string nearest = Nearest(options.pod, known);
  return Refuse(options.file + " holds no pod " + Printable(options.pod) +
                (nearest.empty() ? "; it has " + ListSome(known) : ", did you mean " + nearest + "?"));
}

bool NothingNamed(const OfflineOptions& options) {
  return options.machine.empty() && options.config.empty() && options.ledger.empty() && options.devices.empty() &&
         options.berth_config.empty() && options.kubelet_version.empty() && options.node_fit && options.whole_cores &&
         !options.close_devices && !options.judge_by_free_memory && !options.memory_groups_overlap &&
         !options.pod_falls_back && !options.keep_rest_aligned && !options.look_ahead;
}

int Refused(const Error& error, const Session& session) {
  session.err() << "berth: " << error.message << "\n";
  return kFailed;
}

/// berthd knows more than its books: what it waits for.
int AskBerthd(const ExplainOptions& options, const Session& session) {
  const auto status = session.berthd().Status();
  if (!status) return session.Report(status.error());
  const auto pod = ChoosePod(options, status->node_name, session.err());
  if (!pod) return Refused(pod.error(), session);
  const auto outlook = session.berthd().Explain(codec::FormatJson(codec::ToJson(*pod)));
  return outlook ? PrintOutlook(*outlook, session) : session.Report(outlook.error());
}

}  // namespace

int PrintOutlook(const Outlook& outlook, const Session& session) {
  if (session.for_people())
    session.out() << offline::FormatOutlook(outlook, {.table = session.table(), .trace = session.wide()});
  else
    session.PrintData(codec::ToJson(outlook));
  return outlook.wait || std::holds_alternative<Reject>(outlook.explanation.decision) ? kRejected : kOk;
}

int RunExplain(const ExplainOptions& options, const Session& session) {
  OfflineOptions where = options.node;
  const bool on_paper = !where.machine.empty() || !where.config.empty() || !where.ledger.empty();
  if (!on_paper && session.NobodyListens()) {
    session.err() << "berth: no berthd listens on " << session.socket()
                  << "; start one, name its socket with --socket, or explain offline with --machine and --config\n";
    return kUnreachable;
  }
  if (NothingNamed(where)) return AskBerthd(options, session);
  if (!on_paper) where.ledger = session.socket();  // its node, with other devices or without its limits
  auto node = offline::LoadOfflineNode(where, session.err());
  if (!node) return on_paper ? Refused(node.error(), session) : session.Report(node.error());
  auto pod = ChoosePod(options, node->node_name, session.err());
  if (!pod) return Refused(pod.error(), session);
  return PrintOutlook(offline::ExplainNow(node->node, std::move(node->ledger), node->conditions, *std::move(pod),
                                          node->inputs, node->node_name),
                      session);
}

}  // namespace berth::cli
