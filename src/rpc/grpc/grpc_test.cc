// Client and server of the component with each other, on real sockets.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <atomic>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/os/event_fd.h"
#include "rpc/grpc/connection.h"
#include "rpc/grpc/grpc_client.h"
#include "rpc/grpc/grpc_server.h"
#include "testing/fixtures.h"

namespace berth::grpc {
namespace {

constexpr os::Millis kLong{20'000};

os::MonoTime In(os::Millis time) { return os::SystemClock().Now() + time; }
Patience For(os::Millis time) { return {.deadline = In(time)}; }

/// Until `condition`, or for long.
template <class Condition>
bool Until(const Condition& condition) {
  for (const os::MonoTime end = In(kLong); os::SystemClock().Now() < end; os::SleepFor(os::Millis(2)))
    if (condition()) return true;
  return false;
}

Status Echo(ServerStream& stream) {
  for (;;) {
    auto message = stream.Read();
    if (!message) return message.error();
    if (!*message) return {};
    if (const auto sent = stream.Write(**message); !sent) return sent.error();
  }
}

/// A socket that does not listen yet.
os::UniqueFd BoundTo(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  os::UniqueFd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(0, ::bind(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  return out;
}

Reply EchoOnce(const ServerCall&, const std::string& request) { return request; }

struct GrpcTest : testing::Test {
  void Serve(Services services, const ServerOptions& options = {}) {
    auto started = Server::Start(std::move(services), options);
    ASSERT_TRUE(started) << started.error().message;
    server = *std::move(started);
    const auto listens = server->Listen(path, 0600);
    ASSERT_TRUE(listens) << listens.error().message;
  }
  Error ErrorOf(const std::string& method, const Patience& patience = For(kLong)) {
    const auto said = client.Call(method, "", patience);
    EXPECT_FALSE(said) << method;
    return said ? Error{} : said.error();
  }

  testkit::TempDir temp;
  std::string path = temp / "socket";
  std::unique_ptr<Server> server;
  Client client{UnixConnector(path), path};
};

TEST_F(GrpcTest, CarriesMessagesOfAnyBytesAndLength) {
  Serve({.unary = {{"/s/Echo", EchoOnce}}});
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (const std::string& text : {std::string(), std::string("x"), all, std::string(std::size_t{16} << 20, 'y')}) {
    const auto said = client.Call("/s/Echo", text, For(kLong));
    ASSERT_TRUE(said) << said.error().message;
    EXPECT_TRUE(text == *said) << text.size() << " bytes";
  }
  const auto longer = client.Call("/s/Echo", std::string((std::size_t{16} << 20) + 1, 'y'), For(kLong));
  ASSERT_FALSE(longer);
  EXPECT_EQ(Code::kInvalid, longer.error().code);
}

TEST_F(GrpcTest, CarriesStatusesWithTheirWords) {
  Serve({.unary = {{"/s/Fail",
                    [](const ServerCall&, const std::string& request) -> Reply {
                      return std::unexpected(
                          Status(StatusCodeOf(std::stoi(request)), "Größe 5% \xE2\x82\xAC\n" + request));
                    }},
                   {"/s/Error", [](const ServerCall&, const std::string&) -> Reply {
                      return Fail(Code::kNotFound, "no such thing");
                    }}}});
  for (int number = 1; number < 17; ++number) {
    const auto said = client.Call("/s/Fail", std::to_string(number), For(kLong));
    ASSERT_FALSE(said);
    EXPECT_EQ(CodeOf(StatusCodeOf(number)), said.error().code) << number;
    EXPECT_EQ("Größe 5% \xE2\x82\xAC\n" + std::to_string(number), said.error().message);
  }
  EXPECT_EQ(Code::kNotFound, ErrorOf("/s/Error").code);
  EXPECT_EQ(Code::kUnsupported, ErrorOf("/s/None").code);
}

TEST_F(GrpcTest, StreamsBothWaysAtOnce) {
  Serve({.streaming = {{"/s/Echo", Echo}}});
  auto stream = client.Open("/s/Echo", For(kLong));
  ASSERT_TRUE(stream);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(stream->Write(std::to_string(i)));
    const auto said = stream->Read();
    ASSERT_TRUE(said && *said);
    EXPECT_EQ(std::to_string(i), **said);
  }
  stream->EndWrites();
  const auto end = stream->Read();
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_FALSE(*end);
  EXPECT_EQ(Code::kConflict, stream->Write("late").error().code);
}

TEST_F(GrpcTest, HearsManyMessagesAndThenHowItEnded) {
  Serve({.streaming = {{"/s/List", [](ServerStream& stream) -> Status {
                          for (const char* const word : {"one", "", "three"})
                            if (const auto sent = stream.Write(word); !sent) return sent.error();
                          return {StatusCode::kDataLoss, "that was all I had"};
                        }}}});
  auto stream = client.Open("/s/List", For(kLong));
  ASSERT_TRUE(stream);
  stream->EndWrites();
  for (const char* const word : {"one", "", "three"}) EXPECT_EQ(word, **stream->Read());
  const auto end = stream->Read();
  ASSERT_FALSE(end);
  EXPECT_EQ(Code::kCorrupt, end.error().code);
  EXPECT_EQ("that was all I had", end.error().message);
}

TEST_F(GrpcTest, ManyCallsShareAConnection) {
  std::atomic<bool> together = false;  // five of them
  std::atomic<int> now = 0;
  Serve({.unary = {{"/s/Slow", [&](const ServerCall&, const std::string& request) -> Reply {
                      if (++now > 4) together = true;
                      Until([&] { return together.load(); });
                      --now;
                      return request;
                    }}}});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string text = std::to_string(t) + "/" + std::to_string(i) + std::string(3000, 'x');
        const auto said = client.Call("/s/Slow", text, For(kLong));
        if (!said || *said != text) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(0, wrong);
  EXPECT_TRUE(together);
  server.reset();  // its handlers use what is here
}

TEST_F(GrpcTest, ACallThatHangsHoldsUpNoOther) {
  Serve({.unary = {{"/s/Echo", EchoOnce}}, .streaming = {{"/s/Hang", [](ServerStream& stream) -> Status {
                                                            stream.WaitGone(std::nullopt);
                                                            return {};
                                                          }}}});
  const auto cancel = os::EventFd::Open();
  ASSERT_TRUE(cancel);
  auto hangs = std::async(std::launch::async, [&] { return client.Call("/s/Hang", "", {.cancel_fd = cancel->get()}); });
  EXPECT_TRUE(client.Call("/s/Echo", "x", For(kLong)));
  cancel->Signal();
  const auto said = hangs.get();
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kCancelled, said.error().code);
  server.reset();  // its handlers use what is here
}

TEST_F(GrpcTest, ADeadlineEndsTheCallOnBothSides) {
  std::atomic<bool> told = false;
  std::atomic<bool> gone = false;
  Serve({.streaming = {{"/s/Hang", [&](ServerStream& stream) -> Status {
                          told = stream.deadline().has_value();
                          gone = stream.WaitGone(In(kLong));
                          return {};
                        }}}});
  ASSERT_TRUE(Until([&] {  // the server never hears of one whose time is over before
    const Error error = ErrorOf("/s/Hang", For(os::Millis(50)));
    EXPECT_EQ(Code::kTimeout, error.code) << error.message;
    return told.load();
  }));
  EXPECT_TRUE(Until([&] { return gone.load(); }));
  server.reset();  // its handlers use what is here
}

TEST_F(GrpcTest, TheServerEndsALateCallByItself) {
  Serve({.streaming = {{"/s/Hang", [&](ServerStream& stream) -> Status {
                          stream.WaitGone(std::nullopt);
                          return {};
                        }}}});
  auto connection = UnixConnector(path)();
  ASSERT_TRUE(connection);
  auto io = Io::Start();
  ASSERT_TRUE(io);
  auto raw = Connection::Make(Side::kClient, *std::move(connection), {}, {}, path, (*io)->wake());
  ASSERT_TRUE(raw);
  (*io)->Add(*raw);
  auto stream = (*raw)->Open("/s/Hang", In(os::Millis(30)), "", true);
  ASSERT_TRUE(stream);
  const auto said = (*raw)->Read(*stream, For(kLong));
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kTimeout, said.error().code);
  EXPECT_EQ("the deadline passed", said.error().message) << "in the server's words";
  server.reset();  // its handlers use what is here
}

TEST_F(GrpcTest, WhoCancelsReturnsAndTheHandlerLearnsOfIt) {
  std::promise<void> begun;
  std::promise<bool> gone;
  Serve({.streaming = {{"/s/Hang", [&](ServerStream& stream) -> Status {
                          const auto fd = stream.gone_fd();
                          begun.set_value();
                          pollfd entry{.fd = fd.value_or(-1), .events = POLLIN, .revents = 0};
                          gone.set_value(::poll(&entry, 1, static_cast<int>(kLong.count())) == 1 && stream.gone());
                          return {};
                        }}}});
  auto stream = client.Open("/s/Hang", For(kLong));
  ASSERT_TRUE(stream);
  begun.get_future().wait();
  std::thread other([&] { stream->Cancel(); });
  const auto said = stream->Read();
  other.join();
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kCancelled, said.error().code);
  EXPECT_TRUE(gone.get_future().get());
  server.reset();  // its handlers use what is here
}

TEST_F(GrpcTest, GivesUpWhenTheCallerClosesItsConnectionAndNotBefore) {
  std::array<int, 2> ends{};
  ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()));
  const os::UniqueFd caller(ends[0]);
  os::UniqueFd other(ends[1]);
  ASSERT_EQ(0, ::shutdown(other.get(), SHUT_WR)) << "it may say that it has said all";
  Serve({.unary = {{"/s/Echo", EchoOnce}}, .streaming = {{"/s/Hang", [&](ServerStream& stream) -> Status {
                                                            other.reset();
                                                            stream.WaitGone(std::nullopt);
                                                            return {};
                                                          }}}});
  const Patience patience{.deadline = In(kLong), .caller_fd = caller.get()};
  EXPECT_TRUE(client.Call("/s/Echo", "", patience));
  const Error error = ErrorOf("/s/Hang", patience);
  EXPECT_EQ(Code::kCancelled, error.code);
  EXPECT_NE(std::string::npos, error.message.find("whoever asked for it is gone")) << error.message;
  server.reset();  // its handlers use what is here
}

