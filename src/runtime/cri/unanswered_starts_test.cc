#include "runtime/cri/unanswered_starts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cri {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

os::MonoTime At(int milliseconds) { return os::MonoTime() + os::Millis(milliseconds); }

TEST(UnansweredStartsTest, AnAnswerToALaterQuestionTriesThemAgainOnce) {
  UnansweredStarts starts;
  starts.Add("b", At(100));
  starts.Add("a", At(200));
  EXPECT_THAT(starts.TakeDue(At(300), At(310)), ElementsAre("a", "b"));
  EXPECT_TRUE(starts.empty());
  EXPECT_THAT(starts.TakeDue(At(400), At(410)), IsEmpty());
}

TEST(UnansweredStartsTest, AnAnswerToAnEarlierQuestionSaysNothing) {
  UnansweredStarts starts;
  starts.Add("a", At(100));
  EXPECT_THAT(starts.TakeDue(At(50), At(110)), IsEmpty()) << "the runtime may have gone after it was asked";
  EXPECT_THAT(starts.TakeDue(At(3'000), At(3'010)), ElementsAre("a")) << "and that was no try";
}

TEST(UnansweredStartsTest, OneThatFailsAgainSoonIsLeftToItsBackOff) {
  UnansweredStarts starts;
  starts.Add("a", At(0));
  EXPECT_THAT(starts.TakeDue(At(10), At(20)), ElementsAre("a"));
  starts.Add("a", At(100));
  EXPECT_THAT(starts.TakeDue(At(200), At(210)), IsEmpty());
  EXPECT_TRUE(starts.empty());
  starts.Add("a", At(6'000));
  EXPECT_THAT(starts.TakeDue(At(6'100), At(6'110)), ElementsAre("a"));
}

}  // namespace
}  // namespace berth::cri
