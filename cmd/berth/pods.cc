#include "berth/pods.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/id_set.h"
#include "base/text.h"
#include "berth/age.h"
#include "berth/follow.h"
#include "berth/pod_name.h"
#include "codec/views.h"
#include "os/clock.h"
#include "view/table.h"

namespace berth::cli {
namespace {

using view::Align;
using view::Cell;
using view::Style;

/// Exclusive CPUs of all containers, or "shared".
std::string CpusOf(const PodView& pod) {
  CpuSet exclusive;
  bool placed = false;
  for (const ContainerView& container : pod.containers) {
    placed = placed || container.place;
    if (container.place && container.place->cpus) exclusive |= *container.place->cpus;
  }
  if (!exclusive.empty()) return FormatIds(exclusive);
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

/// The pod's own reason, else that of an init container, of a waiting container, its phase.
Cell StatusOf(const PodView& pod) {
  std::string text = pod.reason;
  if (text.empty() && !pod.containers.empty()) text = InitStatusOf(pod);
  for (const ContainerView& container : pod.containers)
    if (text.empty() && container.phase == ContainerPhase::kWaiting) text = container.reason;
  Style style = Style::kPlain;
  if (pod.phase == PodPhase::kFailed) style = Style::kBad;
  if (pod.phase == PodPhase::kPending) style = Style::kWarn;
  if (pod.phase == PodPhase::kRunning) style = text.empty() ? Style::kGood : Style::kWarn;
  return {text.empty() ? std::string(Name(pod.phase)) : text, style};
}

std::string RequestsOf(const PodView& pod) {
  std::vector<std::string> parts;
  for (const auto& [name, amount] : pod.requests) parts.push_back(name + " " + amount.ToString());
  return Join(parts, ", ");
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
  if (session.wide()) columns.insert(columns.end(), {{"REQUESTS"}, {"UID"}, {"FILE"}});
  view::Table table(std::move(columns));
  const WallTime now = os::SystemClock().Wall();
  for (const auto& pod : pods.pods) {
    std::vector<Cell> row = {pod->namespace_,
                             pod->name,
                             ReadyOf(*pod),
                             StatusOf(*pod),
                             CpusOf(*pod),
                             NodesOf(*pod),
                             std::string(Name(pod->qos)),
                             std::to_string(RestartsOf(*pod)),
                             FormatAge(pod->admitted_at, now)};
    if (session.wide()) row.insert(row.end(), {RequestsOf(*pod), pod->uid, pod->file});
    table.AddRow(std::move(row));
  }
  view::TableOptions options = session.table();
  if (session.wide()) options.width = 0;
  return table.Format(options);
}

void Line(std::ostream& out, int indent, const std::string& name, const std::string& value) {
  if (value.empty()) return;
  out << std::string(static_cast<std::size_t>(indent), ' ') << view::PadRight(name + ":", 16 - indent) << ' '
      << Printable(value, value.size()) << '\n';
}

std::string HintText(const TopologyHint& hint) {
  return (hint.nodes ? "NUMA " + FormatIds(*hint.nodes) : "any NUMA node") +
         (hint.preferred ? ", preferred" : ", not preferred");
}

void AddPart(std::string& out, const std::string& part) {
  if (!part.empty()) out += ", " + part;
}

std::string StateText(const ContainerView& container, WallTime now) {
  std::string out(Name(container.phase));
  const bool runs = container.phase == ContainerPhase::kRunning;
  if (runs && container.last) {
    if (container.last->pid > 0) AddPart(out, "pid " + std::to_string(container.last->pid));
    const std::string age = FormatAge(ParseTime(container.last->started_at), now);
    if (!age.empty()) AddPart(out, "for " + age);
  }
  if (container.phase == ContainerPhase::kExited && container.last && container.last->exit_code)
    AddPart(out, "exit code " + std::to_string(*container.last->exit_code));
  AddPart(out, container.reason);
  AddPart(out, container.message);
  return out;
}

std::string DevicesText(const std::vector<DeviceAssignment>& devices) {
  std::vector<std::string> parts;
  for (const DeviceAssignment& device : devices) parts.push_back(device.resource + " " + Join(device.ids, ","));
  return Join(parts, "; ");
}

/// How the newest attempt ended, for a container that does not say so by its state.
std::string LastEndText(const ContainerView& container) {
  if (!container.last_end || container.phase == ContainerPhase::kExited) return {};
  const ContainerEnd& end = *container.last_end;
  std::string out = end.reason;
  if (end.exit_code) AddPart(out, "exit code " + std::to_string(*end.exit_code));
  AddPart(out, end.finished_at);
  AddPart(out, end.message);
  return out;
}

std::string ReadyText(const ContainerView& container) {
  if (container.ready) return "yes";
  return container.phase == ContainerPhase::kRunning && !container.started ? "no, not started yet" : "no";
}

void DescribePlace(const ContainerPlace& place, const CpuSet& shared, std::ostream& out) {
  const std::string cpus = FormatIds(place.cpus ? *place.cpus : shared);
  if (!cpus.empty()) Line(out, 4, "CPUs", cpus + (place.cpus ? " (its own)" : " (shared pool)"));
  Line(out, 4, "Memory", place.memory_nodes.empty() ? "" : "node " + FormatIds(place.memory_nodes));
  Line(out, 4, "Devices", DevicesText(place.devices));
  Line(out, 4, "Placed by", place.hint ? HintText(*place.hint) : "");
  Line(out, 4, "Cgroup", place.cgroup);
}

void DescribeContainer(const ContainerView& container, const CpuSet& shared, WallTime now, std::ostream& out) {
  out << "  " << container.name << " (" << Name(container.kind) << ")\n";
  Line(out, 4, "Image", container.image);
  Line(out, 4, "Id", container.image.empty() ? "" : container.id);
  Line(out, 4, "State", StateText(container, now));
  if (container.kind != ContainerKind::kInit) Line(out, 4, "Ready", ReadyText(container));
  Line(out, 4, "Last end", LastEndText(container));
  Line(out, 4, "Restarts", std::to_string(container.restarts));
  if (container.place) DescribePlace(*container.place, shared, out);
  Line(out, 4, "Log", container.last ? container.last->log_path : "");
}

void DescribePod(const PodDetails& details, const Session& session) {
  std::ostream& out = session.out();
  const PodView& pod = *details.view;
  const WallTime now = os::SystemClock().Wall();
  Line(out, 0, "Name", pod.name);
  Line(out, 0, "Namespace", pod.namespace_);
  Line(out, 0, "UID", pod.uid);
  if (!pod.addresses.empty()) Line(out, 0, "IP", Join(pod.addresses, ", "));
  Line(out, 0, "QoS class", std::string(Name(pod.qos)));
  Line(out, 0, "Phase", std::string(Name(pod.phase)));
  Line(out, 0, "Ready", pod.ready ? "yes" : "no");
  Line(out, 0, "Reason", pod.reason);
  Line(out, 0, "Message", pod.message);
  for (const std::string& detail : pod.details) Line(out, 0, "Detail", detail);
  Line(out, 0, "Requests", RequestsOf(pod));
  Line(out, 0, "Admitted", pod.admitted_at ? FormatTime(*pod.admitted_at) : "");
  Line(out, 0, "Manifest", pod.file);
  out << "\nContainers:\n";
  for (const ContainerView& container : pod.containers) DescribeContainer(container, details.shared, now, out);
}

void DescribeWhy(const Trace& trace, const Session& session) {
  constexpr int kIndent = 27;
  std::ostream& out = session.out();
  if (trace.steps().empty()) return;
  out << "\nWhy:\n";
  for (const TraceStep& step : trace.steps()) {
    std::string head = step.stage;
    for (const std::string& part : {step.container, step.resource})
      if (!part.empty()) head += " " + part;
    out << view::PadRight("  " + head, kIndent - 1) << ' ' << view::WrapText(step.text, kIndent, session.around().width)
        << '\n';
  }
}

void DescribeEvents(const std::vector<Event>& events, const Session& session) {
  if (events.empty()) return;
  session.out() << "\nEvents:\n";
  const WallTime now = os::SystemClock().Wall();
  view::Table table({{"  AGE"}, {"TYPE"}, {"REASON"}, {"MESSAGE", Align::kLeft, true}});
  for (const Event& event : events)
    table.AddRow({"  " + FormatAge(event.time, now),
                  Cell(std::string(Name(event.type)), event.type == EventType::kWarning ? Style::kWarn : Style::kPlain),
                  event.reason, event.message});
  session.out() << table.Format(session.table());
}

/// The pods that are asked for, of all there are. Errors: as PickPod.
Result<PodList> Choose(PodList all, const PodsOptions& options, const std::string& node_name) {
  std::set<std::string> names;
  for (const std::string& given : options.pods) {
    BERTH_TRY(const auto pod, PickPod(all, given, node_name));
    names.insert(FullName(*pod));
  }
  std::erase_if(all.pods, [&](const auto& pod) {
    return (!options.namespace_.empty() && pod->namespace_ != options.namespace_) ||
           (!names.empty() && !names.contains(FullName(*pod)));
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
        if (Changed(*pod)) session_.out() << codec::FormatJson(codec::ToJson(*pod, pods.shared)) << '\n';
    }
    TellGone(pods);
    session_.out().flush();
  }

 private:
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
        else
          session_.out() << codec::FormatJson({{"namespace", pod->namespace_}, {"name", pod->name}, {"gone", true}})
                         << '\n';
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

}  // namespace

int RunPods(const PodsOptions& options, const Session& session) {
  std::string node_name;
  if (!options.pods.empty()) {
    const auto status = session.berthd().Status();
    if (!status) return session.Report(status.error());
    node_name = status->node_name;
  }
  auto all = session.berthd().Pods();
  if (!all) return session.Report(all.error());
  auto pods = Choose(*std::move(all), options, node_name);
  if (!pods) return session.Report(pods.error());
  if (options.watch) {
    std::set<std::string> names;
    if (!options.pods.empty())
      for (const auto& pod : pods->pods) names.insert(FullName(*pod));
    return Watch(options, session, *std::move(pods), names);
  }
  if (!session.for_people()) return session.PrintData(codec::ToJson(*pods));
  if (pods->pods.empty())
    session.err() << (options.namespace_.empty() ? "No pods on this node; 'berth apply -f FILE' brings some.\n"
                                                 : "No pods in namespace " + options.namespace_ + ".\n");
  else
    session.out() << PodsTable(*pods, session);
  return kOk;
}

int RunDescribe(const DescribeOptions& options, const Session& session) {
  const auto found = FindPod(session, options.pod);
  if (!found) return session.Report(found.error());
  const auto pod = session.berthd().GetPod((*found)->namespace_, (*found)->name);
  if (!pod) return session.Report(pod.error());
  if (!session.for_people()) return session.PrintData(codec::ToJson(*pod));
  DescribePod(*pod, session);
  DescribeWhy(pod->trace, session);
  DescribeEvents(pod->events, session);
  return kOk;
}

}  // namespace berth::cli