TEST_F(GrpcTest, IsNotGivenUpTooEarly) {
  const auto cancel = os::EventFd::Open();
  ASSERT_TRUE(cancel);
  std::atomic<int> calls = 0;
  Serve({.streaming = {{"/s/Once",
                        [&](ServerStream& stream) -> Status {
                          ++calls;
                          cancel->Signal();
                          if (const auto sent = stream.Write("x"); !sent) return sent.error();
                          return {};
                        }},
                       {"/s/Hang", [&](ServerStream& stream) -> Status {
                          cancel->Signal();
                          stream.WaitGone(std::nullopt);
                          return {};
                        }}}});
  Patience patience{.deadline = In(kLong), .cancel_fd = cancel->get(), .give_up_from = In(kLong)};
  EXPECT_TRUE(client.Call("/s/Once", "", patience));
  EXPECT_EQ(Code::kCancelled, ErrorOf("/s/Once", patience).code) << "it was given up before it was made";
  EXPECT_EQ(1, calls);

  cancel->Clear();
  patience.give_up_from = In(os::Millis(30));
  const Error error = ErrorOf("/s/Hang", patience);
  EXPECT_EQ(Code::kCancelled, error.code) << error.message;
  EXPECT_GE(os::SystemClock().Now(), patience.give_up_from);
  server.reset();  // its handlers use what is here
}

