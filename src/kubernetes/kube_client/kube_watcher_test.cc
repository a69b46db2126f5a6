#include "kubernetes/kube_client/kube_watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "host/os/poll.h"
#include "kubernetes/kube_client/fake_api_test.h"

namespace berth::kube {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;
using testkit::SendAll;

const char* const kNoWatchList = "sendInitialEvents=true";

WatchOptions Quick() {
  WatchOptions out{.target = Pods(), .label_selector = {}, .field_selector = {}};
  out.pace = {.first = 1ms, .most = 5ms};
  out.client.patience = 5s;
  return out;
}

/// "+a1" set, "-a" gone, "=7" synced: what comes, in its order, until `end` has.
std::string Changes(Watcher& watcher, std::string_view end) {
  std::string out;
  const os::MonoTime deadline = os::SystemClock().Now() + 20s;
  while (!out.ends_with(end)) {
    if (!os::WaitFor(watcher.event_fd(), POLLIN, deadline).value_or(false)) return out + " and no more";
    // What only says that the trouble is another one has nothing to take.
    for (const Change& change : watcher.Take(1)) {
      if (change.kind == Change::Kind::kSet) out += "+" + change.object.key.name + change.object.resource_version;
      if (change.kind == Change::Kind::kGone) out += "-" + change.object.key.name;
      if (change.kind == Change::Kind::kSynced) out += "=" + change.object.resource_version;
    }
  }
  return out;
}
std::unique_ptr<Watcher> Begin(const FakeApi& api, WatchOptions options = Quick()) {
  auto watcher = Watcher::Start(api.access(), std::move(options));
  EXPECT_TRUE(watcher) << watcher.error().message;
  return *std::move(watcher);
}
std::string Bookmark(const std::string& version, bool end = false) {
  return Line("BOOKMARK", R"({"kind":"Pod","metadata":{"resourceVersion":")" + version + "\"" +
                              (end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "") + "}}");
}
/// As a server without watch-list: it refuses that, lists what `list` says, and watches as `watch` says.
FakeApi::Answering OldServer(std::function<std::string(int number)> list,
                             std::function<void(const Asked&, int number, int fd)> watch) {
  return [lists = 0, watches = 0, list = std::move(list), watch = std::move(watch)](const Asked& asked, int,
                                                                                    int fd) mutable {
    if (asked.line.contains(kNoWatchList))
      SendAll(fd, JsonAnswer(422, StatusText(422, "Invalid")));
    else if (asked.line.contains("watch=true"))
      watch(asked, ++watches, fd);
    else
      SendAll(fd, list(++lists));
  };
}

TEST(WatcherTest, TheStateComesByTheWatchWhereTheServerCanDoThat) {
  FakeApi api([](const Asked& asked, int, int fd) {
    if (asked.line.contains(kNoWatchList)) {
      SendAll(fd, StreamBegin() + Line("ADDED", PodText("b", "9")) + Line("ADDED", PodText("a", "2")) + Bookmark("5") +
                      Bookmark("10", true) + Line("MODIFIED", PodText("a", "11")) +
                      Line("DELETED", PodText("b", "12")));
      return;
    }
    SendAll(fd, StreamBegin());
    testkit::ReceiveAll(fd);
  });
  const auto watcher = Begin(api);
  EXPECT_EQ(Changes(*watcher, "-b"), "+b9+a2=10+a11-b");
  while (api.asked().size() < 2) std::this_thread::yield();
  EXPECT_THAT(api.lines()[0], HasSubstr("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"));
  EXPECT_THAT(api.lines()[1], HasSubstr("&resourceVersion=12"));
}

TEST(WatcherTest, WhereItCannotAListComesFirst) {
  FakeApi api(OldServer([](int) { return ListAnswer({PodText("a", "2")}, "10"); },
                        [](const Asked&, int, int fd) {
                          SendAll(fd, StreamBegin() + Line("ADDED", PodText("b", "11")));
                          testkit::ReceiveAll(fd);
                        }));
  const auto watcher = Begin(api);
  EXPECT_EQ(Changes(*watcher, "+b11"), "+a2=10+b11");
  EXPECT_FALSE(watcher->Trouble());
  EXPECT_EQ(api.asked().size(), 3U);
  EXPECT_THAT(api.lines()[2], HasSubstr("&resourceVersion=10"));
}

