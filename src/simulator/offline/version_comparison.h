// Decisions of kubelet versions compared: the same steps on one node, and what becomes of each pod.
#ifndef BERTH_SIMULATOR_OFFLINE_VERSION_COMPARISON_H_
#define BERTH_SIMULATOR_OFFLINE_VERSION_COMPARISON_H_

#include <string>
#include <vector>

#include "api/codec/codec.h"
#include "base/result.h"
#include "model/decision.h"
#include "model/explanation.h"
#include "model/kubelet_version.h"
#include "model/pod.h"
#include "simulator/offline/offline_node.h"
#include "simulator/offline/simulation.h"
#include "view/table.h"

namespace berth::offline {

/// The same node and ledger, deciding as another version. Errors: kInvalid: what a kubelet of that version refuses
/// of its settings.
Result<OfflineNode> AsVersion(const OfflineNode& node, KubeletVersion version);

/// What one container came to otherwise.
struct OutcomeDifference {
  int number = 0;         ///< of the step
  std::string pod;        ///< namespace/name
  std::string container;  ///< "": neither admits the pod
  std::string first;      ///< "CPUs 0-3, memory 0", "rejected: REASON"; "": the step was none of this pod
  std::string second;
  friend bool operator==(const OutcomeDifference&, const OutcomeDifference&) = default;
};
struct OutcomeComparison {
  std::vector<OutcomeDifference> differences;  ///< by step
  // Decisions:
  int same = 0;  ///< the same places, or none
  int elsewhere = 0;
  int only_first = 0;  ///< admitted
  int only_second = 0;
};
OutcomeComparison CompareOutcomes(const std::vector<Outcome>& first, const std::vector<Outcome>& second);

/// What came of the steps as one version.
struct VersionRun {
  KubeletVersion version = kDefaultKubeletVersion;
  std::vector<Outcome> outcomes;
};
/// Each run but the first against the first, for people.
std::string CompareText(const std::vector<VersionRun>& runs, const view::TableOptions& style);
/// The same as entries of `comparisons` (docs/how-to/simulate.md).
codec::Json CompareJson(const std::vector<VersionRun>& runs);

/// What the other versions, those that take the node's settings, would decide otherwise about a pod than `decision`,
/// which is allocator::Decide's here. Requires: as allocator::Decide.
std::vector<VersionDifference> OtherVersions(const allocator::NodeNow& now, const Pod& pod, const Decision& decision);

}  // namespace berth::offline

#endif  // BERTH_SIMULATOR_OFFLINE_VERSION_COMPARISON_H_
