#include "cri/wire.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "os/event_fd.h"
#include "os/unique_fd.h"
#include "testing/fixtures.h"
#include "testing/grpc_server.h"

namespace berth::cri {
namespace {

using testkit::GrpcAnswer;
using testkit::GrpcFrame;
using testkit::GrpcRequest;
using testkit::GrpcServer;
using End = GrpcAnswer::End;

constexpr os::Millis kLong{20'000};

os::MonoTime In(os::Millis time) { return os::SystemClock().Now() + time; }

struct CriWireTest : testing::Test {
  Result<std::string> Ask(const GrpcAnswer& answer, os::Millis limit = kLong) {
    return AskWith([answer](const GrpcRequest&) { return answer; }, limit);
  }
  Result<std::string> AskWith(std::function<GrpcAnswer(const GrpcRequest&)> answer, os::Millis limit = kLong,
                              const std::string& request = "ask") {
    const GrpcServer server(Path(), std::move(answer));
    return Call({.socket = Path(), .method = "/s/M"}, request, In(limit));
  }
  /// A new one for each server.
  std::string Path() const { return temp / ("s" + std::to_string(servers)); }
  Error ErrorOf(const GrpcAnswer& answer) {
    ++servers;
    const auto said = Ask(answer);
    EXPECT_FALSE(said);
    return said ? Error{} : said.error();
  }

  testkit::TempDir temp;
  int servers = 0;
};

TEST_F(CriWireTest, CarriesMessagesOfAnyBytesAndLength) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (const std::string& text : {std::string(), std::string("x"), all, std::string(3'000'000, 'y')}) {
    ++servers;
    const auto said = AskWith(
        [](const GrpcRequest& request) {
          return GrpcAnswer{.body = GrpcFrame(request.method + " " + request.message)};
        },
        kLong, text);
    ASSERT_TRUE(said) << said.error().message;
    EXPECT_EQ("/s/M " + text, *said);
  }
}

TEST_F(CriWireTest, TellsTheServerItsDeadline) {
  const auto said = AskWith([](const GrpcRequest& request) { return GrpcAnswer{.body = GrpcFrame(request.timeout)}; });
  ASSERT_TRUE(said);
  ASSERT_TRUE(said->ends_with('m')) << *said;
  const int millis = std::stoi(*said);
  EXPECT_GT(millis, 0);
  EXPECT_LE(millis, kLong.count());
}

TEST_F(CriWireTest, KeepsApartWhatWasAnsweredAndWhatNobodyKnows) {
  const std::vector<std::pair<std::string, Code>> codes = {
      {"1", Code::kInternal},   {"2", Code::kInternal},    {"3", Code::kInvalid},          {"4", Code::kTimeout},
      {"5", Code::kNotFound},   {"7", Code::kPermission},  {"8", Code::kExhausted},        {"12", Code::kUnsupported},
      {"14", Code::kUncertain}, {"9999", Code::kInternal}, {"nonsense", Code::kUncertain}, {"", Code::kUncertain}};
  for (const auto& [status, code] : codes) {
    const Error error = ErrorOf({.status = status, .message = "why"});
    EXPECT_EQ(code, error.code) << status << ": " << error.message;
  }
}

TEST_F(CriWireTest, ReadsPercentEncodedWords) {
  EXPECT_EQ("5% of \xC3\xA4 is %zz, 100%", ErrorOf({.status = "2", .message = "5%25 of %c3%A4 is %zz, 100%"}).message);
}

TEST_F(CriWireTest, TakesAnAnswerOfAServerThatIsLeaving) {
  const auto said = Ask({.body = GrpcFrame("bye"), .leaving = true});
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ("bye", *said);
}

TEST_F(CriWireTest, KnowsNothingAfterAnAnswerThatBreaksOff) {
  const std::string half = GrpcFrame("message").substr(0, 8);
  for (const End end : {End::kNothing, End::kReset, End::kRefused, End::kCut})
    for (const std::string& body : {std::string(), half, GrpcFrame("message")}) {
      const Error error = ErrorOf({.body = body, .end = end});
      EXPECT_EQ(Code::kUncertain, error.code) << static_cast<int>(end) << " " << body.size() << ": " << error.message;
    }
}

TEST_F(CriWireTest, RefusesAnswersThatAreNone) {
  std::string packed = GrpcFrame("message");
  packed[0] = 1;
  EXPECT_NE(std::string::npos, ErrorOf({.body = packed}).message.find("compressed"));
  std::string huge = GrpcFrame("message");
  huge[1] = 2;  // 32 MiB
  EXPECT_NE(std::string::npos, ErrorOf({.body = huge}).message.find("longer than 16 MiB"));
  EXPECT_EQ(Code::kInternal, ErrorOf({.body = ""}).code) << "a status without a message";
  EXPECT_EQ(Code::kInternal, ErrorOf({.body = GrpcFrame("message").substr(0, 8)}).code) << "half a message";
  const Error http = ErrorOf({.body = "<html>", .http_status = "503", .end = End::kNothing});
  EXPECT_EQ(Code::kUncertain, http.code);
}

TEST_F(CriWireTest, EndsWithTheDeadlineOfACallThatHangs) {
  const auto said = Ask({.end = End::kSilence}, os::Millis(30));
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kTimeout, said.error().code);
  EXPECT_NE(std::string::npos, said.error().message.find("no answer in time")) << said.error().message;
}

TEST_F(CriWireTest, GivesUpWhenAskedTo) {
  const auto cancel = os::EventFd::Open();
  ASSERT_TRUE(cancel);
  const GrpcServer server(Path(), [&](const GrpcRequest&) {
    cancel->Signal();
    return GrpcAnswer{.end = End::kSilence};
  });
  const auto said = Call({.socket = Path(), .method = "/s/M", .cancel_fd = cancel->get()}, "", In(kLong));
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kCancelled, said.error().code);
  EXPECT_NE(std::string::npos, said.error().message.find("given up")) << said.error().message;
}

