#include "frontend/nri_agent/waiting_calls.h"

#include <algorithm>

namespace berth::nri_agent {

void WaitingCalls::RunIf(const std::function<bool(const Waiting&)>& over) {
  std::vector<Waiting> ended;
  for (Waiting& each : std::exchange(calls_, {})) (over(each) ? ended : calls_).push_back(std::move(each));
  for (Waiting& each : ended) each.call();
}

void WaitingCalls::Run(const std::string& uid) {
  RunIf([&](const Waiting& each) { return each.uid == uid; });
}

void WaitingCalls::RunAll() {
  RunIf([](const Waiting&) { return true; });
}

void WaitingCalls::RunExpired(os::MonoTime now, const std::function<void(const std::string& uid)>& expired) {
  for (const Waiting& each : calls_)
    if (each.until <= now) expired(each.uid);
  RunIf([&](const Waiting& each) { return each.until <= now; });
}

os::MonoTime WaitingCalls::next_due() const {
  os::MonoTime out = os::MonoTime::max();
  for (const Waiting& each : calls_) out = std::min(out, each.until);
  return out;
}

}  // namespace berth::nri_agent
