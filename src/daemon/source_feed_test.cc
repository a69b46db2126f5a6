#include "daemon/source_feed.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/loop_thread.h"
#include "host/event_loop/worker_pool.h"
#include "host/os/event_fd.h"

namespace berth::daemon {
namespace {

/// Tells of one pod more at each look that something asked for, and notes on whose thread it is asked.
class PacedSource final : public pod_sources::Source {
 public:
  explicit PacedSource(os::EventFd news) : news_(std::move(news)) {}
  std::string name() const override { return "paced"; }
  int event_fd() const override { return news_.get(); }
  os::MonoTime next_due() const override { return due_; }
  std::optional<pod_sources::Snapshot> Poll(os::MonoTime) override {
    EXPECT_NE(loop_thread_, std::this_thread::get_id());
    news_.Clear();
    due_ = os::MonoTime::max();
    before_answer_();
    pod_sources::Snapshot out{.ready = true};
    out.pods.resize(++looks_);
    return out;
  }

  os::EventFd news_;
  os::MonoTime due_ = os::MonoTime::max();
  std::function<void()> before_answer_ = [] {};
  std::size_t looks_ = 0;
  const std::thread::id loop_thread_ = std::this_thread::get_id();
};

struct SourceFeedTest : testing::Test {
  void SetUp() override {
    auto made = event_loop::Loop::Open(os::SystemClock());
    ASSERT_TRUE(made);
    loop = *std::move(made);
    auto started = event_loop::WorkerPool::Start(*loop, {{.name = "disk"}});
    ASSERT_TRUE(started);
    pool = *std::move(started);
    auto news = os::EventFd::Open();
    ASSERT_TRUE(news);
    auto owned = std::make_unique<PacedSource>(*std::move(news));
    source = owned.get();
    feed = std::make_unique<SourceFeed>(*loop, pool->lane("disk"), std::move(owned),
                                        [this](const pod_sources::Snapshot& snapshot, os::MonoTime)
                                            BERTH_REQUIRES(loop_thread) {
                                              seen.push_back(snapshot.pods.size());
                                              loop->Stop();
                                            });
  }
  void TurnUntilSeen(std::size_t count) BERTH_REQUIRES(loop_thread) {
    while (seen.size() < count) ASSERT_TRUE(loop->Turn(true));
  }

  std::unique_ptr<event_loop::Loop> loop;
  PacedSource* source = nullptr;
  std::vector<std::size_t> seen;
  std::unique_ptr<SourceFeed> feed;
  std::unique_ptr<event_loop::WorkerPool> pool;
};

TEST_F(SourceFeedTest, LooksAtTheStartAtEventsAndWhenItsTimeHasComeNeverOnTheLoop) {
  loop_thread.Assert();
  ASSERT_TRUE(feed->Start());
  TurnUntilSeen(1);
  source->news_.Signal();
  TurnUntilSeen(2);
  source->due_ = os::SystemClock().Now();
  source->news_.Signal();
  TurnUntilSeen(3);
  EXPECT_EQ((std::vector<std::size_t>{1, 2, 3}), seen);
}

TEST_F(SourceFeedTest, TheLoopTurnsWhileALookLastsAndAsksAgainOnlyAfterIt) {
  std::promise<void> go;
  source->before_answer_ = [&, gate = go.get_future().share()] { gate.wait(); };
  loop_thread.Assert();
  ASSERT_TRUE(feed->Start());
  ASSERT_TRUE(loop->Turn(true));  // the look begins, and does not end
  source->news_.Signal();
  int turns = 0;
  for (; turns < 100; ++turns) ASSERT_TRUE(loop->Turn(false));
  EXPECT_TRUE(seen.empty());
  EXPECT_EQ(1U, pool->lane("disk").jobs());
  go.set_value();
  TurnUntilSeen(1);
}

}  // namespace
}  // namespace berth::daemon
