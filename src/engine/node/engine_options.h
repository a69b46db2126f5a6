// What Berth lets a node decide differently from the kubelet.
#ifndef BERTH_ENGINE_NODE_ENGINE_OPTIONS_H_
#define BERTH_ENGINE_NODE_ENGINE_OPTIONS_H_

namespace berth::engine {

/// Berth's own settings of the engine, beside the kubelet's.
struct EngineOptions {
  bool node_fit = true;  ///< also reject what exceeds node allocatable (OutOfcpu, OutOfmemory, OutOfpods, OutOf<res>),
                         ///< and Make refuses a reservation above capacity or, strict, of all CPUs
  friend bool operator==(const EngineOptions&, const EngineOptions&) = default;
};

}  // namespace berth::engine

#endif  // BERTH_ENGINE_NODE_ENGINE_OPTIONS_H_
