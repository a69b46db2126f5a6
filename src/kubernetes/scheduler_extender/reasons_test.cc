#include "kubernetes/scheduler_extender/reasons.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace berth::scheduler_extender {
namespace {

std::set<std::string> Different(const std::vector<Refusal>& refused) {
  std::set<std::string> out;
  for (const Refusal& refusal : refused) out.insert(refusal.reason);
  return out;
}

TEST(ReasonsTest, WhatOneNodeAloneSaysHasItsName) {
  std::vector<Refusal> refused = {{"a", "4 CPUs short"}, {"b", "no device"}, {"c", "4 CPUs short"}};
  Shorten(refused);
  EXPECT_EQ(refused[0].reason, "4 CPUs short");
  EXPECT_EQ(refused[1].reason, "b: no device");
  EXPECT_EQ(refused[2].reason, "4 CPUs short");
}

TEST(ReasonsTest, ManyDifferentReasonsBecomeAFew) {
  std::vector<Refusal> refused;
  for (int i = 0; i < 5000; ++i) refused.push_back({"n" + std::to_string(i), std::to_string(i) + " bytes short"});
  for (int i = 0; i < 3; ++i) refused.push_back({"m" + std::to_string(i), "no device"});
  Shorten(refused);
  EXPECT_EQ(Different(refused).size(), kMostReasons);
  EXPECT_EQ(refused.back().reason, "no device") << "what most nodes say stays";
  EXPECT_EQ(refused[0].reason, "n0: 0 bytes short");
  EXPECT_EQ(refused[4999].reason, "Berth: the pod finds no place there");
}

TEST(ReasonsTest, AsManyAsThereMayBeStay) {
  std::vector<Refusal> refused;
  for (std::size_t i = 0; i < kMostReasons; ++i) refused.push_back({"n" + std::to_string(i), std::to_string(i)});
  Shorten(refused);
  EXPECT_EQ(refused.back().reason, "n15: 15");
}

TEST(ReasonsTest, ALongReasonIsCutBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "ü";
  std::vector<Refusal> refused = {{"a", text}, {"b", text}};
  Shorten(refused);
  EXPECT_EQ(refused[0].reason.size(), 299U);
  EXPECT_TRUE(refused[0].reason.ends_with("ü..."));
  std::vector<Refusal> none;
  Shorten(none);
}

}  // namespace
}  // namespace berth::scheduler_extender