TEST_F(GrpcTest, WhatIsNotReadIsNotTakenIn) {
  std::atomic<int> written = 0;
  std::atomic<bool> slow = false;
  Serve({.unary = {{"/s/Echo", EchoOnce}},
         .streaming = {{"/s/Flood",
                        [&](ServerStream& stream) -> Status {
                          const std::string message(16 << 10, 'x');
                          for (int i = 0; i < 1000; ++i) {
                            const auto sent = stream.Write(message);
                            if (!sent) return sent.error();
                            ++written;
                          }
                          return {};
                        }},
                       {"/s/Patient", [&](ServerStream& stream) -> Status {
                          const std::string message(16 << 10, 'x');
                          for (;;) {
                            const auto sent = stream.Write(message, In(os::Millis(50)));
                            if (sent) continue;
                            slow = sent.error().code == Code::kTimeout;
                            return sent.error();
                          }
                        }}}});
  auto stream = client.Open("/s/Flood", For(kLong));
  ASSERT_TRUE(stream);
  stream->EndWrites();
  int before = -1;
  ASSERT_TRUE(Until([&] {
    os::SleepFor(os::Millis(30));
    return written > 0 && std::exchange(before, written.load()) == written;
  })) << "it does not wait";
  EXPECT_LT(written, 40) << "a window, and what waits to be sent, of 16 MiB";
  EXPECT_TRUE(client.Call("/s/Echo", "x", For(kLong))) << "others are not held up";
  int read = 0;
  for (auto message = stream->Read(); message && *message; message = stream->Read()) ++read;
  EXPECT_EQ(1000, read);

  auto unread = client.Open("/s/Patient", For(kLong));
  ASSERT_TRUE(unread);
  EXPECT_TRUE(Until([&] { return slow.load(); })) << "the writer is told that nobody reads";
  server.reset();  // its handlers use what is here
}

