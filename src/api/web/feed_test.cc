#include "api/web/feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "api/codec/codec.h"
#include "api/web/feed_frames.h"
#include "base/mutex.h"

namespace berth::web {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::shared_ptr<const PodView> View(std::string name, std::string reason = "") {
  PodView out;
  out.namespace_ = "default";
  out.name = std::move(name);
  out.reason = std::move(reason);
  return std::make_shared<const PodView>(std::move(out));
}

std::shared_ptr<const Event> Told(std::string reason) {
  Event out;
  out.reason = std::move(reason);
  return std::make_shared<const Event>(std::move(out));
}

NodeSnapshot Snapshot(std::vector<std::shared_ptr<const PodView>> views,
                      std::vector<std::shared_ptr<const Event>> events = {}) {
  NodeSnapshot out;
  for (auto& view : views) out.pods.push_back({.view = std::move(view), .manifest = nullptr, .trace = nullptr});
  out.events = std::make_shared<const std::vector<std::shared_ptr<const Event>>>(std::move(events));
  return out;
}

/// The data of a frame.
codec::Json DataOf(const std::string& frame, std::string_view name) {
  const std::string head = "event: " + std::string(name) + "\ndata: ";
  EXPECT_THAT(frame, StartsWith(head));
  EXPECT_TRUE(frame.ends_with("\n\n"));
  const std::string data = frame.substr(head.size(), frame.size() - head.size() - 2);
  EXPECT_EQ(data.find('\n'), std::string::npos) << "a line would end the data";
  return codec::ParseJson(data, "frame").value_or(codec::Json());
}

TEST(FeedFramesTest, OnlyWhatChangedIsTold) {
  const auto a = View("a");
  const auto c = View("c");
  const NodeSnapshot before = Snapshot({a, View("b"), c});
  EXPECT_TRUE(FramesBetween(before, before).empty());
  const auto frames = FramesBetween(before, Snapshot({a, View("bb"), View("c", "Waits")}));
  ASSERT_EQ(frames.size(), 1U);
  const codec::Json data = DataOf(frames[0], "pods");
  ASSERT_EQ(data["pods"].size(), 2U);
  EXPECT_EQ(data["pods"][0]["name"], "bb");
  EXPECT_EQ(data["pods"][1]["reason"], "Waits");
  EXPECT_EQ(data["gone"], codec::Json({"default/b"}));
}

TEST(FeedFramesTest, ASharedPoolThatChangedIsToldWithoutPods) {
  const auto a = View("a");
  NodeSnapshot now = Snapshot({a});
  now.shared = {CpuId{1}, CpuId{2}};
  const auto frames = FramesBetween(Snapshot({a}), now);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(DataOf(frames[0], "pods")["shared"], "1-2");
}

TEST(FeedFramesTest, ManyPodsAreManyFramesAndNoneIsLost) {
  std::vector<std::shared_ptr<const PodView>> views;
  for (int i = 1000; i < 2005; ++i) views.push_back(View("p" + std::to_string(i)));
  const auto come = FramesBetween(Snapshot({}), Snapshot(views));
  const auto go = FramesBetween(Snapshot(views), Snapshot({}));
  EXPECT_EQ(come.size(), 11U);
  std::size_t told = 0;
  for (const std::string& frame : come) told += DataOf(frame, "pods")["pods"].size();
  EXPECT_EQ(told, 1005U);
  ASSERT_EQ(go.size(), 1U) << "names alone are small";
  EXPECT_EQ(DataOf(go[0], "pods")["gone"].size(), 1005U);
}

TEST(FeedFramesTest, EventsAreToldOnceAndAgainWhenTheyHappenAgain) {
  const auto first = Told("Started");
  const auto frames =
      FramesBetween(Snapshot({}, {first, Told("BackOff")}), Snapshot({}, {first, Told("BackOff2"), Told("New")}));
  ASSERT_EQ(frames.size(), 1U);
  const codec::Json events = DataOf(frames[0], "events")["events"];
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0]["reason"], "BackOff2");
  EXPECT_EQ(events[1]["reason"], "New");
}

TEST(FeedFramesTest, ANameCannotEndTheDataOrTheEvent) {
  const auto frames = FramesBetween(Snapshot({}), Snapshot({View("x\n\nevent: reset\r\ndata: </script>\xff")}));
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(DataOf(frames[0], "pods")["pods"][0]["name"], "x\n\nevent: reset\r\ndata: </script>\xef\xbf\xbd");
  EXPECT_EQ(frames[0].find('\r'), std::string::npos);
}

PodStats Using(std::string name, double cores) {
  PodStats out;
  out.namespace_ = "default";
  out.name = std::move(name);
  out.usage.cores = cores;
  out.usage.working_set = Bytes{(std::int64_t{3} << 20) + 5};
  out.usage.throttling = Throttling{.periods = 4, .throttled = 1, .time = {}};
  return out;
}

