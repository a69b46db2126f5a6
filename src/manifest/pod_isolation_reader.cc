#include "manifest/pod_isolation_reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/name_validation.h"
#include "base/text.h"

namespace berth::manifest {
namespace {

constexpr std::size_t kMostServers = 3;  // as resolv.conf(5) and the API have them
constexpr std::size_t kMostSearches = 32;
constexpr std::size_t kLongestSearch = 2048;

void CheckItemAddress(const Path& list, std::size_t index, const std::string& address, Report& report) {
  if (IsIpAddress(address)) return;
  report.Problem(Path{.parent = &list, .key = {}, .index = static_cast<int>(index)},
                 "Invalid value: \"" + Printable(address, 60) + "\": must be a valid IP address");
}

void ReadDns(Object& dns, DnsConfig& out) {
  dns.Read("nameservers", out.servers);
  dns.Read("searches", out.searches);
  dns.Each("options", [&](const Node& node, const Path& path) {
    Object option(node, path, dns.report());
    std::string name;
    std::optional<std::string> value;
    option.Read("name", name);
    if (option.Take("value") != nullptr) option.Read("value", value.emplace());
    option.Finish();
    if (name.empty()) return dns.report().Problem(option.PathOf("name"), "Required value: the option, such as ndots");
    out.options.push_back(value ? name + ":" + *value : name);
  });
  const Path servers = dns.PathOf("nameservers");
  for (std::size_t i = 0; i < out.servers.size(); ++i) CheckItemAddress(servers, i, out.servers[i], dns.report());
  if (out.servers.size() > kMostServers)
    dns.report().Problem(servers, "Invalid value: must not have more than 3 nameservers");
  if (out.searches.size() > kMostSearches || Join(out.searches, " ").size() > kLongestSearch)
    dns.report().Problem(dns.PathOf("searches"),
                         "Invalid value: must not have more than 32 search paths, 2048 characters together");
  dns.Finish();
}

void CheckDnsPolicy(Object& spec, const Pod& pod) {
  if (pod.dns_policy == "None" && pod.dns.servers.empty())
    spec.report().Problem(spec.PathOf("dnsConfig"),
                          "Required value: must provide at least one DNS nameserver when dnsPolicy is None");
}

void ReadHostAlias(const Node& node, const Path& path, Report& report, HostAlias& out) {
  Object object(node, path, report);
  object.Read("ip", out.ip);
  object.Read("hostnames", out.hostnames);
  object.Finish();
  if (!IsIpAddress(out.ip))
    report.Problem(object.PathOf("ip"), "Invalid value: \"" + Printable(out.ip, 60) + "\": must be a valid IP address");
  const Path names = object.PathOf("hostnames");
  for (std::size_t i = 0; i < out.hostnames.size(); ++i)  // it becomes a line of a file
    if (std::string wrong = CheckSubdomainName(out.hostnames[i]); !wrong.empty())
      report.Problem(Path{.parent = &names, .key = {}, .index = static_cast<int>(i)}, std::move(wrong));
}

void CheckNameIn(Object& object, std::string_view key, std::string wrong) {
  if (!wrong.empty()) object.report().Problem(object.PathOf(key), std::move(wrong));
}

void ReadNamespaces(Object& spec, Pod& out) {
  spec.Read("hostPID", out.host_pid);
  spec.Read("hostIPC", out.host_ipc);
  spec.Read("shareProcessNamespace", out.share_process_namespace);
  if (spec.Take("hostUsers") != nullptr) spec.Read("hostUsers", out.host_users.emplace());
  if (out.host_pid && out.share_process_namespace)
    spec.report().Problem(spec.PathOf("shareProcessNamespace"),
                          "Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled");
  const bool others = out.host_pid || out.host_ipc || out.host_network;
  if (!out.host_users.value_or(true) && others)
    spec.report().Problem(spec.PathOf("hostUsers"),
                          "Forbidden: a user namespace of its own (false) goes with none of hostNetwork, hostPID and "
                          "hostIPC");
}

/// "kernel.shm_rmid_forced", "net/ipv4/ip_forward": words of letters, digits, "-" and "_", separated by "." or "/".
bool IsSysctlName(std::string_view name) {
  constexpr std::size_t kLongest = 253;
  if (name.empty() || name.size() > kLongest) return false;
  bool begins = true;  // of a word
  for (const char c : name) {
    if (c == '.' || c == '/') {
      if (begins) return false;
      begins = true;
      continue;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!letter && (begins || (c != '-' && c != '_'))) return false;
    begins = false;
  }
  return !begins;
}

void ReadSysctl(const Node& node, const Path& path, Report& report, std::pair<std::string, std::string>& out) {
  Object object(node, path, report);
  object.Read("name", out.first);
  object.Read("value", out.second);
  object.Finish();
  if (!IsSysctlName(out.first))
    report.Problem(object.PathOf("name"),
                   "Invalid value: \"" + Printable(out.first, 80) + "\": must be a name as in kernel.shm_rmid_forced");
}

void ReadAppArmor(Object& profile, SecurityContext& out) {
  ReadWord(profile, "type", {"Localhost", "RuntimeDefault", "Unconfined"}, out.app_armor);
  profile.Read("localhostProfile", out.app_armor_localhost);
  if (out.app_armor.empty())
    profile.report().Problem(profile.PathOf("type"), "Required value: Localhost, RuntimeDefault or Unconfined");
  const bool local = out.app_armor == "Localhost";
  if (local && Trim(out.app_armor_localhost).empty())
    profile.report().Problem(profile.PathOf("localhostProfile"),
                             "Required value: the name of a profile that the node has loaded");
  if (!local && !out.app_armor_localhost.empty())
    profile.report().Problem(profile.PathOf("localhostProfile"),
                             "Invalid value: can only be set when type is Localhost");
  profile.Finish();
}

}  // namespace

void ReadPodIsolation(Object& spec, Pod& out) {
  ReadNamespaces(spec, out);
  spec.Read("runtimeClassName", out.runtime_class);
  if (!out.runtime_class.empty()) CheckNameIn(spec, "runtimeClassName", CheckSubdomainName(out.runtime_class));
  if (!out.hostname.empty()) CheckNameIn(spec, "hostname", CheckLabelName(out.hostname));
  spec.Read("subdomain", out.subdomain);
  if (!out.subdomain.empty()) CheckNameIn(spec, "subdomain", CheckLabelName(out.subdomain));
  spec.Read("setHostnameAsFQDN", out.hostname_as_fqdn);
  ReadWord(spec, "dnsPolicy", {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"}, out.dns_policy);
  spec.Within("dnsConfig", [&](Object& dns) { ReadDns(dns, out.dns); });
  CheckDnsPolicy(spec, out);
  spec.Each("hostAliases", [&](const Node& node, const Path& path) {
    ReadHostAlias(node, path, spec.report(), out.host_aliases.emplace_back());
  });
  spec.Each("imagePullSecrets", [&](const Node& node, const Path& path) {
    Object secret(node, path, spec.report());
    std::string name;
    secret.Read("name", name);
    secret.Finish();
    if (!name.empty()) out.image_pull_secrets.push_back(std::move(name));  // as the kubelet; it is only looked up
  });
}

void ReadContainerIsolation(Object& container, Container& out) {
  container.Read("stdin", out.stdin_open);
  container.Read("stdinOnce", out.stdin_once);
  container.Read("tty", out.tty);
}

void ReadSecurityIsolation(Object& security, SecurityContext& out) {
  security.Within("appArmorProfile", [&](Object& profile) { ReadAppArmor(profile, out); });
  security.Within("seLinuxOptions", [&](Object& options) {
    SeLinuxOptions& label = out.se_linux.emplace();
    options.Read("user", label.user);
    options.Read("role", label.role);
    options.Read("type", label.type);
    options.Read("level", label.level);
    options.Finish();
  });
}

void ReadSysctls(Object& security, SecurityContext& out) {
  security.Each("sysctls", [&](const Node& node, const Path& path) {
    ReadSysctl(node, path, security.report(), out.sysctls.emplace_back());
  });
}

}  // namespace berth::manifest
