// Failure reasons of a pod, as text for people. Pure.
#ifndef BERTH_CMD_BERTH_POD_PROBLEM_H_
#define BERTH_CMD_BERTH_POD_PROBLEM_H_

#include <string>

#include "model/pod_view.h"

namespace berth::cli {

/// Why a pod has failed: its own reason, else how its containers ended, with what they said.
std::string WhyFailed(const PodView& pod);

/// Why a pod does not run, or not all of it: its own reason, else those of its containers, with the program or image
/// that is missing. "": nothing is known.
std::string WhyNotRunning(const PodView& pod);

/// A container of it cannot be executed: its program is missing or no program.
bool CannotStart(const PodView& pod);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_POD_PROBLEM_H_
