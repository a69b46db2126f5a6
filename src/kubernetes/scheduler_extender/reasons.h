// Reasons in a form that a pod's event and its status can hold. docs/design/extender.md, "Reasons".
#ifndef BERTH_KUBERNETES_SCHEDULER_EXTENDER_REASONS_H_
#define BERTH_KUBERNETES_SCHEDULER_EXTENDER_REASONS_H_

#include <cstddef>
#include <vector>

#include "kubernetes/scheduler_extender/extender_messages.h"

namespace berth::scheduler_extender {

inline constexpr std::size_t kMostReasons = 16;
inline constexpr std::size_t kMostReasonBytes = 300;

/// kube-scheduler counts equal reasons and writes all different ones into the pod's status, whatever that comes to. So
/// at most kMostReasons different ones are left, those of the most nodes, each of kMostReasonBytes at most; other nodes
/// get a common one. A reason that one node alone has begins with the node's name.
void Shorten(std::vector<Refusal>& refused);

}  // namespace berth::scheduler_extender

#endif  // BERTH_KUBERNETES_SCHEDULER_EXTENDER_REASONS_H_
