#include "base/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <set>
#include <string_view>

namespace berth {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return Fail(Code::kInvalid, "odd number");
  return n / 2;
}

Result<int> Quarter(int n) {
  BERTH_TRY(const int half, Half(n));
  BERTH_TRY(const int quarter, Half(half));
  return quarter;
}

Result<void> MustBeEven(int n) {
  if (auto half = Half(n); !half) return Wrap(std::move(half).error(), "check " + std::to_string(n));
  return {};
}

Result<int> Checked(int n) {
  BERTH_RETURN_IF_ERROR(MustBeEven(n));
  return n;
}

TEST(ResultTest, TryBindsTheValueOrReturnsTheError) {
  EXPECT_EQ(*Quarter(8), 2);
  const Result<int> odd = Quarter(6);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error(), (Error{.code = Code::kInvalid, .sys = 0, .message = "odd number"}));
}

TEST(ResultTest, TryMovesValuesThatCannotBeCopied) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(7); };
  const auto use = [&]() -> Result<int> {
    BERTH_TRY(const std::unique_ptr<int> value, make());
    return *value;
  };
  EXPECT_EQ(*use(), 7);
}

TEST(ResultTest, WrapPutsWordsInFrontAndKeepsCodeAndErrno) {
  EXPECT_EQ(*Checked(2), 2);
  const Result<int> odd = Checked(3);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().message, "check 3: odd number");
  const Result<void> gone = Wrap(FailErrno("read", "/x", ENOENT).error(), "load machine");
  EXPECT_EQ(gone.error().code, Code::kNotFound);
  EXPECT_EQ(gone.error().sys, ENOENT);
  EXPECT_EQ(gone.error().message, "load machine: read /x: No such file or directory");
}

TEST(ResultTest, ErrnoBecomesACodeToBranchOn) {
  EXPECT_EQ(CodeOf(ENOENT), Code::kNotFound);
  EXPECT_EQ(CodeOf(ESRCH), Code::kNotFound);
  EXPECT_EQ(CodeOf(EINVAL), Code::kInvalid);
  EXPECT_EQ(CodeOf(ENOSPC), Code::kExhausted);
  EXPECT_EQ(CodeOf(EBUSY), Code::kBusy);
  EXPECT_EQ(CodeOf(EADDRINUSE), Code::kInUse);
  EXPECT_EQ(CodeOf(ETIMEDOUT), Code::kTimeout);
  EXPECT_EQ(CodeOf(ECONNREFUSED), Code::kUnreachable);
  EXPECT_EQ(CodeOf(ECONNRESET), Code::kUncertain);
  EXPECT_EQ(CodeOf(EROFS), Code::kPermission);
  EXPECT_EQ(CodeOf(EOPNOTSUPP), Code::kUnsupported);
  EXPECT_EQ(CodeOf(EBADF), Code::kIo);
}

TEST(ResultTest, EveryCodeHasAName) {
  std::set<std::string_view> names;
  for (const Code code : kCodes) names.insert(Name(code));
  EXPECT_EQ(names.size(), kCodes.size()) << "one of its own";
  EXPECT_EQ(Name(Code::kInternal), "internal");
  EXPECT_EQ(Name(Code::kNotFound), "not-found");
}

TEST(ResultTest, WhatWasSentAndNotAnsweredMayBeDone) {
  for (const Code code : kCodes)
    EXPECT_EQ(MayBeDone(code), code == Code::kTimeout || code == Code::kCancelled || code == Code::kUncertain)
        << Name(code);
}

TEST(ResultTest, AnErrnoWithoutAPathReadsWell) {
  EXPECT_EQ(FailErrno("fork", "", EAGAIN).error().message, "fork: Resource temporarily unavailable");
}

TEST(ResultTest, AFailedCheckAbortsAndSaysWhere) {
  EXPECT_DEATH(BERTH_CHECK(1 > 2), "result_test.cc:[0-9]+: check failed: 1 > 2");
}

}  // namespace
}  // namespace berth
