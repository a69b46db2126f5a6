#include "node/checkpoint/kubelet_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace berth::checkpoint {
namespace {

using testing::HasSubstr;

// The worked examples of the specification.
constexpr std::string_view kEmpty =
    R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661})";
constexpr std::string_view kNoDevices =
    R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"vendor.com/gpu":[]}},"Checksum":2964628569})";
constexpr std::string_view kOne =
    R"({"Data":{"PodDeviceEntries":[{"PodUID":"11111111-2222-3333-4444-555555555555","ContainerName":"app","ResourceName":"vendor.com/gpu","DeviceIDs":{"0":["dev-0"]},"AllocResp":"CgwKB1ZJU0lCTEUSATAaHQoKL2Rldi9mYWtlMBIKL2Rldi9mYWtlMBoDbXJ3"}],"RegisteredDevices":{"vendor.com/gpu":["dev-0","dev-1"]}},"Checksum":2804549884})";
constexpr std::string_view kNulls =
    R"({"Data":{"PodDeviceEntries":[{"PodUID":"u1","ContainerName":"c1","ResourceName":"r/a","DeviceIDs":{"-1":["d1","d2"],"1":["d3"]},"AllocResp":""},{"PodUID":"u1","ContainerName":"c2","ResourceName":"r/b","DeviceIDs":{},"AllocResp":null}],"RegisteredDevices":{"r/a":["d1","d2","d3"],"r/b":[],"r/c":null}},"Checksum":3427503514})";

TEST(KubeletDeviceStateTest, WhatWasReadIsWrittenBackByteForByte) {
  for (const std::string_view text : {kEmpty, kNoDevices, kOne, kNulls}) {
    const auto state = ParseKubeletDeviceState(text);
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(FormatKubeletState(*state), text);
  }
}

TEST(KubeletDeviceStateTest, ReadsWhoHoldsWhat) {
  const auto state = ParseKubeletDeviceState(kNulls);
  ASSERT_TRUE(state && state->entries);
  ASSERT_EQ(state->entries->size(), 2U);
  const KubeletDeviceState::Entry& first = state->entries->front();
  EXPECT_EQ(first.container, "c1");
  EXPECT_EQ((*first.devices).find("-1")->second, (std::vector<std::string>{"d1", "d2"}));
  EXPECT_EQ(first.response, "");
  EXPECT_FALSE(state->entries->back().response);
  EXPECT_FALSE(state->registered.find("r/c")->second);
}

TEST(KubeletDeviceStateTest, EveryPrefixIsCorrupt) {
  for (std::size_t n = 0; n < kOne.size(); ++n) {
    const auto state = ParseKubeletDeviceState(kOne.substr(0, n));
    ASSERT_FALSE(state) << n;
    EXPECT_EQ(state.error().code, Code::kCorrupt) << n;
  }
}

TEST(KubeletDeviceStateTest, NoFlippedBitGivesAnotherState) {
  const auto good = ParseKubeletDeviceState(kOne);
  for (std::size_t at = 0; at < kOne.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad(kOne);
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      const auto state = ParseKubeletDeviceState(bad);
      // Field names may have any case, so a flipped bit there can mean nothing.
      ASSERT_TRUE(!state || *state == *good) << "byte " << at << " bit " << bit;
    }
  }
}

TEST(KubeletDeviceStateTest, AnotherVersionIsNotCalledDamage) {
  const auto old = ParseKubeletDeviceState(
      R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"r","DeviceIDs":["a"],"AllocResp":""}],"RegisteredDevices":{}},"Checksum":1})");
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, Code::kUnsupported);
  EXPECT_THAT(old.error().message, HasSubstr("before 1.20"));
  const auto newer =
      ParseKubeletDeviceState(R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{},"Claims":{}},"Checksum":1})");
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, Code::kUnsupported);
  EXPECT_THAT(newer.error().message, HasSubstr("\"Claims\""));
}

TEST(KubeletDeviceStateTest, WrongTypesNameTheField) {
  const auto message = [](std::string_view text) {
    const auto state = ParseKubeletDeviceState(text);
    return state ? "accepted" : state.error().message;
  };
  EXPECT_THAT(message("[]"), HasSubstr("top level"));
  EXPECT_THAT(message("{}"), HasSubstr("Data"));
  EXPECT_THAT(message(R"({"Data":{"RegisteredDevices":[]},"Checksum":1})"), HasSubstr("RegisteredDevices"));
  EXPECT_THAT(message(R"({"Data":{"PodDeviceEntries":[1],"RegisteredDevices":{}},"Checksum":1})"),
              HasSubstr("PodDeviceEntries[0]"));
  EXPECT_THAT(message(R"({"Data":{"PodDeviceEntries":[{"AllocResp":"?"}],"RegisteredDevices":{}},"Checksum":1})"),
              HasSubstr("AllocResp"));
  EXPECT_THAT(message(R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":"1"})"),
              HasSubstr("Checksum"));
}

}  // namespace
}  // namespace berth::checkpoint
