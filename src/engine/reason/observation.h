// Observation of a decision: its topology hints, merges and shortages as values.
#ifndef BERTH_ENGINE_REASON_OBSERVATION_H_
#define BERTH_ENGINE_REASON_OBSERVATION_H_

#include <vector>

#include "model/explanation.h"

namespace berth::engine {

/// Hints, merges and shortages as values, for Explain.
struct Observation {
  std::vector<ResourceHints> hints;
  std::vector<MergeStep> merges;
  std::vector<Shortage> shortages;
};

}  // namespace berth::engine

#endif  // BERTH_ENGINE_REASON_OBSERVATION_H_
