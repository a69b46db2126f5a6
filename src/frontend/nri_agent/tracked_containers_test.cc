#include "frontend/nri_agent/tracked_containers.h"

#include <gtest/gtest.h>

namespace berth::nri_agent {
namespace {

Container Called(std::string name) {
  Container out;
  out.name = std::move(name);
  return out;
}
std::string NamesOf(const std::vector<Container>& containers) {
  std::string out;
  for (const Container& container : containers) out += container.name + " ";
  return out;
}

TEST(TrackedContainersTest, TheNewestContainerOfANameIsTheOneThatCounts) {
  TrackedContainers tracked;
  tracked.Know("u", {.id = "1", .name = "app"}, 0).placed = true;
  EXPECT_TRUE(tracked.Find("u", {.id = "1", .name = "app"})->placed);
  EXPECT_TRUE(tracked.Know("u", {.id = "1", .name = "app"}, 0).placed);
  EXPECT_FALSE(tracked.Know("u", {.id = "2", .name = "app"}, 1).placed);
  EXPECT_EQ(nullptr, tracked.Find("u", {.id = "1", .name = "app"}));
  EXPECT_EQ(nullptr, tracked.Find("v", {.id = "2", .name = "app"}));
  EXPECT_EQ(1, tracked.Know("u", {.id = "3", .name = "app"}, 0).attempt);  // never goes back
}

TEST(TrackedContainersTest, WhoHasEndedBeforeAnotherIsAskedForIsTakenForAnInitContainer) {
  TrackedContainers tracked;
  Pod pod;
  tracked.Know("u", {.id = "1", .name = "one"}, 0).ended = true;
  TakeContainer(pod, Called("one"), *tracked.Find("u"));
  TakeContainer(pod, Called("two"), *tracked.Find("u"));
  EXPECT_EQ("one ", NamesOf(pod.init_containers));
  EXPECT_EQ("two ", NamesOf(pod.containers));
  tracked.Know("u", {.id = "2", .name = "two"}, 0);
  TakeContainer(pod, Called("three"), *tracked.Find("u"));
  EXPECT_EQ("two three ", NamesOf(pod.containers));
  TakeContainer(pod, Called("one"), *tracked.Find("u"));  // it was none after all
  EXPECT_EQ("", NamesOf(pod.init_containers));
  EXPECT_EQ("two three one ", NamesOf(pod.containers));
}

TEST(TrackedContainersTest, OneThatIsMadeAnewIsNoReasonToThinkOtherwiseOfTheRest) {
  TrackedContainers tracked;
  Pod pod;
  TakeContainer(pod, Called("one"), tracked.Know("u"));
  TakeContainer(pod, Called("two"), tracked.Know("u"));
  tracked.Know("u", {.id = "1", .name = "one"}, 0).ended = true;
  TakeContainer(pod, Called("two"), tracked.Know("u"));
  EXPECT_EQ("one two ", NamesOf(pod.containers));
}

}  // namespace
}  // namespace berth::nri_agent
