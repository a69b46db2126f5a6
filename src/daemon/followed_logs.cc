#include "daemon/followed_logs.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace berth::daemon {

Result<runtime::LogPart> FollowedLogs::Read(const std::string& path, const runtime::LogPlace& from, os::MonoTime now) {
  Keep(path, now);
  auto part = runtime::ReadLog(path, from, kPart);
  if (!part && part.error().code == Code::kNotFound) return runtime::LogPart{.entries = {}, .next = from};
  return part;
}

void FollowedLogs::Keep(const std::string& path, os::MonoTime now) {
  auto file = os::OpenedFile::Open(path);
  const MutexLock lock(mutex_);
  std::erase_if(kept_, [&](const auto& entry) { return now - entry.second.asked > kKept; });
  if (!file || !*file) return;  // rotated this moment: the one that is kept has what is missing
  kept_.insert_or_assign(path, Kept{.file = **std::move(file), .asked = now});
  if (kept_.size() <= kMost) return;
  kept_.erase(std::ranges::min_element(kept_, {}, [](const auto& entry) { return entry.second.asked; }));
}

Result<runtime::LogPart> FollowedLogs::ReadRemoved(const std::string& path, const runtime::LogPlace& from) {
  const MutexLock lock(mutex_);
  const auto it = kept_.find(path);
  if (it == kept_.end()) return Fail(Code::kNotFound, "the log " + path + " went with its pod");
  BERTH_TRY(runtime::LogPart part, runtime::ReadLog(it->second.file, from, kPart));
  if (!part.more) kept_.erase(it);
  return part;
}

}  // namespace berth::daemon
