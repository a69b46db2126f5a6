// Annotations of pods that other plug-ins of a runtime know (docs/reference/annotations.md): what they mean here. Pure.
#ifndef BERTH_BESIDE_ANNOTATIONS_H_
#define BERTH_BESIDE_ANNOTATIONS_H_

#include <string>
#include <string_view>
#include <vector>

#include "model/pod.h"
#include "nri/values.h"

namespace berth::beside {

/// What a pod's annotations ask for one of its containers.
struct Wishes {
  bool shared = false;               ///< no CPUs of its own, whatever it asks for
  std::vector<std::string> ignored;  ///< annotations for it that have no effect here, with the reason
  friend bool operator==(const Wishes&, const Wishes&) = default;
};

/// "KEY/container.NAME" counts before "KEY/pod", that before "KEY".
Wishes WishesOf(const nri::Texts& annotations, std::string_view container);

/// The pod as it counts for this one of its containers: who wants to share is treated as one that is not Guaranteed.
Pod AsWished(const Pod& pod, std::string_view container);

}  // namespace berth::beside

#endif  // BERTH_BESIDE_ANNOTATIONS_H_
