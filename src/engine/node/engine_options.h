// What Berth lets a node decide differently from the kubelet.
#ifndef BERTH_ENGINE_NODE_ENGINE_OPTIONS_H_
#define BERTH_ENGINE_NODE_ENGINE_OPTIONS_H_

namespace berth::engine {

/// Berth's own settings of the engine, beside the kubelet's.
struct EngineOptions {
  bool node_fit = true;  ///< also reject what exceeds node allocatable (OutOfcpu, OutOfmemory, OutOfpods, OutOf<res>),
                         ///< and Make refuses a reservation above capacity or, strict, of all CPUs
  /// Under full-pcpus-only only cores of which every CPU is free are given, each as a whole, and a number that no such
  /// cores make up is refused (rules/cpu#whole-cores). False: the kubelet's formulas, which give parts of cores where
  /// cores have different sizes, or a thread is reserved or offline.
  bool whole_cores = false;
  /// Among devices, and sets of nodes, that are equally good to the kubelet, those that lie closest together, and CPUs
  /// local to them; a device on nodes without CPUs counts on the nearest ones with CPUs (rules/devices#closeness).
  bool close_devices = false;
  friend bool operator==(const EngineOptions&, const EngineOptions&) = default;
};

}  // namespace berth::engine

#endif  // BERTH_ENGINE_NODE_ENGINE_OPTIONS_H_
