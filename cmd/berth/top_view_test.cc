#include "berth/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "berth/screen.h"

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// `count` pods p0, p1, ... of which each uses more than the one before.
TopPicture PictureOf(int count) {
  TopPicture out;
  out.stats.node.name = "n1";
  out.stats.node.usage.cores = 1.25;
  for (int i = 0; i < count; ++i) {
    PodStats& pod = out.stats.pods.emplace_back();
    pod.namespace_ = "default";
    pod.name = "p" + std::to_string(i);
    NamedUsage& app = pod.containers.emplace_back();
    app.name = "app";
    app.usage.cores = pod.usage.cores = 0.1 * i;
    app.usage.working_set = pod.usage.working_set = MiB(100 - i);
  }
  return out;
}

TopChoices Pressed(const std::vector<int>& keys) {
  TopChoices out;
  for (const int key : keys) PressKey(out, key, 10);
  return out;
}

TEST(TopViewTest, KeysOfATerminalAreRead) {
  EXPECT_THAT(KeysOf("qm"), ElementsAre('q', 'm'));
  EXPECT_THAT(KeysOf("\x1b[A\x1bOB\x1b[5~x\x1b"), ElementsAre(kKeyUp, kKeyDown, kKeyPageUp, 'x', kKeyEscape));
  EXPECT_THAT(KeysOf("\x1b[200~\x1b[1;5C"), IsEmpty()) << "sequences that mean nothing here";
  EXPECT_THAT(KeysOf("\x1b["), IsEmpty());
  EXPECT_THAT(KeysOf(""), IsEmpty());
}

TEST(TopViewTest, KeysChooseOrderFilterAndPage) {
  EXPECT_EQ(Pressed({'m'}).order, view::UsageOrder::kMemory);
  EXPECT_EQ(Pressed({'n'}).order, view::UsageOrder::kName);
  EXPECT_EQ(Pressed({'m', 'c'}).order, view::UsageOrder::kCpu);
  EXPECT_TRUE(Pressed({'v'}).places);
  EXPECT_TRUE(Pressed({'q'}).quit);
  const TopChoices typing = Pressed({'/', 'q', 'm', 'x', 0x7f});
  EXPECT_TRUE(typing.typing);
  EXPECT_FALSE(typing.quit) << "what is typed is no key";
  EXPECT_EQ(typing.filter, "qm");
  EXPECT_FALSE(Pressed({'/', 'a', '\n'}).typing);
  EXPECT_EQ(Pressed({'/', 'a', '\n'}).filter, "a");
  EXPECT_EQ(Pressed({'/', 'a', kKeyEscape}).filter, "");
  EXPECT_EQ(Pressed({'/', 'a', '\n', kKeyEscape}).filter, "");
  EXPECT_EQ(Pressed({kKeyPageDown, kKeyDown, kKeyUp, kKeyUp}).scrolled, 9);
}

TEST(TopViewTest, TheScreenIsFilledAndNeverMore) {
  const TopPicture picture = PictureOf(50);
  for (const int height : {1, 2, 5, 24, 200})
    for (const int width : {20, 80, 300}) {
      TopChoices choices;
      const auto lines = TopLines(picture, {}, choices, {.width = width, .height = height});
      EXPECT_LE(lines.size(), static_cast<std::size_t>(height));
      if (width < 80) continue;
      for (const std::string& line : lines) EXPECT_LE(view::DisplayWidth(line), width) << line;
    }
}

TEST(TopViewTest, TitlesStayWhileThePageMoves) {
  const TopPicture picture = PictureOf(50);
  TopChoices choices;
  const TopLook look{.width = 100, .height = 10};
  auto lines = TopLines(picture, {}, choices, look);
  EXPECT_THAT(lines[0], HasSubstr("n1"));
  EXPECT_THAT(lines[0], HasSubstr("by CPU"));
  EXPECT_THAT(lines[1], HasSubstr("POD"));
  EXPECT_THAT(lines[2], HasSubstr("default/p49")) << "uses most";
  EXPECT_THAT(lines.back(), HasSubstr("q quit"));
  PressKey(choices, kKeyEnd, 6);
  lines = TopLines(picture, {}, choices, look);
  EXPECT_THAT(lines[1], HasSubstr("POD"));
  EXPECT_THAT(lines[lines.size() - 2], HasSubstr("node n1")) << "the last of the sums";
  PressKey(choices, 'm', 6);
  PressKey(choices, kKeyHome, 6);
  lines = TopLines(picture, {}, choices, look);
  EXPECT_THAT(lines[2], HasSubstr("default/p0"));
  choices.scrolled = -5;
  TopLines(picture, {}, choices, look);
  EXPECT_EQ(choices.scrolled, 0);
}

TEST(TopViewTest, AWideScreenHasPercentsOfRequestsAndLimitsToo) {
  TopPicture picture = PictureOf(2);
  picture.stats.pods[1].uid = "uid-p1";
  auto view = std::make_shared<PodView>();
  view->uid = "uid-p1";
  view->requests = {{"cpu", *Quantity::Parse("200m")}};
  view->limits = {{"cpu", *Quantity::Parse("1")}, {"memory", *Quantity::Parse("100Mi")}};
  picture.pods.pods = {view};
  TopChoices choices;
  auto lines = TopLines(picture, {}, choices, {.width = 120, .height = 10});
  EXPECT_THAT(lines[1], HasSubstr("CPU/REQ  CPU/LIM  MEM/REQ  MEM/LIM"));
  EXPECT_THAT(lines[2], HasSubstr("50%      10%        -      99%"));
  lines = TopLines(picture, {}, choices, {.width = 119, .height = 10});
  EXPECT_THAT(lines[1], testing::Not(HasSubstr("/LIM")));
  lines = TopLines(picture, {}, choices, {.width = 119, .height = 10, .wide = true});
  EXPECT_THAT(lines[1], HasSubstr("MEM/LIM")) << "-o wide";
}

TEST(TopViewTest, WhatBerthdDoesNotAnswerIsSaidBelow) {
  TopPicture picture = PictureOf(1);
  picture.problem = "cannot reach \x1b[2Jberthd";
  TopChoices choices;
  const auto lines = TopLines(picture, {}, choices, {.width = 100, .height = 10});
  EXPECT_THAT(lines.back(), HasSubstr("nothing newer: cannot reach \\x1b[2Jberthd"));
  EXPECT_THAT(lines[2], HasSubstr("default/p0")) << "what was known stays";
}

}  // namespace
}  // namespace berth::cli
