// A name for a set of pods that a scheduler can compare with its own: k8stopologyawareschedwg's pod fingerprint.
#ifndef BERTH_KUBERNETES_NODE_PUBLISHER_POD_FINGERPRINT_H_
#define BERTH_KUBERNETES_NODE_PUBLISHER_POD_FINGERPRINT_H_

#include <compare>
#include <span>
#include <string>

namespace berth::node_publisher {

struct PodName {
  std::string namespace_;
  std::string name;
  friend auto operator<=>(const PodName&, const PodName&) = default;
};

/// "pfp0v001" and 16 hexadecimal digits. The pods' order does not count; a pod that is there twice counts twice.
std::string PodFingerprint(std::span<const PodName> pods);

}  // namespace berth::node_publisher

#endif  // BERTH_KUBERNETES_NODE_PUBLISHER_POD_FINGERPRINT_H_
