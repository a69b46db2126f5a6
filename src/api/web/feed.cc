#include "api/web/feed.h"

#include <iterator>
#include <string_view>
#include <utility>

#include "api/web/feed_frames.h"

namespace berth::web {
namespace {

/// A comment: whoever is gone is noticed by it, and nothing between us takes the silence for an end.
constexpr std::string_view kSignOfLife = ": \n\n";
constexpr os::Millis kBetweenSigns{15'000};
/// Said at the beginning: how long a browser waits before it connects again.
constexpr std::string_view kRetry = "retry: 2000\n";

}  // namespace

/// Of one viewer, for as long as it looks.
class Feed::ViewerStream final : public http::Stream {
 public:
  ViewerStream(Feed& feed, Viewers::iterator viewer) : feed_(feed), viewer_(viewer) {}
  ~ViewerStream() override { feed_.Leave(viewer_); }
  std::optional<std::string> Next() override { return feed_.Next(*viewer_); }

 private:
  Feed& feed_;
  const Viewers::iterator viewer_;
};

Feed::Feed(FeedOptions options) : options_(std::move(options)), thread_([this] { Run(); }) {}

Feed::~Feed() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

Result<std::unique_ptr<http::Stream>> Feed::Join(std::function<void()> wake) {
  std::shared_ptr<const NodeSnapshot> now = options_.snapshot();
  const MutexLock lock(mutex_);
  if (viewers_.size() >= options_.most_viewers)
    return Fail(Code::kOverloaded, std::to_string(options_.most_viewers) + " look at the page already; close one");
  // What this viewer asks for once it was greeted is newer than this.
  if (seen_ == nullptr) seen_ = std::move(now);
  viewers_.push_back({.wake = std::move(wake), .next = first_ + frames_.size()});
  changed_.NotifyAll();
  return std::make_unique<ViewerStream>(*this, std::prev(viewers_.end()));
}

void Feed::Leave(Viewers::iterator viewer) {
  const MutexLock lock(mutex_);
  viewers_.erase(viewer);
  if (!viewers_.empty()) return;
  seen_ = nullptr;
  first_ += frames_.size();
  frames_.clear();
  bytes_ = 0;
}

std::optional<std::string> Feed::Next(Viewer& viewer) {
  const MutexLock lock(mutex_);
  const std::uint64_t end = first_ + frames_.size();
  const bool late = viewer.next < first_;
  if (!viewer.begun || late) {
    std::string out(viewer.begun ? std::string_view() : kRetry);
    out += FormatServerEvent(std::exchange(viewer.begun, true) ? "reset" : "hello", SharedData(*seen_));
    if (late) viewer.next = end;
    return out;
  }
  if (viewer.next == end) return std::nullopt;
  return frames_[viewer.next++ - first_];
}

/// False: it is to end.
bool Feed::WaitForViewers() {
  const MutexLock lock(mutex_);
  while (!stop_ && viewers_.empty()) changed_.Wait(mutex_);
  return !stop_;
}

bool Feed::WaitUntil(os::MonoTime time) {
  const MutexLock lock(mutex_);
  while (!stop_ && os::SystemClock().Now() < time) changed_.WaitUntil(mutex_, time);
  return !stop_;
}

void Feed::Run() {
  os::MonoTime stats_due{};
  os::MonoTime sign_due{};
  while (WaitForViewers()) {
    const os::MonoTime now = os::SystemClock().Now();
    std::shared_ptr<const NodeSnapshot> before;
    {
      const MutexLock lock(mutex_);
      before = seen_;
    }
    std::shared_ptr<const NodeSnapshot> snapshot = options_.snapshot();
    std::vector<std::string> frames;
    if (before != nullptr && before != snapshot) frames = FramesBetween(*before, *snapshot);
    if (now >= stats_due) {
      stats_due = now + options_.stats_period;
      AddStats(frames);
    }
    if (frames.empty() && now >= sign_due) frames.emplace_back(kSignOfLife);
    if (!frames.empty()) sign_due = now + kBetweenSigns;
    Tell(std::move(frames), std::move(snapshot));
    if (!WaitUntil(now + options_.period)) return;
  }
}

void Feed::AddStats(std::vector<std::string>& frames) {
  if (const auto stats = options_.stats()) frames.push_back(StatsFrame(*stats, told_stats_));
}

void Feed::Tell(std::vector<std::string> frames, std::shared_ptr<const NodeSnapshot> seen) {
  const MutexLock lock(mutex_);
  if (viewers_.empty()) return;
  seen_ = std::move(seen);
  for (std::string& frame : frames) {
    bytes_ += frame.size();
    frames_.push_back(std::move(frame));
  }
  for (; bytes_ > options_.most_bytes; ++first_) {
    bytes_ -= frames_.front().size();
    frames_.pop_front();
  }
  if (!frames.empty())
    for (const Viewer& viewer : viewers_) viewer.wake();
}

}  // namespace berth::web
