#include "frontend/nri_agent/watched_runtime.h"

#include <array>
#include <utility>

namespace berth::nri_agent {
namespace {

constexpr std::array kAnswerBounds = {0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01,
                                      0.02,   0.05,   0.1,    0.2,   0.5,   1.0,   2.0};

}  // namespace

Result<std::unique_ptr<WatchedRuntime>> WatchedRuntime::Open() {
  BERTH_TRY(os::EventFd news, os::EventFd::Open());
  return std::unique_ptr<WatchedRuntime>(new WatchedRuntime(std::move(news)));
}

void WatchedRuntime::Put(runtime::ContainerStatus status) {
  const std::string id = status.id;
  const auto [known, is_new] = statuses_.try_emplace(id, status);
  if (!is_new && known->second == status) return;
  known->second = std::move(status);
  changed_.push_back(id);
  news_.Signal();
}

void WatchedRuntime::Recognize(runtime::ContainerStatus status) {
  const std::string id = status.id;
  statuses_.insert_or_assign(id, std::move(status));
}

void WatchedRuntime::Count(const std::string& call, bool failed) {
  runtime::CallCount& count = calls_[call];
  ++count.calls;
  if (failed) ++count.failed;
}

void WatchedRuntime::CountAnswer(const std::string& call, bool failed, std::chrono::duration<double> waited) {
  Count(call, failed);
  answers_.try_emplace(call, kAnswerBounds).first->second.Add(waited.count());
}

Result<runtime::ContainerStatus> WatchedRuntime::Start(const runtime::StartRequest&) {
  return Fail(Code::kUnsupported, "the containers of this node are started by its kubelet");
}

Result<void> WatchedRuntime::Signal(std::string_view, int) {
  return Fail(Code::kUnsupported, "the containers of this node are ended by its kubelet");
}

Result<std::vector<runtime::ContainerStatus>> WatchedRuntime::List() {
  std::vector<runtime::ContainerStatus> out;
  out.reserve(statuses_.size());
  for (const auto& [id, status] : statuses_) out.push_back(status);
  return out;
}

std::vector<runtime::ContainerStatus> WatchedRuntime::Poll() {
  news_.Clear();
  std::vector<runtime::ContainerStatus> out;
  for (const std::string& id : std::exchange(changed_, {}))
    if (const auto status = statuses_.find(id); status != statuses_.end()) out.push_back(status->second);
  return out;
}

Result<void> WatchedRuntime::Forget(std::string_view id) {
  if (const auto status = statuses_.find(id); status != statuses_.end()) statuses_.erase(status);
  return {};
}

void WatchedRuntime::ForgetPod(std::string_view uid) {
  std::erase_if(statuses_, [&](const auto& entry) { return entry.second.pod_uid == uid; });
}

}  // namespace berth::nri_agent
