// Conversion of a kubelet's pods and containers, as a runtime shows them over NRI, to Berth's: what is exact and what
// is inferred is in docs/how-to/nri.md. Pure.
#ifndef BERTH_FRONTEND_NRI_AGENT_TRANSLATE_H_
#define BERTH_FRONTEND_NRI_AGENT_TRANSLATE_H_

#include <optional>
#include <string>
#include <string_view>

#include "model/pod.h"
#include "rpc/nri/nri_values.h"

namespace berth::nri_agent {

/// Who a pod is: its uid, or the sandbox's id where whoever made it gave none.
std::string UidOf(const nri::Pod& pod);

/// The pod without containers. Its QoS class is that of the group a kubelet made for it.
Pod PodOf(const nri::Pod& pod);

/// Requests and limits as a kubelet wrote them into shares, quota and limits. Memory requests of pods that are not
/// Guaranteed are not in there, and left out.
Container ContainerOf(const nri::Container& container, QosClass qos);

/// Path of the pod's group below `root` ("/": the top), of either driver; nullopt: it is not below it, or not known.
std::optional<std::string> GroupOf(const nri::Pod& pod, std::string_view root);

/// How often the container was restarted, by the kubelet's annotation.
int AttemptOf(const nri::Container& container);

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_TRANSLATE_H_
