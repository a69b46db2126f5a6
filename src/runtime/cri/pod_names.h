// Hostname, DNS configuration (/etc/resolv.conf) and /etc/hosts of a pod, as the kubelet composes them. Pure.
#ifndef BERTH_RUNTIME_CRI_POD_NAMES_H_
#define BERTH_RUNTIME_CRI_POD_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/pod.h"

namespace berth::cri {

/// Of the node, from the KubeletConfiguration.
struct NodeDns {
  std::vector<std::string> cluster_servers;
  std::string cluster_domain;
  std::string resolv_conf = "/etc/resolv.conf";  ///< file; "": none
};

struct PodNames {
  std::string hostname;  ///< the short one
  std::string domain;    ///< "": none
  std::string kernel;    ///< what the kernel has as its name: one of the two together
};
/// Errors: kInvalid when setHostnameAsFQDN makes a name of more than 64 characters.
Result<PodNames> NamesOf(const Pod& pod, std::string_view cluster_domain);

/// `resolv_conf`: text of the node's.
DnsConfig DnsOf(const Pod& pod, const NodeDns& node, std::string_view resolv_conf);

/// `addresses` of the pod; `of_node`: text of the node's /etc/hosts, which a pod in the node's network has too.
std::string HostsOf(const Pod& pod, const PodNames& names, const std::vector<std::string>& addresses,
                    std::string_view of_node);

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_POD_NAMES_H_