TEST_F(GrpcTest, AWriterWaitsForAReaderThatIsSlow) {
  std::promise<void> go;
  Serve({.streaming = {{"/s/Sum", [&](ServerStream& stream) -> Status {
                          go.get_future().wait();
                          std::size_t all = 0;
                          for (auto m = stream.Read(); m && *m; m = stream.Read()) all += (*m)->size();
                          if (const auto sent = stream.Write(std::to_string(all)); !sent) return sent.error();
                          return {};
                        }}}});
  auto stream = client.Open("/s/Sum", For(kLong));
  ASSERT_TRUE(stream);
  std::atomic<int> written = 0;
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i)
      if (stream->Write(std::string(16 << 10, 'x'))) ++written;
    stream->EndWrites();
  });
  int before = -1;
  EXPECT_TRUE(Until([&] {
    os::SleepFor(os::Millis(30));
    return written > 0 && std::exchange(before, written.load()) == written;
  }));
  EXPECT_LT(written, 60);
  go.set_value();
  writer.join();
  EXPECT_EQ(std::to_string(200 * (16 << 10)), **stream->Read());
  server.reset();  // its handlers use what is here
}

TEST_F(GrpcTest, AHandlerIsWokenToSayMore) {
  std::promise<ServerStream*> open;
  Serve({.streaming = {{"/s/Watch", [&](ServerStream& stream) -> Status {
                          open.set_value(&stream);
                          for (int i = 0; !stream.WaitGone(std::nullopt); ++i)
                            if (!stream.Write(std::to_string(i))) break;
                          return {};
                        }}}});
  auto stream = client.Open("/s/Watch", {});
  ASSERT_TRUE(stream);
  ServerStream* const watched = open.get_future().get();
  for (int i = 0; i < 3; ++i) {
    watched->Wake();
    EXPECT_EQ(std::to_string(i), **stream->Read());
  }
  server.reset();  // its handlers use what is here
}

TEST_F(GrpcTest, AServerThatStopsFinishesWhatItHasBegunAndRefusesTheRest) {
  std::promise<void> begun;
  Serve({.unary = {{"/s/Slow", [&](const ServerCall&, const std::string&) -> Reply {
                      begun.set_value();
                      os::SleepFor(os::Millis(100));
                      return "done";
                    }}}});
  auto slow = std::async(std::launch::async, [&] { return client.Call("/s/Slow", "", For(kLong)); });
  begun.get_future().wait();
  server->Stop(kLong);
  const auto said = slow.get();
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ("done", *said);
  EXPECT_EQ(Code::kUnreachable, ErrorOf("/s/Slow").code);
  server.reset();  // its handlers use what is here
}

TEST_F(GrpcTest, AServerThatDoesNotWaitCutsCallsOff) {
  std::promise<void> begun;
  Serve({.streaming = {{"/s/Hang", [&](ServerStream& stream) -> Status {
                          begun.set_value();
                          stream.WaitGone(std::nullopt);
                          return {};
                        }}}});
  auto hangs = std::async(std::launch::async, [&] { return client.Call("/s/Hang", "", For(kLong)); });
  begun.get_future().wait();
  server.reset();
  const auto said = hangs.get();
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kUncertain, said.error().code) << "it may have been done: " << said.error().message;
}

