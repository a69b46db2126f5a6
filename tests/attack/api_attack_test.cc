// Attacks by who may open the socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "attack_fixture.h"
#include "testing/raw_server.h"

namespace berth::testkit {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct ApiAttackTest : AttackTest {};

TEST_F(ApiAttackTest, ABodyThatGrowsWhenItIsDecodedIsRefused) {
  // 32 zero bytes as gzip would begin; what counts is that nobody decodes it.
  const std::string packed = std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10) + std::string(22, '\0');
  for (const char* const encoding : {"gzip", "br", "deflate", "gzip, gzip", "zstd"})
    EXPECT_THAT(PostManifest(packed, std::string("Content-Encoding: ") + encoding + "\r\n"), StartsWith("HTTP/1.1 415"))
        << encoding;
}

TEST_F(ApiAttackTest, ManyRangesDoNotMultiplyAnAnswer) {
  std::string ranges = "bytes=0-";
  for (int i = 0; i < 3000; ++i) ranges += ",0-";
  const std::string plain = Say("GET /v1/pods HTTP/1.1\r\nHost: berth\r\n\r\n");
  const std::string asked = Say("GET /v1/pods HTTP/1.1\r\nHost: berth\r\nRange: " + ranges + "\r\n\r\n");
  EXPECT_THAT(asked, StartsWith("HTTP/1.1 200"));
  EXPECT_LT(asked.size(), plain.size() + 1000);
}

TEST_F(ApiAttackTest, DeepAndLongBodiesAreRefusedWithoutTakingMemory) {
  const std::size_t most = 10'000'000;
  for (const std::string& body : {std::string(most, '['), std::string(most, '{'), std::string(most, '-'),
                                  "x: " + std::string(most, '['), "{\"x\":[" + std::string(most / 2, '1') + "]}"})
    EXPECT_THAT(PostManifest(body), StartsWith("HTTP/1.1 4")) << body.substr(0, 10);
  std::string values = "{\"x\":[1";
  for (std::size_t i = 0; i < most / 2 - 10; ++i) values += ",1";
  EXPECT_THAT(PostManifest(values + "]}"), HasSubstr("too many values"));
}

TEST_F(ApiAttackTest, FormsAndTooMuchOfEverythingAreAnsweredWithTheReason) {
  EXPECT_THAT(PostManifest("--x\r\n\r\n--x--", "Content-Type: multipart/form-data; boundary=x\r\n"),
              StartsWith("HTTP/1.1 4"));
  EXPECT_THAT(Say("GET /v1/pods?" + std::string(200'000, 'a') + " HTTP/1.1\r\nHost: berth\r\n\r\n"),
              StartsWith("HTTP/1.1 4"));
  EXPECT_THAT(Say("GET /v1/pods HTTP/1.1\r\nHost: berth\r\nX: " + std::string(200'000, 'a') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 4"));
  EXPECT_THAT(Say("POST /v1/pods HTTP/1.1\r\nHost: berth\r\nExpect: 100-continue\r\n"
                  "Content-Length: 99999999999\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Say(std::string(1'000'000, '\xff')), testing::AnyOf(StartsWith("HTTP/1.1 4"), ""));
}

TEST_F(ApiAttackTest, TwoHundredDrippingConnectionsHoldUpNobody) {
  std::vector<os::UniqueFd> dripping;
  for (int i = 0; i < 200; ++i) dripping.push_back(Connect());
  for (int round = 0; round < 40; ++round) {
    for (const os::UniqueFd& fd : dripping)
      SendAll(fd.get(), round == 0 ? "POST /v1/pods HTTP/1.1\r\nHost: b\r\nX-" : "a");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_THAT(PostManifest(ScriptPod("late", "sleep 100")), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(node.Until("a pod starts meanwhile", [&] { return node.Runs("late"); }));
}

}  // namespace
}  // namespace berth::testkit
