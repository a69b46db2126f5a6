// Asking real servers on the loopback, which answer well, badly, late or not at all.
#include "frontend/probes/ask.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/os/pipe.h"
#include "host/os/unique_fd.h"
#include "testing/raw_server.h"

namespace berth::probes {
namespace {

using testkit::Answering;
using testkit::HttpText;
using testkit::RawRequest;
using testkit::RawServer;
using Kind = Outcome::Kind;

constexpr os::Millis kAmple{20'000};

Container WithPort(std::int32_t port) {
  Container out;
  out.name = "app";
  out.ports = {{.name = "web", .port = port}};
  return out;
}

Outcome AskHttp(const RawServer& server, const std::string& path, os::Millis limit = kAmple, int cancel = -1) {
  auto target = TargetOf(HttpCheck{.host = "", .port = "web", .path = path}, WithPort(server.port()), "127.0.0.1");
  EXPECT_TRUE(target);
  return Ask(*std::move(target), limit, cancel);
}

TEST(AskTest, AStatusOfTwoHundredIsASuccessAndFourHundredAFailure) {
  int status = 200;
  const RawServer server(Answering([&](const RawRequest&) { return HttpText(status, "", "body"); }));
  EXPECT_EQ(Kind::kSuccess, AskHttp(server, "/").kind);
  status = 204;
  EXPECT_EQ(Kind::kSuccess, AskHttp(server, "/").kind);
  status = 400;
  EXPECT_EQ(Kind::kFailure, AskHttp(server, "/").kind);
  status = 503;
  const Outcome outcome = AskHttp(server, "/");
  EXPECT_EQ(Kind::kFailure, outcome.kind);
  EXPECT_EQ("HTTP probe failed with statuscode: 503", outcome.text);
}

TEST(AskTest, TheRequestIsTheKubeletsWithTheHeadersOfTheManifest) {
  RawRequest seen;
  const RawServer server(Answering([&](const RawRequest& request) {
    seen = request;
    return HttpText(200, "", "");
  }));
  const HttpCheck check{.host = "",
                        .port = std::to_string(server.port()),
                        .path = "ok?a=b c",
                        .headers = {{"X-One", "1"}, {"user-agent", "mine"}, {"Host", "shop.example"}}};
  ASSERT_TRUE(Ask(*TargetOf(check, Container(), "127.0.0.1"), kAmple, -1).success());
  EXPECT_EQ("GET", seen.method);
  EXPECT_EQ("/ok?a=b%20c", seen.target);
  const auto value = [&](const std::string& name) {
    std::string out;
    for (const auto& [key, text] : seen.headers)
      if (std::ranges::equal(key, name, [](char a, char b) { return std::tolower(a) == std::tolower(b); }))
        out += text + ";";
    return out;
  };
  EXPECT_EQ("1;", value("X-One"));
  EXPECT_EQ("mine;", value("User-Agent"));
  EXPECT_EQ("shop.example;", value("Host"));
  EXPECT_EQ("*/*;", value("Accept"));
}

TEST(AskTest, ARedirectionIsFollowedOnTheSameHostOnly) {
  std::string leads;
  const RawServer server(Answering([&](const RawRequest& request) {
    if (request.target == "/end") return HttpText(500, "", "");
    return HttpText(302, "Location: " + leads + "\r\n", "go on");
  }));
  leads = "/end";
  EXPECT_EQ("HTTP probe failed with statuscode: 500", AskHttp(server, "/").text);
  leads = "http://elsewhere.invalid/end";
  const Outcome outcome = AskHttp(server, "/");
  EXPECT_EQ(Kind::kWarning, outcome.kind);
  EXPECT_TRUE(outcome.success());
  EXPECT_EQ("Probe terminated redirects, Response body: go on", outcome.text);
  leads = "/again";
  EXPECT_EQ(Kind::kFailure, AskHttp(server, "/").kind) << "in a circle";
}

TEST(AskTest, ABodyWithoutEndIsCut) {
  const RawServer server([](int fd) {
    testkit::ReceiveAll(fd, "\r\n\r\n");
    if (!testkit::SendAll(fd, "HTTP/1.1 200 OK\r\n\r\n")) return;
    while (testkit::SendAll(fd, std::string(4096, 'x'))) {
    }
  });
  EXPECT_EQ(Kind::kSuccess, AskHttp(server, "/").kind);
}

TEST(AskTest, WhoIsSilentOrDripsHasFailedAfterTheTimeout) {
  const RawServer server([](int fd) {
    testkit::ReceiveAll(fd, "\r\n\r\n");
    while (testkit::SendAll(fd, "H")) std::this_thread::sleep_for(os::Millis(50));
  });
  const Outcome outcome = AskHttp(server, "/", os::Millis(300));
  EXPECT_EQ(Kind::kFailure, outcome.kind) << outcome.text;
}

TEST(AskTest, GivingUpEndsItAtOnceAndSaysNothingOfTheContainer) {
  const RawServer server([](int fd) { testkit::ReceiveAll(fd); });
  auto cancel = os::MakeSocketPair();
  ASSERT_TRUE(cancel);
  std::thread later([&] {
    std::this_thread::sleep_for(os::Millis(50));
    cancel->ours.reset();
  });
  EXPECT_EQ(Kind::kError, AskHttp(server, "/", std::chrono::minutes(10), cancel->theirs.get()).kind);
  later.join();
}

/// Answers who begins with TLS with `mistake`, as the others wait for a request; notes what is asked.
RawServer::Talk WithoutTlsThere(std::string mistake, std::vector<RawRequest>& asked) {
  return [mistake = std::move(mistake), answer = Answering([&asked](const RawRequest& request) {
                                          asked.push_back(request);
                                          return HttpText(200, "", "");
                                        })](int fd) {
    char first = 0;
    if (::recv(fd, &first, 1, MSG_PEEK) != 1) return;
    if (first != '\x16') return answer(fd);
    testkit::SendAll(fd, mistake);
  };
}

Outcome AskHook(const RawServer& server, bool plain) {
  const HttpCheck check{.host = "",
                        .port = "web",
                        .path = "/",
                        .https = true,
                        .headers = {{"authorization", "Basic c2VjcmV0"}, {"X-Word", "1"}}};
  auto target = TargetOf(check, WithPort(server.port()), "127.0.0.1");
  EXPECT_TRUE(target);
  target->plain_if_no_tls = plain;
  return Ask(*std::move(target), kAmple, -1);
}

TEST(AskTest, WhoeverAnswersTlsInPlainHttpIsAskedThatWayWhereThatWillDoAndToldNoSecret) {
  std::vector<RawRequest> asked;
  const RawServer server(WithoutTlsThere(HttpText(400, "", "no TLS here"), asked));
  EXPECT_EQ(Kind::kFailure, AskHook(server, /*plain=*/false).kind);
  EXPECT_TRUE(asked.empty());
  const Outcome outcome = AskHook(server, /*plain=*/true);
  EXPECT_EQ(Kind::kWarning, outcome.kind);
  EXPECT_EQ(
      "\"https://127.0.0.1:" + std::to_string(server.port()) + "/\" is answered in plain HTTP: asked that way instead",
      outcome.text);
  ASSERT_EQ(1U, asked.size());
  EXPECT_EQ(0U, asked[0].headers.count("authorization") + asked[0].headers.count("Authorization"));
  EXPECT_EQ(1U, asked[0].headers.count("X-Word"));
}

TEST(AskTest, WhoeverRefusesTlsIsNotAskedWithoutIt) {
  std::vector<RawRequest> asked;
  const std::string alert("\x15\x03\x01\x00\x02\x02\x28", 7);  // fatal, handshake failure
  for (const std::string& mistake : {alert, std::string("HTT"), std::string()}) {
    const RawServer server(WithoutTlsThere(mistake, asked));
    EXPECT_EQ(Kind::kFailure, AskHook(server, /*plain=*/true).kind) << mistake;
  }
  EXPECT_TRUE(asked.empty());
}

TEST(AskTest, AConnectionIsEnoughForTcp) {
  const RawServer server([](int) {});
  EXPECT_EQ(Kind::kSuccess,
            Ask(*TargetOf(TcpCheck{.host = "", .port = "web"}, WithPort(server.port()), "127.0.0.1"), kAmple, -1).kind);
  EXPECT_EQ(
      Kind::kSuccess,
      Ask(*TargetOf(TcpCheck{.host = "localhost", .port = "web"}, WithPort(server.port()), "192.0.2.1"), kAmple, -1)
          .kind);
  const os::UniqueFd taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));  // bound, never listening: refused
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(0, ::bind(taken.get(), reinterpret_cast<const sockaddr*>(&address), size));
  ASSERT_EQ(0, ::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &size));
  const int port = ntohs(address.sin_port);
  const Outcome outcome = Ask(*TargetOf(TcpCheck{.host = "", .port = "web"}, WithPort(port), "127.0.0.1"), kAmple, -1);
  EXPECT_EQ(Kind::kFailure, outcome.kind);
  EXPECT_EQ("dial tcp 127.0.0.1:" + std::to_string(port) + ": connect: Connection refused", outcome.text);
}

