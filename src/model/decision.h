// The answer to "may this pod run here, and where": admit with placements, or reject with reasons.
#ifndef BERTH_MODEL_DECISION_H_
#define BERTH_MODEL_DECISION_H_

#include <string>
#include <variant>
#include <vector>

#include "model/ledger.h"

namespace berth {

struct Admit {
  LedgerDelta delta;  ///< delta.put holds the placements
  friend bool operator==(const Admit&, const Admit&) = default;
};

/// No is an answer, not an error. Nothing is taken.
struct Reject {
  std::string reason;                ///< code as in pod status: "TopologyAffinityError", "SMTAlignmentError",
                                     ///< "UnexpectedAdmissionError", "OutOfcpu", ...
  std::string message;               ///< the kubelet's words
  std::string container;             ///< the container that could not be placed; empty if it is the pod as a whole
  std::vector<std::string> details;  ///< in an operator's words: what is short, where, by how much
  friend bool operator==(const Reject&, const Reject&) = default;
};

using Decision = std::variant<Admit, Reject>;

}  // namespace berth

#endif  // BERTH_MODEL_DECISION_H_
