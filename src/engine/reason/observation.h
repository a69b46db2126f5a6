// What a decision saw and did on its way, as values.
#ifndef BERTH_ENGINE_REASON_OBSERVATION_H_
#define BERTH_ENGINE_REASON_OBSERVATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/id_set.h"
#include "model/placement.h"

namespace berth::engine {

/// What one resource said for one container (or for the whole pod: container is empty).
struct ResourceHints {
  std::string container;
  std::string resource;
  Hints hints;           ///< nullopt: no preference; empty list: impossible. Narrowest first
  bool complete = true;  ///< false: there are too many sets to list; the narrowest, lowest one stands for them
  friend bool operator==(const ResourceHints&, const ResourceHints&) = default;
};

/// What was merged from them.
struct MergeStep {
  std::string container;  ///< empty: the whole pod
  TopologyHint merged;
  bool admit = false;
  std::string rule;  ///< which rule decided, one clause
  friend bool operator==(const MergeStep&, const MergeStep&) = default;
};

/// Amounts are CPUs for "cpu", thousandths of a CPU under kNodeFit, bytes for memory and huge pages, devices otherwise.
struct Shortage {
  enum class Scope { kNodes, kMachine, kNodeFit };
  std::string container;  ///< empty: the whole pod
  std::string resource;
  Scope scope = Scope::kNodes;
  NodeSet nodes;  ///< the nodes looked at
  std::int64_t requested = 0;
  std::int64_t free = 0;      ///< what could be given there
  std::int64_t capacity = 0;  ///< what could be given there if nothing ran
  std::int64_t missing = 0;   ///< requested - free, > 0
  friend bool operator==(const Shortage&, const Shortage&) = default;
};

/// Hints, merges and shortages as values, for Explain.
struct Observation {
  std::vector<ResourceHints> hints;
  std::vector<MergeStep> merges;
  std::vector<Shortage> shortages;
};

}  // namespace berth::engine

#endif  // BERTH_ENGINE_REASON_OBSERVATION_H_
