#include "api/codec/shallow_json.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth::codec {
namespace {

Result<std::vector<std::string>> MembersOf(std::string_view text) {
  std::vector<std::string> out;
  BERTH_RETURN_IF_ERROR(EachMember(text, [&](std::string_view key, std::string_view value) -> Result<void> {
    out.push_back(std::string(key) + "=" + std::string(value));
    return {};
  }));
  return out;
}
Result<std::vector<std::string>> ItemsOf(std::string_view text) {
  std::vector<std::string> out;
  BERTH_RETURN_IF_ERROR(EachItem(text, [&](std::string_view value) -> Result<void> {
    out.emplace_back(value);
    return {};
  }));
  return out;
}

TEST(ShallowJsonTest, MembersComeAsTheyAreWritten) {
  const auto members = MembersOf(R"( {"a" : 1, "b":{"x":[1,{"}":"]"}]} ,"c\"d":"e\\" , "f":null} )");
  ASSERT_TRUE(members) << members.error().message;
  const std::vector<std::string> expected = {"a=1", R"(b={"x":[1,{"}":"]"}]})", R"(c\"d="e\\")", "f=null"};
  EXPECT_EQ(*members, expected);
  EXPECT_TRUE(MembersOf("{}")->empty());
}

TEST(ShallowJsonTest, ItemsComeAsTheyAreWritten) {
  const auto items = ItemsOf(R"([ {"a":1}, [2] ,"x,]", -1.5e3 ])");
  ASSERT_TRUE(items) << items.error().message;
  const std::vector<std::string> expected = {R"({"a":1})", "[2]", R"("x,]")", "-1.5e3"};
  EXPECT_EQ(*items, expected);
  EXPECT_TRUE(ItemsOf("[]")->empty());
}

TEST(ShallowJsonTest, WhatIsNoObjectIsRefused) {
  for (const char* const text :
       {"", " ", "[]", "null", "{", "}", "{,}", R"({"a"})", R"({"a":})", R"({"a":1,})", R"({"a":1)", R"({"a":"x})",
        R"({"a":[})", R"({"a":{]}})", R"({"a":1}})", R"({"a":1 2})", R"({a:1})", R"({"a":"\)", R"({"a)"})
    EXPECT_FALSE(MembersOf(text)) << text;
  for (const char* const text : {"", "{}", "[", "[,]", "[1,]", "[1 2]", "[1]]", "[\"]"})
    EXPECT_FALSE(ItemsOf(text)) << text;
}

TEST(ShallowJsonTest, NestingIsBounded) {
  const auto nested = [](int depth) {
    return "[" + std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']') +
           "]";
  };
  EXPECT_TRUE(ItemsOf(nested(256)));
  EXPECT_FALSE(ItemsOf(nested(257)));
  EXPECT_FALSE(ItemsOf(std::string(1'000'000, '[')));
}

TEST(ShallowJsonTest, StringsAreDecoded) {
  EXPECT_EQ(*StringIn(R"("a\n\u00e9\"")"), "a\n\xc3\xa9\"");
  EXPECT_FALSE(StringIn("1"));
  EXPECT_FALSE(StringIn("\"\xff\""));
  EXPECT_FALSE(StringIn(R"("\x")"));
}

TEST(ShallowJsonTest, AVisitorsErrorEndsIt) {
  int visits = 0;
  const auto result = EachItem("[1,2,3]", [&](std::string_view) -> Result<void> {
    if (++visits == 2) return Fail(Code::kCancelled, "enough");
    return {};
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "enough");
  EXPECT_EQ(visits, 2);
}

}  // namespace
}  // namespace berth::codec
