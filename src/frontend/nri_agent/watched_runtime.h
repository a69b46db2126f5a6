// Containers that somebody else starts, as a Runtime: what was said of them is told on, nothing is done.
#ifndef BERTH_FRONTEND_NRI_AGENT_WATCHED_RUNTIME_H_
#define BERTH_FRONTEND_NRI_AGENT_WATCHED_RUNTIME_H_

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.h"
#include "base/result.h"
#include "host/os/event_fd.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::nri_agent {

/// Thread: the loop's only.
class WatchedRuntime final : public runtime::Runtime {
 public:
  static Result<std::unique_ptr<WatchedRuntime>> Open();

  /// What is known of a container now.
  void Put(runtime::ContainerStatus status);
  /// The same of one that was there before: that is no news.
  void Recognize(runtime::ContainerStatus status);
  /// A call of the runtime that has them, for people; failed: it had no answer in time, or was refused.
  void Count(const std::string& call, bool failed);
  /// The same of one that the runtime waited for.
  void CountAnswer(const std::string& call, bool failed, std::chrono::duration<double> waited);

  bool isolates_pods() const override { return true; }
  Result<runtime::ContainerStatus> Start(const runtime::StartRequest& request) override;
  Result<void> Signal(std::string_view id, int signal) override;
  Result<std::vector<runtime::ContainerStatus>> List() override;
  int event_fd() const override { return news_.get(); }
  std::vector<runtime::ContainerStatus> Poll() override;
  Result<void> Forget(std::string_view id) override;
  void ForgetPod(std::string_view uid) override;
  std::map<std::string, runtime::CallCount> Calls() const override { return calls_; }
  std::map<std::string, Histogram> AnswerTimes() const override { return answers_; }

 private:
  explicit WatchedRuntime(os::EventFd news) : news_(std::move(news)) {}

  os::EventFd news_;
  std::map<std::string, runtime::ContainerStatus, std::less<>> statuses_;  // by id
  std::vector<std::string> changed_;                                       // ids
  std::map<std::string, runtime::CallCount> calls_;
  std::map<std::string, Histogram> answers_;
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_WATCHED_RUNTIME_H_
