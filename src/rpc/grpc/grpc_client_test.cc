// The client against servers that answer badly.
#include "rpc/grpc/grpc_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "testing/fixtures.h"
#include "testing/scripted_grpc_server.h"

namespace berth::grpc {
namespace {

using testkit::GrpcAnswer;
using testkit::GrpcFrame;
using testkit::GrpcRequest;
using testkit::GrpcServer;
using End = GrpcAnswer::End;

constexpr os::Millis kLongCall{20'000};

struct GrpcClientBadServerTest : testing::Test {
  Result<std::string> Ask(const GrpcAnswer& answer, os::Millis limit = kLongCall) {
    return AskWith([answer](const GrpcRequest&) { return answer; }, limit);
  }
  Result<std::string> AskWith(std::function<GrpcAnswer(const GrpcRequest&)> answer, os::Millis limit = kLongCall) {
    const std::string path = temp / ("s" + std::to_string(++servers));
    const GrpcServer server(path, std::move(answer));
    return Client(UnixConnector(path), path).Call("/s/M", "ask", {.deadline = os::SystemClock().Now() + limit});
  }
  Error ErrorOf(const GrpcAnswer& answer) {
    const auto said = Ask(answer);
    EXPECT_FALSE(said);
    return said ? Error{} : said.error();
  }

  testkit::TempDir temp;
  int servers = 0;
};

TEST_F(GrpcClientBadServerTest, TellsTheServerItsDeadline) {
  const auto said = AskWith([](const GrpcRequest& request) { return GrpcAnswer{.body = GrpcFrame(request.timeout)}; });
  ASSERT_TRUE(said);
  ASSERT_TRUE(said->ends_with('m')) << *said;
  const int millis = std::stoi(*said);
  EXPECT_GT(millis, 0);
  EXPECT_LE(millis, kLongCall.count());
}

TEST_F(GrpcClientBadServerTest, AStatusThatIsNoneIsNoAnswer) {
  for (const auto& [status, code] : std::vector<std::pair<std::string, Code>>{{"9999", Code::kInternal},
                                                                              {"nonsense", Code::kUncertain},
                                                                              {"", Code::kUncertain},
                                                                              {"4", Code::kTimeout},
                                                                              {"14", Code::kUncertain}}) {
    const Error error = ErrorOf({.status = status, .message = "why"});
    EXPECT_EQ(code, error.code) << status << ": " << error.message;
  }
  EXPECT_EQ("5% of \xC3\xA4 is %zz, 100%", ErrorOf({.status = "2", .message = "5%25 of %c3%A4 is %zz, 100%"}).message);
}

TEST_F(GrpcClientBadServerTest, TakesAnAnswerOfAServerThatIsLeaving) {
  const auto said = Ask({.body = GrpcFrame("bye"), .leaving = true});
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ("bye", *said);
}

TEST_F(GrpcClientBadServerTest, KnowsNothingAfterAnAnswerThatBreaksOff) {
  const std::string half = GrpcFrame("message").substr(0, 8);
  for (const End end : {End::kNothing, End::kReset, End::kCut})
    for (const std::string& body : {std::string(), half, GrpcFrame("message")}) {
      const Error error = ErrorOf({.body = body, .end = end});
      EXPECT_EQ(Code::kUncertain, error.code) << static_cast<int>(end) << " " << body.size() << ": " << error.message;
    }
}

TEST_F(GrpcClientBadServerTest, MakesACallOnceMoreThatTheServerDidNotLookAt) {
  std::atomic<int> calls = 0;
  const auto said = AskWith([&](const GrpcRequest&) {
    return ++calls == 1 ? GrpcAnswer{.end = End::kRefused} : GrpcAnswer{.body = GrpcFrame("x")};
  });
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(2, calls);
  calls = 0;
  const auto never = AskWith([&](const GrpcRequest&) {
    ++calls;
    return GrpcAnswer{.end = End::kRefused};
  });
  ASSERT_FALSE(never);
  EXPECT_EQ(Code::kUnreachable, never.error().code) << never.error().message;
  EXPECT_EQ(2, calls) << "once more, and not for ever";
}

TEST_F(GrpcClientBadServerTest, MakesNoCallAgainThatMayHaveBeenDone) {
  for (const End end : {End::kReset, End::kCut}) {
    std::atomic<int> calls = 0;
    EXPECT_FALSE(AskWith([&](const GrpcRequest&) {
      ++calls;
      return GrpcAnswer{.end = end};
    }));
    EXPECT_EQ(1, calls);
  }
}

TEST_F(GrpcClientBadServerTest, RefusesAnswersThatAreNone) {
  std::string packed = GrpcFrame("message");
  packed[0] = 1;
  EXPECT_NE(std::string::npos, ErrorOf({.body = packed}).message.find("compressed"));
  std::string huge = GrpcFrame("message");
  huge[1] = 2;  // 32 MiB
  EXPECT_NE(std::string::npos, ErrorOf({.body = huge}).message.find("longer than the limit"));
  EXPECT_EQ(Code::kInternal, ErrorOf({.body = ""}).code) << "a status without a message";
  EXPECT_EQ(Code::kInternal, ErrorOf({.body = GrpcFrame("message").substr(0, 8)}).code) << "half a message";
  EXPECT_EQ(Code::kInternal, ErrorOf({.body = GrpcFrame("one") + GrpcFrame("two")}).code) << "two messages";
  const std::vector<std::pair<std::string, Code>> http = {{"400", Code::kInternal},   {"401", Code::kPermission},
                                                          {"403", Code::kPermission}, {"404", Code::kUnsupported},
                                                          {"503", Code::kUncertain},  {"500", Code::kInternal}};
  for (const auto& [status, code] : http)
    EXPECT_EQ(code, ErrorOf({.body = "<html>", .http_status = status, .end = End::kNothing}).code) << status;
}

TEST_F(GrpcClientBadServerTest, EndsWithTheDeadlineOfACallThatHangs) {
  const auto said = Ask({.end = End::kSilence}, os::Millis(30));
  ASSERT_FALSE(said);
  EXPECT_EQ(Code::kTimeout, said.error().code);
  EXPECT_NE(std::string::npos, said.error().message.find("no answer in time")) << said.error().message;
}

}  // namespace
}  // namespace berth::grpc