TEST_F(GrpcTest, ConnectsAgainAfterTheServerWasStartedAnew) {
  Serve({.unary = {{"/s/Echo", EchoOnce}}});
  EXPECT_TRUE(client.Call("/s/Echo", "x", For(kLong)));
  for (int i = 0; i < 20; ++i) {
    server.reset();
    Serve({.unary = {{"/s/Echo", EchoOnce}}});
    const auto said = client.Call("/s/Echo", "x", For(kLong));
    ASSERT_TRUE(said) << said.error().message;
  }
  server.reset();
  const Error error = ErrorOf("/s/Echo");
  EXPECT_EQ(Code::kUnreachable, error.code);
  EXPECT_EQ(ENOENT, error.sys);
}

TEST_F(GrpcTest, CallsThatAreTooManyAreNotDone) {
  std::atomic<int> calls = 0;
  std::promise<void> begun;
  Serve({.streaming = {{"/s/Hang",
                        [&](ServerStream& stream) -> Status {
                          if (++calls == 1) begun.set_value();
                          stream.WaitGone(std::nullopt);
                          return {};
                        }}}},
        {.most_calls = 1});
  auto first = client.Open("/s/Hang", For(kLong));
  ASSERT_TRUE(first);
  begun.get_future().wait();
  const Error error = ErrorOf("/s/Hang");
  EXPECT_EQ(Code::kOverloaded, error.code) << error.message;
  EXPECT_EQ(1, calls);
  server.reset();  // its handlers use what is here
}

TEST_F(GrpcTest, AHandlerThatBreaksOffLeavesItsCallerInDoubt) {
  Serve({.streaming = {{"/s/Cut", [&](ServerStream& stream) -> Status {
                          stream.Abort();
                          return {};
                        }}}});
  EXPECT_EQ(Code::kUncertain, ErrorOf("/s/Cut").code);
  server.reset();  // its handlers use what is here
}

TEST_F(GrpcTest, RubbishEndsItsOwnConnectionOnly) {
  Serve({.unary = {{"/s/Echo", EchoOnce}}});
  EXPECT_TRUE(client.Call("/s/Echo", "x", For(kLong)));
  for (const std::string& rubbish : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(1000, '\xFF')}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()));
    const os::UniqueFd peer(ends[0]);
    ASSERT_TRUE(server->Adopt(os::UniqueFd(ends[1])));
    ASSERT_EQ(static_cast<ssize_t>(rubbish.size()), ::send(peer.get(), rubbish.data(), rubbish.size(), MSG_NOSIGNAL));
    std::array<char, 1000> said{};
    while (::recv(peer.get(), said.data(), said.size(), 0) > 0) continue;  // until it is closed
  }
  EXPECT_TRUE(client.Call("/s/Echo", "x", For(kLong)));
}

/// Of HTTP/2: its length, type, flags and stream before `payload`.
std::string Frame(int type, int flags, int stream, const std::string& payload) {
  return std::string{0, 0, static_cast<char>(payload.size()), static_cast<char>(type), static_cast<char>(flags), 0,
                     0, 0, static_cast<char>(stream)} +
         payload;
}

/// As HPACK writes what it does not put into its table.
std::string Field(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
}

TEST_F(GrpcTest, ACallerMayNameTheSocketsPathAsItsAuthority) {
  std::promise<std::string> heard;
  Serve({.unary = {{"/s/Hear", [&](const ServerCall&, const std::string& request) -> Reply {
                      heard.set_value(request);
                      return "";
                    }}}});
  std::array<int, 2> ends{};
  ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()));
  const os::UniqueFd peer(ends[0]);
  ASSERT_TRUE(server->Adopt(os::UniqueFd(ends[1])));
  constexpr int kData = 0;
  constexpr int kHeaders = 1;
  constexpr int kSettings = 4;
  constexpr int kEndStream = 1;
  constexpr int kEndHeaders = 4;
  const std::string call = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, "") +
                           Frame(kHeaders, kEndHeaders, 1,
                                 Field(":method", "POST") + Field(":scheme", "http") + Field(":path", "/s/Hear") +
                                     Field(":authority", "/var/lib/kubelet/device-plugins/kubelet.sock") +
                                     Field("content-type", "application/grpc") + Field("te", "trailers")) +
                           Frame(kData, kEndStream, 1, std::string("\0\0\0\0\5hello", 10));
  ASSERT_EQ(static_cast<ssize_t>(call.size()), ::send(peer.get(), call.data(), call.size(), MSG_NOSIGNAL));
  auto message = heard.get_future();
  ASSERT_EQ(std::future_status::ready, message.wait_for(kLong));
  EXPECT_EQ("hello", message.get());
  server.reset();  // its handlers use what is here
}

