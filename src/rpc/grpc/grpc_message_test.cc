#include "rpc/grpc/grpc_message.h"

#include <gtest/gtest.h>

namespace berth::grpc {
namespace {

using Front = MessageBuffer::Front;

TEST(MessageTest, FindsMessagesHoweverTheirBytesCome) {
  const std::string bytes = Framed("one") + Framed("") + Framed(std::string(300, 'x'));
  for (const std::size_t piece : {1U, 4U, 7U, 1000U}) {
    MessageBuffer buffer(1000);
    std::vector<std::string> found;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      buffer.Add(std::string_view(bytes).substr(at, piece));
      std::size_t acknowledged = 0;
      while (buffer.front() == Front::kMessage) found.push_back(buffer.Take(acknowledged));
    }
    EXPECT_EQ((std::vector<std::string>{"one", "", std::string(300, 'x')}), found) << piece;
    EXPECT_TRUE(buffer.empty());
  }
}

TEST(MessageTest, AcknowledgesWhatHasAPlaceAndNothingElse) {
  MessageBuffer buffer(1000);
  EXPECT_EQ(3U, buffer.Add(Framed("message").substr(0, 3))) << "the rest of it has to come";
  EXPECT_EQ(0U, buffer.Add(Framed("message").substr(3))) << "it is to be taken first";
  EXPECT_EQ(0U, buffer.Add(Framed("two") + "\0")) << "behind it is no place";
  std::size_t acknowledged = 0;
  EXPECT_EQ("message", buffer.Take(acknowledged));
  EXPECT_EQ(0U, acknowledged) << "the next one is complete";
  EXPECT_EQ("two", buffer.Take(acknowledged));
  EXPECT_EQ(9U + 8U, acknowledged);
}

TEST(MessageTest, KnowsWhatItCannotTake) {
  MessageBuffer compressed(1000);
  compressed.Add(std::string("\1\0\0\0\0", 5));
  EXPECT_EQ(Front::kCompressed, compressed.front());
  MessageBuffer longer(1000);
  longer.Add(std::string("\0\0\0\3\xE9", 5));  // 1001
  EXPECT_EQ(Front::kTooLong, longer.front());
  EXPECT_EQ(0U, longer.Add("x")) << "no more of it is wanted";
  MessageBuffer longest(1000);
  longest.Add(Framed(std::string(1000, 'x')));
  EXPECT_EQ(Front::kMessage, longest.front());
}

TEST(MessageTest, WritesTimeoutsOfEightDigits) {
  EXPECT_EQ("5000m", FormatTimeout(os::Millis(5000)));
  EXPECT_EQ("1m", FormatTimeout(os::Millis(-3))) << "none at all would mean for ever";
  EXPECT_EQ("99999999m", FormatTimeout(os::Millis(99'999'999)));
  EXPECT_EQ("100000S", FormatTimeout(os::Millis(100'000'000)));
  EXPECT_EQ("99999999S", FormatTimeout(os::Millis::max()));
}

TEST(MessageTest, ReadsTimeoutsInEveryUnit) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(nanoseconds(7), ParseTimeout("7n"));
  EXPECT_EQ(std::chrono::microseconds(7), ParseTimeout("7u"));
  EXPECT_EQ(std::chrono::milliseconds(0), ParseTimeout("0m"));
  EXPECT_EQ(std::chrono::seconds(7), ParseTimeout("7S"));
  EXPECT_EQ(std::chrono::minutes(7), ParseTimeout("7M"));
  EXPECT_EQ(std::chrono::hours(7), ParseTimeout("7H"));
  EXPECT_EQ(std::chrono::hours(24 * 365), ParseTimeout("99999999H"));
  for (const char* const bad : {"", "m", "7", "7x", "-7m", "+7m", "7 m", "123456789m", "7.5S"})
    EXPECT_FALSE(ParseTimeout(bad)) << bad;
}

}  // namespace
}  // namespace berth::grpc
