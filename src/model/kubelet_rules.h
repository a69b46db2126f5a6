// Decision rules of the kubelet that differ between versions: rules/versions.
#ifndef BERTH_MODEL_KUBELET_RULES_H_
#define BERTH_MODEL_KUBELET_RULES_H_

#include <optional>

#include "model/kubelet_version.h"

namespace berth {

/// What a version of the kubelet does otherwise than 1.36, which is the default.
struct KubeletRules {
  KubeletVersion version = KubeletVersion::k1_36;  ///< whose rules these are: for its feature gates (FeatureEnabled)

  // How the static CPU policy picks CPUs.

  /// distribute-cpus-across-numa under align-by-socket: nodes of one socket before nodes of several, however even these
  /// would be; a node with less than the even share is no reason against a set (rules/cpu#distributed).
  bool distribute_within_socket = false;
  /// What each of the chosen nodes gives is cut to the whole groups that the emptiest of them has
  /// (rules/cpu#distributed).
  bool clip_even_share = false;
  /// Over as many nodes as the hint names, if there are, and not over fewer (rules/cpu#distributed).
  bool keep_hint_width = false;
  /// The best set of nodes stays as it was found (rules/cpu#remembered-combinations).
  bool copy_combinations = false;
  /// distribute-cpus-across-cores takes one CPU of each core in turn, however they are numbered (rules/cpu#orders).
  bool one_cpu_per_core = false;
  /// A socket or core counts as free by its own size, not by the average (rules/cpu#orders).
  bool real_sizes = false;

  // What it writes into cgroups.

  /// MemoryQoS as it became beta: containers without a request are slowed down too; what has only its pod's limit is
  /// slowed down with the pod; memory.low of all pods; memory.high is lifted where the gate is off
  /// (rules/cgroups#memory-qos).
  bool memory_qos_beta = false;
  /// memoryThrottlingFactor of settings that do not say it; nullopt: nobody is slowed down.
  std::optional<double> memory_throttling_factor = 0.9;

  // What it evicts by.

  /// What the host has set aside for huge pages is memory in use (rules/eviction#figures).
  bool huge_pages_in_use = true;
  friend bool operator==(const KubeletRules&, const KubeletRules&) = default;
};

constexpr KubeletRules KubeletRulesOf(KubeletVersion version) {
  const bool from_1_37 = version >= KubeletVersion::k1_37;
  const bool from_1_38 = version >= KubeletVersion::k1_38;
  return {.version = version,
          .distribute_within_socket = from_1_37,
          .clip_even_share = from_1_37,
          .keep_hint_width = from_1_38,
          .copy_combinations = from_1_38,
          .one_cpu_per_core = from_1_38,
          .real_sizes = from_1_38,
          .memory_qos_beta = from_1_37,
          .memory_throttling_factor = from_1_37 ? std::nullopt : KubeletRules().memory_throttling_factor,
          .huge_pages_in_use = !from_1_37};
}

}  // namespace berth

#endif  // BERTH_MODEL_KUBELET_RULES_H_
