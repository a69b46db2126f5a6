#include "frontend/nri_preflight/findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace berth::nri_preflight {
namespace {

using Level = Finding::Level;
using Findings = std::vector<Finding>;

void JudgeRuntime(const Preflight& preflight, Findings& out) {
  const RuntimeFacts& runtime = preflight.runtime;
  const NriFacts& nri = preflight.nri;
  if (!runtime.problem.empty()) {
    out.push_back({Level::kBlocks, runtime.problem, "start it, or name its socket with --endpoint"});
    return;
  }
  if (runtime.name == "containerd" && nri.version.empty()) {
    out.push_back({Level::kBlocks, "containerd " + runtime.version + " has no NRI", "containerd 1.7 or later has it"});
    return;
  }
  if (nri.there) return;
  std::string text = "NRI is off: there is no socket at " + nri.socket;
  if (nri.disabled == true) text += ", and " + nri.config_file + " switches it off";
  out.push_back({Level::kBlocks, std::move(text),
                 runtime.name == "containerd"
                     ? "set disable = false in [plugins.\"io.containerd.nri.v1.nri\"] of containerd's configuration "
                       "and restart it, or name the socket with --nri-socket"
                     : "set enable_nri = true in [crio.nri] of CRI-O's configuration and restart it, or name the "
                       "socket with --nri-socket"});
}

void JudgeState(const StateFile& file, std::string_view policy, std::string_view field, Findings& out) {
  if (!file.problem.empty())
    out.push_back({Level::kWarns, "the kubelet's " + file.path + " cannot be read: " + file.problem, ""});
  if (file.policy != policy) return;
  out.push_back({Level::kBlocks,
                 fmt::format("the kubelet's state file {} says that it places containers itself (policy {}, {} pods "
                             "with CPUs or memory of their own)",
                             file.path, file.policy, file.pods),
                 fmt::format("set {}: {} in the kubelet's configuration, then stop it, remove that file and start it; "
                             "or let Berth step aside (nriContested: stepAside)",
                             field, field == "cpuManagerPolicy" ? "none" : "None")});
}

void JudgeKubelet(const Preflight& preflight, Findings& out) {
  const KubeletFacts& kubelet = preflight.kubelet;
  if (!kubelet.problem.empty())
    out.push_back({Level::kWarns, "the kubelet's configuration cannot be read: " + kubelet.problem, ""});
  if (kubelet.cpu_policy == "static")
    out.push_back({Level::kBlocks, "the kubelet places containers itself: cpuManagerPolicy is static",
                   "set it to none, then stop the kubelet, remove " + kubelet.cpu_state.path + " and start it"});
  else
    JudgeState(kubelet.cpu_state, "static", "cpuManagerPolicy", out);
  if (kubelet.memory_policy == "Static")
    out.push_back({Level::kBlocks, "the kubelet gives memory nodes itself: memoryManagerPolicy is Static",
                   "set it to None, then stop the kubelet, remove " + kubelet.memory_state.path + " and start it"});
  else
    JudgeState(kubelet.memory_state, "Static", "memoryManagerPolicy", out);
  if (kubelet.pid == 0 && kubelet.config_file.empty())
    out.push_back({Level::kWarns, "no kubelet was found on this node", "name its configuration with --kubelet-config"});
  if (!kubelet.cgroup_driver.empty() && !preflight.runtime.cgroup_driver.empty() &&
      kubelet.cgroup_driver != preflight.runtime.cgroup_driver)
    out.push_back({Level::kWarns,
                   fmt::format("the kubelet's cgroup driver is {}, the runtime's {}", kubelet.cgroup_driver,
                               preflight.runtime.cgroup_driver),
                   "they have to be the same"});
}

void JudgeOthers(const Preflight& preflight, Findings& out) {
  for (const Program& rival : preflight.rivals)
    out.push_back({Level::kBlocks, fmt::format("{} (pid {}) gives containers their CPUs", rival.name, rival.pid),
                   "remove it: one program alone may place containers"});
  const std::size_t ours = preflight.berthd != 0 ? 1 : 0;
  if (preflight.rivals.empty() && preflight.nri.joined > ours)
    out.push_back(
        {Level::kWarns,
         fmt::format("{} other NRI plug-ins have joined at {}", preflight.nri.joined - ours, preflight.nri.socket),
         "Berth can be beside them as long as they leave CPUs and memory nodes of containers alone"});
  if (!preflight.nri.launched.empty())
    out.push_back({Level::kWarns, "the runtime starts plug-ins by itself: " + Join(preflight.nri.launched, ", "),
                   "Berth can be beside them as long as they leave CPUs and memory nodes of containers alone"});
  if (preflight.berthd != 0)
    out.push_back({Level::kTells, fmt::format("berthd runs here already (pid {})", preflight.berthd),
                   "berth status says how it is doing"});
}

void JudgePlan(const Plan& plan, Findings& out) {
  std::size_t narrowed = 0;
  std::size_t unplaced = 0;
  for (const Change& change : plan.changes) {
    if (change.cpus_now && !(plan.all - *change.cpus_now).empty()) ++narrowed;
    if (change.why.contains("shared pool")) ++unplaced;
  }
  if (narrowed > 0)
    out.push_back(
        {Level::kTells,
         fmt::format("{} of {} containers are kept to some of the CPUs already", narrowed, plan.changes.size()), ""});
  if (unplaced > 0)
    out.push_back({Level::kWarns,
                   fmt::format("{} containers that should have CPUs of their own would find none", unplaced),
                   "they would go on in the shared pool until there are some"});
}

}  // namespace

bool Preflight::ready() const {
  return std::ranges::none_of(findings, [](const Finding& finding) { return finding.level == Level::kBlocks; });
}

std::vector<Finding> Judge(const Preflight& preflight) {
  Findings out;
  JudgeRuntime(preflight, out);
  JudgeKubelet(preflight, out);
  JudgeOthers(preflight, out);
  if (!preflight.cgroups.problem.empty()) out.push_back({Level::kBlocks, preflight.cgroups.problem, ""});
  if (preflight.plan) JudgePlan(*preflight.plan, out);
  std::ranges::stable_sort(out, {}, &Finding::level);
  return out;
}

}  // namespace berth::nri_preflight