TEST(AskTest, WhoSpeaksNoGrpcHasFailed) {
  const RawServer server(Answering([](const RawRequest&) { return HttpText(200, "", ""); }));
  auto target = TargetOf(GrpcCheck{.port = server.port(), .service = ""}, Container(), "127.0.0.1");
  EXPECT_EQ(Kind::kFailure, Ask(*std::move(target), os::Millis(2'000), -1).kind);
}

TEST(AskTest, ACommandIsJudgedByItsExitCode) {
  const auto ending = [](int code) {
    return Ask(ExecTarget{[code](os::Millis, int) -> Result<runtime::ExecEnd> {
                 return runtime::ExecEnd{.exit_code = code, .output = "out\n"};
               }},
               kAmple, -1);
  };
  EXPECT_EQ(Kind::kSuccess, ending(0).kind);
  EXPECT_EQ(Kind::kFailure, ending(1).kind);
  const auto failing = [](Code code) {
    return Ask(ExecTarget{[code](os::Millis, int) -> Result<runtime::ExecEnd> { return Fail(code, "why"); }}, kAmple,
               -1);
  };
  EXPECT_EQ(Kind::kFailure, failing(Code::kTimeout).kind);
  EXPECT_EQ(Kind::kError, failing(Code::kNotFound).kind);
}

TEST(TargetTest, AddressesAndPortsAreFilledIn) {
  EXPECT_EQ("https://[::1]:8080/a",
            TargetOf(HttpCheck{.host = "", .port = "web", .path = "/a", .https = true}, WithPort(8080), "::1")->url);
  EXPECT_FALSE(TargetOf(HttpCheck{.host = "", .port = "no"}, WithPort(1), "127.0.0.1"));
  EXPECT_FALSE(TargetOf(TcpCheck{.host = "", .port = "1"}, Container(), "")) << "no address yet";
  EXPECT_EQ("9", TargetOf(GrpcCheck{.port = 9}, Container(), "127.0.0.1")->port);
}

}  // namespace
}  // namespace berth::probes
