// Two peers on one socket, and a peer with what is none.
#include "rpc/ttrpc/peer.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>
#include <vector>

#include "host/os/poll.h"
#include "testing/raw_server.h"

namespace berth::ttrpc {
namespace {

constexpr os::Millis kLong{20'000};

grpc::Patience Within(os::Millis time) { return {.deadline = os::SystemClock().Now() + time}; }

Reply Echoed(const IncomingCall&, const std::string& payload) { return payload; }

struct TtrpcPeerTest : testing::Test {
  TtrpcPeerTest() {
    int fds[2];
    EXPECT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
    ends[0] = os::UniqueFd(fds[0]);
    ends[1] = os::UniqueFd(fds[1]);
  }
  std::unique_ptr<Peer> Begin(int end, Handlers handlers, const PeerOptions& options = {}) {
    auto out = Peer::Start(grpc::SocketTransport(std::move(ends[end])), end == 0 ? "the runtime" : "the plug-in",
                           std::move(handlers), options);
    EXPECT_TRUE(out);
    return *std::move(out);
  }
  static PeerOptions OfRuntime() { return {.lanes = {.answers = 2, .asks = 1}}; }
  static bool Ends(const Peer& peer) { return *os::WaitFor(peer.ended_fd(), POLLIN, os::SystemClock().Now() + kLong); }
  os::UniqueFd ends[2];
};

TEST_F(TtrpcPeerTest, BothSidesCallEachOtherAtOnce) {
  const auto plugin = Begin(0, {{"p/Echo", Echoed}});
  const auto runtime = Begin(1, {{"r/Echo", Echoed}}, OfRuntime());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Peer& self = i % 2 == 0 ? *plugin : *runtime;
      for (int k = 0; k < 50; ++k) {
        const std::string text = std::to_string(i) + std::string(static_cast<std::size_t>(k) * 200, 'x');
        const auto said = self.Call(i % 2 == 0 ? "r" : "p", "Echo", text, Within(kLong));
        if (!said || *said != text) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(0, wrong);
}

TEST_F(TtrpcPeerTest, CarriesTheLongestMessageAndNoLongerOne) {
  const auto plugin = Begin(0, {});
  const auto runtime = Begin(1, {{"r/Echo", Echoed}}, OfRuntime());
  const std::string longest(kLongestData - 100, 'x');
  const auto said = plugin->Call("r", "Echo", longest, Within(kLong));
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_TRUE(longest == *said);
  EXPECT_EQ(Code::kInvalid, plugin->Call("r", "Echo", std::string(kLongestData, 'x'), Within(kLong)).error().code);
}

TEST_F(TtrpcPeerTest, ErrorsAndUnknownMethodsAreAnswers) {
  const auto plugin = Begin(0, {});
  const auto runtime =
      Begin(1,
            {{"r/Fail",
              [](const IncomingCall&, const std::string&) -> Reply {
                return std::unexpected(grpc::Status(grpc::StatusCode::kUnknown, "invalid plugin index"));
              }}},
            OfRuntime());
  const auto failed = plugin->Call("r", "Fail", "", Within(kLong));
  EXPECT_EQ(Code::kInternal, failed.error().code);
  EXPECT_EQ("invalid plugin index", failed.error().message);
  EXPECT_EQ(Code::kUnsupported, plugin->Call("r", "None", "", Within(kLong)).error().code);
  EXPECT_FALSE(plugin->ended());
}

TEST_F(TtrpcPeerTest, ACallThatIsNotAnsweredInTimeIsGivenUpAndTheNextOneIsMade) {
  os::EventFd go = *os::EventFd::Open();
  const auto plugin = Begin(0, {});
  std::atomic<bool> told = false;
  const auto runtime = Begin(1,
                             {{"r/Slow",
                               [&](const IncomingCall& call, const std::string&) -> Reply {
                                 told = call.deadline.has_value();
                                 static_cast<void>(os::WaitFor(go.get(), POLLIN, os::SystemClock().Now() + kLong));
                                 return "late";
                               }},
                              {"r/Echo", Echoed}},
                             OfRuntime());
  for (os::Millis time(10); !told; time *= 2) {  // longer, until the other side hears of it before it is over
    const auto late = plugin->Call("r", "Slow", "", Within(time));
    ASSERT_FALSE(late);
    EXPECT_EQ(Code::kTimeout, late.error().code);
  }
  go.Signal();
  EXPECT_EQ("x", plugin->Call("r", "Echo", "x", Within(kLong)).value_or(""));
}

TEST_F(TtrpcPeerTest, ACallIsGivenUpWhenItsCancelDescriptorSaysSo) {
  const auto plugin = Begin(0, {});  // and nobody answers
  const auto cancel = os::EventFd::Open();
  cancel->Signal();
  const auto said = plugin->Call("r", "M", "", {.cancel_fd = cancel->get()});
  EXPECT_EQ(Code::kCancelled, said.error().code);
}

TEST_F(TtrpcPeerTest, ASlowHandlerHoldsUpNoOther) {
  os::EventFd go = *os::EventFd::Open();
  const auto plugin = Begin(0, {{"p/Wait",
                                 [&](const IncomingCall&, const std::string&) -> Reply {
                                   static_cast<void>(os::WaitFor(go.get(), POLLIN, os::SystemClock().Now() + kLong));
                                   return "waited";
                                 }},
                                {"p/Echo", Echoed}});
  const auto runtime = Begin(1, {}, OfRuntime());
  std::string waited;
  std::thread waiting([&] { waited = runtime->Call("p", "Wait", "", Within(kLong)).value_or("?"); });
  EXPECT_EQ("x", runtime->Call("p", "Echo", "x", Within(kLong)).value_or(""));
  go.Signal();
  waiting.join();
  EXPECT_EQ("waited", waited);
}

TEST_F(TtrpcPeerTest, WhenTheOtherSideGoesCallsEndAndItIsSaid) {
  const auto plugin = Begin(0, {});
  std::thread going([&] {
    EXPECT_FALSE(testkit::ReceiveAll(ends[1].get(), "Method").empty());
    ends[1].reset();
  });
  const auto said = plugin->Call("r", "Method", "", {});
  EXPECT_EQ(Code::kUncertain, said.error().code);
  going.join();
  EXPECT_TRUE(Ends(*plugin));
  EXPECT_EQ("the connection was closed by the other side", plugin->ended());
  EXPECT_EQ(Code::kUnreachable, plugin->Call("r", "Method", "", Within(kLong)).error().code);
}

TEST_F(TtrpcPeerTest, WhoeverDoesNotSpeakItLosesTheConnection) {
  const auto plugin = Begin(0, {});
  ASSERT_TRUE(testkit::SendAll(ends[1].get(), "GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(Ends(*plugin));
  EXPECT_NE(std::string::npos, plugin->ended()->find("does not speak NRI")) << *plugin->ended();
}

TEST_F(TtrpcPeerTest, WhoeverAsksWithoutTakingAnswersIsNotHeardForAWhile) {
  const std::string longest(kLongestData / 2, 'x');
  const auto plugin = Begin(0, {{"p/Long", [&](const IncomingCall&, const std::string&) -> Reply { return longest; }}});
  std::string bytes;
  for (std::uint32_t stream = 1; stream < 60; stream += 2)
    AppendMessage(bytes, 1, stream, Kind::kRequest, Encode(Request{.service = "p", .method = "Long", .payload = ""}));
  ASSERT_TRUE(testkit::SendAll(ends[1].get(), bytes));
  // All answers come in the end, to one who takes them.
  FrameReader frames;
  MessageReader reader;
  int answers = 0;
  std::vector<char> buffer(1 << 16);
  while (answers < 30) {
    ASSERT_TRUE(*os::WaitFor(ends[1].get(), POLLIN, os::SystemClock().Now() + kLong));
    const ssize_t n = ::recv(ends[1].get(), buffer.data(), buffer.size(), 0);
    ASSERT_GT(n, 0);
    ASSERT_TRUE(frames.Add({buffer.data(), static_cast<std::size_t>(n)}, [&](std::uint32_t, std::string_view piece) {
      answers += static_cast<int>(reader.Add(piece).size());
    }));
  }
}

TEST_F(TtrpcPeerTest, ItsEndWaitsForHandlersAndTheirAnswersAreDropped) {
  os::EventFd begun = *os::EventFd::Open();
  os::EventFd go = *os::EventFd::Open();
  std::atomic<int> done = 0;
  auto plugin = Begin(0, {{"p/Slow", [&](const IncomingCall&, const std::string&) -> Reply {
                             begun.Signal();
                             static_cast<void>(os::WaitFor(go.get(), POLLIN, os::SystemClock().Now() + kLong));
                             ++done;
                             return "";
                           }}});
  const auto runtime = Begin(1, {}, OfRuntime());
  std::thread asking([&] { EXPECT_FALSE(runtime->Call("p", "Slow", "", Within(kLong))); });
  EXPECT_TRUE(*os::WaitFor(begun.get(), POLLIN, os::SystemClock().Now() + kLong));
  std::thread ending([&] { plugin.reset(); });
  EXPECT_TRUE(Ends(*runtime));
  go.Signal();
  ending.join();
  asking.join();
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace berth::ttrpc
