#include "pods/node_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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

bool AnyContainer(const Pod& pod, bool (*is)(const Container&)) {
  return std::ranges::any_of(pod.containers, is) || std::ranges::any_of(pod.init_containers, is);
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

std::optional<Reject> WhyRefused(const Pod& pod, const NodeRules& rules) {
  const bool own_rules =
      AnyContainer(pod, [](const Container& c) { return c.restart_policy || !c.restart_rules.empty(); });
  if (own_rules && !rules.restart_rules)
    return Reject{.reason = "ContainerRestartRules",
                  .message =
                      "restartPolicy and restartPolicyRules of a container need the feature gate "
                      "ContainerRestartRules, which featureGates of the KubeletConfiguration turn off; take them "
                      "out, or set it to true"};
  if (!rules.has_sandboxes) return std::nullopt;
  for (const auto& [name, value] : pod.security.sysctls)
    if (std::string problem = SysctlProblem(pod, SysctlName(name), rules); !problem.empty())
      return Reject{.reason = "SysctlForbidden", .message = std::move(problem)};
  if (!pod.runtime_class.empty() && !rules.runtime_classes.contains(pod.runtime_class))
    return Reject{.reason = "RuntimeClassUnknown",
                  .message = fmt::format("RuntimeClass \"{}\" not found: name its handler in runtimeClasses of Berth's "
                                         "settings",
                                         Printable(pod.runtime_class, 80))};
  const bool profiles = AsksForAppArmor(pod.security) ||
                        AnyContainer(pod, [](const Container& c) { return AsksForAppArmor(c.security); });
  if (profiles && !rules.app_armor)
    return Reject{.reason = "AppArmor",
                  .message =
                      "Cannot enforce AppArmor: AppArmor is not enabled on the host; take appArmorProfile out, "
                      "or set its type to Unconfined"};
  const bool labels =
      pod.security.se_linux || AnyContainer(pod, [](const Container& c) { return c.security.se_linux.has_value(); });
  if (labels && !rules.se_linux)
    return Reject{.reason = "SELinux",
                  .message = "SELinux is not enabled on the host: seLinuxOptions would have no effect; take them out"};
  if (pod.security.supplemental_groups_policy == "Strict" && !rules.strict_groups)
    return Reject{.reason = "SupplementalGroupsPolicyNotSupported",
                  .message =
                      "SupplementalGroupsPolicy=Strict is not supported in this node: the container runtime does not "
                      "know it; take it out, or use a newer one (containerd 2.0, CRI-O 1.31)"};
  return std::nullopt;
}

}  // namespace berth::pods
