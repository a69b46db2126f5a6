// Event stream of the live page: one look at the node a period, sent to all viewers as server-sent events.
#ifndef BERTH_API_WEB_FEED_H_
#define BERTH_API_WEB_FEED_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "model/node_snapshot.h"
#include "model/stats_summary.h"
#include "rpc/http/call.h"

namespace berth::web {

struct FeedOptions {
  /// The newest snapshot, never null. Thread: any. One that nothing changed in is the same object.
  std::function<std::shared_ptr<const NodeSnapshot>()> snapshot;
  std::function<Result<StatsSummary>()> stats;  ///< Thread: any but the loop's; may read files
  os::Millis period{1'000};
  os::Millis stats_period{3'000};
  std::size_t most_viewers = 32;
  std::size_t most_bytes = std::size_t{1} << 20;  ///< of what is kept for those who take their time
};

/// Events: "hello" and "reset" ({shared}: ask for everything, what follows is what changes), "pods" ({pods, gone,
/// shared}), "events" ({events}), "stats" (/stats/summary with what a page shows of it, and only of what changed).
/// While nobody looks, nothing is looked at. Thread: any; outlives its viewers.
class Feed {
 public:
  explicit Feed(FeedOptions options);
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  /// Errors: kOverloaded: as many look as may.
  Result<std::unique_ptr<http::Stream>> Join(std::function<void()> wake) BERTH_EXCLUDES(mutex_);

 private:
  struct Viewer {
    std::function<void()> wake;
    std::uint64_t next = 0;  // frame
    bool begun = false;
  };
  class ViewerStream;
  using Viewers = std::list<Viewer>;

  std::optional<std::string> Next(Viewer& viewer) BERTH_EXCLUDES(mutex_);
  void Leave(Viewers::iterator viewer) BERTH_EXCLUDES(mutex_);
  bool WaitForViewers() BERTH_EXCLUDES(mutex_);
  bool WaitUntil(os::MonoTime time) BERTH_EXCLUDES(mutex_);
  void Run();
  void Tell(std::vector<std::string> frames, std::shared_ptr<const NodeSnapshot> seen) BERTH_EXCLUDES(mutex_);
  void AddStats(std::vector<std::string>& frames);

  const FeedOptions options_;
  std::map<std::string, std::string> told_stats_;  // of the thread: by pod
  Mutex mutex_;
  CondVar changed_;
  Viewers viewers_ BERTH_GUARDED_BY(mutex_);
  std::shared_ptr<const NodeSnapshot> seen_ BERTH_GUARDED_BY(mutex_);  // null: nobody looks
  std::deque<std::string> frames_ BERTH_GUARDED_BY(mutex_);
  std::uint64_t first_ BERTH_GUARDED_BY(mutex_) = 0;  // number of the first of them
  std::size_t bytes_ BERTH_GUARDED_BY(mutex_) = 0;    // of them
  bool stop_ BERTH_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace berth::web

#endif  // BERTH_API_WEB_FEED_H_
