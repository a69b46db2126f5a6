#include "berth/png.h"

#include <gmock/gmock.h>

namespace berth::cli {
namespace {

using testing::HasSubstr;

/// Bytes 16 to 23 of a PNG are its width and height.
std::pair<unsigned, unsigned> SizeOf(const std::string& png) {
  if (png.size() < 24 || !png.starts_with("\x89PNG\r\n")) return {};
  const auto number = [&](std::size_t at) {
    unsigned out = 0;
    for (std::size_t i = at; i < at + 4; ++i) out = out << 8U | static_cast<unsigned char>(png[i]);
    return out;
  };
  return {number(16), number(20)};
}

std::string Square(const std::string& length) {
  return R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" + length +
         R"(" height="7"><rect width="9" height="5"/></svg>)";
}

struct PngTest : ::testing::Test {
  void SetUp() override {
    const auto tried = PngOfSvg(Square("3"));
    if (tried || tried.error().code != Code::kUnsupported) return;
    EXPECT_THAT(tried.error().message, HasSubstr("install the package librsvg2-2"));
    GTEST_SKIP() << "needs librsvg2-2: " << tried.error().message;
  }
};

TEST_F(PngTest, ADrawingHasTwicePixelsEachWay) {
  const auto png = PngOfSvg(Square("20"));
  ASSERT_TRUE(png) << png.error().message;
  EXPECT_EQ(SizeOf(*png), std::pair(40U, 14U));
  EXPECT_EQ(*png, *PngOfSvg(Square("20"))) << "the same bytes each time";
}

TEST_F(PngTest, AHugeDrawingHasFewerPixels) {
  const auto png = PngOfSvg(Square("40960"));
  ASSERT_TRUE(png) << png.error().message;
  EXPECT_EQ(SizeOf(*png), std::pair(16'384U, 3U));
}

TEST_F(PngTest, WhatIsNoDrawingIsAnErrorWithTheLibrarysWords) {
  for (const char* text : {"", "<svg", "no drawing", "<html/>"}) {
    const auto png = PngOfSvg(text);
    ASSERT_FALSE(png) << text;
    EXPECT_EQ(png.error().code, Code::kInvalid);
    EXPECT_THAT(png.error().message, HasSubstr("librsvg cannot draw it: "));
  }
}

}  // namespace
}  // namespace berth::cli
