#include "rpc/http/http_server.h"

#include <curl/curl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/mutex.h"
#include "host/os/lock_file.h"
#include "host/os/poll.h"
#include "rpc/http/http_client.h"
#include "testing/fixtures.h"
#include "testing/raw_server.h"

namespace berth::http {
namespace {

using os::Millis;
using testing::HasSubstr;
using testing::StartsWith;
using testkit::ReceiveAll;
using testkit::SendAll;

os::UniqueFd ConnectUnix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  os::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

os::UniqueFd ConnectTcp(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  os::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

/// Counts "0" to "2", each when it is let; then ends.
class Counting final : public Stream {
 public:
  Counting(std::atomic<int>& let, std::atomic<bool>& ended) : let_(let), ended_(ended) {}
  ~Counting() override { ended_ = true; }
  std::optional<std::string> Next() override {
    if (said_ == 3) return "";
    if (said_ == let_) return std::nullopt;
    return std::to_string(said_++);
  }

 private:
  std::atomic<int>& let_;
  std::atomic<bool>& ended_;
  int said_ = 0;
};

long ResidentKib() {
  std::ifstream file("/proc/self/statm");
  long all = 0;
  long resident = 0;
  file >> all >> resident;
  return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

struct HttpServerTest : testing::Test {
  ServerOptions Options() {
    ServerOptions options;
    options.limits = limits;
    options.headers = {{"X-Of-All", "yes"}};
    options.on_lost_socket = [this](const std::string&, const Result<void>& again) {
      std::atomic<int>& count = again ? made_anew : not_made_anew;
      ++count;
      count.notify_all();
    };
    options.refuse = [](int status, const std::string& why) { return Answer{.status = status, .body = why}; };
    options.routes = {
        {"GET", "/hello", [](const Request&) { return Answer{.body = "hello"}; }},
        {"GET", "/large", [](const Request&) { return Answer{.body = std::string(3'000'000, 'x')}; }},
        {"GET", "/query", [](const Request& r) { return Answer{.body = r.query.at("a") + "|" + r.query.at("b")}; }},
        {"GET", "/fail", [](const Request& r) { return Answer{.body = r.query.at("not there")}; }},
        {"POST", "/size/{}",
         [](const Request& r) { return Answer{.body = r.parts[0] + std::to_string(r.body.size())}; }},
        {"POST", "/short", [](const Request& r) { return Answer{.body = std::to_string(r.body.size())}; }, 10},
        {"POST", "/alone", [this](const Request&) { return Answer{.body = BeAlone() ? "alone" : "beside others"}; }},
        {"GET", "/headers",
         [](const Request& r) {
           Answer out{.headers = {{"Set-Cookie", "a=b"}}};
           for (const auto& [name, value] : r.headers) out.body += name + "=" + value + "|";
           return out;
         }},
        {"GET", "/count", [this](const Request& r) { return Count(r); }},
        {"POST", "/pieces", [this](const Request& r) { return TakeMemory(r); }},
        {"GET", "/wait", [this](const Request& r) { return WaitForCaller(r); }}};
    return options;
  }
  /// Many small allocations that go, and a last one that stays.
  Answer TakeMemory(const Request& request) {
    std::vector<std::unique_ptr<std::string>> pieces;
    for (std::size_t at = 0; at < request.body.size(); at += 80)
      pieces.push_back(std::make_unique<std::string>(request.body, at, 80 * 8));
    kept = std::make_unique<std::string>(std::string(1000, 'x'));
    pieces_kib = ResidentKib();
    return {};
  }
  /// Gives others much time to come beside it.
  bool BeAlone() {
    const bool alone = ++beside == 1;
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    return --beside == 0 && alone;
  }
  Answer Count(const Request& request) {
    const MutexLock lock(mutex);
    wake = request.wake;
    return {.type = "text/plain", .stream = std::make_unique<Counting>(let, stream_ended)};
  }
  Answer WaitForCaller(const Request& request) {
    pollfd caller{request.caller_fd, 0, 0};
    ++waiting;
    ::poll(&caller, 1, 60'000);
    ++seen_gone;
    return {};
  }
  void Let(int count) {
    let = count;
    const MutexLock lock(mutex);
    wake();
  }

  void Serve() {
    auto listener = ListenUnix(socket, "");
    ASSERT_TRUE(listener) << listener.error().message;
    Start(*std::move(listener));
  }
  void Start(Listener listener) {
    std::vector<Listener> listeners;
    listeners.push_back(std::move(listener));
    auto started = Server::Start(Options(), std::move(listeners));
    ASSERT_TRUE(started) << started.error().message;
    server = *std::move(started);
  }
  /// The whole answer to `request`, over a connection of its own.
  std::string Ask(const std::string& request) {
    const os::UniqueFd fd = ConnectUnix(socket);
    SendAll(fd.get(), request);
    return ReceiveAll(fd.get());
  }
  std::string Get(const std::string& target) { return Ask("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n"); }
  static std::string Post(const std::string& headers, const std::string& body = "") {
    return "POST /size/n HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n" + body;
  }

  Limits limits;
  testkit::TempDir temp;
  std::string socket = temp / "s.sock";
  Mutex mutex;
  std::function<void()> wake BERTH_GUARDED_BY(mutex);
  std::unique_ptr<std::string> kept;
  long pieces_kib = 0;  // resident while a call took its memory
  std::atomic<int> let = 0;
  std::atomic<bool> stream_ended = false;
  std::atomic<int> beside = 0;
  std::atomic<int> waiting = 0;
  std::atomic<int> seen_gone = 0;
  std::atomic<int> made_anew = 0;  // times that its file was lost
  std::atomic<int> not_made_anew = 0;
  std::unique_ptr<Server> server;
};

TEST_F(HttpServerTest, AnAnswerHasItsStatusItsTypeAndEndsTheConnection) {
  Serve();
  const std::string answer = Get("/hello");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\nhello"));
}

TEST_F(HttpServerTest, QueriesAndPathsAreDecoded) {
  Serve();
  EXPECT_THAT(Get("/query?a=x%20y%26&b=%C3%A9&a=no"), testing::EndsWith("x y&|\xC3\xA9"));
  EXPECT_THAT(Ask("POST /size/a%2fb HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"), testing::EndsWith("a/b3"));
  for (const char* const wrong : {"/query?a=%", "/query?%zz=1", "/hel%6", "/hello%00", "/query?a=%00"})
    EXPECT_THAT(Get(wrong), StartsWith("HTTP/1.1 400 ")) << wrong;
}

TEST_F(HttpServerTest, AHandlerSeesHeadersAndAnswersHaveTheirOwnBesideThoseOfAll) {
  Serve();
  const std::string answer = Ask("GET /headers HTTP/1.1\r\nHost: h\r\nX-ONE: 1\r\nx-one: 2\r\n\r\n");
  EXPECT_THAT(answer, testing::EndsWith("host=h|x-one=1, 2|"));
  EXPECT_THAT(answer, HasSubstr("Set-Cookie: a=b\r\n"));
  for (const char* const path : {"/headers", "/hello", "/nothing", "/fail"})
    EXPECT_THAT(Get(path), HasSubstr("X-Of-All: yes\r\n")) << path;
}

TEST_F(HttpServerTest, WhatNobodyServesIsRefusedInTheServersOwnWords) {
  Serve();
  EXPECT_THAT(Get("/nothing"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Get("/nothing"), HasSubstr("no call GET /nothing"));
  EXPECT_THAT(Ask("BREW /hello HTTP/1.1\r\nHost: h\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Get("/fail"), StartsWith("HTTP/1.1 500 "));
}

TEST_F(HttpServerTest, BodiesComeWholeOrChunkedAndAreBounded) {
  limits.body = 1000;
  Serve();
  const std::string thousand(1000, 'x');
  EXPECT_THAT(Ask(Post("Content-Length: 1000\r\n", thousand)), testing::EndsWith("n1000"));
  EXPECT_THAT(Ask(Post("Transfer-Encoding: chunked\r\n", "3e8\r\n" + thousand + "\r\n0\r\n\r\n")),
              testing::EndsWith("n1000"));
  EXPECT_THAT(Ask(Post("Content-Length: 1001\r\n", thousand + "x")), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Ask(Post("Transfer-Encoding: chunked\r\n", "3e9\r\nx" + thousand + "\r\n0\r\n\r\n")),
              StartsWith("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, ABodyThatIsAnnouncedToBeTooLargeIsRefusedBeforeItIsSent) {
  limits.body = 1000;
  Serve();
  const os::UniqueFd waits = ConnectUnix(socket);  // says nothing of its body, as if it were slow
  SendAll(waits.get(), Post("Content-Length: 99999999999\r\n"));
  EXPECT_THAT(ReceiveAll(waits.get()), StartsWith("HTTP/1.1 413 "));
  EXPECT_TRUE(SendAll(waits.get(), "abc")) << "what it says yet is taken, and it gets no error";
  const os::UniqueFd tells = ConnectUnix(socket);  // more than both sides' buffers hold
  EXPECT_TRUE(SendAll(tells.get(), Post("Content-Length: 20000000\r\n", std::string(20'000'000, 'x'))));
  EXPECT_THAT(ReceiveAll(tells.get()), StartsWith("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, ARouteMayTakeSmallerBodiesThanOthers) {
  limits.body = 1000;
  Serve();
  const auto post = [](int size) {
    return "POST /short HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
           std::string(static_cast<std::size_t>(size), 'x');
  };
  EXPECT_THAT(Ask(post(10)), testing::EndsWith("10"));
  EXPECT_THAT(Ask(post(11)), testing::EndsWith("request body is larger than 10 bytes"));
  EXPECT_THAT(Ask("POST /short HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nabcdefghijk\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, LargeBodiesHaveRoomForSomeAndOthersAreToldToComeAgain) {
  limits.large_bodies = 40'000;
  Serve();
  const std::string half = Post("Content-Length: 20000\r\n", std::string(10'000, 'x'));
  std::vector<os::UniqueFd> under_way;
  for (int i = 0; i < 2; ++i) {
    under_way.push_back(ConnectUnix(socket));
    SendAll(under_way.back().get(), half);
    EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200 ")) << "the server has seen its headers";
  }
  const std::string refused = Ask(half + std::string(10'000, 'x'));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(refused, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_THAT(Ask(Post("Content-Length: 8192\r\n", std::string(8192, 'x'))), testing::EndsWith("n8192"))
      << "small ones take no room";
  for (const os::UniqueFd& fd : under_way) {
    SendAll(fd.get(), std::string(10'000, 'x'));
    EXPECT_THAT(ReceiveAll(fd.get()), testing::EndsWith("n20000"));
  }
  EXPECT_THAT(Ask(half + std::string(10'000, 'x')), testing::EndsWith("n20000")) << "their room is free again";
}

TEST_F(HttpServerTest, OfCallsWithLargeBodiesOneIsHandledAtATime) {
  limits.large_bodies = 1'000'000;
  Serve();
  std::vector<os::UniqueFd> calls;
  for (int i = 0; i < 5; ++i) {
    calls.push_back(ConnectUnix(socket));
    SendAll(calls.back().get(),
            "POST /alone HTTP/1.1\r\nHost: h\r\nContent-Length: 9000\r\n\r\n" + std::string(9000, 'x'));
  }
  for (const os::UniqueFd& fd : calls) EXPECT_THAT(ReceiveAll(fd.get()), testing::EndsWith("alone"));
}

TEST_F(HttpServerTest, WhoAsksForLeaveIsToldBeforeItSends) {
  limits.body = 1000;
  Serve();
  EXPECT_THAT(Ask(Post("Content-Length: 99999999999\r\nExpect: 100-continue\r\n")), StartsWith("HTTP/1.1 413 "));
  const os::UniqueFd fd = ConnectUnix(socket);
  SendAll(fd.get(), Post("Content-Length: 3\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(ReceiveAll(fd.get(), "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  SendAll(fd.get(), "abc");
  EXPECT_THAT(ReceiveAll(fd.get()), testing::EndsWith("n3"));
  EXPECT_THAT(Ask(Post("Content-Length: 3\r\nExpect: miracles\r\n", "abc")), StartsWith("HTTP/1.1 417 "));
}

TEST_F(HttpServerTest, EncodingsAreRefused) {
  Serve();
  for (const char* const encoding : {"br", "gzip", "deflate", "identity", ""})
    EXPECT_THAT(Ask(Post("Content-Length: 3\r\nContent-Encoding: " + std::string(encoding) + "\r\n", "abc")),
                StartsWith("HTTP/1.1 415 "))
        << encoding;
  EXPECT_THAT(Ask(Post("Transfer-Encoding: gzip\r\nExpect: 100-continue\r\n")), StartsWith("HTTP/1.1 501 "));
}

TEST_F(HttpServerTest, ABodyWhoseLengthIsNotClearIsRefused) {
  Serve();
  for (const char* const headers :
       {"Content-Length: 3\r\nContent-Length: 4\r\n", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 3, 3\r\n", "Content-Length: -3\r\n", "Content-Length: 99999999999999999999999\r\n"}) {
    const std::string answer = Ask(Post(headers + std::string("Expect: 100-continue\r\n"), "abc"));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 4")) << headers;
  }
}

TEST_F(HttpServerTest, ARangeMultipliesNothing) {
  Serve();
  std::string ranges = "bytes=0-";
  for (int i = 0; i < 1000; ++i) ranges += ",0-";
  const std::string answer = Ask("GET /large HTTP/1.1\r\nHost: h\r\nRange: " + ranges + "\r\n\r\n");
  EXPECT_THAT(answer.substr(0, 100), StartsWith("HTTP/1.1 200 "));
  EXPECT_LT(answer.size(), 3'001'000U);
}

TEST_F(HttpServerTest, AFormIsABodyLikeAnyOther) {
  Serve();
  const std::string body = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--\r\n";
  EXPECT_THAT(Ask(Post("Content-Type: multipart/form-data; boundary=x\r\nContent-Length: " +
                           std::to_string(body.size()) + "\r\n",
                       body)),
              testing::EndsWith("n" + std::to_string(body.size())));
}

TEST_F(HttpServerTest, HeadersAreBoundedTogether) {
  Serve();
  const std::string half(16'000, 'a');
  EXPECT_THAT(Ask("GET /hello HTTP/1.1\r\nHost: h\r\nX-A: " + half + "\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  for (const std::string& much : {"X-A: " + half + "\r\nX-B: " + half + "\r\nX-C: " + half + "\r\n",
                                  "X-A: " + std::string(200'000, 'a') + "\r\n"})
    EXPECT_THAT(Ask("GET /hello HTTP/1.1\r\nHost: h\r\n" + much + "\r\n"), testing::MatchesRegex("(HTTP/1.1 431 .*)?"));
  std::string many;
  for (int i = 0; i < 8'000; ++i) many += "a:\r\n";
  EXPECT_THAT(Ask("GET /hello HTTP/1.1\r\nHost: h\r\n" + many + "\r\n").substr(0, 10), "HTTP/1.1 4");
  EXPECT_THAT(Ask("GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n").substr(0, 10), "HTTP/1.1 4");
}

TEST_F(HttpServerTest, LargeAnswersReachSlowReaders) {
  Serve();
  const os::UniqueFd fd = ConnectUnix(socket);
  SendAll(fd.get(), "GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200 ")) << "who does not read holds up nobody";
  EXPECT_GT(ReceiveAll(fd.get()).size(), 3'000'000U);
}

TEST_F(HttpServerTest, AHalfClosedCallerIsAnswered) {
  Serve();
  const os::UniqueFd fd = ConnectUnix(socket);
  SendAll(fd.get(), Post("Content-Length: 3\r\n", "abc"));
  ::shutdown(fd.get(), SHUT_WR);
  EXPECT_THAT(ReceiveAll(fd.get()), testing::EndsWith("n3"));
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BERTH_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BERTH_SANITIZED
#endif

#ifndef BERTH_SANITIZED  // whose allocators give nothing back
TEST_F(HttpServerTest, MemoryOfALargeCallIsGivenBack) {
  Serve();
  const std::string body(8'000'000, 'x');
  const std::string request = "POST /pieces HTTP/1.1\r\nHost: h\r\nContent-Length: 8000000\r\n\r\n" + body;
  const long before = ResidentKib();
  EXPECT_THAT(Ask(request), StartsWith("HTTP/1.1 200 "));
  EXPECT_GT(pieces_kib - before, 50'000) << "the call takes much";
  const auto deadline = os::SystemClock().Now() + std::chrono::seconds(60);
  while (ResidentKib() - before > 10'000 && os::SystemClock().Now() < deadline) os::SleepFor(Millis(10));
  EXPECT_LT(ResidentKib() - before, 10'000);
}
#endif

TEST_F(HttpServerTest, WhoHalfClosesBeforeAllIsSaidIsEndedAtOnce) {
  limits.header_time = limits.body_time = limits.idle_time = Millis(1'000'000);  // none of which is waited for
  Serve();
  for (const std::string& part : {std::string(), std::string("GET /hel"), Post("Content-Length: 9\r\n", "abc")}) {
    const os::UniqueFd fd = ConnectUnix(socket);
    SendAll(fd.get(), part);
    ::shutdown(fd.get(), SHUT_WR);
    EXPECT_THAT(ReceiveAll(fd.get()), testing::Not(HasSubstr(" 200 "))) << part;
  }
}

TEST_F(HttpServerTest, AHandlerSeesThatItsCallerIsGone) {
  Serve();
  {
    const os::UniqueFd fd = ConnectUnix(socket);
    SendAll(fd.get(), "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    while (waiting == 0) std::this_thread::yield();
    EXPECT_EQ(seen_gone, 0);
  }
  server.reset();  // waits for it
  EXPECT_EQ(seen_gone, 1);
}

TEST_F(HttpServerTest, AStreamIsSentAsItComes) {
  Serve();
  const os::UniqueFd fd = ConnectUnix(socket);
  SendAll(fd.get(), "GET /count HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(ReceiveAll(fd.get(), "\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
  Let(1);
  EXPECT_THAT(ReceiveAll(fd.get(), "1\r\n0\r\n"), testing::EndsWith("1\r\n0\r\n"));
  Let(3);
  EXPECT_EQ(ReceiveAll(fd.get()), "1\r\n1\r\n1\r\n2\r\n0\r\n\r\n");
  while (!stream_ended) std::this_thread::yield();
  Let(3);  // nobody is there any more
}

TEST_F(HttpServerTest, AStreamEndsWhenItsCallerGoes) {
  Serve();
  {
    const os::UniqueFd fd = ConnectUnix(socket);
    SendAll(fd.get(), "GET /count HTTP/1.1\r\nHost: h\r\n\r\n");
    ReceiveAll(fd.get(), "\r\n\r\n");
    EXPECT_FALSE(stream_ended);
  }
  while (!stream_ended) std::this_thread::yield();
}

TEST_F(HttpServerTest, AStreamEndsWithTheServer) {
  Serve();
  const os::UniqueFd fd = ConnectUnix(socket);
  SendAll(fd.get(), "GET /count HTTP/1.1\r\nHost: h\r\n\r\n");
  ReceiveAll(fd.get(), "\r\n\r\n");
  server.reset();
  EXPECT_TRUE(stream_ended);
}

TEST_F(HttpServerTest, DrippingConnectionsDelayNobodyAndAreEnded) {
  limits.header_time = Millis(2'000);
  Serve();
  const auto begin = os::SystemClock().Now();
  std::vector<os::UniqueFd> dripping;
  for (int i = 0; i < 200; ++i) {
    dripping.push_back(ConnectUnix(socket));
    SendAll(dripping.back().get(), "GET /hello HTTP/1.1\r\nX-Slow: ");
  }
  const auto took = [&] { return std::chrono::duration_cast<Millis>(os::SystemClock().Now() - begin); };
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200 "));
  for (bool open = true; open; os::SleepFor(Millis(50))) {
    open = false;
    for (const os::UniqueFd& fd : dripping) open = SendAll(fd.get(), "a") || open;
  }
  EXPECT_GE(took(), Millis(1'900)) << "they have their time";
}

TEST_F(HttpServerTest, ABodyThatDripsIsEnded) {
  limits.body_time = Millis(300);
  Serve();
  const os::UniqueFd fd = ConnectUnix(socket);
  SendAll(fd.get(), Post("Content-Length: 1000000\r\n", "abc"));
  while (SendAll(fd.get(), "a")) os::SleepFor(Millis(10));
}

TEST_F(HttpServerTest, WhoTakesNothingOfAnAnswerIsEnded) {
  limits.idle_time = Millis(1'000);
  Serve();
  const os::UniqueFd fd = ConnectUnix(socket);
  SendAll(fd.get(), "GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(*os::WaitFor(fd.get(), POLLHUP, os::SystemClock().Now() + Millis(30'000)));
  pollfd hangup{fd.get(), 0, 0};
  EXPECT_EQ(::poll(&hangup, 1, 30'000), 1);
}

TEST_F(HttpServerTest, AmongTooManyConnectionsTheOneThatWaitedLongestGoes) {
  limits.connections = 4;
  Serve();
  std::vector<os::UniqueFd> waiting_ones;
  for (int i = 0; i < 20; ++i) waiting_ones.push_back(ConnectUnix(socket));
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(ReceiveAll(waiting_ones.front().get()), "");
}

TEST_F(HttpServerTest, ConnectionsOverTcpLeaveRoomForOthers) {
  limits.connections = 4;
  std::vector<Listener> listeners;
  listeners.push_back(*ListenTcp("127.0.0.1", 0, nullptr));
  listeners.push_back(*ListenUnix(socket, ""));
  const std::uint16_t port = listeners[0].port;
  server = *Server::Start(Options(), std::move(listeners));
  const os::UniqueFd first = ConnectTcp(port);
  SendAll(first.get(), "GET /count HTTP/1.1\r\nHost: h\r\n\r\n");
  const os::UniqueFd second = ConnectTcp(port);
  SendAll(second.get(), "GET /count HTTP/1.1\r\nHost: h\r\n\r\n");
  ReceiveAll(first.get(), "\r\n\r\n");
  ReceiveAll(second.get(), "\r\n\r\n");
  EXPECT_EQ(ReceiveAll(ConnectTcp(port).get()), "") << "both are at work: the third is refused";
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, NonsenseIsRefused) {
  Serve();
  for (const char* const bytes : {"\r\n\r\n", "GET\r\n\r\n", "\x16\x03\x01\x02", "GET /hello HTTP/9.9\r\n\r\n",
                                  "GET /hello HTTP/1.1\r\n: no name\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}) {
    const os::UniqueFd fd = ConnectUnix(socket);
    SendAll(fd.get(), bytes);
    ::shutdown(fd.get(), SHUT_WR);
    EXPECT_THAT(ReceiveAll(fd.get()).substr(0, 12), testing::Not(HasSubstr(" 200"))) << bytes;
  }
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, TheSocketIsForOwnerAndGroupOnlyWhateverTheUmask) {
  for (const mode_t mask : {0000, 0022, 0777}) {
    const mode_t before = ::umask(mask);
    Serve();
    EXPECT_EQ(::umask(before), mask) << "it is the process's";
    struct stat info{};
    ASSERT_EQ(::stat(socket.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0660U);
    server.reset();
    EXPECT_NE(::stat(socket.c_str(), &info), 0) << "the socket goes with the server";
  }
}

TEST_F(HttpServerTest, ASocketIsOnlyTakenOverFromADeadServer) {
  Serve();
  const auto second = ListenUnix(socket, "");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kInUse);
  server.reset();
  EXPECT_TRUE(ListenUnix(socket, ""));  // its file stays: a listener alone removes none
  EXPECT_TRUE(ListenUnix(socket, "")) << "whoever listened is gone";
  const auto about_to_listen = os::LockFile::Take(socket + ".lock", Millis(0));
  const auto third = ListenUnix(socket, "");
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::kInUse);
  EXPECT_THAT(third.error().message, HasSubstr(socket + ".lock is held by another process"));
}

TEST_F(HttpServerTest, ASocketThatWasRemovedIsMadeAnew) {
  Serve();
  std::filesystem::remove(socket);
  made_anew.wait(0);
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200 "));
  std::filesystem::remove(socket + ".lock");
  std::filesystem::remove(socket);
  made_anew.wait(1);
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(std::filesystem::exists(socket + ".lock"));
  const auto second = ListenUnix(socket, "");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kInUse);
}

TEST_F(HttpServerTest, ASocketWhosePathSomebodyElseTookIsToldOf) {
  Serve();
  std::ofstream(socket + ".other") << "somebody else's";
  std::filesystem::rename(socket + ".other", socket);
  not_made_anew.wait(0);
  server.reset();
  EXPECT_TRUE(std::filesystem::is_regular_file(socket)) << "it is left alone, also by a server that ends";
}

TEST_F(HttpServerTest, ASocketOfAnotherKindIsLeftAlone) {
  const os::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const auto listener = ListenUnix(socket, "");
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code, Code::kInUse);
  EXPECT_TRUE(std::filesystem::exists(socket));
}

// For 127.0.0.1, vouched for by itself, made with: openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes
// -days 36500 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1
constexpr const char* kCertificate =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBjzCCATagAwIBAgIUcWOqDByWFm5gHLaWgZgrdTPWAwwwCgYIKoZIzj0EAwIw\n"
    "FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyMjA4MzUyMVoYDzIxMjYxMDI5\n"
    "MDgzNTIxWjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO\n"
    "PQMBBwNCAARhyDyotlb5asWWryHpvWEqTo2lgB69Y9g3ZwazsQCX33cj5T23fTSr\n"
    "khWkcvoLTl/80rOHRCvY/hrQFL/eGMEco2QwYjAdBgNVHQ4EFgQUZc7ZHZjIbHxb\n"
    "z/jDbcKNKFDjh20wHwYDVR0jBBgwFoAUZc7ZHZjIbHxbz/jDbcKNKFDjh20wDwYD\n"
    "VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0cAMEQC\n"
    "ICMAbnJ8CVxmOAyqw5i4jE1ZUl3KRO+dZPdW+c66L+/VAiBTFJ7pZM3QuOkOgWMq\n"
    "fIgnse4AJ6PWY91/c7tRriBzkw==\n"
    "-----END CERTIFICATE-----\n";
constexpr const char* kKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgBSeYerg060oCwKGp\n"
    "zP1VbyWkRvZ2CAJq58+E5kMGIE6hRANCAARhyDyotlb5asWWryHpvWEqTo2lgB69\n"
    "Y9g3ZwazsQCX33cj5T23fTSrkhWkcvoLTl/80rOHRCvY/hrQFL/eGMEc\n"
    "-----END PRIVATE KEY-----\n";

std::size_t Append(const char* data, std::size_t /*one*/, std::size_t size, void* to) {
  static_cast<std::string*>(to)->append(data, size);
  return size;
}

TEST_F(HttpServerTest, TlsIsSpokenWithTheCertificateOfTheFiles) {
  const TlsFiles files{.certificate = temp / "cert.pem", .key = temp / "key.pem"};
  std::ofstream(files.certificate) << kCertificate;
  std::ofstream(files.key) << kKey;
  auto listener = ListenTcp("127.0.0.1", 0, &files);
  ASSERT_TRUE(listener) << listener.error().message;
  const std::string url = "https://127.0.0.1:" + std::to_string(listener->port) + "/large";
  Start(*std::move(listener));

  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), &curl_easy_cleanup);
  std::string body;
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_CAINFO, files.certificate.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &Append);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, static_cast<void*>(&body));
  EXPECT_EQ(curl_easy_perform(curl.get()), CURLE_OK);
  EXPECT_EQ(body, std::string(3'000'000, 'x'));

  const auto client = *MakeClient();
  const auto refused = client->Send({.url = url, .headers = {}, .max_body = 10'000'000});
  ASSERT_FALSE(refused) << "nobody the system trusts vouches for it";
  EXPECT_EQ(refused.error().code, Code::kUnreachable);
  EXPECT_THAT(refused.error().message, HasSubstr("certificate"));
}

TEST_F(HttpServerTest, ACertificateThatCannotBeUsedIsSaid) {
  const TlsFiles files{.certificate = temp / "cert.pem", .key = temp / "key.pem"};
  EXPECT_EQ(ListenTcp("127.0.0.1", 0, &files).error().code, Code::kNotFound);
  std::ofstream(files.certificate) << kKey;
  std::ofstream(files.key) << kKey;
  std::vector<Listener> listeners;
  listeners.push_back(*ListenTcp("127.0.0.1", 0, &files));
  const auto started = Server::Start(Options(), std::move(listeners));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Code::kInvalid) << started.error().message;
}

TEST_F(HttpServerTest, AddressesThatAreNoneAreRefused) {
  for (const char* const wrong : {"", "localhost", "127.0.0.1:80", "1.2.3", "::g"}) {
    const auto listener = ListenTcp(wrong, 0, nullptr);
    ASSERT_FALSE(listener) << wrong;
    EXPECT_EQ(listener.error().code, Code::kInvalid);
  }
}

}  // namespace
}  // namespace berth::http
