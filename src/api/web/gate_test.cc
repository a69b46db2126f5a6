#include "api/web/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "testing/fixtures.h"

namespace berth::web {
namespace {

using testing::HasSubstr;

constexpr std::string_view kToken = "0123456789abcdef";

http::Request Asking(std::map<std::string, std::string> headers, std::string body = "") {
  headers.try_emplace("host", "localhost:9960");
  return {.headers = std::move(headers), .body = std::move(body)};
}

int StatusOf(const std::optional<http::Answer>& refused) { return refused ? refused->status : 200; }

/// The cookie as a browser sends it back.
std::string CookieOf(const http::Answer& answer) {
  for (const auto& [name, value] : answer.headers)
    if (name == "Set-Cookie") return value.substr(0, value.find(';'));
  return "";
}

struct GateTest : testing::Test {
  testkit::ManualClock clock;
  Gate gate{{.token = std::string(kToken)}, clock};
  Gate open{{}, clock};
};

TEST_F(GateTest, ANameOfAnotherSiteThatLeadsHereIsRefused) {
  for (const char* const host : {"localhost:9960", "localhost", "127.0.0.1:1", "[::1]:9960"})
    EXPECT_EQ(StatusOf(open.RefuseFile(Asking({{"host", host}}))), 200) << host;
  for (const char* const host : {"evil.example:9960", "localhost.evil.example", "127.0.0.1.evil.example", "",
                                 "[::2]:9960", "localhost, evil.example"})
    EXPECT_EQ(StatusOf(open.RefuseFile(Asking({{"host", host}}))), 403) << host;
  EXPECT_EQ(StatusOf(open.RefuseFile({})), 403) << "a caller that does not say whom it asks";
  const Gate beyond({.tls = true, .this_host_only = false, .token = std::string(kToken)}, clock);
  EXPECT_EQ(StatusOf(beyond.RefuseFile(Asking({{"host", "node1.example:9960"}}))), 200);
}

TEST_F(GateTest, WhatABrowserAsksForAnotherPageIsRefused) {
  EXPECT_EQ(StatusOf(open.Refuse(Asking({}))), 200) << "curl says neither";
  EXPECT_EQ(StatusOf(open.Refuse(Asking({{"origin", "http://localhost:9960"}}))), 200);
  EXPECT_EQ(StatusOf(open.Refuse(Asking({{"sec-fetch-site", "same-origin"}}))), 200);
  EXPECT_EQ(StatusOf(open.Refuse(Asking({{"sec-fetch-site", "none"}}))), 200) << "typed into the address bar";
  for (const char* const origin : {"http://localhost:9961", "https://localhost:9960", "http://evil.example", "null"})
    EXPECT_EQ(StatusOf(open.Refuse(Asking({{"origin", origin}}))), 403) << origin;
  for (const char* const site : {"cross-site", "same-site"})
    EXPECT_EQ(StatusOf(open.Refuse(Asking({{"sec-fetch-site", site}}))), 403) << site;
  EXPECT_EQ(StatusOf(open.RefuseFile(Asking({{"sec-fetch-site", "cross-site"}}))), 200)
      << "a link to the page may be followed";
}

TEST_F(GateTest, WithATokenNobodyGetsInWithoutIt) {
  EXPECT_EQ(StatusOf(gate.Refuse(Asking({}))), 401);
  EXPECT_EQ(StatusOf(gate.Refuse(Asking({{"authorization", "Bearer " + std::string(kToken)}}))), 200);
  for (const char* const given : {"Bearer ", "Bearer 0123456789abcdeF", "Bearer 0123456789abcde", "0123456789abcdef",
                                  "Bearer 0123456789abcdef0", "Basic 0123456789abcdef"})
    EXPECT_EQ(StatusOf(gate.Refuse(Asking({{"authorization", given}}))), 401) << given;
  EXPECT_EQ(gate.Login(Asking({}, "wrong")).status, 401);
  EXPECT_EQ(gate.Login(Asking({}, "")).status, 401);
  EXPECT_EQ(open.Login(Asking({}, "")).status, 401) << "there is nothing to log in to";
}

TEST_F(GateTest, ALoginIsACookieNoScriptAndNoOtherSiteHas) {
  const http::Answer answer = gate.Login(Asking({}, std::string(kToken) + "\n"));
  ASSERT_EQ(answer.status, 200);
  EXPECT_THAT(answer.headers[0].second,
              testing::AllOf(HasSubstr("HttpOnly"), HasSubstr("SameSite=Strict"), testing::Not(HasSubstr("Secure"))));
  const std::string cookie = CookieOf(answer);
  EXPECT_EQ(StatusOf(gate.Refuse(Asking({{"cookie", "a=b; " + cookie}}))), 200);
  EXPECT_EQ(StatusOf(gate.Refuse(Asking({{"cookie", cookie + "0"}}))), 401);
  EXPECT_EQ(StatusOf(gate.Refuse(Asking({{"cookie", "berth_session="}}))), 401);
  EXPECT_EQ(StatusOf(gate.Refuse(Asking({{"cookie", cookie}, {"origin", "http://evil.example"}}))), 403);
  EXPECT_NE(cookie, CookieOf(gate.Login(Asking({}, std::string(kToken)))));
  Gate safe({.tls = true, .token = std::string(kToken)}, clock);
  EXPECT_THAT(safe.Login(Asking({}, std::string(kToken))).headers[0].second, HasSubstr("Secure"));
}

TEST_F(GateTest, ASessionEndsByLogoutByTimeAndForNewerOnes) {
  const std::string cookie = CookieOf(gate.Login(Asking({}, std::string(kToken))));
  const std::string other = CookieOf(gate.Login(Asking({}, std::string(kToken))));
  EXPECT_EQ(gate.Logout(Asking({{"cookie", cookie}})).status, 200);
  EXPECT_EQ(StatusOf(gate.Refuse(Asking({{"cookie", cookie}}))), 401);
  EXPECT_EQ(StatusOf(gate.Refuse(Asking({{"cookie", other}}))), 200);
  clock.Advance(Gate::kSessionTime);
  EXPECT_EQ(StatusOf(gate.Refuse(Asking({{"cookie", other}}))), 401);
  const std::string oldest = CookieOf(gate.Login(Asking({}, std::string(kToken))));
  EXPECT_EQ(StatusOf(gate.Refuse(Asking({{"cookie", oldest}}))), 200);
  for (std::size_t i = 0; i < Gate::kMostSessions; ++i) gate.Login(Asking({}, std::string(kToken)));
  EXPECT_EQ(StatusOf(gate.Refuse(Asking({{"cookie", oldest}}))), 401);
}

TEST(SameSecretTest, OnlyEqualTextsAreTheSame) {
  EXPECT_TRUE(SameSecret("", ""));
  EXPECT_TRUE(SameSecret("abc", "abc"));
  for (const char* const other : {"", "a", "ab", "abcd", "abd", "xbc", "abcabc"}) {
    EXPECT_FALSE(SameSecret("abc", other)) << other;
    EXPECT_FALSE(SameSecret(other, "abc")) << other;
  }
}

TEST(ReadTokenTest, ATokenIsOneLongWordInAFileOthersCannotRead) {
  const testkit::TempDir temp;
  const std::string file = temp / "token";
  const auto read = [&](const std::string& text, mode_t mode = 0600) {
    std::ofstream(file, std::ios::trunc) << text;
    EXPECT_EQ(::chmod(file.c_str(), mode), 0);
    const auto token = ReadToken(file);
    return token ? *token : "error: " + token.error().message;
  };
  EXPECT_EQ(read("  0123456789abcdef\n"), kToken);
  EXPECT_EQ(read("0123456789abcdef", 0640), kToken);
  EXPECT_THAT(read("0123456789abcdef", 0644), HasSubstr("can be read by everybody"));
  for (const char* const bad : {"", "short", "0123456789 abcdef", "0123456789abcd\xc3\xa9\x01"})
    EXPECT_THAT(read(bad), HasSubstr("must hold one word of at least 16 characters")) << bad;
  EXPECT_EQ(ReadToken(temp / "none").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace berth::web
