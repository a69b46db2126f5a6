#include "node/checkpoint/alloc_response.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/base64.h"

namespace berth::checkpoint {
namespace {

// The worked example of the specification: env VISIBLE=0, device /dev/fake0 with "mrw".
constexpr std::string_view kExample = "CgwKB1ZJU0lCTEUSATAaHQoKL2Rldi9mYWtlMBIKL2Rldi9mYWtlMBoDbXJ3";

DeviceAnswer Everything() {
  return {.nodes = {},
          .env = {{"A", ""}, {"B", "ü"}},
          .mounts = {{.container_path = "/in", .host_path = "/out", .read_only = true},
                     {.container_path = "", .host_path = "/only"}},
          .device_nodes = {{.container_path = "/dev/a", .host_path = "/dev/b", .permissions = "rwm"}, {}},
          .annotations = {{"example.com/x", "1"}},
          .cdi_devices = {"vendor.example/gpu=0", ""}};
}

TEST(AllocResponseTest, ReadsAndWritesWhatAKubeletWrote) {
  const auto answer = ParseAllocResponse(*FromBase64(kExample));
  ASSERT_TRUE(answer) << answer.error().message;
  DeviceAnswer want;
  want.env["VISIBLE"] = "0";
  want.device_nodes = {{.container_path = "/dev/fake0", .host_path = "/dev/fake0", .permissions = "mrw"}};
  EXPECT_EQ(*answer, want);
  EXPECT_EQ(ToBase64(FormatAllocResponse(*answer)), kExample);
}

TEST(AllocResponseTest, NothingIsLostThroughTheBytes) {
  for (const DeviceAnswer& answer : {DeviceAnswer(), Everything()}) {
    const auto again = ParseAllocResponse(FormatAllocResponse(answer));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, answer);
  }
  EXPECT_EQ(FormatAllocResponse({}), "");
}

TEST(AllocResponseTest, LongTextsKeepTheirLength) {
  DeviceAnswer answer;
  for (const std::size_t size : {127U, 128U, 16'383U, 16'384U, 70'000U})
    answer.env["V" + std::to_string(size)] = std::string(size, 'x');
  const auto again = ParseAllocResponse(FormatAllocResponse(answer));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, answer);
}

TEST(AllocResponseTest, FieldsOfLaterVersionsAreLeftOut) {
  // 9: a text, 10: a number, 11: 8 bytes, 12: 4 bytes; and a field 7 in the entry of a map.
  const std::string later =
      std::string("\x4a\x01z\x50\x96\x01\x59\x01\x02\x03\x04\x05\x06\x07\x08\x65\x01\x02\x03\x04") +
      "\x0a\x09\x0a\x01K\x12\x01V\x3a\x01?";
  const auto answer = ParseAllocResponse(later);
  ASSERT_TRUE(answer) << answer.error().message;
  DeviceAnswer want;
  want.env["K"] = "V";
  EXPECT_EQ(*answer, want);
}

TEST(AllocResponseTest, WhatIsNoMessageIsRefused) {
  for (const std::string& bytes :
       {std::string("\x0a\x05x"), std::string("\x0a"), std::string("\x12\x02\x1a\x00", 3), std::string("\x0b"),
        std::string("\x02\x01z"), "\x50" + std::string(11, '\xff'), std::string("\x2a\x04\x0a\x02\xc3\x28")}) {
    const auto answer = ParseAllocResponse(bytes);
    ASSERT_FALSE(answer) << ToBase64(bytes);
    EXPECT_EQ(Code::kCorrupt, answer.error().code);
  }
}

TEST(AllocResponseTest, NoDamageIsReadAsSomethingThatIsWrittenOtherwise) {
  std::mt19937_64 random(1);
  const std::string good = FormatAllocResponse(Everything());
  for (int round = 0; round < 20'000; ++round) {
    std::string bad = good;
    for (std::uint64_t n = random() % 3 + 1; n > 0; --n) bad[random() % bad.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    const auto answer = ParseAllocResponse(bad);
    if (!answer) {
      EXPECT_EQ(answer.error().code, Code::kCorrupt);
      continue;
    }
    const auto again = ParseAllocResponse(FormatAllocResponse(*answer));
    ASSERT_TRUE(again) << round;
    ASSERT_EQ(*again, *answer) << round;
  }
}

}  // namespace
}  // namespace berth::checkpoint