TEST_F(CriWireTest, GivesUpWhenTheCallerClosesItsConnectionAndNotBefore) {
  std::array<int, 2> ends{};
  ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()));
  const os::UniqueFd caller(ends[0]);
  os::UniqueFd other(ends[1]);
  const CallTarget target{.socket = Path(), .method = "/s/M", .caller_fd = caller.get()};
  ASSERT_EQ(0, ::shutdown(other.get(), SHUT_WR)) << "it may say that it has said all";
  std::optional<GrpcServer> server;
  server.emplace(Path(), [](const GrpcRequest&) { return GrpcAnswer{.body = GrpcFrame("x")}; });
  EXPECT_TRUE(Call(target, "", In(kLong)));
  server.reset();
  std::filesystem::remove(Path());
  server.emplace(Path(), [&](const GrpcRequest&) {
    other.reset();
    return GrpcAnswer{.end = End::kSilence};
  });
  const auto said = Call(target, "", In(kLong));
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kCancelled, said.error().code);
  EXPECT_NE(std::string::npos, said.error().message.find("whoever asked for it is gone")) << said.error().message;
}

TEST_F(CriWireTest, IsNotGivenUpTooEarly) {
  const auto cancel = os::EventFd::Open();
  ASSERT_TRUE(cancel);
  CallTarget target{.socket = Path(), .method = "/s/M", .cancel_fd = cancel->get(), .give_up_from = In(kLong)};
  std::atomic<int> calls = 0;
  std::atomic<bool> silent = false;
  const GrpcServer server(Path(), [&](const GrpcRequest&) {
    ++calls;
    cancel->Signal();
    return silent ? GrpcAnswer{.end = End::kSilence} : GrpcAnswer{.body = GrpcFrame("x")};
  });
  EXPECT_TRUE(Call(target, "", In(kLong)));
  const auto late = Call(target, "", In(kLong));
  ASSERT_FALSE(late);
  EXPECT_EQ(Code::kCancelled, late.error().code) << "it was given up before it was made: " << late.error().message;
  EXPECT_EQ(1, calls);

  silent = true;
  cancel->Clear();
  target.give_up_from = In(os::Millis(30));
  const auto said = Call(target, "", In(kLong));
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kCancelled, said.error().code);
  EXPECT_NE(std::string::npos, said.error().message.find("given up")) << said.error().message;
  EXPECT_GE(os::SystemClock().Now(), target.give_up_from);
  cancel->Clear();
  target.give_up_from = In(kLong);
  EXPECT_NE(std::string::npos, Call(target, "", In(os::Millis(30))).error().message.find("no answer in time"));
}

TEST_F(CriWireTest, KnowsThatNothingWasSentWhereNobodyListens) {
  const auto said = Call({.socket = temp / "none", .method = "/s/M"}, "", In(kLong));
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kUnreachable, said.error().code);
  EXPECT_EQ(ENOENT, said.error().sys);
  EXPECT_EQ(Code::kInvalid, Call({.socket = std::string(200, '/'), .method = "/s/M"}, "", In(kLong)).error().code);
}

TEST_F(CriWireTest, HearsManyMessagesUntilItHasHeardEnough) {
  const GrpcServer server(Path(), [](const GrpcRequest&) {
    return GrpcAnswer{.body = GrpcFrame("one") + GrpcFrame("") + GrpcFrame("three") + GrpcFrame("four")};
  });
  const CallTarget target{.socket = Path(), .method = "/s/Events"};
  std::vector<std::string> heard;
  const auto all = [&](std::string_view message) {
    heard.emplace_back(message);
    return true;
  };
  ASSERT_TRUE(Listen(target, "", all));
  EXPECT_EQ((std::vector<std::string>{"one", "", "three", "four"}), heard);
  heard.clear();
  ASSERT_TRUE(Listen(target, "", [&](std::string_view message) { return all(message) && heard.size() < 2; }));
  EXPECT_EQ(2U, heard.size());
}

}  // namespace
}  // namespace berth::cri