TEST(FeedFramesTest, FiguresOfAPodAreToldWhenTheDifferenceCanBeSeen) {
  std::map<std::string, std::string> told;
  StatsSummary stats;
  stats.node.name = "n";
  stats.pods = {Using("a", 0.5), Using("b", 1.0)};
  const codec::Json first = DataOf(StatsFrame(stats, told), "stats");
  ASSERT_EQ(first["pods"].size(), 2U);
  EXPECT_EQ(first["pods"][0]["podRef"]["name"], "a");
  EXPECT_EQ(first["pods"][0]["cpu"]["usageNanoCores"], 500'000'000);
  EXPECT_EQ(first["pods"][0]["cpu"]["throttling"]["throttledPeriods"], 1);
  EXPECT_EQ(first["pods"][0]["memory"]["workingSetBytes"], 3 << 20);
  stats.pods = {Using("a", 0.5000001), Using("b", 1.1)};
  const codec::Json second = DataOf(StatsFrame(stats, told), "stats");
  ASSERT_EQ(second["pods"].size(), 1U);
  EXPECT_EQ(second["pods"][0]["podRef"]["name"], "b");
  stats.pods = {Using("b", 1.1)};
  StatsFrame(stats, told);
  EXPECT_EQ(told.size(), 1U) << "who went is forgotten";
}

/// A node that changes when it is told to, and a viewer's stream.
struct FeedTest : testing::Test {
  void Set(NodeSnapshot now) {
    const MutexLock lock(mutex);
    newest = std::make_shared<const NodeSnapshot>(std::move(now));
  }
  FeedOptions Options() {
    return {.snapshot =
                [this] {
                  const MutexLock lock(mutex);
                  ++looks;
                  return newest;
                },
            .stats = []() -> Result<StatsSummary> { return Fail(Code::kIo, "none here"); },
            .period = os::Millis(1),
            .most_viewers = 2};
  }
  std::unique_ptr<http::Stream> Join(Feed& feed) {
    auto stream = feed.Join([this] { ++woken; });
    return stream ? *std::move(stream) : nullptr;
  }
  /// The next frame, once there is one; signs of life do not count.
  static std::string Await(http::Stream& stream) {
    for (;;) {
      auto frame = stream.Next();
      if (frame && !frame->starts_with(':')) return *std::move(frame);
      std::this_thread::yield();
    }
  }
  Mutex mutex;
  std::shared_ptr<const NodeSnapshot> newest = std::make_shared<const NodeSnapshot>(Snapshot({}));
  std::atomic<int> looks = 0;
  std::atomic<int> woken = 0;
};

TEST_F(FeedTest, AViewerIsGreetedAndThenToldWhatChanges) {
  Feed feed(Options());
  const auto stream = Join(feed);
  EXPECT_THAT(Await(*stream), StartsWith("retry: 2000\nevent: hello\ndata: {"));
  Set(Snapshot({View("a")}));
  EXPECT_THAT(Await(*stream), HasSubstr("\"name\":\"a\""));
  EXPECT_GT(woken, 0);
}

TEST_F(FeedTest, WhatChangedBeforeAViewerWasGreetedIsNotLostToIt) {
  Feed feed(Options());
  const auto first = Join(feed);
  Await(*first);
  const auto second = Join(feed);
  Set(Snapshot({View("a")}));
  for (http::Stream* const stream : {first.get(), second.get()}) {
    std::string frame = Await(*stream);
    if (frame.starts_with("retry")) frame = Await(*stream);
    EXPECT_THAT(frame, HasSubstr("\"name\":\"a\""));
  }
}

TEST_F(FeedTest, WhoTakesTooLongIsToldToAskForEverything) {
  FeedOptions options = Options();
  options.most_bytes = 2'000;
  Feed feed(std::move(options));
  const auto slow = Join(feed);
  const auto quick = Join(feed);
  Await(*slow);
  Await(*quick);
  std::string frame;
  for (int i = 0; i < 20; ++i) {
    Set(Snapshot({View("a", std::string(200, static_cast<char>('a' + i)))}));
    frame = Await(*quick);
    EXPECT_THAT(frame, StartsWith("event: pods"));
  }
  EXPECT_THAT(Await(*slow), StartsWith("event: reset\n"));
  Set(Snapshot({View("last")}));
  EXPECT_THAT(Await(*slow), HasSubstr("\"name\":\"last\""));
}

TEST_F(FeedTest, ThereIsAMostOfViewers) {
  Feed feed(Options());
  auto first = Join(feed);
  const auto second = Join(feed);
  EXPECT_EQ(Join(feed), nullptr);
  first.reset();
  EXPECT_NE(Join(feed), nullptr);
}

TEST_F(FeedTest, WhileNobodyLooksNothingIsLookedAt) {
  Feed feed(Options());
  EXPECT_EQ(looks, 0);
  auto stream = Join(feed);
  Set(Snapshot({View("a")}));
  Await(*stream);
  Await(*stream);
  stream.reset();
  // A look under way may still end, and no other begins: two that follow each other are the same number.
  const auto next = Join(feed);
  EXPECT_THAT(Await(*next), StartsWith("retry"));
  EXPECT_EQ(next->Next().value_or(": ").substr(0, 2), ": ") << "what came before is not told";
}

}  // namespace
}  // namespace berth::web
