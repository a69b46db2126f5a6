#include "beside/guests.h"

#include <gtest/gtest.h>

namespace berth::beside {
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

TEST(GuestsTest, TheNewestContainerOfANameIsTheOneThatCounts) {
  Guests guests;
  guests.Know("u", {.id = "1", .name = "app"}, 0).placed = true;
  EXPECT_TRUE(guests.Find("u", {.id = "1", .name = "app"})->placed);
  EXPECT_TRUE(guests.Know("u", {.id = "1", .name = "app"}, 0).placed);
  EXPECT_FALSE(guests.Know("u", {.id = "2", .name = "app"}, 1).placed);
  EXPECT_EQ(nullptr, guests.Find("u", {.id = "1", .name = "app"}));
  EXPECT_EQ(nullptr, guests.Find("v", {.id = "2", .name = "app"}));
  EXPECT_EQ(1, guests.Know("u", {.id = "3", .name = "app"}, 0).attempt);  // never goes back
}

TEST(GuestsTest, WhoHasEndedBeforeAnotherIsAskedForIsTakenForAnInitContainer) {
  Guests guests;
  Pod pod;
  guests.Know("u", {.id = "1", .name = "one"}, 0).ended = true;
  TakeContainer(pod, Called("one"), *guests.Find("u"));
  TakeContainer(pod, Called("two"), *guests.Find("u"));
  EXPECT_EQ("one ", NamesOf(pod.init_containers));
  EXPECT_EQ("two ", NamesOf(pod.containers));
  guests.Know("u", {.id = "2", .name = "two"}, 0);
  TakeContainer(pod, Called("three"), *guests.Find("u"));
  EXPECT_EQ("two three ", NamesOf(pod.containers));
  TakeContainer(pod, Called("one"), *guests.Find("u"));  // it was none after all
  EXPECT_EQ("", NamesOf(pod.init_containers));
  EXPECT_EQ("two three one ", NamesOf(pod.containers));
}

TEST(GuestsTest, OneThatIsMadeAnewIsNoReasonToThinkOtherwiseOfTheRest) {
  Guests guests;
  Pod pod;
  TakeContainer(pod, Called("one"), guests.Know("u"));
  TakeContainer(pod, Called("two"), guests.Know("u"));
  guests.Know("u", {.id = "1", .name = "one"}, 0).ended = true;
  TakeContainer(pod, Called("two"), guests.Know("u"));
  EXPECT_EQ("one two ", NamesOf(pod.containers));
}

}  // namespace
}  // namespace berth::beside