TEST_F(GrpcTest, SendsNothingLongerThanTheLimits) {
  Serve({.unary = {{"/s/Long", [](const ServerCall&, const std::string&) -> Reply { return std::string(2000, 'x'); }},
                   {"/s/Echo", EchoOnce}}},
        {.limits = {.message = 1000}});
  EXPECT_EQ(Code::kExhausted, ErrorOf("/s/Long").code);
  const auto said = client.Call("/s/Echo", std::string(2000, 'x'), For(kLong));
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kExhausted, said.error().code) << said.error().message;
  Client small(UnixConnector(path), path, {.limits = {.message = 100}});
  const auto cut = small.Call("/s/Long", "", For(kLong));
  EXPECT_FALSE(cut);
}

TEST_F(GrpcTest, AHeadThatIsTooLongIsNotTaken) {
  Serve({.unary = {{"/s/Fail", [](const ServerCall&, const std::string&) -> Reply {
                      return std::unexpected(Status(StatusCode::kInternal, std::string(4000, 'x')));
                    }}}});
  Client small(UnixConnector(path), path, {.limits = {.head_bytes = 1000}});
  const auto said = small.Call("/s/Fail", "", For(kLong));
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kUncertain, said.error().code) << said.error().message;
  EXPECT_EQ(Code::kInternal, ErrorOf("/s/Fail").code);
}

TEST_F(GrpcTest, AServerThatDoesNotAnswerPingsIsTakenToBeGone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()));
  const os::UniqueFd silent(ends[0]);
  os::UniqueFd ours(ends[1]);
  Client lonely([&]() -> Result<std::unique_ptr<Transport>> { return SocketTransport(std::move(ours)); }, "silent",
                {.keepalive = {.every = os::Millis(20), .patience = os::Millis(20)}});
  const auto said = lonely.Call("/s/Echo", "", For(kLong));
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kUncertain, said.error().code);
  EXPECT_NE(std::string::npos, said.error().message.find("does not answer any more")) << said.error().message;
}

TEST_F(GrpcTest, ACallOnAnIdleConnectionWakesWhoCountsItsSilence) {
  std::array<int, 2> ends{};
  ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()));
  const os::UniqueFd silent(ends[0]);
  auto event = os::EventFd::Open();
  ASSERT_TRUE(event);
  const auto wake = std::make_shared<os::EventFd>(*std::move(event));
  const auto lonely = Connection::Make(Side::kClient, SocketTransport(os::UniqueFd(ends[1])), {},
                                       {.every = kLong, .patience = kLong}, "silent", wake);
  ASSERT_TRUE(lonely);
  EXPECT_FALSE((*lonely)->Prepare(In({})).at) << "nobody waits for anything";
  const auto call = (*lonely)->Open("/s/Echo", std::nullopt, "", true);
  ASSERT_TRUE(call);
  pollfd woken{.fd = wake->get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(1, ::poll(&woken, 1, 0));
  EXPECT_TRUE((*lonely)->Prepare(In({})).at);
}

TEST_F(GrpcTest, PingsKeepAConnectionThatIsAnswered) {
  Serve({.streaming = {{"/s/Late", [](ServerStream& stream) -> Status {
                          stream.WaitGone(In(os::Millis(200)));
                          if (const auto sent = stream.Write("x"); !sent) return sent.error();
                          return {};
                        }}}});
  Client careful(UnixConnector(path), path, {.keepalive = {.every = os::Millis(10), .patience = kLong}});
  EXPECT_TRUE(careful.Call("/s/Late", "", For(kLong)));
}

