// Annotations of pods that other plug-ins of a runtime know (docs/reference/annotations.md): what they mean here. Pure.
#ifndef BERTH_FRONTEND_NRI_AGENT_ANNOTATIONS_H_
#define BERTH_FRONTEND_NRI_AGENT_ANNOTATIONS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/own_rules.h"
#include "model/pod.h"
#include "rpc/nri/nri_values.h"

namespace berth::nri_agent {

/// What a pod's annotations ask for one of its containers.
struct Wishes {
  bool shared = false;                     ///< no CPUs of its own, whatever it asks for
  std::optional<IsolatedCpus> isolated{};  ///< its own CPUs are to be isolated ones: kPrefer, kRequire
  std::vector<std::string> ignored;        ///< annotations for it that have no effect here, with the reason
  friend bool operator==(const Wishes&, const Wishes&) = default;
};

/// "KEY/container.NAME" counts before "KEY/pod", that before "KEY".
Wishes WishesOf(const nri::Texts& annotations, std::string_view container);

/// The pod as it counts for this one of its containers: who wants to share is treated as one that is not Guaranteed,
/// who wants isolated CPUs asks for them as for an option of Berth's own, if the node's podPolicies let it.
Pod AsWished(const Pod& pod, std::string_view container, const OwnRules& own);
/// Why its wish for isolated CPUs has no effect; "": it has one, or there is none.
std::string IsolatedRefused(const Pod& pod, std::string_view container, const OwnRules& own);

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_ANNOTATIONS_H_
