#include "frontend/nri_preflight/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace berth::nri_preflight {
namespace {

using codec::Json;
using view::Style;

std::string Line(std::string_view name, const std::string& text) {
  return fmt::format("{:<15}{}\n", std::string(name) + ":", view::WithoutControls(text));
}

std::string OrNot(const std::string& text, std::string_view otherwise) {
  return text.empty() ? std::string(otherwise) : text;
}

std::string RuntimeLine(const RuntimeFacts& runtime) {
  if (runtime.endpoint.empty()) return "none was found";
  if (!runtime.problem.empty()) return "does not answer at " + runtime.endpoint;
  return fmt::format("{} {} at {}", runtime.name, runtime.version, runtime.endpoint);
}

std::string NriLine(const NriFacts& nri) {
  std::string out = nri.there ? "on" : "off";
  if (!nri.version.empty()) out += ", version " + nri.version + " by the runtime's";
  out += nri.there ? " at " + nri.socket : "; no socket at " + nri.socket;
  if (nri.disabled) out += fmt::format("; {} says {}", nri.config_file, *nri.disabled ? "off" : "on");
  if (nri.there) out += fmt::format("; plug-ins that have joined: {}", nri.joined);
  return out;
}

std::string KubeletLine(const KubeletFacts& kubelet) {
  std::string out = kubelet.pid == 0 ? "no process of that name" : fmt::format("pid {}", kubelet.pid);
  if (kubelet.config_file.empty()) return out + "; no configuration was found";
  if (!kubelet.problem.empty()) return out + "; " + kubelet.config_file + " cannot be read";
  return out + fmt::format("; CPU manager {}, memory manager {}, topology manager {} ({})", kubelet.cpu_policy,
                           kubelet.memory_policy, kubelet.topology_policy, kubelet.config_file);
}

std::string StateLine(const KubeletFacts& kubelet) {
  const auto word = [](const StateFile& file) {
    if (!file.problem.empty()) return std::string("cannot be read");
    if (file.policy.empty()) return std::string("not there");
    return "policy " + file.policy;
  };
  return fmt::format("cpu_manager_state {}, memory_manager_state {}", word(kubelet.cpu_state),
                     word(kubelet.memory_state));
}

std::string CgroupLine(const Preflight& preflight) {
  return fmt::format("{}; driver: kubelet {}, runtime {}", OrNot(preflight.cgroups.version, "not known"),
                     OrNot(preflight.kubelet.cgroup_driver, "does not say"),
                     OrNot(preflight.runtime.cgroup_driver, "does not say"));
}

std::string OthersLine(const Preflight& preflight) {
  std::vector<std::string> out;
  for (const Program& rival : preflight.rivals) out.push_back(fmt::format("{} (pid {})", rival.name, rival.pid));
  return out.empty() ? "nobody was found" : Join(out, ", ");
}

template <class Set>
std::string OrUnknown(const std::optional<Set>& set) {
  return set ? FormatIds(*set) : "?";
}

view::Cell Then(const std::string& now, std::string then) {
  const Style style = now == then ? Style::kPlain : Style::kBold;
  return {std::move(then), style};
}

std::string PlanText(const Plan& plan, bool from_berthd, const view::TableOptions& options) {
  if (plan.changes.empty()) return "No containers run.\n";
  view::Table table({{.title = "POD", .may_cut = true},
                     {.title = "CONTAINER", .may_cut = true},
                     {.title = "QOS"},
                     {.title = "CPUS NOW", .may_cut = true},
                     {.title = "THEN", .may_cut = true},
                     {.title = "MEMORY NOW"},
                     {.title = "THEN"},
                     {.title = "WHY", .may_cut = true}});
  std::size_t changed = 0;
  for (const Change& change : plan.changes) {
    const std::string cpus = OrUnknown(change.cpus_now);
    const std::string mems = OrUnknown(change.mems_now);
    const std::string cpus_then = FormatIds(change.cpus_then);
    const std::string mems_then = FormatIds(change.mems_then);
    if (cpus != cpus_then || mems != mems_then) ++changed;
    std::string why = change.why;
    if (why.empty()) why = change.own ? "CPUs of its own" : "shared pool";
    table.AddRow({change.pod, change.container, std::string(Name(change.qos)), cpus, Then(cpus, cpus_then), mems,
                  Then(mems, mems_then), why});
  }
  return table.Format(options) + fmt::format("\n{} of {} containers would change; shared pool {}, reserved {}{}\n",
                                             changed, plan.changes.size(), OrNot(FormatIds(plan.shared), "none"),
                                             OrNot(FormatIds(plan.reserved), "none"),
                                             from_berthd ? "; goes on from what berthd has given" : "");
}

std::string_view Word(Finding::Level level) {
  switch (level) {
    case Finding::Level::kBlocks: return "in the way";
    case Finding::Level::kWarns: return "warning";
    case Finding::Level::kTells: return "note";
  }
  return "note";
}

std::string FindingText(const Finding& finding, bool color) {
  const Style style = finding.level == Finding::Level::kBlocks  ? Style::kBad
                      : finding.level == Finding::Level::kWarns ? Style::kWarn
                                                                : Style::kPlain;
  std::string out = view::Paint(Word(finding.level), style, color) + ": " + view::WithoutControls(finding.text) + "\n";
  if (!finding.cure.empty()) out += "  " + view::WithoutControls(finding.cure) + "\n";
  return out;
}

Json StateJson(const StateFile& file) {
  return {{"path", file.path},
          {"policy", file.policy.empty() ? Json() : Json(file.policy)},
          {"pods", file.pods},
          {"problem", file.problem}};
}

Json PlanJson(const Plan& plan) {
  Json containers = Json::array();
  for (const Change& change : plan.changes)
    containers.push_back({{"pod", change.pod},
                          {"container", change.container},
                          {"id", change.id},
                          {"qosClass", Name(change.qos)},
                          {"cpusNow", change.cpus_now ? Json(FormatIds(*change.cpus_now)) : Json()},
                          {"cpusThen", FormatIds(change.cpus_then)},
                          {"memoryNodesNow", change.mems_now ? Json(FormatIds(*change.mems_now)) : Json()},
                          {"memoryNodesThen", FormatIds(change.mems_then)},
                          {"exclusive", change.own},
                          {"why", change.why}});
  return {{"sharedPool", FormatIds(plan.shared)},
          {"reserved", FormatIds(plan.reserved)},
          {"containers", std::move(containers)}};
}

}  // namespace

