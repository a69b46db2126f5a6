#include "base/protobuf.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace berth {
namespace {

using namespace std::string_literals;

std::string ProblemOf(const std::string& bytes) {
  WireFields fields(bytes);
  while (fields.Next()) {
  }
  return std::string(fields.problem());
}

TEST(ProtobufTest, FieldsComeBackAsTheyWereWritten) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::string bytes;
  PutBytesField(bytes, 1, "text");
  PutVarintField(bytes, 300, kMost);
  PutBytesField(bytes, 2, "");
  bytes +=
      "\x19"
      "12345678"
      "\x1d"
      "1234";
  WireFields fields(bytes);
  auto field = fields.Next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->number, 1U);
  EXPECT_EQ(field->type, WireType::kBytes);
  EXPECT_EQ(field->bytes, "text");
  field = fields.Next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->number, 300U);
  EXPECT_EQ(field->value, kMost);
  field = fields.Next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->bytes, "");
  field = fields.Next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->type, WireType::kFixed64);
  EXPECT_EQ(field->bytes, "12345678");
  field = fields.Next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->type, WireType::kFixed32);
  EXPECT_EQ(field->bytes, "1234");
  EXPECT_FALSE(fields.Next());
  EXPECT_EQ(fields.problem(), "");
}

TEST(ProtobufTest, WhatIsNoFieldIsSaid) {
  EXPECT_EQ(ProblemOf("\x0a\x05"
                      "four"),
            "it ends too early");
  EXPECT_EQ(ProblemOf("\x08"), "it ends too early");
  EXPECT_EQ(ProblemOf("\x08\x80"), "it ends too early");
  EXPECT_EQ(ProblemOf("\x09"
                      "1234567"),
            "it ends too early");
  EXPECT_EQ(ProblemOf("\x08" + std::string(10, '\x80') + "\x01"), "a number that is too long");
  EXPECT_EQ(ProblemOf("\x02\x00"s), "a field without a number");
  EXPECT_EQ(ProblemOf("\x0b"), "a field of no known type");
}

}  // namespace
}  // namespace berth
