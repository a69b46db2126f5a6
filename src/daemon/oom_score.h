// oom_score_adj of a container as the kubelet computes it (spec devices-cgroups 2.2).
#ifndef BERTH_DAEMON_OOM_SCORE_H_
#define BERTH_DAEMON_OOM_SCORE_H_

#include "base/units.h"
#include "model/pod.h"

namespace berth::daemon {

/// `capacity`: memory of the node. Requires: `container` belongs to `pod`. -997 .. 1000.
int OomScoreAdj(const Pod& pod, const Container& container, Bytes capacity);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_OOM_SCORE_H_