TEST_F(GrpcTest, ListensWhereAnEndedServerLeftItsSocketAndNowhereElse) {
  Serve({});
  struct stat info{};
  ASSERT_EQ(0, ::stat(path.c_str(), &info));
  EXPECT_EQ(0600U, info.st_mode & 0777U);
  auto second = Server::Start({});
  ASSERT_TRUE(second);
  EXPECT_EQ(Code::kInUse, (*second)->Listen(path, 0600).error().code);
  EXPECT_EQ(Code::kInvalid, (*second)->Listen(temp / std::string(200, 'x'), 0600).error().code);
  server.reset();
  EXPECT_NE(0, ::stat(path.c_str(), &info)) << "its name goes with it";
}

TEST_F(GrpcTest, ASocketThatWasRemovedIsMadeAnewAndItsConnectionsStay) {
  std::atomic<int> made_anew = 0;
  Serve({.unary = {{"/s/Echo", EchoOnce}}}, {.on_lost_socket =
                                                 [&](const std::string& socket, const Result<void>& again) {
                                                   EXPECT_EQ(socket, path);
                                                   EXPECT_TRUE(again) << again.error().message;
                                                   ++made_anew;
                                                   made_anew.notify_all();
                                                 },
                                             .listen_again = os::Millis(20)});
  ASSERT_TRUE(client.Call("/s/Echo", "x", For(kLong)));
  for (int lost = 0; lost < 2; ++lost) {
    std::filesystem::remove(path);
    made_anew.wait(lost);
    struct stat info{};
    ASSERT_EQ(0, ::stat(path.c_str(), &info));
    EXPECT_EQ(0600U, info.st_mode & 0777U);
    Client other(UnixConnector(path), path);
    EXPECT_TRUE(other.Call("/s/Echo", "x", For(kLong)));
    EXPECT_TRUE(client.Call("/s/Echo", "x", For(kLong)));
  }
  server.reset();
  EXPECT_FALSE(std::filesystem::exists(path)) << "its name goes with it";
}

TEST_F(GrpcTest, ASocketWhosePathSomebodyElseTookIsToldOfAndLeftAlone) {
  std::atomic<int> told = 0;
  Serve({}, {.on_lost_socket =
                 [&](const std::string&, const Result<void>& again) {
                   EXPECT_FALSE(again);
                   ++told;
                   told.notify_all();
                 },
             .listen_again = os::Millis(20)});
  std::ofstream(path + ".other") << "somebody else's";
  std::filesystem::rename(path + ".other", path);
  ASSERT_TRUE(Until([&] { return told > 0; }));
  server.reset();
  EXPECT_TRUE(std::filesystem::is_regular_file(path)) << "it is left alone, also by a server that ends";
}

TEST_F(GrpcTest, ASocketOfSomebodyElseAtThePathIsReplacedOnlyWhenNobodyListensAtIt) {
  std::atomic<int> failed = 0;
  std::atomic<int> made_anew = 0;
  Serve({.unary = {{"/s/Echo", EchoOnce}}}, {.on_lost_socket =
                                                 [&](const std::string&, const Result<void>& again) {
                                                   std::atomic<int>& count = again ? made_anew : failed;
                                                   ++count;
                                                 },
                                             .listen_again = os::Millis(20)});
  const std::string beside = path + ".other";
  auto owner = BoundTo(beside);
  ASSERT_EQ(0, ::listen(owner.get(), 128));
  std::filesystem::rename(beside, path);
  ASSERT_TRUE(Until([&] { return failed > 0; }));
  EXPECT_TRUE(UnixConnector(path)()) << "it still leads to its owner";
  EXPECT_EQ(0, made_anew);
  owner = os::UniqueFd();  // its file stays
  ASSERT_TRUE(Until([&] { return made_anew > 0; }));
  EXPECT_EQ(1, failed);
  Client other(UnixConnector(path), path);
  EXPECT_TRUE(other.Call("/s/Echo", "x", For(kLong)));
}

TEST_F(GrpcTest, TakesNoSocketFromABusyOwner) {
  const os::UniqueFd owner = BoundTo(path);
  ASSERT_EQ(0, ::listen(owner.get(), 0));
  std::vector<std::unique_ptr<Transport>> waiting;
  for (auto next = UnixConnector(path)(); next; next = UnixConnector(path)()) waiting.push_back(*std::move(next));
  auto second = Server::Start({});
  ASSERT_TRUE(second);
  EXPECT_EQ(Code::kInUse, (*second)->Listen(path, 0600).error().code);
}

