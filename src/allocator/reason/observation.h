// Observation of a decision: its topology hints, merges and shortages as values.
#ifndef BERTH_ALLOCATOR_REASON_OBSERVATION_H_
#define BERTH_ALLOCATOR_REASON_OBSERVATION_H_

#include <vector>

#include "model/explanation.h"

namespace berth::allocator {

/// Hints, merges and shortages as values, for Explain.
struct Observation {
  std::vector<ResourceHints> hints;
  std::vector<MergeStep> merges;
  std::vector<Shortage> shortages;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_REASON_OBSERVATION_H_
