#include "runtime/cri/pod_names.h"

#include <algorithm>

#include "base/text.h"

namespace berth::cri {
namespace {

constexpr std::size_t kLongestHostname = 63;
constexpr std::size_t kLongestKernelName = 64;
constexpr std::size_t kMostServers = 3;
constexpr std::size_t kMostSearches = 32;
constexpr std::size_t kLongestSearches = 2048;

/// "# comment" and "; comment" lines are none; the last "search" and "options" lines count, as resolv.conf(5) has it.
DnsConfig ReadResolvConf(std::string_view text) {
  DnsConfig out;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = SplitWords(line);
    if (words.size() < 2 || words[0].starts_with('#') || words[0].starts_with(';')) continue;
    const std::vector<std::string> rest(words.begin() + 1, words.end());
    if (words[0] == "nameserver") out.servers.push_back(rest.front());
    if (words[0] == "search") out.searches = rest;
    if (words[0] == "options") out.options = rest;
  }
  for (std::string& search : out.searches)
    if (search.size() > 1 && search.ends_with('.')) search.pop_back();
  return out;
}

void AddMissing(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& item : from)
    if (std::ranges::find(to, item) == to.end()) to.push_back(item);
}

/// A pod's options replace those of the same name.
void MergeOptions(std::vector<std::string>& to, const std::vector<std::string>& from) {
  const auto name_of = [](std::string_view option) { return option.substr(0, option.find(':')); };
  for (const std::string& option : from) {
    const auto same = std::ranges::find_if(to, [&](const std::string& had) { return name_of(had) == name_of(option); });
    if (same == to.end())
      to.push_back(option);
    else
      *same = option;
  }
}

void KeepToLimits(DnsConfig& dns) {
  if (dns.servers.size() > kMostServers) dns.servers.resize(kMostServers);
  if (dns.searches.size() > kMostSearches) dns.searches.resize(kMostSearches);
  while (Join(dns.searches, " ").size() > kLongestSearches) dns.searches.pop_back();
}

bool UsesCluster(const Pod& pod) {
  if (pod.dns_policy == "ClusterFirstWithHostNet") return true;
  return (pod.dns_policy.empty() || pod.dns_policy == "ClusterFirst") && !pod.host_network;
}

void PutLine(std::string& out, const std::string& address, const std::vector<std::string>& names) {
  out += address;
  for (const std::string& name : names) out += "\t" + name;
  out += "\n";
}

}  // namespace

Result<PodNames> NamesOf(const Pod& pod, std::string_view cluster_domain) {
  PodNames out;
  out.hostname = (pod.hostname.empty() ? pod.name : pod.hostname).substr(0, kLongestHostname);
  while (out.hostname.ends_with('-') || out.hostname.ends_with('.')) out.hostname.pop_back();
  if (!pod.subdomain.empty()) {
    out.domain = pod.subdomain + "." + pod.namespace_ + ".svc";
    if (!cluster_domain.empty()) out.domain.append(".").append(cluster_domain);
  }
  const bool whole = pod.hostname_as_fqdn && !out.domain.empty();
  out.kernel = whole ? out.hostname + "." + out.domain : out.hostname;
  if (out.kernel.size() > kLongestKernelName)
    return Fail(Code::kInvalid, "setHostnameAsFQDN: " + out.kernel +
                                    " is longer than the 64 characters of a host's "
                                    "name; give it a shorter hostname or subdomain");
  return out;
}

DnsConfig DnsOf(const Pod& pod, const NodeDns& node, std::string_view resolv_conf) {
  DnsConfig out;
  if (pod.dns_policy != "None") out = ReadResolvConf(resolv_conf);
  if (UsesCluster(pod) && !node.cluster_servers.empty()) {
    std::vector<std::string> searches;
    if (!node.cluster_domain.empty())
      searches = {pod.namespace_ + ".svc." + node.cluster_domain, "svc." + node.cluster_domain, node.cluster_domain};
    AddMissing(searches, out.searches);
    out = {.servers = node.cluster_servers, .searches = std::move(searches), .options = {"ndots:5"}};
  }
  AddMissing(out.servers, pod.dns.servers);
  AddMissing(out.searches, pod.dns.searches);
  MergeOptions(out.options, pod.dns.options);
  KeepToLimits(out);
  return out;
}

std::string HostsOf(const Pod& pod, const PodNames& names, const std::vector<std::string>& addresses,
                    std::string_view of_node) {
  std::string out = "# Kubernetes-managed hosts file.\n";
  if (pod.host_network) {
    out = "# Kubernetes-managed hosts file (host network).\n";
    out += of_node;
    if (!out.ends_with('\n')) out += "\n";
  } else {
    out +=
        "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\n"
        "fe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n";
    for (const std::string& address : addresses) {
      if (names.domain.empty())
        PutLine(out, address, {names.hostname});
      else
        PutLine(out, address, {names.hostname + "." + names.domain, names.hostname});
    }
  }
  if (pod.host_aliases.empty()) return out;
  out += "\n# Entries added by HostAliases.\n";
  for (const HostAlias& alias : pod.host_aliases) PutLine(out, alias.ip, alias.hostnames);
  return out;
}

}  // namespace berth::cri
