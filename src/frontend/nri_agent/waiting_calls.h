// Calls of a runtime that wait for what is said of their pod, each for a limited time.
#ifndef BERTH_FRONTEND_NRI_AGENT_WAITING_CALLS_H_
#define BERTH_FRONTEND_NRI_AGENT_WAITING_CALLS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "host/os/clock.h"

namespace berth::nri_agent {

/// A call of a runtime, made again. Where it still has to wait it comes back to who has made it.
using Call = std::move_only_function<void()>;

/// Thread: one.
class WaitingCalls {
 public:
  void Add(const std::string& uid, os::MonoTime until, Call call) { calls_.push_back({uid, until, std::move(call)}); }
  /// Makes those of the pod.
  void Run(const std::string& uid);
  void RunAll();
  /// Makes those whose time is over; before, `expired` is called with the pod of each.
  void RunExpired(os::MonoTime now, const std::function<void(const std::string& uid)>& expired);
  /// Nobody waits for their answers any more.
  void Drop() { calls_.clear(); }
  os::MonoTime next_due() const;

 private:
  struct Waiting {
    std::string uid;
    os::MonoTime until;
    Call call;
  };
  void RunIf(const std::function<bool(const Waiting&)>& over);

  std::vector<Waiting> calls_;
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_WAITING_CALLS_H_
