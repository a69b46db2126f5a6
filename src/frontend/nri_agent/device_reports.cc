#include "frontend/nri_agent/device_reports.h"

#include <algorithm>
#include <utility>

#include "frontend/nri_agent/placement_texts.h"

namespace berth::nri_agent {
namespace {

constexpr const char* kQueue = "the kubelet's pod resources";
constexpr os::Millis kFirstPause{5'000};
constexpr os::Millis kLongestPause{60'000};

}  // namespace

DeviceReports::DeviceReports(event_loop::Executor& executor, const os::Clock& clock, DeviceSource source, Tell tell)
    : tasks_(executor), clock_(clock), source_(std::move(source)), tell_(std::move(tell)) {}

bool DeviceReports::Ask(const std::string& name_space, const std::string& name, Then<PodDevices> then) {
  if (!source_.of_pod || timed_out_) return false;
  tasks_.Submit<PodDevices>(
      kQueue, [ask = source_.of_pod, name_space, name] { return ask(name_space, name, kDevicePatience); },
      [this, then = std::move(then)](Result<PodDevices> answer) { Take(std::move(answer), then, false); });
  return true;
}

bool DeviceReports::AskForAll(Then<DevicesByPod> then) {
  if (!source_.of_all) return false;
  ++asking_for_all_;
  next_try_ = os::MonoTime::max();
  tasks_.Submit<DevicesByPod>(
      kQueue, [ask = source_.of_all] { return ask(kAllDevicesPatience); },
      [this, then = std::move(then)](Result<DevicesByPod> answer) {
        --asking_for_all_;
        Take(std::move(answer), then, true);
      });
  return !timed_out_;
}

void DeviceReports::AskForAllSoon() {
  if (source_.of_all) next_try_ = std::min(next_try_, clock_.Now() + std::max(pause_, kFirstPause));
}

template <class T>
void DeviceReports::Take(Result<T> answer, const Then<T>& then, bool of_all) {
  answer ? NoteAnswer(of_all) : NoteError(answer.error(), of_all);
  then(answer ? std::optional<T>(*std::move(answer)) : std::nullopt);
}

/// What was not answered meanwhile is asked for anew.
void DeviceReports::NoteAnswer(bool of_all) {
  timed_out_ = false;
  if (problem_.empty()) return;
  problem_.clear();
  pause_ = os::Millis(0);
  if (!of_all) next_try_ = clock_.Now();
  tell_(false, "the kubelet says again which devices it gives to containers");
}

/// Questions about one pod do not lengthen the pause, however many fail.
void DeviceReports::NoteError(const Error& error, bool of_all) {
  const bool is_first = problem_.empty();
  timed_out_ = error.code == Code::kTimeout;
  problem_ =
      "the kubelet does not say which devices it gives to containers, which are placed without regard to them: " +
      WithoutHostRoot(error.message);
  if (of_all || is_first) {
    pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
    next_try_ = clock_.Now() + pause_;
  }
  if (is_first) tell_(true, problem_);
}

}  // namespace berth::nri_agent
