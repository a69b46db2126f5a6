#include "daemon/apply_check.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cri/pod_names.h"
#include "os/capabilities.h"
#include "seccomp/profile.h"
#include "source/static_pod.h"

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

/// "path: what is wrong"; "": nothing.
std::string ProfileProblem(const SecurityContext& security, const ApplyRules& rules, const std::string& path) {
  if (std::string problem = SeccompProblem(security, rules); !problem.empty())
    return path + ".seccompProfile.localhostProfile: " + problem;
  if (rules.pods.run_by != manifest::RunBy::kCri) return "";
  if (std::string problem = AppArmorProblem(security, rules); !problem.empty())
    return path + ".appArmorProfile.localhostProfile: " + problem;
  return "";
}

/// The host name that the pod asks for can be one.
std::string NameProblem(Pod pod, const ApplyRules& rules) {
  if (rules.pods.run_by != manifest::RunBy::kCri || pod.host_network) return "";
  pod.name += "-" + rules.node_name;
  const auto names = cri::NamesOf(pod, rules.cluster_domain);
  return names ? "" : "spec.setHostnameAsFQDN: Invalid value: true: " + names.error().message;
}

std::string ProfileProblemOf(const Pod& pod, const ApplyRules& rules) {
  if (std::string problem = ProfileProblem(pod.security, rules, "spec.securityContext"); !problem.empty())
    return problem;
  for (const auto& [list, containers] :
       {std::pair("containers", &pod.containers), std::pair("initContainers", &pod.init_containers)})
    for (std::size_t i = 0; i < containers->size(); ++i) {
      const std::string path = fmt::format("spec.{}[{}].securityContext", list, i);
      if (std::string problem = ProfileProblem((*containers)[i].security, rules, path); !problem.empty())
        return problem;
    }
  return "";
}

}  // namespace

Result<void> CheckOnNode(const std::vector<Pod>& pods, const ApplyRules& rules, std::string_view where) {
  if (rules.pods.run_by == manifest::RunBy::kNobody) return {};
  std::vector<std::string> lines;
  for (const Pod& pod : pods) {
    std::string problem;
    if (const auto refused = pods::WhyRefused(pod, rules.node))
      problem = fmt::format("{}: Forbidden: {}", refused->path, refused->why.message);
    else
      problem = ProfileProblemOf(pod, rules);
    if (problem.empty()) problem = source::NameLengthProblem(pod, rules.node_name);
    if (problem.empty()) problem = NameProblem(pod, rules);
    if (!problem.empty()) lines.push_back(fmt::format("{}: pod {}: {}", where, FullName(pod), problem));
  }
  if (lines.empty()) return {};
  return Fail(Code::kInvalid, Join(lines, "\n"));
}

}  // namespace berth::daemon
