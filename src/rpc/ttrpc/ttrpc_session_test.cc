#include "rpc/ttrpc/ttrpc_session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace berth::ttrpc {
namespace {

constexpr Lanes kRuntime{.answers = 2, .asks = 1};

/// Moves at most `most` bytes of what `from` has to say to `to`.
bool Move(Session& from, Session& to, std::size_t most = SIZE_MAX) {
  const std::string bytes(from.output().substr(0, most));
  from.Sent(bytes.size());
  return to.Receive(bytes).has_value();
}

struct TtrpcSessionTest : testing::Test {
  std::uint32_t Ask(const std::string& payload) {
    const auto call = plugin.Call({.service = "s", .method = "M", .payload = payload});
    EXPECT_TRUE(call);
    return call.value_or(0);
  }
  /// Bytes of a request as the runtime may send them, right or wrong.
  static std::string RequestBytes(std::uint32_t stream, std::string_view data, std::uint32_t connection = 1,
                                  Kind kind = Kind::kRequest) {
    std::string out;
    AppendMessage(out, connection, stream, kind, data);
    return out;
  }
  Session plugin{{}, {.message = 100'000, .calls = 4}, "the runtime"};
  Session runtime{kRuntime, {.message = 100'000, .calls = 4}, "the plug-in"};
};

TEST_F(TtrpcSessionTest, CallsGoBothWaysAtOnceAndAreAnsweredInAnyOrder) {
  const std::uint32_t first = Ask("one");
  const std::uint32_t second = Ask("two");
  EXPECT_EQ(1U, first);
  EXPECT_EQ(3U, second);
  ASSERT_TRUE(runtime.Call({.service = "p", .method = "N", .payload = "other way"}));
  ASSERT_TRUE(Move(plugin, runtime));
  ASSERT_TRUE(Move(runtime, plugin));
  auto there = runtime.TakeRequests();
  auto here = plugin.TakeRequests();
  ASSERT_EQ(2U, there.size());
  ASSERT_EQ(1U, here.size());
  EXPECT_EQ("other way", here[0].request.payload);
  runtime.Answer(there[1].stream, "to two");
  runtime.Answer(there[0].stream, std::unexpected(grpc::Status(grpc::StatusCode::kNotFound, "nothing")));
  plugin.Answer(here[0].stream, "back");
  ASSERT_TRUE(Move(runtime, plugin));
  ASSERT_TRUE(Move(plugin, runtime));
  const auto ended = plugin.TakeEnded();
  ASSERT_EQ(2U, ended.size());
  EXPECT_EQ(second, ended[0].call);
  EXPECT_EQ("to two", *ended[0].outcome);
  EXPECT_EQ(first, ended[1].call);
  EXPECT_EQ(Code::kNotFound, ended[1].outcome.error().code);
  EXPECT_EQ("nothing", ended[1].outcome.error().message);
  EXPECT_EQ("back", *runtime.TakeEnded().at(0).outcome);
}

TEST_F(TtrpcSessionTest, WhateverThePiecesEveryCallGetsItsOwnAnswer) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    Session a({}, {}, "b");
    Session b(kRuntime, {}, "a");
    std::map<std::uint32_t, std::string> asked[2];
    Session* const sides[2] = {&a, &b};
    std::vector<std::pair<int, Session::Incoming>> open;
    std::size_t answered = 0;
    for (int step = 0; step < 4000 && answered < 40; ++step) {
      const int who = static_cast<int>(random() % 2);
      Session& self = *sides[who];
      Session& other = *sides[1 - who];
      if (asked[who].size() < 20 && random() % 4 == 0) {
        const std::string payload(random() % 9000, static_cast<char>('a' + random() % 26));
        const auto call = self.Call({.service = "s", .method = "M", .payload = payload});
        ASSERT_TRUE(call);
        asked[who][*call] = payload;
      }
      ASSERT_TRUE(Move(self, other, 1 + random() % 4000));
      for (auto& incoming : other.TakeRequests()) open.emplace_back(1 - who, std::move(incoming));
      if (!open.empty() && random() % 2 == 0) {
        const std::size_t at = random() % open.size();
        sides[open[at].first]->Answer(open[at].second.stream, open[at].second.request.payload);
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
      }
      for (int side = 0; side < 2; ++side) {
        for (const auto& ended : sides[side]->TakeEnded()) {
          ASSERT_TRUE(ended.outcome) << ended.outcome.error().message;
          EXPECT_TRUE(asked[side].at(ended.call) == *ended.outcome) << "seed " << seed;
          ++answered;
        }
      }
    }
    EXPECT_EQ(40U, answered) << "seed " << seed;
  }
}

TEST_F(TtrpcSessionTest, ACallOfWhichNothingWasSentWasNotDone) {
  const std::uint32_t sent = Ask("one");
  plugin.Sent(1);
  const std::uint32_t unsent = Ask("two");
  plugin.Break("the connection broke");
  const auto ended = plugin.TakeEnded();
  ASSERT_EQ(2U, ended.size());
  EXPECT_EQ(sent, ended[0].call);
  EXPECT_EQ(Code::kUncertain, ended[0].outcome.error().code);
  EXPECT_EQ("call s/M at the runtime: the connection broke", ended[0].outcome.error().message);
  EXPECT_EQ(unsent, ended[1].call);
  EXPECT_EQ(Code::kUnreachable, ended[1].outcome.error().code);
  EXPECT_EQ(Code::kUnreachable, plugin.Call({.service = "s", .method = "M", .payload = ""}).error().code);
}

TEST_F(TtrpcSessionTest, AnswersToWhatNobodyAskedOrWaitsForArePassedOver) {
  const std::uint32_t call = Ask("one");
  ASSERT_TRUE(Move(plugin, runtime));
  runtime.Answer(runtime.TakeRequests().at(0).stream, "late");
  EXPECT_EQ(Code::kTimeout, plugin.Forget(call, {.code = Code::kTimeout, .sys = 0, .message = "no answer"}).code);
  ASSERT_TRUE(Move(runtime, plugin));
  ASSERT_TRUE(plugin.Receive(RequestBytes(77, "", 2, Kind::kResponse)));
  ASSERT_TRUE(plugin.Receive(RequestBytes(1, "", 1, Kind::kResponse)));  // where this side answers
  EXPECT_TRUE(plugin.TakeEnded().empty());
}

TEST_F(TtrpcSessionTest, AnAnswerThatIsNoneLeavesNobodyKnowing) {
  Ask("one");
  ASSERT_TRUE(Move(plugin, runtime));
  ASSERT_TRUE(plugin.Receive(RequestBytes(1, "\x0a\x7f", 2, Kind::kResponse)));
  EXPECT_EQ(Code::kUncertain, plugin.TakeEnded().at(0).outcome.error().code);
}

TEST_F(TtrpcSessionTest, WrongRequestsAreAnsweredAndTheNextOneIsServed) {
  const std::string good = Encode(Request{.service = "p", .method = "N", .payload = "x"});
  std::string bytes = RequestBytes(2, good);                       // even
  bytes += RequestBytes(1, good) + RequestBytes(1, good);          // used before
  bytes += RequestBytes(9, "\x0a\x7f");                            // no request
  bytes += RequestBytes(11, std::string(100'001, 'x'));            // too long
  bytes += RequestBytes(13, good, 3) + RequestBytes(13, good, 2);  // other connections
  bytes += RequestBytes(13, good, 1, Kind::kData) + RequestBytes(15, good, 1, static_cast<Kind>(99));
  bytes += RequestBytes(17, good);
  ASSERT_TRUE(plugin.Receive(bytes));
  const auto requests = plugin.TakeRequests();
  ASSERT_EQ(2U, requests.size());
  EXPECT_EQ(1U, requests[0].stream);
  EXPECT_EQ(17U, requests[1].stream);

  FrameReader frames;
  MessageReader reader;
  std::map<std::uint32_t, grpc::StatusCode> refused;
  ASSERT_TRUE(frames.Add(plugin.output(), [&](std::uint32_t connection, std::string_view piece) {
    EXPECT_EQ(1U, connection);
    for (const Message& message : reader.Add(piece)) refused[message.stream] = DecodeReply(message.data)->error().code;
  }));
  const std::map<std::uint32_t, grpc::StatusCode> want = {{1, grpc::StatusCode::kInvalidArgument},
                                                          {2, grpc::StatusCode::kInvalidArgument},
                                                          {9, grpc::StatusCode::kInvalidArgument},
                                                          {11, grpc::StatusCode::kResourceExhausted}};
  EXPECT_EQ(want, refused);
}

TEST_F(TtrpcSessionTest, NoMoreCallsAreOpenThanTheLimitSays) {
  for (int i = 0; i < 4; ++i) Ask("x");
  EXPECT_EQ(Code::kOverloaded, plugin.Call({.service = "s", .method = "M", .payload = ""}).error().code);
  const std::string good = Encode(Request{.service = "p", .method = "N", .payload = "x"});
  for (std::uint32_t stream = 1; stream < 12; stream += 2) ASSERT_TRUE(plugin.Receive(RequestBytes(stream, good)));
  EXPECT_EQ(4U, plugin.TakeRequests().size());
  EXPECT_EQ(4U, plugin.open_requests());
  plugin.Answer(1, "done");
  plugin.Answer(1, "again");
  EXPECT_EQ(3U, plugin.open_requests());
  ASSERT_TRUE(plugin.Receive(RequestBytes(21, good)));
  EXPECT_EQ(1U, plugin.TakeRequests().size());
}

TEST_F(TtrpcSessionTest, WhatIsLongerThanTheLimitIsNotSent) {
  const std::string longer(100'001, 'x');
  EXPECT_EQ(Code::kInvalid, plugin.Call({.service = "s", .method = "M", .payload = longer}).error().code);
  EXPECT_TRUE(plugin.output().empty());
  ASSERT_TRUE(runtime.Call({.service = "p", .method = "N", .payload = ""}));
  ASSERT_TRUE(Move(runtime, plugin));
  plugin.Answer(plugin.TakeRequests().at(0).stream, longer);
  ASSERT_TRUE(Move(plugin, runtime));
  EXPECT_EQ(Code::kExhausted, runtime.TakeEnded().at(0).outcome.error().code);
}

TEST_F(TtrpcSessionTest, OfBytesCutOffAnywhereNothingIsMadeUp) {
  std::string bytes;
  for (std::uint32_t stream = 1; stream < 8; stream += 2)
    bytes += RequestBytes(stream, Encode(Request{.service = "p", .method = "N", .payload = std::string(9, 'x')}));
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    Session session({}, {}, "x");
    ASSERT_TRUE(session.Receive(std::string_view(bytes).substr(0, size)));
    EXPECT_EQ(size / (bytes.size() / 4), session.TakeRequests().size()) << size;
    session.Break("cut off");
    EXPECT_EQ(0U, session.open_requests());
  }
}

}  // namespace
}  // namespace berth::ttrpc
