// Engine options beyond the kubelet's settings; default-constructed, decisions are those of kDefaultKubeletVersion.
#ifndef BERTH_ALLOCATOR_NODE_ENGINE_OPTIONS_H_
#define BERTH_ALLOCATOR_NODE_ENGINE_OPTIONS_H_

#include "model/kubelet_version.h"
#include "model/own_rules.h"

namespace berth::allocator {

/// Which kubelet to decide as, and Berth's own settings of the engine.
struct EngineOptions {
  KubeletVersion kubelet_version = kDefaultKubeletVersion;  ///< whose decisions are made (rules/versions)
  bool node_fit = true;  ///< also reject what exceeds node allocatable (OutOfcpu, OutOfmemory, OutOfpods, OutOf<res>),
                         ///< and Make refuses a reservation above capacity or, strict, of all CPUs
  /// Under full-pcpus-only only cores of which every CPU is free are given, each as a whole, and a number that no such
  /// cores make up is refused (rules/cpu#whole-cores). False: the kubelet's formulas, which give parts of cores where
  /// cores have different sizes, or a thread is reserved or offline.
  bool whole_cores = false;
  /// Among devices, and sets of nodes, that are equally good to the kubelet, those that lie closest together, and CPUs
  /// local to them; a device on nodes without CPUs counts on the nearest ones with CPUs (rules/devices#closeness).
  bool close_devices = false;
  /// How few nodes a pinned memory request needs is judged by what is free, not by what the nodes could give if they
  /// were empty, so that a request that is wider today is not refused for it (rules/memory#by-what-is-free).
  bool judge_by_free_memory = false;
  /// Pinned memory may lie on any set of nodes that has room for it beside what others hold, whatever groups these
  /// make, so that memory of one and of several nodes does not strand (rules/memory#overlapping-groups).
  bool memory_groups_overlap = false;
  /// In scope pod, a pod that fits on no set of nodes as a whole is placed container by container
  /// (rules/topology#pod-falls-back).
  bool pod_falls_back = false;
  /// Under best-effort, where one resource has no node in common with the others, these stay aligned among themselves
  /// (rules/topology#keep-the-rest).
  bool keep_rest_aligned = false;
  /// Container by container, under restricted and single-numa-node: what is rejected with the kubelet's choice of nodes
  /// is tried with the others that the policy admits (rules/topology#look-ahead).
  bool look_ahead = false;
  OwnRules own{};  ///< rules/own
  friend bool operator==(const EngineOptions&, const EngineOptions&) = default;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_NODE_ENGINE_OPTIONS_H_
