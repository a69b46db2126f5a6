// Attacks by who may open the socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
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

/// Nine and a half megabytes of one thing after another.
std::string Filled(const std::string& start, std::string_view again, const std::string& end) {
  std::string out = start;
  while (out.size() < 9'500'000) out += again;
  return out + end;
}

TEST_F(ApiAttackTest, EightLargeBodiesAtOnceTakeTheMemoryOfTwo) {
  const std::string pod =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a",)"
      R"("image":"b","env":[)";
  for (const std::string& body : {PodsInLines(), Filled("x: ", "[", ""), Filled("", "---\n", ""),
                                  Filled(pod + "{}", ",{}", "]}]}}"), Filled("{\"a\":1", ",\"a\":1", "}")}) {
    ASSERT_LT(body.size(), std::size_t{10} << 20);
    for (const std::string target : {"/v1/explain", "/v1/pods"}) {
      std::array<std::string, 8> answers;
      std::vector<std::thread> callers;
      for (std::string& answer : answers) callers.emplace_back([&] { answer = Post(target, body); });
      for (std::thread& caller : callers) caller.join();
      for (const std::string& answer : answers)
        EXPECT_THAT(answer, testing::AnyOf(StartsWith("HTTP/1.1 400"),
                                           testing::AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1"))))
            << body.substr(0, 20);
      EXPECT_THAT(answers, testing::Contains(StartsWith("HTTP/1.1 400"))) << body.substr(0, 20);
    }
  }
  EXPECT_THAT(Post("/v1/exec/default/steady/app", PodsInLines()), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(PostManifest(ScriptPod("late", "sleep 100")), StartsWith("HTTP/1.1 200"));
}

/// Nine ConfigMaps of 1 MiB each.
std::string LargeDocuments(int number) {
  std::string out;
  for (int i = 0; i < 9; ++i)
    out += R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m)" + std::to_string(9 * number + i) +
           R"("},"data":{"k":")" + std::string(std::size_t{1} << 20, 'x') + "\"}}\n";
  return out;
}

TEST_F(ApiAttackTest, LargeBodiesThatAreAcceptedOneAfterTheOtherAreNotAllHeld) {
  const auto refused = testing::AllOf(StartsWith("HTTP/1.1 422"), HasSubstr("would hold more than 32 MiB"));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(PostManifest(LargeDocuments(i)), StartsWith("HTTP/1.1 200"));
  for (int i = 3; i < 5; ++i) EXPECT_THAT(PostManifest(LargeDocuments(i)), refused) << "nothing of it was stored";
  EXPECT_THAT(PostManifest(ScriptPod("late", "sleep 100")), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(node.Until("a pod starts beside them", [&] { return node.Runs("late"); }));
  EXPECT_THAT(PostManifest(LargeDocuments(3)), refused) << "by what was read";
  EXPECT_THAT(Post("/v1/pods?dryRun=1", LargeDocuments(3)),
              testing::AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("would hold more than 32 MiB")));
  EXPECT_THAT(PostManifest(LargeDocuments(0)), StartsWith("HTTP/1.1 200")) << "it is there";
  EXPECT_EQ(node.CountEvents("FailedValidation", "would hold more than 32 MiB"), 0);
}

TEST_F(ApiAttackTest, ABodyAnnouncedToBeTooLargeIsAnsweredBeforeItComes) {
  EXPECT_THAT(Say("POST /v1/pods HTTP/1.1\r\nHost: berth\r\nContent-Length: 20000000\r\n\r\nabc"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(PostManifest(std::string(20'000'000, 'x')), StartsWith("HTTP/1.1 413"));
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