std::string FormatReport(const Preflight& preflight, const view::TableOptions& options) {
  std::string out = Line("Runtime", RuntimeLine(preflight.runtime)) + Line("NRI", NriLine(preflight.nri)) +
                    Line("Kubelet", KubeletLine(preflight.kubelet)) +
                    Line("State files", StateLine(preflight.kubelet)) + Line("Cgroups", CgroupLine(preflight)) +
                    Line("Sets cpusets", OthersLine(preflight));
  if (preflight.plan) out += "\n" + PlanText(*preflight.plan, preflight.from_berthd, options);
  out += "\n";
  for (const Finding& finding : preflight.findings) out += FindingText(finding, options.color);
  if (preflight.ready()) out += "Nothing stands in the way of Berth.\n";
  return out;
}

Json ToJson(const Preflight& preflight) {
  Json rivals = Json::array();
  for (const Program& rival : preflight.rivals) rivals.push_back({{"pid", rival.pid}, {"name", rival.name}});
  Json findings = Json::array();
  for (const Finding& finding : preflight.findings)
    findings.push_back({{"level", finding.level == Finding::Level::kBlocks  ? "blocks"
                                  : finding.level == Finding::Level::kWarns ? "warning"
                                                                            : "note"},
                        {"text", finding.text},
                        {"cure", finding.cure}});
  const RuntimeFacts& runtime = preflight.runtime;
  const NriFacts& nri = preflight.nri;
  const KubeletFacts& kubelet = preflight.kubelet;
  return {{"ready", preflight.ready()},
          {"runtime",
           {{"endpoint", runtime.endpoint},
            {"name", runtime.name},
            {"version", runtime.version},
            {"cgroupDriver", runtime.cgroup_driver},
            {"problem", runtime.problem}}},
          {"nri",
           {{"on", nri.there},
            {"socket", nri.socket},
            {"version", nri.version},
            {"runtimeConfig", nri.config_file},
            {"disabled", nri.disabled ? Json(*nri.disabled) : Json()},
            {"joined", nri.joined},
            {"launched", nri.launched}}},
          {"kubelet",
           {{"pid", kubelet.pid},
            {"config", kubelet.config_file},
            {"problem", kubelet.problem},
            {"cpuManagerPolicy", kubelet.cpu_policy},
            {"memoryManagerPolicy", kubelet.memory_policy},
            {"topologyManagerPolicy", kubelet.topology_policy},
            {"cgroupDriver", kubelet.cgroup_driver},
            {"cpuState", StateJson(kubelet.cpu_state)},
            {"memoryState", StateJson(kubelet.memory_state)}}},
          {"cgroups", {{"version", preflight.cgroups.version}, {"problem", preflight.cgroups.problem}}},
          {"setCpusets", std::move(rivals)},
          {"berthd", preflight.berthd},
          {"plan", preflight.plan ? PlanJson(*preflight.plan) : Json()},
          {"findings", std::move(findings)}};
}

}  // namespace berth::nri_preflight
