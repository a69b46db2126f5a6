#include "kubernetes/kube_client/course.h"

#include <gtest/gtest.h>

#include "kubernetes/kube_client/pace.h"

namespace berth::kube {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

CallError StatusError(int status, const std::string& reason, const std::string& cause = {}) {
  CallError out;
  out.status = status;
  out.reason = reason;
  out.cause = cause;
  return out;
}
const CallError kExpired = StatusError(410, "Expired");

TEST(PaceTest, PausesDoubleUpToTheMostAndAreSpread) {
  Pace pace({.first = 800ms, .most = 3000ms, .forget = 120s});
  const os::MonoTime t0{1000s};
  EXPECT_EQ(pace.Failed(t0, 0), 800ms);
  EXPECT_EQ(pace.Failed(t0 + 1s, 0.5), 2400ms);
  EXPECT_EQ(pace.Failed(t0 + 5s, 0), 3000ms);
  EXPECT_EQ(pace.Failed(t0 + 9s, 1), 6000ms);
}

TEST(PaceTest, AfterAGoodTimeItBeginsAnew) {
  Pace pace({.first = 800ms, .most = 30s, .forget = 120s});
  const os::MonoTime t0{1000s};
  pace.Failed(t0, 0);
  pace.Failed(t0, 0);
  EXPECT_EQ(pace.Failed(t0 + 120s, 0), 3200ms);
  EXPECT_EQ(pace.Failed(t0 + 241s, 0), 800ms);
}

TEST(CourseTest, TheStateComesFirstByAWatchThenByAListWhereTheServerCannot) {
  for (const int status : {400, 422}) {
    Course course(false);
    EXPECT_EQ(course.step(), Course::Step::kInitialEvents);
    course.Failed(StatusError(status, "Invalid"));
    EXPECT_EQ(course.step(), Course::Step::kList);
    course.Listed("7");
    EXPECT_EQ(course.step(), Course::Step::kWatch);
    EXPECT_EQ(course.From(), "7");
  }
}

TEST(CourseTest, OtherFailuresChangeNothing) {
  Course course(false);
  course.Failed(StatusError(503, "ServiceUnavailable"));
  course.Failed(StatusError(0, ""));
  EXPECT_EQ(course.step(), Course::Step::kInitialEvents);
  course.Listed("7");
  course.Seen("9");
  course.Seen("");
  course.Failed(StatusError(429, "TooManyRequests"));
  EXPECT_EQ(course.step(), Course::Step::kWatch);
  EXPECT_EQ(course.From(), "9");
}

TEST(CourseTest, WhatIsGoneIsListedAgain) {
  Course course(false);
  course.Listed("7");
  course.Failed(kExpired);
  EXPECT_EQ(course.step(), Course::Step::kInitialEvents);
  EXPECT_EQ(course.From(), "");
  Course old(false);
  old.Listed("7");
  old.Failed(StatusError(0, "Gone"));
  EXPECT_EQ(old.step(), Course::Step::kInitialEvents);
}

TEST(CourseTest, SelectiveOnesAskForWhatTheyKnowBeforeTheNewest) {
  Course course(true);
  EXPECT_EQ(course.From(), "0");
  course.Listed("7");
  course.Seen("8");
  course.Failed(kExpired);
  EXPECT_EQ(course.From(), "8");
  course.Failed(kExpired);
  EXPECT_EQ(course.From(), "");
  course.Listed("20");
  EXPECT_EQ(course.From(), "20");
}

TEST(CourseTest, AVersionOfTheFutureIsNotAskedForAgain) {
  Course course(true);
  course.Listed("1000");
  course.Failed(StatusError(504, "Timeout", "ResourceVersionTooLarge"));
  EXPECT_NE(course.step(), Course::Step::kWatch);
  EXPECT_EQ(course.From(), "");
}

TEST(CourseTest, AStreamThatEndsAtOnceWithNothingIsAFailure) {
  EXPECT_FALSE(Course::EndedWell(999ms, false));
  EXPECT_TRUE(Course::EndedWell(10ms, true));
  EXPECT_TRUE(Course::EndedWell(1s, false));
}

}  // namespace
}  // namespace berth::kube
