#include "testing/seen_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "testing/fixtures.h"

namespace berth::testkit {
namespace {

namespace fs = std::filesystem;

/// As beside containers that end: each of these looks has all that stays.
TEST(SeenGroupsTest, WhatGoesMeanwhileHidesNothingElse) {
  constexpr int kStay = 8;
  constexpr int kLooks = 5000;
  const TempDir temp;
  const std::string top = temp / "top";
  for (int i = 0; i < kStay; ++i) fs::create_directories(top + "/stays" + std::to_string(i));
  std::atomic<bool> stop = false;
  std::thread other([&] {
    std::error_code error;
    while (!stop) {
      fs::create_directories(top + "/goes/below", error);
      fs::remove_all(top + "/goes", error);
    }
  });
  int missed = 0;
  for (int look = 0; look < kLooks; ++look) {
    const auto seen = GroupsBelow(top);
    const auto stay = std::ranges::count_if(seen, [](const std::string& group) { return group.contains("/stays"); });
    if (stay != kStay) ++missed;
  }
  stop = true;
  other.join();
  EXPECT_EQ(0, missed);
}

}  // namespace
}  // namespace berth::testkit