TEST_F(GrpcTest, ARequestThatIsNeverWholeEndsInTime) {
  Serve({.unary = {{"/s/Echo", EchoOnce}}}, {.longest_call = os::Millis(50)});
  auto half = client.Open("/s/Echo", For(kLong));
  ASSERT_TRUE(half);
  const auto said = half->Read();
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kTimeout, said.error().code) << said.error().message;
  EXPECT_TRUE(client.Call("/s/Echo", "x", For(kLong)));
}

TEST_F(GrpcTest, TakesShorterMessagesThanItSendsWhereThatIsAskedFor) {
  Serve({.unary = {{"/s/Echo", EchoOnce},
                   {"/s/Long", [](const ServerCall&, const std::string&) -> Reply { return std::string(2000, 'x'); }}}},
        {.limits = {.received = 100}});
  EXPECT_EQ(Code::kExhausted, client.Call("/s/Echo", std::string(101, 'x'), For(kLong)).error().code);
  EXPECT_TRUE(client.Call("/s/Echo", std::string(100, 'x'), For(kLong)));
  EXPECT_TRUE(client.Call("/s/Long", "", For(kLong)));
}

TEST_F(GrpcTest, AConnectionWithoutCallsGoesForTheNextWhenThereAreTooMany) {
  Serve({.unary = {{"/s/Echo", EchoOnce}}, .streaming = {{"/s/Hang", Echo}}}, {.most_connections = 2});
  auto hangs = client.Open("/s/Hang", For(kLong));
  ASSERT_TRUE(hangs && hangs->Write("x") && hangs->Read());
  for (int i = 0; i < 20; ++i) {
    Client other(UnixConnector(path), path);
    EXPECT_TRUE(Until([&] { return other.Call("/s/Echo", "x", For(kLong)).has_value(); }));
  }
  const auto silent = UnixConnector(path)();
  ASSERT_TRUE(silent);
  EXPECT_TRUE(Until([&] {
    Client other(UnixConnector(path), path);
    return other.Call("/s/Echo", "x", For(kLong)).has_value();
  }));
  EXPECT_TRUE(hangs->Write("y"));
  const auto said = hangs->Read();
  EXPECT_TRUE(said && *said == "y") << "calls are not cut off";
}

// Without the wait its thread would ask without end.
TEST_F(GrpcTest, WithoutDescriptorsAServerWaitsAndTakesTheConnectionLater) {
  Serve({.unary = {{"/s/Echo", EchoOnce}}});
  ASSERT_TRUE(client.Call("/s/Echo", "x", For(kLong)));
  rlimit before{};
  ASSERT_EQ(0, ::getrlimit(RLIMIT_NOFILE, &before));
  auto knocking = UnixConnector(path)();
  ASSERT_TRUE(knocking);
  os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  // The lowest that is free is the first that is none any more; poll(2) takes no more of them than there may be.
  const os::UniqueFd lowest(::dup(socket.get()));
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(lowest.get());
  ASSERT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &none));
  EXPECT_EQ(0, ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  const std::clock_t used = std::clock();
  os::SleepFor(os::Millis(1'000));
  const std::clock_t spent = std::clock() - used;
  EXPECT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &before));
  EXPECT_LT(spent, CLOCKS_PER_SEC / 2) << "it goes round without waiting";
  EXPECT_TRUE(client.Call("/s/Echo", "x", For(kLong)));
}

// The thread that takes a connection may be anywhere in that when the server goes.
TEST_F(GrpcTest, AServerMayGoWhileSomebodyConnects) {
  for (int round = 0; round < 200; ++round) {
    Serve({});
    const auto connected = UnixConnector(path)();
    server.reset();
  }
}

TEST(GrpcClientTest, KnowsThatNothingWasSentWhereNobodyListens) {
  Client none(UnixConnector("/nonexistent/socket"), "none");
  const auto said = none.Call("/s/M", "", For(kLong));
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kUnreachable, said.error().code);
  EXPECT_EQ(ENOENT, said.error().sys);
  Client wrong(UnixConnector(std::string(200, '/')), "wrong");
  EXPECT_EQ(Code::kInvalid, wrong.Call("/s/M", "", For(kLong)).error().code);
}

}  // namespace
}  // namespace berth::grpc
