#include "berth/describe_command.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/codec/views.h"
#include "base/id_set.h"
#include "base/text.h"
#include "berth/age.h"
#include "berth/node_command.h"
#include "berth/pod_name.h"
#include "host/os/clock.h"
#include "model/kubelet_version.h"
#include "model/placement.h"
#include "view/changes.h"
#include "view/table.h"

namespace berth::cli {
namespace {

using view::Align;
using view::Cell;
using view::Style;

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
  const std::string cpus = FormatIds(place.cpus ? *place.cpus : PoolCpusOf(place, shared));
  const std::string pool = place.pool.empty() ? "shared pool" : PoolText(place.pool);
  const std::string beside = place.mixed ? ", " + FormatIds(shared) + " (shared pool)" : "";
  if (!cpus.empty()) Line(out, 4, "CPUs", cpus + (place.cpus ? " (its own)" + beside : " (" + pool + ")"));
  Line(out, 4, "Memory", place.memory_nodes.empty() ? "" : "node " + FormatIds(place.memory_nodes));
  Line(out, 4, "Devices",
       view::DevicesText(place.devices) + (place.devices_reported ? " (from the kubelet's pod resources)" : ""));
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

void DescribeResize(const ResizeView& resize, std::ostream& out) {
  const std::string condition = resize.in_progress ? "PodResizeInProgress" : "PodResizePending";
  Line(out, 0, "Resize", resize.reason.empty() ? condition : condition + " (" + resize.reason + ")");
  Line(out, 0, "Why", resize.message);
  for (const std::string& detail : resize.details) Line(out, 0, "Detail", detail);
}

/// "" where it asks for nothing.
std::string RequestsLine(const PodView& pod) {
  const std::string out = RequestsText(pod.requests);
  if (out.empty() || pod.requests_from == RequestsFrom::kManifest) return out;
  return out + (pod.requests_from == RequestsFrom::kApiServer ? " (from its spec at the API server)"
                                                              : " (inferred from the values that the runtime shows)");
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
  if (pod.resize) DescribeResize(*pod.resize, out);
  Line(out, 0, "Labels", LabelsText(pod.labels));
  Line(out, 0, "Requests", RequestsLine(pod));
  Line(out, 0, "Admitted", pod.admitted_at ? FormatTime(*pod.admitted_at) : "");
  Line(out, 0, "Manifest", pod.file);
  if (!details.trace.steps().empty())
    Line(out, 0, "Decided as", "kubelet " + std::string(Name(details.kubelet_version)));
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

// ---- the node ----

struct NodePicture {
  DaemonStatus status;
  NodeView node;
  PodList pods;
  std::vector<Event> events;
};

Result<NodePicture> LookAtWholeNode(const Session& session) {
  constexpr std::size_t kEvents = 10'000;
  constexpr std::size_t kShown = 10;
  NodePicture out;
  BERTH_TRY(out.status, session.berthd().Status());
  BERTH_TRY(out.node, session.berthd().Node());
  BERTH_TRY(out.pods, session.berthd().Pods());
  BERTH_TRY(EventList events, session.berthd().Events({.since = "", .pod = "", .limit = kEvents}));
  for (Event& event : events.events)
    if (event.object.starts_with("node/")) out.events.push_back(std::move(event));
  if (out.events.size() > kShown) out.events.erase(out.events.begin(), out.events.end() - kShown);
  return out;
}

/// Pods that hold a place, with what they asked for.
std::vector<const PodView*> PlacedPods(const PodList& pods) {
  std::vector<const PodView*> out;
  for (const auto& pod : pods.pods)
    if (std::ranges::any_of(pod->containers, [](const ContainerView& of) { return of.place.has_value(); }))
      out.push_back(pod.get());
  return out;
}

std::string PartOf(const Quantity& amount, const std::optional<Quantity>& whole) {
  if (!whole || whole->MilliValue() <= 0) return "";
  constexpr double kPercent = 100;
  const double part = static_cast<double>(amount.MilliValue()) / static_cast<double>(whole->MilliValue());
  return std::to_string(static_cast<int>(part * kPercent + 0.5)) + "%";
}

void DescribeConditions(const NodeConditions& conditions, const Session& session) {
  std::vector<std::string> lines;
  if (conditions.memory_pressure) lines.emplace_back("memory runs short: BestEffort pods are not admitted");
  if (conditions.pid_pressure) lines.emplace_back("process ids run short: no pods are admitted");
  for (const std::string& problem : {conditions.ledger_problem, conditions.pool_problem, conditions.runtime_problem})
    if (!problem.empty()) lines.push_back(problem);
  for (const std::string& pod : conditions.releasing) lines.push_back("waits for " + pod + " to give its place back");
  session.out() << "\nConditions:\n";
  for (const std::string& line : lines)
    session.out() << "  " << view::Paint(Printable(line, 400), Style::kWarn, session.color()) << '\n';
  if (lines.empty()) session.out() << "  nothing keeps pods waiting\n";
}

void DescribeRequests(const NodePicture& picture, const Session& session) {
  std::map<std::string, Quantity> sums;
  const std::vector<const PodView*> placed = PlacedPods(picture.pods);
  view::Table table(
      {{"  POD"}, {"QOS"}, {"CPU", Align::kRight}, {"MEMORY", Align::kRight}, {"OTHERS", Align::kLeft, true}});
  for (const PodView* pod : placed) {
    ResourceList others = pod->requests;
    const auto take = [&](const char* name) {
      const auto it = others.find(name);
      const std::string out = it == others.end() ? "" : it->second.ToString();
      others.erase(name);
      return out;
    };
    const std::string cpu = take("cpu");
    const std::string memory = take("memory");
    table.AddRow({"  " + FullName(*pod), std::string(Name(pod->qos)), cpu, memory, RequestsText(others)});
    for (const auto& [name, amount] : pod->requests) sums[name] = sums[name] + amount;
  }
  session.out() << "\nPods with a place: " << placed.size() << " of " << picture.pods.pods.size() << '\n';
  if (!table.empty()) session.out() << table.Format(session.table());
  view::Table totals({{"  RESOURCE"},
                      {"REQUESTED", Align::kRight},
                      {"ALLOCATABLE", Align::kRight},
                      {"CAPACITY", Align::kRight},
                      {"IN USE", Align::kRight}});
  sums["pods"] = Quantity::FromUnits(static_cast<std::int64_t>(placed.size()));
  for (const auto& [name, capacity] : picture.node.capacity) {
    const auto allocatable = picture.node.allocatable.find(name);
    const bool known = allocatable != picture.node.allocatable.end();
    const Quantity asked = sums[name];
    totals.AddRow({"  " + name, asked.ToString(), known ? allocatable->second.ToString() : "", capacity.ToString(),
                   PartOf(asked, known ? std::optional(allocatable->second) : std::nullopt)});
  }
  session.out() << "\nRequested:\n" << totals.Format(session.table());
}

int RunDescribeNode(const Session& session) {
  const auto picture = LookAtWholeNode(session);
  if (!picture) return session.Report(picture.error());
  if (!session.for_people()) {
    codec::Json events = codec::Json::array();
    for (const Event& event : picture->events) events.push_back(codec::ToJson(event));
    return session.PrintData({{"status", codec::ToJson(picture->status)},
                              {"node", codec::ToJson(picture->node)},
                              {"pods", codec::ToJson(picture->pods)["pods"]},
                              {"events", std::move(events)}});
  }
  PrintStatus(picture->status, session);
  session.out() << '\n';
  PrintPolicies(picture->node, session);
  DescribeConditions(picture->node.conditions, session);
  DescribeRequests(*picture, session);
  DescribeEvents(picture->events, session);
  return kOk;
}

}  // namespace

std::string RequestsText(const ResourceList& requests) {
  std::vector<std::string> parts;
  for (const auto& [name, amount] : requests) parts.push_back(name + " " + amount.ToString());
  return Join(parts, ", ");
}

std::string LabelsText(const std::map<std::string, std::string>& labels) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : labels) parts.push_back(name + "=" + value);
  return Join(parts, ",");
}

int RunDescribe(const DescribeOptions& options, const Session& session) {
  if (options.pod == "node" && options.namespace_.empty()) return RunDescribeNode(session);
  const auto found = FindPod(session, options.pod, options.namespace_);
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
