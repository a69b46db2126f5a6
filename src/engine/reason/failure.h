// Why a manager could not give a container what it asked for.
#ifndef BERTH_ENGINE_REASON_FAILURE_H_
#define BERTH_ENGINE_REASON_FAILURE_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/decision.h"

namespace berth::engine {

inline constexpr std::string_view kUnexpectedAdmission = "UnexpectedAdmissionError";
inline constexpr std::string_view kSmtAlignment = "SMTAlignmentError";
inline constexpr std::string_view kTopologyAffinity = "TopologyAffinityError";

/// A rejection by a manager's allocation, in the kubelet's words around `error`.
inline Reject Unexpected(std::string_view container, std::string_view error) {
  Reject out;
  out.reason = kUnexpectedAdmission;
  out.message = "Allocate failed due to " + std::string(error) + ", which is unexpected";
  out.container = container;
  return out;
}

}  // namespace berth::engine

#endif  // BERTH_ENGINE_REASON_FAILURE_H_
