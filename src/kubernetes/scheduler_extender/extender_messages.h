// Scheduler extender messages: kube-scheduler's calls over HTTP and the answers, as JSON. docs/design/extender.md.
#ifndef BERTH_KUBERNETES_SCHEDULER_EXTENDER_EXTENDER_MESSAGES_H_
#define BERTH_KUBERNETES_SCHEDULER_EXTENDER_EXTENDER_MESSAGES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/pod.h"

namespace berth::scheduler_extender {

/// Bytes of a call. A Node object with the images it lists is 10 to 30 KiB; names alone are nothing beside that.
inline constexpr std::size_t kMostCallBytes = std::size_t{64} << 20;
/// Bytes of the pod in it: etcd takes 1.5 MiB, and the API server adds its own.
inline constexpr std::size_t kMostPodBytes = std::size_t{2} << 20;
inline constexpr std::size_t kMostCandidates = 20'000;
/// The best score of a node.
inline constexpr int kBestHostScore = 10;

/// A node the scheduler would take.
struct Candidate {
  std::string name;
  std::string_view object;  ///< the Node as it came; "": only its name did
};

/// ExtenderArgs, of filter and prioritize.
struct Call {
  Pod pod;
  bool names_only = false;       ///< the scheduler keeps the nodes itself (nodeCacheCapable)
  std::vector<Candidate> nodes;  ///< no name twice
};
/// Names count where names and nodes are given, as they do for the scheduler. Field names of the call are Go's, in any
/// case. Lifetime: views into `body`. Errors: kInvalid with the field, also for what is above the bounds.
Result<Call> ReadCall(std::string_view body);

/// A node that does not take the pod, and why, for the pod's events.
struct Refusal {
  std::string node;
  std::string reason;
  bool final = false;  ///< also if pods there made room
};

/// ExtenderFilterResult. `passed`: positions in call.nodes, ascending. Nodes are written as they came.
std::string FormatFilterResult(const Call& call, const std::vector<std::size_t>& passed,
                               const std::vector<Refusal>& refused);
/// ExtenderFilterResult of a call that could not be answered.
std::string FormatFilterError(std::string_view why);

/// HostPriorityList. Requires: a score, 0 to kBestHostScore, for each of call.nodes.
std::string FormatHostPriorities(const Call& call, const std::vector<int>& scores);

}  // namespace berth::scheduler_extender

#endif  // BERTH_KUBERNETES_SCHEDULER_EXTENDER_EXTENDER_MESSAGES_H_