TEST(WatcherTest, AStreamThatEndsGoesOnWhereItWas) {
  FakeApi api(OldServer([](int) { return ListAnswer({}, "10"); },
                        [](const Asked&, int number, int fd) {
                          SendAll(fd, StreamBegin());
                          if (number == 1) SendAll(fd, Line("ADDED", PodText("a", "11")));
                          if (number == 2) SendAll(fd, Bookmark("15"));
                          if (number == 3) SendAll(fd, Line("MODIFIED", PodText("a", "16")));
                          if (number > 3) testkit::ReceiveAll(fd);
                        }));
  const auto watcher = Begin(api);
  EXPECT_EQ(Changes(*watcher, "+a16"), "=10+a11+a16");
  const auto lines = api.lines();
  EXPECT_THAT(lines[2], HasSubstr("&resourceVersion=10"));
  EXPECT_THAT(lines[3], HasSubstr("&resourceVersion=11"));
  EXPECT_THAT(lines[4], HasSubstr("&resourceVersion=15"));
}

TEST(WatcherTest, AfterStateThatIsGoneOnlyDifferencesCome) {
  for (const bool in_stream : {true, false}) {
    FakeApi api(OldServer(
        [](int number) {
          return number == 1 ? ListAnswer({PodText("a", "1"), PodText("b", "2"), PodText("c", "3")}, "10")
                             : ListAnswer({PodText("a", "1"), PodText("c", "30"), PodText("d", "40")}, "50");
        },
        [in_stream](const Asked&, int number, int fd) {
          if (number > 1) {
            SendAll(fd, StreamBegin());
            testkit::ReceiveAll(fd);
          } else if (in_stream) {
            SendAll(fd, StreamBegin() + Line("ERROR", StatusText(410, "Expired")));
          } else {
            SendAll(fd, JsonAnswer(410, StatusText(410, "Gone")));
          }
        }));
    const auto watcher = Begin(api);
    EXPECT_EQ(Changes(*watcher, "=50"), "+a1+b2+c3=10+c30+d40-b=50");
  }
}

TEST(WatcherTest, TroubleIsSaidAndForgottenWhenItIsOver) {
  std::atomic<bool> away = true;
  FakeApi api(OldServer([](int) { return ListAnswer({}, "10"); },
                        [&](const Asked&, int, int fd) {
                          if (away) {
                            SendAll(fd, JsonAnswer(403, StatusText(403, "Forbidden", "no")));
                            return;
                          }
                          SendAll(fd, StreamBegin());
                          testkit::ReceiveAll(fd);
                        }));
  const auto watcher = Begin(api);
  EXPECT_EQ(Changes(*watcher, "=10"), "=10");
  while (!watcher->Trouble()) ASSERT_TRUE(*os::WaitFor(watcher->event_fd(), POLLIN, os::SystemClock().Now() + 20s));
  EXPECT_EQ(watcher->Trouble()->status, 403);
  EXPECT_THAT(watcher->Trouble()->message, HasSubstr("403 Forbidden: no"));
  away = false;
  // What was on its way is said again.
  for (watcher->Take(1); watcher->Trouble(); watcher->Take(1))
    ASSERT_TRUE(*os::WaitFor(watcher->event_fd(), POLLIN, os::SystemClock().Now() + 20s));
}

