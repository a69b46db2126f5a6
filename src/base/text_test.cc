#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TextTest, SplitKeepsEmptyPieces) {
  EXPECT_THAT(Split("a,b", ','), ElementsAre("a", "b"));
  EXPECT_THAT(Split("a,", ','), ElementsAre("a", ""));
  EXPECT_THAT(Split(",", ','), ElementsAre("", ""));
  EXPECT_THAT(Split("", ','), ElementsAre(""));
}

TEST(TextTest, SplitWordsDropsRunsOfWhiteSpace) {
  EXPECT_THAT(SplitWords("  a\tb \n c\r\n"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(SplitWords(""), IsEmpty());
  EXPECT_THAT(SplitWords(" \n"), IsEmpty());
}

TEST(TextTest, TrimTakesBothEnds) {
  EXPECT_EQ(Trim(" a b\n"), "a b");
  EXPECT_EQ(Trim("\t\r\n "), "");
  EXPECT_EQ(Trim(""), "");
}

TEST(TextTest, JoinPutsTheSeparatorBetweenPieces) {
  EXPECT_EQ(Join({"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(Join({}, ","), "");
}

TEST(TextTest, PrintableHidesControlCharactersAndCutsLongText) {
  EXPECT_EQ(Printable("a\nb\x1b[31m"), "a\\x0ab\\x1b[31m");
  EXPECT_EQ(Printable("abcdef", 3), "abc...");
  EXPECT_EQ(Printable("abc", 3), "abc");
  EXPECT_EQ(Printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
}

TEST(TextTest, ParseDecimalTakesTheWholeTextOrNothing) {
  EXPECT_EQ(ParseDecimal<int>("-12"), -12);
  EXPECT_EQ(ParseDecimal<std::uint32_t>("4294967295"), 4294967295U);
  EXPECT_EQ(ParseDecimal<std::uint32_t>("4294967296"), std::nullopt);
  EXPECT_EQ(ParseDecimal<std::uint32_t>("-1"), std::nullopt);
  EXPECT_EQ(ParseDecimal<int>("+1"), std::nullopt);
  EXPECT_EQ(ParseDecimal<int>(" 1"), std::nullopt);
  EXPECT_EQ(ParseDecimal<int>("1 "), std::nullopt);
  EXPECT_EQ(ParseDecimal<int>("0x1"), std::nullopt);
  EXPECT_EQ(ParseDecimal<int>(""), std::nullopt);
}

}  // namespace
}  // namespace berth
