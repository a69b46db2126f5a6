// A recorded case of `berth-conformance` as a value: docs/formats/recorded-cases.md has the schema.
#ifndef BERTH_TESTS_CONFORMANCE_REPLAY_CASE_H_
#define BERTH_TESTS_CONFORMANCE_REPLAY_CASE_H_

#include <string>
#include <variant>
#include <vector>

#include "allocator/cpu_selection/take.h"
#include "allocator/engine.h"
#include "allocator/topology_manager/merge.h"
#include "api/codec/codec.h"
#include "base/result.h"
#include "model/kubelet_config.h"
#include "model/kubelet_version.h"
#include "model/machine.h"
#include "model/own_rules.h"
#include "model/pod.h"

namespace berth::conformance {

struct AddPod {
  Pod pod;
};
struct RemovePod {
  std::string uid;
};
struct RestartManagers {};
using ReplayStep = std::variant<AddPod, RemovePod, RestartManagers>;

/// Pods coming and going on one node.
struct TraceCase {
  Machine machine;
  Result<KubeletConfiguration> config;  ///< the error: refused by its own validation, as the kubelet may have done
  allocator::Inputs inputs;
  OwnRules own{};  ///< Berth's own settings: none of a recorded kubelet
  KubeletVersion kubelet_version = KubeletVersion::k1_36;
  std::vector<ReplayStep> steps;
};

/// One merge of topology hints.
struct MergeCase {
  allocator::MergeInput input;
};

/// CPUs taken out of free ones, each request on its own.
struct TakeCase {
  Machine machine;
  std::vector<allocator::TakeRequest> takes;
};

struct ReplayCase {
  std::string name;
  std::variant<TraceCase, MergeCase, TakeCase> what;
};

/// Reads the `case` of a line. `version`: of the kubelet to decide as, where the case does not say which.
/// Errors: kInvalid, "<field>: <what is wrong>", the field as a path from `case`.
Result<ReplayCase> ParseReplayCase(const codec::Json& json, KubeletVersion version = KubeletVersion::k1_36);

}  // namespace berth::conformance

#endif  // BERTH_TESTS_CONFORMANCE_REPLAY_CASE_H_