TEST(WatcherTest, WhateverAStreamHoldsItGoesOn) {
  const std::vector<std::string> streams = {"garbage\n",
                                            "{}\n",
                                            "[1]\n",
                                            "{\"type\":\"ADDED\"}\n",
                                            "{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n",
                                            "{\"type\":7,\"object\":{}}\n",
                                            Line("ERROR", "7"),
                                            Line("ERROR", StatusText(500, "InternalError")),
                                            Line("ADDED", R"({"metadata":{"name":"\ud800"}})"),
                                            std::string(100'000, 'x') + "\n",
                                            std::string(100'000, '['),
                                            "",
                                            Line("LATER", PodText("x", "11"))};
  FakeApi api(OldServer([](int) { return ListAnswer({}, "10"); },
                        [&](const Asked&, int number, int fd) {
                          const auto at = static_cast<std::size_t>(number) - 1;
                          SendAll(fd, StreamBegin() +
                                          (at < streams.size() ? streams[at] : Line("ADDED", PodText("a", "12"))));
                          if (at >= streams.size()) testkit::ReceiveAll(fd);
                        }));
  WatchOptions options = Quick();
  options.client.most_of_an_object = 50'000;
  const auto watcher = Begin(api, options);
  EXPECT_EQ(Changes(*watcher, "+a12"), "=10+a12");
}

TEST(WatcherTest, WhenNobodyTakesChangesTheStreamWaits) {
  constexpr int kMany = 1500;
  const std::string padding(10'000, 'x');
  std::atomic<int> sent = 0;
  FakeApi api(OldServer(
      [](int) { return ListAnswer({}, "1"); },
      [&](const Asked&, int, int fd) {
        if (!SendAll(fd, StreamBegin())) return;
        for (; sent < kMany; ++sent)
          if (!SendAll(fd, Line("ADDED", PodText("p" + std::to_string(sent), "2\"},\"x\":{\"y\":\"" + padding))))
            return;
        testkit::ReceiveAll(fd);
      }));
  WatchOptions options = Quick();
  options.most_changes = 10;
  const auto watcher = Begin(api, options);
  int before = -1;
  while (sent == 0 || sent != before) {  // until the stream stands still
    before = sent;
    ::poll(nullptr, 0, 200);
  }
  EXPECT_LT(sent, kMany);  // the rest of 15 MB fits neither into the queue nor into the sockets
  int taken = 0;
  while (taken < kMany + 1) {
    ASSERT_TRUE(*os::WaitFor(watcher->event_fd(), POLLIN, os::SystemClock().Now() + 20s));
    taken += static_cast<int>(watcher->Take().size());
  }
  EXPECT_EQ(taken, kMany + 1);
}

TEST(WatcherTest, ItEndsAtOnceWhateverItDoes) {
  FakeApi silent([](const Asked&, int, int fd) { testkit::ReceiveAll(fd); });
  FakeApi full([](const Asked&, int, int fd) {
    SendAll(fd, StreamBegin());
    for (int i = 0; SendAll(fd, Line("ADDED", PodText("p" + std::to_string(i), "2")));) ++i;
  });
  FakeApi refusing([](const Asked&, int, int fd) { SendAll(fd, JsonAnswer(503, "")); });
  for (FakeApi* api : {&silent, &full, &refusing}) {
    WatchOptions options = Quick();
    options.most_changes = 2;
    options.pace = {.first = std::chrono::hours(1), .most = std::chrono::hours(2)};
    options.client.patience = std::chrono::hours(1);
    const auto watcher = Begin(*api, options);
    while (api->asked().empty()) std::this_thread::yield();
    const bool speaks = api != &silent;
    ASSERT_EQ(*os::WaitFor(watcher->event_fd(), POLLIN, os::SystemClock().Now() + (speaks ? 20s : 0s)), speaks);
  }
}

TEST(WatcherTest, SelectiveOnesListWhatTheServerHasAtHand) {
  FakeApi api(OldServer([](int) { return ListAnswer({}, "10"); },
                        [](const Asked&, int number, int fd) {
                          if (number == 1) {
                            SendAll(fd, JsonAnswer(410, StatusText(410, "Expired")));
                            return;
                          }
                          SendAll(fd, StreamBegin());
                          testkit::ReceiveAll(fd);
                        }));
  WatchOptions options = Quick();
  options.selective = true;
  options.field_selector = "spec.nodeName=n1";
  const auto watcher = Begin(api, options);
  EXPECT_EQ(Changes(*watcher, "=10=10"), "=10=10");
  const auto lines = api.lines();
  EXPECT_EQ(lines[1], "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn1&resourceVersion=0");
  EXPECT_EQ(lines[3],
            "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn1&resourceVersion=10&resourceVersionMatch=NotOlderThan");
}

}  // namespace
}  // namespace berth::kube
