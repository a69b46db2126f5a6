#include "berth/pods_command.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "api/codec/views.h"
#include "base/id_set.h"
#include "base/text.h"
#include "berth/age.h"
#include "berth/describe_command.h"
#include "berth/follow.h"
#include "berth/pod_name.h"
#include "berth/selector.h"
#include "host/os/clock.h"
#include "view/table.h"

namespace berth::cli {
namespace {

using view::Align;
using view::Cell;
using view::Style;

/// Exclusive CPUs of all containers, or the named pools they run in, or "shared".
std::string CpusOf(const PodView& pod) {
  CpuSet exclusive;
  bool placed = false;
  std::set<std::string> pools;
  for (const ContainerView& container : pod.containers) {
    placed = placed || container.place;
    if (container.place && container.place->cpus) exclusive |= *container.place->cpus;
    if (container.place && !container.place->pool.empty()) pools.insert(PoolText(container.place->pool));
  }
  if (!exclusive.empty()) return FormatIds(exclusive);
  if (!pools.empty()) return Join(std::vector(pools.begin(), pools.end()), ", ");
  return placed ? "shared" : "";
}

std::string NodesOf(const PodView& pod) {
  NodeSet nodes;
  for (const ContainerView& container : pod.containers)
    if (container.place) nodes |= container.place->memory_nodes;
  return FormatIds(nodes);
}

/// Ready containers of those that should run: apps and sidecars.
std::string ReadyOf(const PodView& pod) {
  int ready = 0;
  int all = 0;
  for (const ContainerView& container : pod.containers) {
    if (container.kind == ContainerKind::kInit) continue;
    ++all;
    if (container.ready) ++ready;
  }
  return std::to_string(ready) + "/" + std::to_string(all);
}

int RestartsOf(const PodView& pod) {
  int sum = 0;
  for (const ContainerView& container : pod.containers) sum += container.restarts;
  return sum;
}

/// As "Init:1/3" or "Init:Error" while an init container or sidecar holds up the others; "": none does.
std::string InitStatusOf(const PodView& pod) {
  std::size_t done = 0;
  const auto all = std::ranges::count_if(pod.containers, [](const auto& c) { return c.kind != ContainerKind::kApp; });
  for (const ContainerView& container : pod.containers) {
    if (container.kind == ContainerKind::kApp) continue;
    const bool over = container.kind == ContainerKind::kInit ? container.ready : container.started;
    if (over || (container.kind == ContainerKind::kSidecar && container.phase == ContainerPhase::kExited)) {
      ++done;
    } else if (container.phase != ContainerPhase::kRunning && !container.reason.empty() &&
               container.reason != "PodInitializing" && container.reason != "ContainerCreating") {
      return "Init:" + container.reason;
    } else {
      return "Init:" + std::to_string(done) + "/" + std::to_string(all);
    }
  }
  return "";
}

std::string WaitsFor(const PodView& pod) { return pod.details.empty() ? pod.message : Join(pod.details, "; "); }

/// "WaitingForRoom 2/5": its place among all that wait.
std::string QueueText(const PodView& pod, int waiting) {
  return pod.reason + " " + std::to_string(pod.queue_place) + "/" + std::to_string(waiting);
}

/// The pod's own reason, else that of an init container, of a waiting container, its phase.
Cell StatusOf(const PodView& pod, int waiting) {
  std::string text = pod.queue_place > 0 ? QueueText(pod, waiting) : pod.reason;
  if (text.empty() && !pod.containers.empty()) text = InitStatusOf(pod);
  for (const ContainerView& container : pod.containers)
    if (text.empty() && container.phase == ContainerPhase::kWaiting) text = container.reason;
  if (text.empty() && pod.resize) text = pod.resize->in_progress ? "Resizing" : "Resize" + pod.resize->reason;
  Style style = Style::kPlain;
  if (pod.phase == PodPhase::kFailed) style = Style::kBad;
  if (pod.phase == PodPhase::kPending) style = Style::kWarn;
  if (pod.phase == PodPhase::kRunning) style = text.empty() ? Style::kGood : Style::kWarn;
  return {text.empty() ? std::string(Name(pod.phase)) : text, style};
}

std::string PodsTable(const PodList& pods, const Session& session) {
  std::vector<view::Column> columns = {{"NAMESPACE"},
                                       {"NAME"},
                                       {"READY", Align::kRight},
                                       {"STATUS"},
                                       {"CPUS"},
                                       {"MEMORY NODES"},
                                       {"QOS"},
                                       {"RESTARTS", Align::kRight},
                                       {"AGE", Align::kRight}};
  int waiting = 0;
  for (const auto& pod : pods.pods) waiting = std::max(waiting, pod->queue_place);
  if (waiting > 0) columns.push_back({.title = "WAITS FOR", .align = Align::kLeft, .may_cut = true});
  if (session.wide()) columns.insert(columns.end(), {{"REQUESTS"}, {"LABELS"}, {"UID"}, {"FILE"}});
  view::Table table(std::move(columns));
  const WallTime now = os::SystemClock().Wall();
  for (const auto& pod : pods.pods) {
    std::vector<Cell> row = {pod->namespace_,
                             pod->name,
                             ReadyOf(*pod),
                             StatusOf(*pod, waiting),
                             CpusOf(*pod),
                             NodesOf(*pod),
                             std::string(Name(pod->qos)),
                             std::to_string(RestartsOf(*pod)),
                             FormatAge(pod->admitted_at, now)};
    if (waiting > 0) row.emplace_back(pod->queue_place > 0 ? WaitsFor(*pod) : "");
    if (session.wide())
      row.insert(row.end(), {RequestsText(pod->requests), LabelsText(pod->labels), pod->uid, pod->file});
    table.AddRow(std::move(row));
  }
  return table.Format(session.table());
}

/// The pods that are asked for, of all there are. Errors: as PickPodOf.
Result<PodList> Choose(PodList all, const PodsOptions& options, const std::string& node_name) {
  BERTH_TRY(const Selector selector, Selector::Parse(options.selector));
  std::set<std::string> names;
  for (const std::string& given : options.pods) {
    BERTH_TRY(const auto pod, options.namespace_.empty() ? PickPod(all, given, node_name)
                                                         : PickPodOf(all, given, options.namespace_, node_name));
    names.insert(FullName(*pod));
  }
  std::erase_if(all.pods, [&](const auto& pod) {
    return (!options.namespace_.empty() && pod->namespace_ != options.namespace_) ||
           (!names.empty() && !names.contains(FullName(*pod))) || !selector.Fits(pod->labels);
  });
  return all;
}

/// What is printed of the changes of pods.
class PodWatch {
 public:
  explicit PodWatch(const Session& session) : session_(session) {}

