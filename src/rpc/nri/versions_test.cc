#include "rpc/nri/versions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::nri {
namespace {

TEST(VersionsTest, EventsAreBitsOneBelowTheirNumbers) {
  EXPECT_EQ(648U, MaskOf(std::vector{Event::kCreateContainer, Event::kUpdateContainer, Event::kStopContainer}));
  EXPECT_EQ(0U, MaskOf(std::vector{Event::kUnknown}));
}

TEST(VersionsTest, NoRuntimeIsAskedForEventsItDoesNotKnow) {
  const auto of = [](const char* name, const char* version, const char* nri) {
    return KnownEvents({.name = name, .version = version, .nri_version = nri});
  };
  for (const char* const old : {"1.7.24", "1.7.24~ds1", "v2.0.1", "2.1.9+unknown", "", "unknown", "2", "2.x"})
    EXPECT_EQ(0x7FFU, of("containerd", old, "")) << old;
  for (const char* const newer : {"2.2.0", "v2.3.4", "2.10.0-rc.1", "3.0"})
    EXPECT_EQ(0x3FFFU, of("containerd", newer, "")) << newer;
  EXPECT_EQ(0x7FFU, of("cri-o", "1.33.0", ""));
  EXPECT_EQ(0x3FFFU, of("cri-o", "1.36.0", "0.12.0"));
  EXPECT_EQ(0x3FFFU, of("containerd", "2.3.0", "v0.12.2-31"));
  EXPECT_EQ(0x7FFU, of("containerd", "2.3.0", "0.9"));
}

TEST(VersionsTest, TriesComeSlowerButNeverStop) {
  constexpr os::Millis kFirst{100};
  EXPECT_EQ(os::Millis(75), ReconnectDelay(1, 0, kFirst));
  EXPECT_EQ(os::Millis(125), ReconnectDelay(1, 50, kFirst));
  EXPECT_EQ(os::Millis(150), ReconnectDelay(2, 0, kFirst));
  EXPECT_EQ(os::Millis(3750), ReconnectDelay(1'000'000, 0, kFirst));
  EXPECT_EQ(os::Millis(45'000), ReconnectDelay(7, 0, os::Millis(60'000)));
  for (int failures = 0; failures < 40; ++failures) {
    for (std::uint32_t random = 0; random < 20'000; random += 37) {
      EXPECT_GE(ReconnectDelay(failures, random, kFirst), os::Millis(75));
      EXPECT_LE(ReconnectDelay(failures, random, kFirst), os::Millis(6250));
    }
  }
}

TEST(VersionsTest, AnAnswerIsThereBeforeTheRuntimeStopsWaiting) {
  EXPECT_EQ(os::Millis(1600), AnswerTime({}));
  EXPECT_EQ(os::Millis(400), AnswerTime({.request_timeout_ms = 500}));
  EXPECT_EQ(os::Millis(1600), AnswerTime({.request_timeout_ms = -1}));
  EXPECT_LE(AnswerTime({.request_timeout_ms = INT64_MAX}), os::Millis(3'600'000));
}

}  // namespace
}  // namespace berth::nri
