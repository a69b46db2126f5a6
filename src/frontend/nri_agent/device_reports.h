// Devices of pods as their kubelet reports them: asked for on another thread, with pauses while there is no answer.
#ifndef BERTH_FRONTEND_NRI_AGENT_DEVICE_REPORTS_H_
#define BERTH_FRONTEND_NRI_AGENT_DEVICE_REPORTS_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "host/event_loop/executor.h"
#include "host/event_loop/task_scope.h"
#include "host/os/clock.h"
#include "model/pod_devices.h"

namespace berth::nri_agent {

/// So long a question about one pod lasts at most: a container waits for it, and a runtime asks nobody anything
/// meanwhile.
inline constexpr os::Millis kDevicePatience{200};
/// Likewise about all pods: what a runtime has when it takes berthd in waits for it.
inline constexpr os::Millis kAllDevicesPatience{500};

/// A kubelet's pod resources. Both are called on another thread, one call at a time, and return within `patience`.
/// Empty: it is not asked.
struct DeviceSource {
  std::function<Result<PodDevices>(const std::string& name_space, const std::string& name, os::Millis patience)> of_pod;
  std::function<Result<DevicesByPod>(os::Millis patience)> of_all;
};

/// Thread: one, which is the executor's loop's.
class DeviceReports {
 public:
  /// What was asked for; nullopt: there is no answer.
  template <class T>
  using Then = std::function<void(std::optional<T>)>;
  /// For people: there is no answer, or there is one again.
  using Tell = std::function<void(bool warning, const std::string& message)>;

  /// Executor and clock outlive it.
  DeviceReports(event_loop::Executor& executor, const os::Clock& clock, DeviceSource source, Tell tell);
  DeviceReports(const DeviceReports&) = delete;
  DeviceReports& operator=(const DeviceReports&) = delete;

  /// Asks for the devices of a pod; `then` is called later, once. False: nobody is asked, because there is nobody or
  /// the last question ended in a timeout, as this one would; `then` is not called.
  bool Ask(const std::string& name_space, const std::string& name, Then<PodDevices> then);
  /// Likewise for those of all pods, whatever became of the last question. False: nobody is to wait for the answer,
  /// because the last question ended in a timeout.
  bool AskForAll(Then<DevicesByPod> then);
  /// AskForAll is to be called within five seconds, once for all who want it until then; while there is no answer,
  /// after the pause.
  void AskForAllSoon();
  /// When AskForAll is to be called: for AskForAllSoon, or to find out whether there is an answer again, or to hear
  /// what was missed while there was none. max: it is not, or has not been answered yet.
  os::MonoTime next_try() const { return asking_for_all_ > 0 ? os::MonoTime::max() : next_try_; }
  /// Why there is no answer, in an operator's words; "": there is, or nobody is asked.
  const std::string& problem() const { return problem_; }

 private:
  template <class T>
  void Take(Result<T> answer, const Then<T>& then, bool of_all);
  void NoteAnswer(bool of_all);
  void NoteError(const Error& error, bool of_all);

  event_loop::TaskScope tasks_;
  const os::Clock& clock_;
  const DeviceSource source_;
  const Tell tell_;
  std::string problem_;
  bool timed_out_ = false;  // the last question
  std::size_t asking_for_all_ = 0;
  os::MonoTime next_try_ = os::MonoTime::max();
  os::Millis pause_{0};  // while there is no answer
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_DEVICE_REPORTS_H_
