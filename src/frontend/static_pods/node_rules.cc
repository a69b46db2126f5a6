#include "frontend/static_pods/node_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace berth::pods {
namespace {

/// What a pod can set in its own namespaces without harm to others, as the kubelet has it.
constexpr std::string_view kSafeSysctls[] = {"kernel.shm_rmid_forced",           "net.ipv4.ip_local_port_range",
                                             "net.ipv4.ip_local_reserved_ports", "net.ipv4.ip_unprivileged_port_start",
                                             "net.ipv4.ping_group_range",        "net.ipv4.tcp_fin_timeout",
                                             "net.ipv4.tcp_keepalive_intvl",     "net.ipv4.tcp_keepalive_probes",
                                             "net.ipv4.tcp_keepalive_time",      "net.ipv4.tcp_rmem",
                                             "net.ipv4.tcp_syncookies",          "net.ipv4.tcp_wmem"};

bool Fits(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool OfIpcNamespace(std::string_view name) {
  return name.starts_with("kernel.shm") || name.starts_with("kernel.msg") || name == "kernel.sem" ||
         name.starts_with("fs.mqueue.");
}

std::string SysctlProblem(const Pod& pod, std::string_view name, const NodeRules& rules) {
  const bool of_network = name.starts_with("net.");
  if (of_network && pod.host_network)
    return fmt::format("sysctl {} is the node's where hostNetwork is set; take one out", name);
  if (OfIpcNamespace(name) && pod.host_ipc)
    return fmt::format("sysctl {} is the node's where hostIPC is set; take one out", name);
  if (std::ranges::find(kSafeSysctls, name) != std::end(kSafeSysctls)) return "";
  const bool allowed = std::ranges::any_of(rules.unsafe_sysctls,
                                           [&](const std::string& pattern) { return Fits(SysctlName(pattern), name); });
  if (allowed && (of_network || OfIpcNamespace(name))) return "";
  if (allowed) return fmt::format("sysctl {} is of no namespace: a pod cannot have a value of its own", name);
  return fmt::format("forbidden sysctl: \"{}\" not allowlisted; allowedUnsafeSysctls of the KubeletConfiguration may",
                     Printable(name, 80));
}

bool AsksForAppArmor(const SecurityContext& security) {
  return security.app_armor == "Localhost" || security.app_armor == "RuntimeDefault";
}

std::vector<ContainerPort> HostPorts(const Pod& pod) {
  std::vector<ContainerPort> out;
  const auto take = [&](const std::vector<Container>& containers) {
    for (const Container& container : containers)
      for (ContainerPort port : container.ports) {
        if (port.host_port == 0 && pod.host_network) port.host_port = port.port;
        if (port.host_port != 0) out.push_back(std::move(port));
      }
  };
  take(pod.containers);
  std::vector<Container> sidecars;
  std::ranges::copy_if(pod.init_containers, std::back_inserter(sidecars), &Container::restartable_init);
  take(sidecars);
  return out;
}

bool AnyAddress(const std::string& ip) { return ip.empty() || ip == "0.0.0.0" || ip == "::"; }

/// Path of a field below a container, and what is wrong with it.
using Found = std::pair<std::string, std::string>;

using Refusals = std::vector<Refusal>;

/// What `problem` says of each container, if something.
template <class Problem>
void EachContainer(const Pod& pod, const char* reason, Problem problem, Refusals& out) {
  const auto look = [&](const std::vector<Container>& containers, std::string_view list) {
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const Found found = problem(containers[i]);
      if (found.second.empty()) continue;
      out.push_back(
          {.path = fmt::format("spec.{}[{}].{}", list, i, found.first),
           .why = {.reason = reason, .message = found.second, .container = containers[i].name, .details = {}}});
    }
  };
  look(pod.containers, "containers");
  look(pod.init_containers, "initContainers");
}

void OfPod(std::string path, const char* reason, std::string message, Refusals& out) {
  out.push_back({.path = std::move(path),
                 .why = {.reason = reason, .message = std::move(message), .container = "", .details = {}}});
}

void OwnPolicies(const Pod& pod, const NodeRules& rules, Refusals& out) {
  if (rules.restart_rules) return;
  const auto own = [](const Container& c) {
    if (!c.restart_policy && c.restart_rules.empty()) return Found();
    return Found(c.restart_policy ? "restartPolicy" : "restartPolicyRules",
                 "restartPolicy and restartPolicyRules of a container need the feature gate ContainerRestartRules, "
                 "which featureGates of the KubeletConfiguration turn off; take them out, or set it to true");
  };
  EachContainer(pod, "ContainerRestartRules", own, out);
}

std::string UnknownCapability(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (name != "ALL" && !os::CapabilityNumber(name))
      return fmt::format("Linux has no capability \"{}\"; names are like NET_ADMIN, or ALL", Printable(name, 40));
  return "";
}

/// As the process runtime gives them.
std::string MissingCapability(const std::vector<std::string>& names, os::CapabilitySet there) {
  for (const std::string& name : names)
    if (const auto number = os::CapabilityNumber(name); number && (there & os::CapabilityBit(*number)) == 0)
      return fmt::format("berthd itself does not have the capability {}: give it to berthd's unit, or take it out",
                         Printable(name, 40));
  return "";
}

void MissingCapabilities(const Pod& pod, const NodeRules& rules, Refusals& out) {
  if (rules.has_sandboxes) return;
  const auto missing = [&](const Container& c) {
    return Found("securityContext.capabilities.add",
                 MissingCapability(c.security.add_capabilities, rules.capabilities));
  };
  EachContainer(pod, "CapabilityMissing", missing, out);
}

void Capabilities(const Pod& pod, const NodeRules&, Refusals& out) {
  const auto added = [](const Container& c) {
    return Found("securityContext.capabilities.add", UnknownCapability(c.security.add_capabilities));
  };
  const auto dropped = [](const Container& c) {
    return Found("securityContext.capabilities.drop", UnknownCapability(c.security.drop_capabilities));
  };
  EachContainer(pod, "CapabilityUnknown", added, out);
  EachContainer(pod, "CapabilityUnknown", dropped, out);
}

void Sysctls(const Pod& pod, const NodeRules& rules, Refusals& out) {
  for (std::size_t i = 0; i < pod.security.sysctls.size(); ++i) {
    std::string problem = SysctlProblem(pod, SysctlName(pod.security.sysctls[i].first), rules);
    if (!problem.empty())
      OfPod(fmt::format("spec.securityContext.sysctls[{}].name", i), "SysctlForbidden", std::move(problem), out);
  }
}

void RuntimeClass(const Pod& pod, const NodeRules& rules, Refusals& out) {
  if (pod.runtime_class.empty() || rules.runtime_classes.contains(pod.runtime_class)) return;
  OfPod("spec.runtimeClassName", "RuntimeClassUnknown",
        fmt::format("RuntimeClass \"{}\" not found: name its handler in runtimeClasses of Berth's settings",
                    Printable(pod.runtime_class, 80)),
        out);
}

void AppArmor(const Pod& pod, const NodeRules& rules, Refusals& out) {
  if (rules.app_armor) return;
  const char* const reason = "AppArmor";
  const std::string words =
      "Cannot enforce AppArmor: AppArmor is not enabled on the host; take appArmorProfile out, or set its type to "
      "Unconfined";
  const std::string field = "securityContext.appArmorProfile";
  if (AsksForAppArmor(pod.security)) OfPod("spec." + field, reason, words, out);
  EachContainer(
      pod, reason, [&](const Container& c) { return AsksForAppArmor(c.security) ? Found(field, words) : Found(); },
      out);
}

void Groups(const Pod& pod, const NodeRules& rules, Refusals& out) {
  if (pod.security.supplemental_groups_policy != "Strict" || rules.strict_groups) return;
  OfPod("spec.securityContext.supplementalGroupsPolicy", "SupplementalGroupsPolicyNotSupported",
        "SupplementalGroupsPolicy=Strict is not supported in this node: the container runtime does not know it; "
        "take it out, or use a newer one (containerd 2.0, CRI-O 1.31)",
        out);
}

void ReadOnlyBelow(const Pod& pod, const NodeRules& rules, Refusals& out) {
  const auto handler = rules.runtime_classes.find(pod.runtime_class);
  const bool can = rules.recursive_read_only.contains(handler == rules.runtime_classes.end() ? "" : handler->second);
  if (can) return;
  const auto asks = [](const Container& c) {
    for (std::size_t i = 0; i < c.mounts.size(); ++i)
      if (c.mounts[i].recursive_read_only == "Enabled")
        return Found(
            fmt::format("volumeMounts[{}].recursiveReadOnly", i),
            "recursiveReadOnly: Enabled is not supported in this node: the container runtime cannot do it; set "
            "IfPossible, or take it out");
    return Found();
  };
  EachContainer(pod, "RecursiveReadOnlyNotSupported", asks, out);
}

}  // namespace

