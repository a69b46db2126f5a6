#include "berth/selector.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using Labels = std::map<std::string, std::string>;

bool Fits(std::string_view selector, const Labels& labels) {
  const auto parsed = Selector::Parse(selector);
  EXPECT_TRUE(parsed) << selector << ": " << parsed.error().message;
  return parsed && parsed->Fits(labels);
}

TEST(SelectorTest, AllPartsHaveToFit) {
  const Labels web = {{"app", "web"}, {"tier", "front"}, {"example.com/zone", "a"}};
  for (const char* fits : {"", " ", "app=web", "app==web", "app = web , tier=front", "tier!=db", "none!=x", "app",
                           "!none", "! none", "app in (api,web)", "tier in ( front )", "tier notin (db,api)",
                           "none notin (x)", "example.com/zone=a,app,!none,tier in (front,db),app!=api"})
    EXPECT_TRUE(Fits(fits, web)) << fits;
  for (const char* not_fits : {"app=api", "app!=web", "none", "!app", "app in (api)", "tier notin (front)",
                               "app=web,tier=db", "app=", "none in (a)"})
    EXPECT_FALSE(Fits(not_fits, web)) << not_fits;
  EXPECT_TRUE(Fits("empty=", {{"empty", ""}}));
}

TEST(SelectorTest, WhatMakesNoSenseIsNamed) {
  for (const char* wrong : {"=web", "app=web,", ",", "a b", "app in web", "app in (web", "app near (web)", "!", "!=x",
                            "app=we b", "app=<x>", "app in (a,b) c", "in (a)"})
    EXPECT_FALSE(Selector::Parse(wrong)) << wrong;
  EXPECT_EQ("selector 'app near (web)': write KEY in (A,B) or KEY notin (A,B)",
            Selector::Parse("x=y,app near (web)").error().message);
  EXPECT_FALSE(Selector::Parse(std::string(100'000, 'a')));
}

}  // namespace
}  // namespace berth::cli
