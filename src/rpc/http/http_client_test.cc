#include "rpc/http/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <thread>

#include "testing/fixtures.h"
#include "testing/raw_server.h"

namespace berth::http {
namespace {

using testing::HasSubstr;
using testing::Not;
using testkit::RawServer;

struct HttpClientTest : testing::Test {
  void SetUp() override {
    auto made = MakeClient();
    ASSERT_TRUE(made) << made.error().message;
    client = *std::move(made);
  }
  Result<ClientAnswer> Get(const std::string& url) {
    return client->Send({.url = url, .headers = {}, .max_body = 100'000});
  }
  std::unique_ptr<Client> client;
};

TEST_F(HttpClientTest, AnAnswerIsStatusAndBody) {
  const RawServer server("HTTP/1.1 404 Not Here\r\nContent-Length: 5\r\n\r\nhello");
  const auto answer = Get(server.url());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body, "hello");
}

TEST_F(HttpClientTest, ChunksAreJoined) {
  const RawServer server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(Get(server.url())->body, "abcde");
}

TEST_F(HttpClientTest, AStatusLineWithoutEndIsAnError) {
  const RawServer server("HTTP/1.1 200 " + std::string(50'000, 'x') + "\r\nContent-Length: 2\r\n\r\nok");
  const auto answer = Get(server.url());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "the answer's headers are larger than 32 KiB");
}

TEST_F(HttpClientTest, AHeaderLineOfHundredsOfMegabytesTakesNoMemory) {
  const RawServer server([](int fd) {
    testkit::ReceiveAll(fd, "\r\n\r\n");
    bool taken = testkit::SendAll(fd, "HTTP/1.1 200 OK\r\nX-Long: ");
    const std::string piece(1 << 20, 'x');
    for (int i = 0; i < 500 && taken; ++i) taken = testkit::SendAll(fd, piece);
  });
  const long before = testkit::PeakKib();
  const auto answer = Get(server.url());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "the answer's headers are larger than 32 KiB");
  EXPECT_LT(testkit::PeakKib() - before, 8 * 1024);
}

TEST_F(HttpClientTest, HeadersWithoutEndAreAnError) {
  const RawServer server([](int fd) {
    testkit::ReceiveAll(fd, "\r\n\r\n");
    for (bool taken = true; taken;) taken = testkit::SendAll(fd, "HTTP/1.1 100 Continue\r\n\r\n");
  });
  const auto answer = Get(server.url());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "the answer's headers are larger than 32 KiB");
}

TEST_F(HttpClientTest, BodiesAreBounded) {
  const RawServer fits("HTTP/1.1 200 OK\r\n\r\n" + std::string(100'000, 'x'));
  EXPECT_EQ(Get(fits.url())->body.size(), 100'000U);
  const RawServer large([](int fd) {
    testkit::ReceiveAll(fd, "\r\n\r\n");
    bool taken = testkit::SendAll(fd, "HTTP/1.1 200 OK\r\n\r\n");
    while (taken) taken = testkit::SendAll(fd, std::string(10'000, 'x'));
  });
  const auto refused = client->Send({.url = large.url(), .headers = {}, .max_body = std::size_t{1} << 20});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the answer is larger than 1 MiB");
}

TEST_F(HttpClientTest, ARefusalIsItsStatusHoweverLargeItIs) {
  const RawServer server([](int fd) {
    testkit::ReceiveAll(fd, "\r\n\r\n");
    bool taken = testkit::SendAll(fd, "HTTP/1.1 503 Busy\r\n\r\n");
    while (taken) taken = testkit::SendAll(fd, std::string(10'000, 'x'));
  });
  const auto answer = Get(server.url());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 503);
  EXPECT_LE(answer->body.size(), kMostOfARefusal);
}

TEST_F(HttpClientTest, WhatIsNotHttpIsAnError) {
  for (const char* const bytes :
       {"", "\r\n\r\n", "SSH-2.0-OpenSSH\r\n", "HTTP/0.9\r\n\r\n", "HTTP/1.1", "HTTP/1.1 200 OK\r\nContent-"}) {
    const RawServer server((std::string(bytes)));
    EXPECT_FALSE(Get(server.url())) << bytes;
  }
  EXPECT_FALSE(Get("file:///etc/hostname"));
  EXPECT_FALSE(Get("http://"));
}

TEST_F(HttpClientTest, AnAnswerThatBeginsWithAFoldedLineTouchesNothingOfTheOneBefore) {
  const RawServer first("HTTP/1.1 200 OK\r\nX-Last: header\r\nContent-Length: 2\r\n\r\nok");
  const RawServer second("HTTP/1.1 200 OK\r\n folded\r\nContent-Length: 2\r\n\r\nok");
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(Get(first.url()));
    static_cast<void>(Get(second.url()));  // an answer or an error, as the library likes
  }
}

TEST_F(HttpClientTest, PutAndPatchSendTheirBodyAndDeleteItsOwnIfThereIsOne) {
  for (const std::string method : {"PUT", "PATCH", "POST", "DELETE"}) {
    std::string seen;
    const RawServer server([&](int fd) {
      seen = testkit::ReceiveAll(fd, "the body");
      testkit::SendAll(fd, testkit::HttpText(200, "", "ok"));
    });
    const auto answer =
        client->Send({.method = method, .url = server.url(), .headers = {}, .body = "the body", .max_body = 10});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_TRUE(seen.starts_with(method + " /page HTTP/1.1\r\n")) << seen;
    EXPECT_THAT(seen, HasSubstr("Content-Length: 8\r\n"));
    EXPECT_THAT(seen, Not(HasSubstr("Expect")));
  }
}

TEST_F(HttpClientTest, ABodyMayBeTakenPieceByPieceUntilItIsEnough) {
  const RawServer server([](int fd) {
    testkit::ReceiveAll(fd, "\r\n\r\n");
    bool taken = testkit::SendAll(fd, "HTTP/1.1 200 OK\r\n\r\n");
    while (taken) taken = testkit::SendAll(fd, std::string(10'000, 'x'));
  });
  std::size_t bytes = 0;
  bool begun = false;
  ClientRequest request{.url = server.url(), .headers = {}};
  request.on_piece = [&](std::string_view piece) {
    EXPECT_EQ(piece.empty(), !begun);
    begun = true;
    bytes += piece.size();
    return bytes < 1'000'000;
  };
  const auto answer = client->Send(request);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "");
  EXPECT_GE(bytes, 1'000'000U);
}

TEST_F(HttpClientTest, ARefusalIsNotGivenPieceByPiece) {
  const RawServer server(testkit::HttpText(429, "Retry-After: 7\r\n", "later"));
  ClientRequest request{.url = server.url(), .headers = {}};
  request.on_piece = [](std::string_view) { return ADD_FAILURE(), false; };
  const auto answer = client->Send(request);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 429);
  EXPECT_EQ(answer->body, "later");
  EXPECT_EQ(answer->retry_after, std::chrono::seconds(7));
}

TEST_F(HttpClientTest, NobodyIsMadeToWaitForYears) {
  const RawServer server(testkit::HttpText(503, "Retry-After: 9223372036854775\r\n", ""));
  const auto answer = Get(server.url());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->retry_after, std::chrono::hours(24));
}

TEST_F(HttpClientTest, OnceItAnswersAServerMayBeQuietForLonger) {
  const RawServer server([](int fd) {
    testkit::ReceiveAll(fd, "\r\n\r\n");
    testkit::SendAll(fd, "HTTP/1.1 200 OK\r\n\r\n");
    ::poll(nullptr, 0, 400);
    testkit::SendAll(fd, "late");
  });
  ClientRequest request{.url = server.url(), .headers = {}, .patience = os::Millis(100), .max_body = 10};
  EXPECT_EQ(client->Send(request).error().code, Code::kTimeout);
  request.quiet = os::Millis(10'000);
  const auto answer = client->Send(request);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "late");
}

TEST_F(HttpClientTest, ItGoesThroughAProxyAndToAnotherPlaceWhereToldTo) {
  std::string seen;
  const RawServer server([&](int fd) {
    seen = testkit::ReceiveAll(fd, "\r\n\r\n");
    testkit::SendAll(fd, testkit::HttpText(200, "", "ok"));
  });
  const std::string place = "127.0.0.1:" + std::to_string(server.port());
  ClientRequest request{.url = "http://api.example/page", .headers = {}, .max_body = 10};
  request.proxy = "http://" + place;
  EXPECT_TRUE(client->Send(request));
  EXPECT_TRUE(seen.starts_with("GET http://api.example/page HTTP/1.1\r\nHost: api.example\r\n")) << seen;
  request.proxy.clear();
  request.connect_to = place;
  EXPECT_TRUE(client->Send(request));
  EXPECT_TRUE(seen.starts_with("GET /page HTTP/1.1\r\nHost: api.example\r\n")) << seen;
}

TEST_F(HttpClientTest, TheAnswerOfAProxyIsNotTheServers) {
  const RawServer proxy([](int fd) {
    testkit::ReceiveAll(fd, "\r\n\r\n");
    testkit::SendAll(fd, "HTTP/1.1 200 Connected\r\n\r\n");
    testkit::ReceiveAll(fd);
  });
  ClientRequest request{.url = "https://api.example/", .headers = {}, .patience = os::Millis(200)};
  request.proxy = proxy.url();
  request.quiet = os::Millis(1'000'000);  // which is not waited for: the server has not begun to answer
  EXPECT_EQ(client->Send(request).error().code, Code::kTimeout);
}

TEST_F(HttpClientTest, TheEnvironmentHasNoSay) {
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  const RawServer server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  const auto answer = Get(server.url());
  ::unsetenv("http_proxy");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "ok");
  ::setenv("NO_PROXY", "*", 1);
  ClientRequest request{.url = "http://127.0.0.1:1/", .headers = {}, .max_body = 10};
  request.proxy = server.url();
  const auto through = client->Send(request);
  ::unsetenv("NO_PROXY");
  ASSERT_TRUE(through) << through.error().message;
  EXPECT_EQ(through->body, "ok");
}

TEST_F(HttpClientTest, WhatIsSentIsWhatWasAsked) {
  std::string seen;
  {
    const RawServer server([&](int fd) {
      seen = testkit::ReceiveAll(fd, "body");
      testkit::SendAll(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    const auto answer = client->Send({.method = "POST",
                                      .url = server.url() + "/../a?b=c",
                                      .headers = {{"X-Empty", ""}, {"X-A", "1"}, {"X-A", "2"}},
                                      .body = "the body"});
    ASSERT_TRUE(answer) << answer.error().message;
  }
  EXPECT_THAT(seen, HasSubstr("POST /page/../a?b=c HTTP/1.1\r\n"));
  EXPECT_THAT(seen, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(seen, HasSubstr("X-Empty:"));
  EXPECT_THAT(seen, HasSubstr("X-A: 1\r\nX-A: 2\r\n"));
  EXPECT_THAT(seen, HasSubstr("\r\n\r\nthe body"));
  EXPECT_THAT(seen, Not(HasSubstr("Expect:")));
}

TEST_F(HttpClientTest, ASilentServerIsGivenUp) {
  const RawServer server([](int fd) { testkit::ReceiveAll(fd); });
  const auto answer = client->Send({.url = server.url(), .headers = {}, .patience = os::Millis(100)});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "the other side is silent");
}

TEST_F(HttpClientTest, StopEndsARequest) {
  const RawServer server([](int fd) { testkit::ReceiveAll(fd); });
  std::atomic<bool> ended = false;
  std::thread asking([&] {
    EXPECT_FALSE(Get(server.url()));
    ended = true;
  });
  while (!ended) {  // one that comes before the request does nothing
    client->Stop();
    std::this_thread::yield();
  }
  asking.join();
}

}  // namespace
}  // namespace berth::http
