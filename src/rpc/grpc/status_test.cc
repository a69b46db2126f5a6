#include "rpc/grpc/status.h"

#include <gtest/gtest.h>

#include <array>

namespace berth::grpc {
namespace {

TEST(StatusTest, PercentEncodingCarriesAnyText) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(all, DecodePercent(EncodePercent(all)));
  EXPECT_EQ("5%25 of %C3%A4%0A", EncodePercent("5% of \xC3\xA4\n"));
  EXPECT_EQ("5% of \xC3\xA4 is %zz, 100%", DecodePercent("5%25 of %c3%A4 is %zz, 100%"));
}

TEST(StatusTest, CutsLongTextsAtACharacter) {
  std::string text(8191, 'x');
  text += "\xC3\xA4 and more";
  EXPECT_EQ(std::string(8191, 'x'), EncodePercent(text));
  EXPECT_TRUE(EncodePercent(std::string(10'000, '\x80')).empty()) << "this is no UTF-8";
}

TEST(StatusTest, EveryCodeOfGrpcMeansOneOfOurs) {
  constexpr std::array<Code, 17> kMeanings = {
      Code::kInternal,    Code::kCancelled,  Code::kInternal,  Code::kInvalid,  Code::kTimeout,   Code::kNotFound,
      Code::kConflict,    Code::kPermission, Code::kExhausted, Code::kConflict, Code::kConflict,  Code::kInvalid,
      Code::kUnsupported, Code::kInternal,   Code::kUncertain, Code::kCorrupt,  Code::kPermission};
  for (int number = 0; number < 17; ++number)
    EXPECT_EQ(kMeanings[static_cast<std::size_t>(number)], CodeOf(StatusCodeOf(number))) << number;
  for (const int number : {-1, 17, 9999}) EXPECT_EQ(StatusCode::kUnknown, StatusCodeOf(number));
}

TEST(StatusTest, TellsNotDoneFromNobodyKnows) {
  EXPECT_EQ(Known::kNotDone, KnownOf(Code::kUnreachable));
  EXPECT_EQ(Known::kNotDone, KnownOf(Code::kOverloaded));
  for (const Code code : {Code::kTimeout, Code::kCancelled, Code::kUncertain})
    EXPECT_EQ(Known::kNobodyKnows, KnownOf(code)) << Name(code);
  for (const Code code : {Code::kNotFound, Code::kInvalid, Code::kExhausted, Code::kInternal})
    EXPECT_EQ(Known::kAnswered, KnownOf(code)) << Name(code);
}

TEST(StatusTest, AnErrorThatIsPassedOnKeepsItsMeaning) {
  for (const Code code : {Code::kNotFound, Code::kInvalid, Code::kExhausted, Code::kCorrupt, Code::kConflict,
                          Code::kTimeout, Code::kCancelled, Code::kUnsupported, Code::kPermission, Code::kInternal})
    EXPECT_EQ(code, CodeOf(Status(Error{.code = code, .sys = 0, .message = "why"}).code)) << Name(code);
  EXPECT_EQ("why", Status(Error{.code = Code::kIo, .sys = 5, .message = "why"}).message);
}

}  // namespace
}  // namespace berth::grpc
