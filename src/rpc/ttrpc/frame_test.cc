#include "rpc/ttrpc/frame.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace berth::ttrpc {
namespace {

std::string FromHex(std::string_view hex) {
  std::string out;
  std::string digits;
  for (const char c : hex)
    if (c != ' ') digits += c;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    out += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return out;
}

/// What a reader that is given `bytes` in pieces of `piece` has of each connection.
std::map<std::uint32_t, std::vector<Message>> ReadIn(std::string_view bytes, std::size_t piece) {
  FrameReader frames;
  std::map<std::uint32_t, MessageReader> readers;
  std::map<std::uint32_t, std::vector<Message>> out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    EXPECT_TRUE(frames.Add(bytes.substr(0, piece), [&](std::uint32_t connection, std::string_view part) {
      for (Message& message : readers[connection].Add(part)) out[connection].push_back(std::move(message));
    }));
  }
  return out;
}

TEST(FrameTest, ASmallMessageIsOneFrameAsOthersWriteIt) {
  std::string out;
  AppendMessage(out, 1, 1, Kind::kResponse, FromHex("12 03 10 88 05"));
  EXPECT_EQ(FromHex("00000001 0000000f 00000005 00000001 02 00 12 03 10 88 05"), out);
}

TEST(FrameTest, NoMessageBeginsInAFrameThatItsReaderHasNoRoomFor) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{4085}, std::size_t{4086}, std::size_t{4087},
                                 std::size_t{6000}, std::size_t{300'000}, kLongestData}) {
    std::string out;
    AppendMessage(out, 2, 7, Kind::kRequest, std::string(size, 'x'));
    std::vector<std::size_t> frames;
    for (std::string_view left = out; !left.empty();) {
      ASSERT_GE(left.size(), kFrameHead);
      std::size_t length = 0;
      for (std::size_t i = 4; i < 8; ++i) length = length << 8U | static_cast<std::uint8_t>(left[i]);
      frames.push_back(length);
      left.remove_prefix(kFrameHead + length);
    }
    EXPECT_LE(frames.front(), kLongestFirstFrame) << size;
    EXPECT_LE(frames.size(), 2U) << size;
    const std::vector<Message> want = {{.stream = 7, .kind = 1, .data = std::string(size, 'x')}};
    EXPECT_TRUE(want == ReadIn(out, 1000)[2]) << size;
  }
}

TEST(FrameTest, MessagesComeOutAsTheyWentInWhateverThePieces) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    std::string bytes;
    std::map<std::uint32_t, std::vector<Message>> want;
    for (int i = 0; i < 12; ++i) {
      const std::uint32_t connection = 1 + random() % 3;
      const Message message{.stream = static_cast<std::uint32_t>(random()),
                            .kind = static_cast<std::uint8_t>(1 + random() % 3),
                            .data = std::string(random() % 9000, static_cast<char>(random()))};
      AppendMessage(bytes, connection, message.stream, static_cast<Kind>(message.kind), message.data);
      want[connection].push_back(message);
    }
    EXPECT_TRUE(want == ReadIn(bytes, 1 + random() % 5000)) << "seed " << seed;
  }
}

TEST(FrameTest, AMessageMayLieInManyFramesAndManyMessagesInOne) {
  const std::string whole = FromHex("00000003 00000001 01 00 616263");
  std::string split;
  for (const char c : whole) split += FromHex("00000001 00000001") + c;
  const std::vector<Message> one = {{.stream = 1, .kind = 1, .data = "abc"}};
  EXPECT_EQ(one, ReadIn(split, 1)[1]);
  const std::string two = FromHex("00000001 0000001a") + whole + whole;
  EXPECT_EQ(2U, ReadIn(two, 100)[1].size());
}

TEST(FrameTest, AFrameOfNothingIsPassedOver) {
  EXPECT_TRUE(ReadIn(FromHex("00000001 00000000 00000002 00000000"), 3).empty());
}

TEST(FrameTest, AFrameLongerThanAnyMessageIsRefusedBeforeAnythingIsKept) {
  FrameReader frames;
  const auto read = frames.Add(FromHex("00000001 ffffffff"), [](std::uint32_t, std::string_view) { FAIL(); });
  ASSERT_FALSE(read);
  EXPECT_EQ(Code::kUncertain, read.error().code);
}

TEST(FrameTest, DataLongerThanTheLimitIsPassedOverAndWhatFollowsIsRead) {
  MessageReader reader(4);
  std::vector<Message> all;
  for (const char c : FromHex("00000005 00000009 01 00 6162636465 00000004 0000000b 01 00 61626364")) {
    for (Message& message : reader.Add({&c, 1})) all.push_back(std::move(message));
    EXPECT_LE(reader.held(), kMessageHead + 4);
  }
  const std::vector<Message> want = {{.stream = 9, .kind = 1, .too_long = true, .data = ""},
                                     {.stream = 11, .kind = 1, .data = "abcd"}};
  EXPECT_EQ(want, all);
}

TEST(FrameTest, NotMoreIsHeldThanHasCome) {
  MessageReader reader;
  EXPECT_TRUE(reader.Add(FromHex("00400000 00000001 01 00 61")).empty());
  EXPECT_EQ(kMessageHead + 1, reader.held());
}

}  // namespace
}  // namespace berth::ttrpc
