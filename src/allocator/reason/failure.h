// Admission failure reasons of the managers ("TopologyAffinityError", "UnexpectedAdmissionError"), and of a resize.
#ifndef BERTH_ALLOCATOR_REASON_FAILURE_H_
#define BERTH_ALLOCATOR_REASON_FAILURE_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/decision.h"

namespace berth::allocator {

inline constexpr std::string_view kUnexpectedAdmission = "UnexpectedAdmissionError";
inline constexpr std::string_view kSmtAlignment = "SMTAlignmentError";
/// No L3 group has what has to be in one.
inline constexpr std::string_view kL3Alignment = "L3AlignmentError";
inline constexpr std::string_view kIsolatedShort = "IsolatedCPUsError";
/// What a pod asks for by annotation is not for it.
inline constexpr std::string_view kPodPolicy = "PodPolicyForbidden";
/// A pod cannot be in the named pool it asks for, or that has not enough CPUs for it.
inline constexpr std::string_view kCpuPool = "CPUPoolError";
inline constexpr std::string_view kTopologyAffinity = "TopologyAffinityError";

/// Of a resize: it would fit if others gave back what they have; it never will.
inline constexpr std::string_view kDeferred = "Deferred";
inline constexpr std::string_view kInfeasible = "Infeasible";

/// A rejection by a manager's allocation, in the kubelet's words around `error`.
inline Reject Unexpected(std::string_view container, std::string_view error) {
  Reject out;
  out.reason = kUnexpectedAdmission;
  out.message = "Allocate failed due to " + std::string(error) + ", which is unexpected";
  out.container = container;
  return out;
}

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_REASON_FAILURE_H_
