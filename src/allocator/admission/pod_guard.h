// Permission check for what a pod asks for by annotation: rules/own#pods.
#ifndef BERTH_ALLOCATOR_ADMISSION_POD_GUARD_H_
#define BERTH_ALLOCATOR_ADMISSION_POD_GUARD_H_

#include <optional>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/reason/decision_log.h"
#include "model/decision.h"

namespace berth::allocator {

/// Before anything is placed. nullopt: it may, and the log says what counts for it.
std::optional<Reject> CheckWishes(const PodBooks& books, const DecisionLog& log);

/// After: whether all pods under its rule have no more CPUs for themselves than the rule lets them.
std::optional<Reject> CheckShare(const PodBooks& books);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_ADMISSION_POD_GUARD_H_