std::string SharedHostPort(const Pod& pod, const Pod& other) {
  const std::vector<ContainerPort> taken = HostPorts(other);
  if (taken.empty()) return "";
  for (const ContainerPort& port : HostPorts(pod))
    for (const ContainerPort& theirs : taken)
      if (port.host_port == theirs.host_port && port.protocol == theirs.protocol &&
          (port.host_ip == theirs.host_ip || AnyAddress(port.host_ip) || AnyAddress(theirs.host_ip)))
        return fmt::format("{}/{}", port.host_port, port.protocol);
  return "";
}

std::string SysctlName(std::string_view name) {
  std::string out(name);
  if (const std::size_t first = out.find_first_of("./"); first == std::string::npos || out[first] == '.') return out;
  for (char& c : out) c = c == '/' ? '.' : c == '.' ? '/' : c;
  return out;
}

std::vector<Refusal> WhyRefused(const Pod& pod, const NodeRules& rules) {
  using Rule = void (*)(const Pod&, const NodeRules&, Refusals&);
  Refusals out;
  for (const Rule rule : {OwnPolicies, Capabilities, MissingCapabilities}) rule(pod, rules, out);
  if (!rules.has_sandboxes) return out;
  for (const Rule rule : {Sysctls, RuntimeClass, AppArmor, Groups, ReadOnlyBelow}) rule(pod, rules, out);
  return out;
}

std::optional<Reject> RefusalOf(const Pod& pod, const NodeRules& rules, const std::vector<const Pod*>& placed) {
  if (const Refusals refused = WhyRefused(pod, rules); !refused.empty()) {
    Reject why = refused.front().why;
    for (auto other = refused.begin() + 1; other != refused.end(); ++other)
      why.details.push_back(fmt::format("{}: {}", other->path, other->why.message));
    return why;
  }
  for (const Pod* const other : placed)
    if (const std::string port = SharedHostPort(pod, *other); !port.empty())
      return Reject{.reason = "NodePorts",
                    .message = "Node didn't have free ports for the requested pod ports",
                    .container = "",
                    .details = {fmt::format("host port {} is pod {}'s", port, FullName(*other))}};
  return std::nullopt;
}

}  // namespace berth::pods
