// Lifecycle hooks of a container, postStart and preStop: a command, an HTTP request or a sleep.
#ifndef BERTH_RUNTIME_LIFECYCLE_HOOK_H_
#define BERTH_RUNTIME_LIFECYCLE_HOOK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/pod.h"

namespace berth::runtime {

/// A command, a request or a time to wait; the first of the three that is given. Refers to the container.
struct Hook {
  const std::vector<std::string>& exec;
  const std::optional<HttpCheck>& http;
  std::int64_t sleep_s = 0;

  bool empty() const { return exec.empty() && !http && sleep_s <= 0; }
};

inline Hook PostStartOf(const Container& container) {
  return {container.post_start_exec, container.post_start_http, container.post_start_sleep_s};
}

inline Hook PreStopOf(const Container& container) {
  return {container.pre_stop_exec, container.pre_stop_http, container.pre_stop_sleep_s};
}

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_LIFECYCLE_HOOK_H_
