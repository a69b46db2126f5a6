// OOM score adjustment: the oom_score_adj of a container's processes, by which the kernel kills when memory runs out.
#ifndef BERTH_HOST_CGROUP_OOM_SCORE_H_
#define BERTH_HOST_CGROUP_OOM_SCORE_H_

#include "base/units.h"
#include "model/pod.h"

namespace berth::cgroup {

/// -997 (Guaranteed, node-critical) .. 1000 (BestEffort), in between by memory request against `capacity`, the memory
/// of the node (rules/cgroups#oom-score). `container` is one of the pod's. Pure.
int OomScoreAdj(const Pod& pod, const Container& container, Bytes capacity);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_OOM_SCORE_H_
