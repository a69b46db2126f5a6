#include "daemon/apply_check.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <optional>
#include <utility>

#include "base/text.h"
#include "frontend/pod_sources/static_pod.h"
#include "host/os/capabilities.h"
#include "host/seccomp/profile.h"
#include "runtime/cri/pod_names.h"

namespace berth::daemon {
namespace {

/// A line of the kernel's list: "name (enforce)".
bool IsLoaded(const std::string& list, const std::string& profile) {
  std::ifstream in(list);
  if (!in) return true;  // it cannot be known
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(profile + " (")) return true;
  return false;
}

std::string SeccompProblem(const SecurityContext& security, const ApplyRules& rules) {
  if (security.seccomp != "Localhost" || rules.profiles.seccomp.empty()) return "";
  const std::string& folder = rules.profiles.seccomp;
  const std::string path = folder + "/" + security.seccomp_localhost;
  if (::access(path.c_str(), F_OK) != 0)
    return fmt::format(
        "there is no profile {}; put it there, or change the name (seccompDir of Berth's settings says where profiles "
        "are)",
        Printable(path));
  if (rules.pods.run_by != manifest::RunBy::kProcess) return "";  // the runtime is to judge it
  const auto compiled = seccomp::Localhost(folder, security.seccomp_localhost, os::kAllCapabilities);
  return compiled ? "" : compiled.error().message;
}

std::string AppArmorProblem(const SecurityContext& security, const ApplyRules& rules) {
  if (security.app_armor != "Localhost" || IsLoaded(rules.profiles.app_armor, security.app_armor_localhost)) return "";
  return fmt::format("the profile \"{}\" is not loaded; load it with apparmor_parser, or change the name",
                     Printable(security.app_armor_localhost, 80));
}

using FieldProblems = std::vector<manifest::FieldProblem>;

void CheckProfiles(const SecurityContext& security, const ApplyRules& rules, const std::string& path,
                   FieldProblems& out) {
  if (std::string problem = SeccompProblem(security, rules); !problem.empty())
    out.push_back({path + ".seccompProfile.localhostProfile", "Invalid value: " + std::move(problem)});
  if (rules.pods.run_by != manifest::RunBy::kCri) return;
  if (std::string problem = AppArmorProblem(security, rules); !problem.empty())
    out.push_back({path + ".appArmorProfile.localhostProfile", "Invalid value: " + std::move(problem)});
}

void CheckAllProfiles(const Pod& pod, const ApplyRules& rules, FieldProblems& out) {
  CheckProfiles(pod.security, rules, "spec.securityContext", out);
  for (const auto& [list, containers] :
       {std::pair("containers", &pod.containers), std::pair("initContainers", &pod.init_containers)})
    for (std::size_t i = 0; i < containers->size(); ++i)
      CheckProfiles((*containers)[i].security, rules, fmt::format("spec.{}[{}].securityContext", list, i), out);
}

/// The host name that the pod asks for can be one.
void CheckHostName(Pod pod, const ApplyRules& rules, FieldProblems& out) {
  if (rules.pods.run_by != manifest::RunBy::kCri || pod.host_network) return;
  pod.name += "-" + rules.node_name;
  if (const auto names = cri::NamesOf(pod, rules.cluster_domain); !names)
    out.push_back({"spec.setHostnameAsFQDN", "Invalid value: true: " + names.error().message});
}

}  // namespace

std::vector<std::string> DeviceResources(const DeviceInventory& devices) {
  std::vector<std::string> out;
  for (const auto& [resource, list] : devices)
    if (!list.empty()) out.push_back(resource);
  return out;
}

std::vector<manifest::FieldProblem> CheckOnNode(const Pod& pod, const ApplyRules& rules) {
  if (rules.pods.run_by == manifest::RunBy::kNobody) return {};
  FieldProblems out;
  for (pods::Refusal& refused : pods::WhyRefused(pod, rules.node))
    out.push_back({std::move(refused.path), "Forbidden: " + refused.why.message});
  CheckAllProfiles(pod, rules, out);
  if (std::string problem = pod_sources::NameLengthProblem(pod, rules.node_name); !problem.empty())
    out.push_back({"metadata.name", std::move(problem)});
  else
    CheckHostName(pod, rules, out);
  return out;
}

}  // namespace berth::daemon
