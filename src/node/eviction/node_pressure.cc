#include "node/eviction/node_pressure.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace berth::eviction {
namespace {

/// Whether its end would give anything of `signal` back.
bool CanHelp(Signal signal, const Candidate& pod) {
  if (signal == Signal::kPids) return pod.processes > 0;
  return !pod.usage || *pod.usage > 0;
}

}  // namespace

Pressure::Pressure(std::vector<Threshold> thresholds, std::chrono::milliseconds transition)
    : thresholds_(std::move(thresholds)), states_(thresholds_.size()), transition_(transition) {
  std::ranges::stable_sort(thresholds_, {}, [](const Threshold& t) { return t.signal == Signal::kPids; });
}

std::optional<Met> Pressure::Look(const Observations& seen, Time now) {
  std::optional<Met> out;
  memory_ = pids_ = false;
  next_act_.reset();
  for (std::size_t i = 0; i < thresholds_.size(); ++i) {
    const Threshold& threshold = thresholds_[i];
    State& state = states_[i];
    const auto found = seen.find(threshold.signal);
    if (found != seen.end()) {
      const auto& [available, capacity] = found->second;
      const std::int64_t least = threshold.least.Of(capacity);
      const std::int64_t enough = least + (state.since ? threshold.reclaim.Of(capacity) : 0);
      if (available < enough) {
        if (!state.since) state.since = now;
        state.last = now;
        const Time act = *state.since + threshold.grace;
        if (act > now) next_act_ = std::min(next_act_.value_or(act), act);
        if (!out && act <= now) out = Met{.threshold = threshold, .least = least, .available = available};
      } else {
        state.since.reset();
      }
    }
    if (state.last && now - *state.last < transition_) (threshold.signal == Signal::kPids ? pids_ : memory_) = true;
    if (state.since) (threshold.signal == Signal::kPids ? pids_ : memory_) = true;
  }
  return out;
}

std::vector<Candidate> Rank(Signal signal, std::vector<Candidate> pods) {
  std::erase_if(pods, [&](const Candidate& pod) { return pod.critical || !CanHelp(signal, pod); });
  std::ranges::sort(pods, {}, [&](const Candidate& pod) {
    if (signal == Signal::kPids) return std::tuple(false, false, pod.priority, -pod.processes, pod.uid);
    const std::int64_t over = pod.usage.value_or(0) - pod.request;
    return std::tuple(pod.usage.has_value(), pod.usage && over <= 0, pod.priority, pod.usage ? -over : 0, pod.uid);
  });
  return pods;
}

std::string Message(const Met& met, const Candidate& victim) {
  std::string out = fmt::format("The node was low on resource: {}. Threshold quantity: {}, available: {}. ",
                                Resource(met.threshold.signal), met.least, met.available);
  if (met.threshold.signal == Signal::kPids) return out + fmt::format("The pod had {} processes.", victim.processes);
  if (!victim.usage) return out + fmt::format("Its usage is not known, request is {}.", victim.request);
  out += fmt::format("The pod was using {}, request is {}", *victim.usage, victim.request);
  return out + (*victim.usage > victim.request ? ", has larger consumption of memory." : ".");
}

}  // namespace berth::eviction
