// The standing of a feature gate in a version of the kubelet: rules/sources#gates.
#ifndef BERTH_MODEL_GATE_STANDING_H_
#define BERTH_MODEL_GATE_STANDING_H_

#include <string_view>

#include "model/kubelet_version.h"

namespace berth {

/// What a kubelet of a version makes of a gate in its settings.
struct GateStanding {
  enum class Kind {
    kUnknown,  ///< a name it does not know; before 1.36 the feature may have had a gate
    kLater,    ///< known from `since` on
    kFree,     ///< takes any value
    kLocked,   ///< takes `on` alone
    kRemoved,  ///< refused from `since` on; the feature is always on
  };
  Kind kind = Kind::kUnknown;
  bool on = true;
  KubeletVersion since = KubeletVersion::k1_36;
};
GateStanding StandingOf(std::string_view gate, KubeletVersion version);

}  // namespace berth

#endif  // BERTH_MODEL_GATE_STANDING_H_
