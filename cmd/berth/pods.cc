#include "berth/pods.h"

#include <algorithm>

#include "base/id_set.h"
#include "base/text.h"
#include "berth/age.h"
#include "berth/pod_name.h"
#include "view/table.h"

namespace berth::cli {
namespace {

using codec::Json;
using view::Align;
using view::Cell;
using view::Style;

/// Exclusive CPUs of all containers, or "shared".
std::string CpusOf(const Json& pod) {
  CpuSet exclusive;
  bool placed = false;
  for (const Json& container : Member(pod, "containers")) {
    placed = placed || !Text(container, "cpus").empty();
    if (!Flag(container, "exclusive")) continue;
    if (const auto cpus = CpuSet::Parse(Text(container, "cpus"))) exclusive |= *cpus;
  }
  if (!exclusive.empty()) return FormatIds(exclusive);
  return placed ? "shared" : "";
}

std::string NodesOf(const Json& pod) {
  NodeSet nodes;
  for (const Json& container : Member(pod, "containers"))
    if (const auto set = NodeSet::Parse(Text(container, "memoryNodes"))) nodes |= *set;
  return FormatIds(nodes);
}

/// Running containers of those that should run: apps and sidecars.
std::string ReadyOf(const Json& pod) {
  int running = 0;
  int all = 0;
  for (const Json& container : Member(pod, "containers")) {
    if (Text(container, "kind") == "init") continue;
    ++all;
    if (Text(container, "state") == "running") ++running;
  }
  return std::to_string(running) + "/" + std::to_string(all);
}

std::int64_t RestartsOf(const Json& pod) {
  std::int64_t sum = 0;
  for (const Json& container : Member(pod, "containers")) sum += Number(container, "restarts");
  return sum;
}

/// The pod's own reason, else a waiting container's, else its phase.
Cell StatusOf(const Json& pod) {
  const std::string phase = Text(pod, "phase");
  std::string text = Text(pod, "reason");
  for (const Json& container : Member(pod, "containers"))
    if (text.empty() && Text(container, "state") == "waiting") text = Text(container, "reason");
  const Style style = phase == "Failed"    ? Style::kBad
                      : phase == "Running" ? (text.empty() ? Style::kGood : Style::kWarn)
                      : phase == "Pending" ? Style::kWarn
                                           : Style::kPlain;
  return {text.empty() ? phase : text, style};
}

std::string RequestsOf(const Json& pod) {
  std::vector<std::string> parts;
  const Json& requests = Member(pod, "requests");
  if (!requests.is_object()) return {};
  for (const auto& [name, amount] : requests.items())
    if (amount.is_string()) parts.push_back(name + " " + amount.get<std::string>());
  return Join(parts, ", ");
}

std::string PodsTable(const Json& pods, const Session& session) {
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
  const os::WallTime now = os::SystemClock().Wall();
  for (const Json& pod : pods) {
    std::vector<Cell> row = {Text(pod, "namespace"),
                             Text(pod, "name"),
                             ReadyOf(pod),
                             StatusOf(pod),
                             CpusOf(pod),
                             NodesOf(pod),
                             Text(pod, "qosClass"),
                             std::to_string(RestartsOf(pod)),
                             FormatAge(Text(pod, "admittedAt"), now)};
    if (session.wide()) row.insert(row.end(), {RequestsOf(pod), Text(pod, "uid"), Text(pod, "file")});
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

std::string HintText(const Json& container) {
  const Json& hint = Member(container, "hint");
  if (!hint.is_object()) return {};
  const std::string nodes = Text(hint, "nodes");
  return (nodes.empty() ? "any NUMA node" : "NUMA " + nodes) +
         (Flag(hint, "preferred") ? ", preferred" : ", not preferred");
}

std::string StateText(const Json& container, os::WallTime now) {
  std::string out = Text(container, "state");
  if (out == "running" && Number(container, "pid") > 0) out += ", pid " + std::to_string(Number(container, "pid"));
  if (out.starts_with("running")) {
    const std::string age = FormatAge(Text(container, "startedAt"), now);
    if (!age.empty()) out += ", for " + age;
  }
  if (!Member(container, "exitCode").is_null() && Text(container, "state") == "exited")
    out += ", exit code " + std::to_string(Number(container, "exitCode"));
  for (const char* key : {"reason", "message"})
    if (const std::string text = Text(container, key); !text.empty()) out += ", " + text;
  return out;
}

std::string DevicesText(const Json& container) {
  std::vector<std::string> parts;
  const Json& devices = Member(container, "devices");
  if (!devices.is_object()) return {};
  for (const auto& [resource, ids] : devices.items()) {
    std::vector<std::string> names;
    for (const Json& id : ids)
      if (id.is_string()) names.push_back(id.get<std::string>());
    parts.push_back(resource + " " + Join(names, ","));
  }
  return Join(parts, "; ");
}

/// How the newest attempt ended, for a container that does not say so by its state.
std::string LastEndText(const Json& container) {
  const Json& end = Member(container, "lastEnd");
  if (!end.is_object() || Text(container, "state") == "exited") return {};
  std::string out = Text(end, "reason");
  if (!Member(end, "exitCode").is_null()) out += ", exit code " + std::to_string(Number(end, "exitCode"));
  for (const char* key : {"finishedAt", "message"})
    if (const std::string text = Text(end, key); !text.empty()) out += ", " + text;
  return out;
}

void DescribeContainer(const Json& container, os::WallTime now, std::ostream& out) {
  out << "  " << Text(container, "name") << " (" << Text(container, "kind") << ")\n";
  Line(out, 4, "Image", Text(container, "image"));
  Line(out, 4, "Id", Text(container, "image").empty() ? "" : Text(container, "id"));
  Line(out, 4, "State", StateText(container, now));
  Line(out, 4, "Last end", LastEndText(container));
  Line(out, 4, "Restarts", std::to_string(Number(container, "restarts")));
  if (const std::string cpus = Text(container, "cpus"); !cpus.empty())
    Line(out, 4, "CPUs", cpus + (Flag(container, "exclusive") ? " (its own)" : " (shared pool)"));
  Line(out, 4, "Memory", Text(container, "memoryNodes").empty() ? "" : "node " + Text(container, "memoryNodes"));
  Line(out, 4, "Devices", DevicesText(container));
  Line(out, 4, "Placed by", HintText(container));
  Line(out, 4, "Cgroup", Text(container, "cgroup"));
  Line(out, 4, "Log", Text(container, "logPath"));
}

void DescribePod(const Json& pod, const Session& session) {
  std::ostream& out = session.out();
  const os::WallTime now = os::SystemClock().Wall();
  Line(out, 0, "Name", Text(pod, "name"));
  Line(out, 0, "Namespace", Text(pod, "namespace"));
  Line(out, 0, "UID", Text(pod, "uid"));
  Line(out, 0, "QoS class", Text(pod, "qosClass"));
  Line(out, 0, "Phase", Text(pod, "phase"));
  Line(out, 0, "Reason", Text(pod, "reason"));
  Line(out, 0, "Message", Text(pod, "message"));
  for (const Json& detail : Member(pod, "details"))
    if (detail.is_string()) Line(out, 0, "Detail", detail.get<std::string>());
  Line(out, 0, "Requests", RequestsOf(pod));
  Line(out, 0, "Admitted", Text(pod, "admittedAt"));
  Line(out, 0, "Manifest", Text(pod, "file"));
  out << "\nContainers:\n";
  for (const Json& container : Member(pod, "containers")) DescribeContainer(container, now, out);
}

void DescribeWhy(const Json& pod, const Session& session) {
  constexpr int kIndent = 27;
  std::ostream& out = session.out();
  const Json& trace = Member(pod, "trace");
  if (!trace.is_array() || trace.empty()) return;
  out << "\nWhy:\n";
  for (const Json& step : trace) {
    std::string head = Text(step, "stage");
    for (const char* key : {"container", "resource"})
      if (const std::string text = Text(step, key); !text.empty()) head += " " + text;
    out << view::PadRight("  " + head, kIndent - 1) << ' '
        << view::WrapText(Text(step, "text"), kIndent, session.around().width) << '\n';
  }
}

void DescribeEvents(const Json& pod, const Session& session) {
  const Json& events = Member(pod, "events");
  if (!events.is_array() || events.empty()) return;
  session.out() << "\nEvents:\n";
  const os::WallTime now = os::SystemClock().Wall();
  view::Table table({{"  AGE"}, {"TYPE"}, {"REASON"}, {"MESSAGE", Align::kLeft, true}});
  for (const Json& event : events) {
    const std::string type = Text(event, "type");
    table.AddRow({"  " + FormatAge(Text(event, "time"), now),
                  Cell(type, type == "Warning" ? Style::kWarn : Style::kPlain), Text(event, "reason"),
                  Text(event, "message")});
  }
  session.out() << table.Format(session.table());
}

}  // namespace

int RunPods(const PodsOptions& options, const Session& session) {
  auto answer = session.Get("/v1/pods");
  if (!answer) return session.Report(answer.error());
  Json pods = Json::array();
  for (const Json& pod : Member(*answer, "pods"))
    if (options.namespace_.empty() || Text(pod, "namespace") == options.namespace_) pods.push_back(pod);
  if (!session.for_people()) return session.PrintData({{"pods", std::move(pods)}});
  if (pods.empty())
    session.err() << (options.namespace_.empty() ? "No pods on this node; 'berth apply -f FILE' brings some.\n"
                                                 : "No pods in namespace " + options.namespace_ + ".\n");
  else
    session.out() << PodsTable(pods, session);
  return kOk;
}

int RunDescribe(const DescribeOptions& options, const Session& session) {
  const auto found = FindPod(session, options.pod);
  if (!found) return session.Report(found.error());
  const auto pod = session.Get(PodPath("pods", *found));
  if (!pod) return session.Report(pod.error());
  if (!session.for_people()) return session.PrintData(*pod);
  DescribePod(*pod, session);
  DescribeWhy(*pod, session);
  DescribeEvents(*pod, session);
  return kOk;
}

}  // namespace berth::cli
