#include "berth/pod_problem.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/text.h"

namespace berth::cli {
namespace {

constexpr std::size_t kLongestWords = 300;  // a container may say pages

std::string OwnReason(const PodView& pod) {
  return pod.reason.empty() || pod.message.empty() ? pod.reason : pod.reason + ": " + pod.message;
}

bool CouldNotBeExecuted(const ContainerView& container) {
  return container.phase != ContainerPhase::kRunning && container.last_end &&
         container.last_end->reason == "StartError";
}

/// ": what it said", "" when it said nothing.
std::string WithColon(const std::string& message) {
  return message.empty() ? "" : ": " + Printable(message, kLongestWords);
}

}  // namespace

std::string WhyFailed(const PodView& pod) {
  if (!pod.reason.empty()) return OwnReason(pod);
  std::vector<std::string> ends;
  for (const ContainerView& container : pod.containers) {
    const bool known = container.last && container.last->exit_code.has_value();
    const int code = known ? container.last->exit_code.value_or(0) : 0;
    if (container.phase != ContainerPhase::kExited || (known && code == 0)) continue;
    std::string end = "container " + container.name + " ended";
    if (known) end += " with exit code " + std::to_string(code);
    if (!container.reason.empty()) end += " (" + container.reason + WithColon(container.message) + ")";
    ends.push_back(std::move(end));
  }
  return ends.empty() ? "it failed" : Join(ends, ", ");
}

std::string WhyNotRunning(const PodView& pod) {
  if (!pod.reason.empty()) return OwnReason(pod);
  std::vector<std::string> out;
  for (const ContainerView& container : pod.containers) {
    const bool done = container.last_end && container.last_end->exit_code == 0;
    if (container.phase == ContainerPhase::kRunning || container.reason.empty() || done) continue;
    const std::string& message =
        CouldNotBeExecuted(container) && container.last_end ? container.last_end->message : container.message;
    std::string why = "container " + container.name + ": " + container.reason + WithColon(message);
    if (container.reason.contains("Image") && !message.contains(container.image))
      why += " (image " + Printable(container.image) + ")";
    out.push_back(std::move(why));
  }
  return Join(out, ", ");
}

bool CannotStart(const PodView& pod) { return std::ranges::any_of(pod.containers, CouldNotBeExecuted); }

}  // namespace berth::cli
