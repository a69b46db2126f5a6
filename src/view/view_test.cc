#include <gtest/gtest.h>

#include "view/size.h"
#include "view/style.h"
#include "view/table.h"

namespace berth::view {
namespace {

TEST(DisplayWidthTest, CountsColumnsNotBytes) {
  EXPECT_EQ(0, DisplayWidth(""));
  EXPECT_EQ(4, DisplayWidth("web1"));
  EXPECT_EQ(4, DisplayWidth("größ"));
  EXPECT_EQ(4, DisplayWidth("日本"));
  EXPECT_EQ(1, DisplayWidth("e\xcc\x81"));  // e and a combining accent
  EXPECT_EQ(2, DisplayWidth("\xff\xc3"));   // not UTF-8: a column a byte
}

TEST(CutToWidthTest, KeepsWhatFitsAndMarksTheCut) {
  EXPECT_EQ("web", CutToWidth("web", 3));
  EXPECT_EQ("we…", CutToWidth("webs", 3));
  EXPECT_EQ("日…", CutToWidth("日本語", 4));
  EXPECT_EQ("…", CutToWidth("webs", 1));
}

TEST(PaintTest, AddsEscapesOnlyWhenAsked) {
  EXPECT_EQ("x", Paint("x", Style::kBad, false));
  EXPECT_EQ("\x1b[31mx\x1b[0m", Paint("x", Style::kBad, true));
  EXPECT_EQ("x", Paint("x", Style::kPlain, true));
}

TEST(WithoutControlsTest, KeepsTextOfAnyLanguageAndShowsWhatATerminalWouldObey) {
  EXPECT_EQ(WithoutControls("žluťoučký 日本 🙂\tx\n"), "žluťoučký 日本 🙂\tx\n");
  EXPECT_EQ(WithoutControls("\x1b]0;title\x07\x1b[2J\r\b\x7f"), R"(\x1b]0;title\x07\x1b[2J\x0d\x08\x7f)");
  EXPECT_EQ(WithoutControls("\xc2\x9b"
                            "31m \xe2\x80\xae"
                            "gpj"),
            R"(\xc2\x9b31m \xe2\x80\xaegpj)");
  EXPECT_EQ(WithoutControls("caf\xe9 \x9b"
                            "31m \xe2\x80"),
            R"(caf\xe9 \x9b31m \xe2\x80)");
}

TEST(WrapTextTest, BreaksAtBlanksBehindTheIndent) {
  EXPECT_EQ("", WrapText("", 2, 10));
  EXPECT_EQ("one two", WrapText("one two", 2, 10));
  EXPECT_EQ("one two\n  three", WrapText("one two three", 2, 10));
  EXPECT_EQ("unbreakable\n  x", WrapText("unbreakable x", 2, 8));
  EXPECT_EQ("a\n  b", WrapText("a\nb", 2, 10));
  EXPECT_EQ("one two three", WrapText("one two three", 2, 0));
}

TEST(TableTest, LinesUpColumnsInAnyLanguage) {
  Table table({{"NAME"}, {"CPUS", Align::kRight}, {"NOTE"}});
  table.AddRow({"größer", "12", "日本"});
  table.AddRow({"web", "1", ""});
  EXPECT_EQ(
      "NAME    CPUS  NOTE\n"
      "größer    12  日本\n"
      "web        1  -\n",
      table.Format());
}

TEST(TableTest, CutsTheWidestColumnThatMayBeCut) {
  Table table({{"NAME"}, {"MESSAGE", Align::kLeft, true}});
  table.AddRow({"a-long-name", "a message that does not fit at all"});
  EXPECT_EQ("NAME         MESSAGE\na-long-name  a message…\n", table.Format({.width = 23}));
  EXPECT_EQ("NAME         MESSAGE\na-long-name  a messa…\n", table.Format({.width = 5}));
}

TEST(TableTest, ShowsControlCharactersInsteadOfObeyingThem) {
  Table table({{"NAME"}});
  table.AddRow({"a\x1b[31m\nb"});
  EXPECT_EQ("NAME\na\\x1b[31m\\x0ab\n", table.Format());
}

TEST(TableTest, ColoursDoNotDisturbTheColumns) {
  Table table({{"A"}, {"B"}});
  table.AddRow({Cell("x", Style::kBad), "y"});
  table.AddRow({"long", "z"});
  EXPECT_EQ("\x1b[1mA\x1b[0m     \x1b[1mB\x1b[0m\n\x1b[31mx\x1b[0m     y\nlong  z\n", table.Format({.color = true}));
}

TEST(FormatSizeTest, PicksAUnitAPersonWouldSay) {
  EXPECT_EQ("0 B", FormatSize({0}));
  EXPECT_EQ("1023 B", FormatSize({1023}));
  EXPECT_EQ("1 KiB", FormatSize({1024}));
  EXPECT_EQ("1.5 GiB", FormatSize(MiB(1536)));
  EXPECT_EQ("23.5 GiB", FormatSize(MiB(24'100)));
  EXPECT_EQ("512 MiB", FormatSize(MiB(512)));
  EXPECT_EQ("2 GiB", FormatSize({GiB(2).v - 1}));
  EXPECT_EQ("8 EiB", FormatSize({INT64_MAX}));
  EXPECT_EQ("-8 EiB", FormatSize({INT64_MIN}));
  EXPECT_EQ("-1 KiB", FormatSize({-1024}));
}

}  // namespace
}  // namespace berth::view
