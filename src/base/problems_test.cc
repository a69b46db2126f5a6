#include "base/problems.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace berth {
namespace {

TEST(ProblemsTest, AreOneErrorWithALineEachAndTheCodeOfTheFirst) {
  Problems problems;
  EXPECT_TRUE(problems.Take(Result<int>(1)));
  EXPECT_TRUE(problems.empty());
  EXPECT_TRUE(problems.Done());
  EXPECT_FALSE(problems.Take(Result<int>(FailErrno("open", "/a", ENOENT))));
  EXPECT_FALSE(problems.Take(Result<void>(Fail(Code::kInvalid, "b\nc"))));
  EXPECT_FALSE(problems.Take(Result<void>(Fail(Code::kInvalid, "c"))));
  EXPECT_EQ(problems.lines().size(), 3U);
  const auto done = problems.Done();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), (Error{Code::kNotFound, ENOENT, "open /a: No such file or directory\nb\nc", {"", "", ""}}));
}

TEST(ProblemsTest, ASettingThatHasAProblemGetsNoSecondOneInOtherWords) {
  Problems problems;
  problems.Take(Result<void>(BadSetting("evictionHard[\"memory.available\"]", "is no amount")));
  EXPECT_EQ(problems.Done().error().settings, std::vector<std::string>{"evictionHard"});
  Problems others;
  others.Take(Result<void>(BadSetting("evictionHard", "too much")));
  others.Take(Result<void>(BadSetting("evictionSoft", "too much")));
  others.Take(Result<void>(BadSetting("evictionSoft", "too long")));
  others.Take(Result<void>(Fail(Code::kInvalid, "evictionHard: a text that names no setting")));
  problems.AddUntold(others);
  EXPECT_EQ(problems.lines(),
            (std::vector<std::string>{"evictionHard[\"memory.available\"]: is no amount", "evictionSoft: too much",
                                      "evictionSoft: too long", "evictionHard: a text that names no setting"}));
  Problems again;  // an error of several lines keeps what each is about
  again.Take(problems.Done());
  EXPECT_EQ(again.Done().error().settings,
            (std::vector<std::string>{"evictionHard", "evictionSoft", "evictionSoft", ""}));
}

}  // namespace
}  // namespace berth