  /// Lines of pods that are new or changed, below the columns of the first call; then those that are gone.
  void Show(const PodList& pods) {
    if (session_.for_people()) {
      const std::string text = PodsTable(pods, session_);
      const std::vector<std::string_view> lines = Split(text, '\n');
      if (first_ && !pods.pods.empty()) session_.out() << lines.front() << '\n';
      for (std::size_t i = 0; i < pods.pods.size(); ++i)
        if (Changed(*pods.pods[i])) session_.out() << lines[i + 1] << '\n';
      first_ = first_ && pods.pods.empty();
    } else {
      for (const auto& pod : pods.pods)
        if (Changed(*pod)) Print(*pod, pods.shared);
    }
    TellGone(pods);
    session_.out().flush();
  }

 private:
  void Print(const PodView& pod, const CpuSet& shared) const {
    if (session_.format() == OutputFormat::kName)
      session_.out() << FullName(pod) << '\n';
    else
      session_.PrintItem(codec::ToJson(pod, shared));
  }
  bool Changed(const PodView& pod) const {
    const auto known = seen_.find(FullName(pod));
    return known == seen_.end() || *known->second != pod;
  }
  void TellGone(const PodList& pods) {
    std::map<std::string, std::shared_ptr<const PodView>> now;
    for (const auto& pod : pods.pods) now.emplace(FullName(*pod), pod);
    for (const auto& [name, pod] : seen_)
      if (!now.contains(name)) {
        if (session_.for_people())
          session_.out() << name << " is gone\n";
        else if (session_.format() != OutputFormat::kName)
          session_.PrintItem({{"namespace", pod->namespace_}, {"name", pod->name}, {"gone", true}});
      }
    seen_ = std::move(now);
  }

  const Session& session_;
  std::map<std::string, std::shared_ptr<const PodView>> seen_;
  bool first_ = true;
};

/// Until the output ends, or berthd does not answer. Pods that are named may come and go.
int Watch(const PodsOptions& options, const Session& session, PodList pods, const std::set<std::string>& names) {
  PodWatch watch(session);
  PodsOptions of_namespace = options;
  of_namespace.pods.clear();
  for (;;) {
    std::erase_if(pods.pods, [&](const auto& pod) { return !names.empty() && !names.contains(FullName(*pod)); });
    watch.Show(pods);
    if (!session.out().good()) return kFailed;
    os::SleepFor(kFollowPeriod);
    auto next = session.berthd().Pods();
    if (!next) return session.Report(next.error());
    auto chosen = Choose(*std::move(next), of_namespace, "");
    if (!chosen) return session.Report(chosen.error());
    pods = *std::move(chosen);
  }
}

std::string WhyNone(const PodsOptions& options) {
  if (!options.selector.empty()) return "No pods with these labels.\n";
  if (!options.namespace_.empty()) return "No pods in namespace " + options.namespace_ + ".\n";
  return "No pods on this node; 'berth apply -f FILE' brings some.\n";
}

}  // namespace

Result<PodList> ChoosePods(const Session& session, const PodsOptions& options) {
  std::string node_name;
  if (!options.pods.empty()) {
    BERTH_TRY(const DaemonStatus status, session.berthd().Status());
    node_name = status.node_name;
  }
  BERTH_TRY(PodList all, session.berthd().Pods());
  return Choose(std::move(all), options, node_name);
}

int RunPods(const PodsOptions& options, const Session& session) {
  auto pods = ChoosePods(session, options);
  if (!pods) return session.Report(pods.error());
  if (options.watch) {
    std::set<std::string> names;
    if (!options.pods.empty())
      for (const auto& pod : pods->pods) names.insert(FullName(*pod));
    return Watch(options, session, *std::move(pods), names);
  }
  if (session.format() == OutputFormat::kName) {
    for (const auto& pod : pods->pods) session.out() << FullName(*pod) << '\n';
    return kOk;
  }
  if (!session.for_people()) return session.PrintData(codec::ToJson(*pods));
  if (pods->pods.empty())
    session.err() << WhyNone(options);
  else
    session.out() << PodsTable(*pods, session);
  return kOk;
}

}  // namespace berth::cli
