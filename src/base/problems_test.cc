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
  EXPECT_EQ(done.error(), (Error{Code::kNotFound, ENOENT, "open /a: No such file or directory\nb\nc"}));
}

}  // namespace
}  // namespace berth
