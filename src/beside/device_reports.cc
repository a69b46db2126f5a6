#include "beside/device_reports.h"

#include <algorithm>
#include <utility>

namespace berth::beside {
namespace {

constexpr const char* kQueue = "the kubelet's pod resources";
constexpr os::Millis kFirstPause{5'000};
constexpr os::Millis kLongestPause{60'000};

}  // namespace

DeviceReports::DeviceReports(loop::Executor& executor, const os::Clock& clock, DeviceSource source, Tell tell)
    : executor_(executor), clock_(clock), source_(std::move(source)), tell_(std::move(tell)) {}

bool DeviceReports::Ask(const std::string& name_space, const std::string& name, Then<PodDevices> then) {
  if (!source_.of_pod || !problem_.empty()) return false;
  loop::Submit<PodDevices>(
      executor_, kQueue, [ask = source_.of_pod, name_space, name] { return ask(name_space, name, kDevicePatience); },
      [this, alive = std::weak_ptr(alive_), then = std::move(then)](Result<PodDevices> answer) {
        if (alive.lock()) Take(std::move(answer), then);
      });
  return true;
}

bool DeviceReports::AskForAll(Then<DevicesByPod> then) {
  if (!source_.of_all) return false;
  next_try_ = os::MonoTime::max();  // until that is over
  loop::Submit<DevicesByPod>(
      executor_, kQueue, [ask = source_.of_all] { return ask(kAllDevicesPatience); },
      [this, alive = std::weak_ptr(alive_), then = std::move(then)](Result<DevicesByPod> answer) {
        if (alive.lock()) Take(std::move(answer), then);
      });
  return problem_.empty();
}

template <class T>
void DeviceReports::Take(Result<T> answer, const Then<T>& then) {
  TellState(answer ? "" : answer.error().message);
  then(answer ? std::optional<T>(*std::move(answer)) : std::nullopt);
}

/// `error`: of the last question. Told when it begins and when it is over, whatever it is meanwhile.
void DeviceReports::TellState(const std::string& error) {
  const bool failed_before = !problem_.empty();
  problem_.clear();
  next_try_ = os::MonoTime::max();
  if (!error.empty()) {
    problem_ =
        "the kubelet does not say which devices it gives to containers, which are placed without regard to them: " +
        error;
    pause_ = failed_before ? std::min(pause_ * 2, kLongestPause) : kFirstPause;
    next_try_ = clock_.Now() + pause_;
  }
  if (failed_before == problem_.empty())
    tell_(!error.empty(), error.empty() ? "the kubelet says again which devices it gives to containers" : problem_);
}

}  // namespace berth::beside
