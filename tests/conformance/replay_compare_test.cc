// What `replay --check` must see even where the recorder's books agree with the record.
#include "conformance/replay_compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace berth::conformance {
namespace {

using codec::Json;
using testing::HasSubstr;
using testing::Optional;

constexpr std::string_view kTrace =
    R"({"name":"t","kind":"trace","machine":{"num_cores":2,"num_physical_cores":2,"num_sockets":1,)"
    R"("memory_capacity":4294967296,"topology":[{"node_id":0,"memory":4294967296,"hugepages":[],"distances":[10],)"
    R"("cores":[{"core_id":0,"thread_ids":[0],"socket_id":0},{"core_id":1,"thread_ids":[1],"socket_id":0}]}]},)"
    R"("config":{"cpuManagerPolicy":"static","reservedSystemCPUs":"0","topologyManagerPolicy":"best-effort"},)"
    R"("steps":[{"op":"add","pod":{"metadata":{"name":"p","uid":"u"},"spec":{"containers":[{"name":"c","image":"i",)"
    R"("resources":{"limits":{"cpu":"1","memory":"64Mi"}}}]}}}]})";

/// An init container gets one of two GPUs; the next container takes it over, asks for more than there are and fails.
/// The recorder then keeps that GPU from the pod after it, which wants both.
constexpr std::string_view kLeak =
    R"({"name":"t","kind":"trace","machine":{"num_cores":2,"num_physical_cores":2,"num_sockets":1,)"
    R"("memory_capacity":4294967296,"topology":[{"node_id":0,"memory":4294967296,"hugepages":[],"distances":[10],)"
    R"("cores":[{"core_id":0,"thread_ids":[0],"socket_id":0},{"core_id":1,"thread_ids":[1],"socket_id":0}]}]},)"
    R"("devices":[{"resource":"a.com/gpu","id":"d0"},{"resource":"a.com/gpu","id":"d1"}],"config":{},)"
    R"("steps":[{"op":"add","pod":{"metadata":{"name":"p","uid":"u"},"spec":{)"
    R"("initContainers":[{"name":"i","image":"i","resources":{"limits":{"a.com/gpu":"1"}}}],)"
    R"("containers":[{"name":"c","image":"i","resources":{"limits":{"a.com/gpu":"3"}}}]}}},)"
    R"({"op":"add","pod":{"metadata":{"name":"q","uid":"v"},"spec":{)"
    R"("containers":[{"name":"c","image":"i","resources":{"limits":{"a.com/gpu":"2"}}}]}}}]})";

ReplayCase CaseOf(std::string_view text) {
  const auto json = codec::ParseJson(text, "trace");
  BERTH_CHECK(json.has_value());
  auto replay = ParseReplayCase(*json);
  BERTH_CHECK(replay.has_value());
  return *std::move(replay);
}

class ReplayCompareTest : public testing::Test {
 protected:
  ReplayCompareTest() : replay_(CaseOf(kTrace)), result_(RunReplayCase(replay_, nullptr)) {}
  Verdict Check() const { return CheckReplay(replay_, TraceGuide(), result_, result_.json); }

  ReplayCase replay_;
  ReplayResult result_;
};

TEST_F(ReplayCompareTest, ARunAgreesWithItself) {
  const Verdict verdict = Check();
  EXPECT_EQ(verdict.difference, std::nullopt);
  EXPECT_EQ(verdict.steps, 1U);
  EXPECT_EQ(verdict.compared_on_own_node, 1U);
}

TEST_F(ReplayCompareTest, ADifferenceOnTheOwnNodeAloneFails) {
  // Recorder and record say the same, and hold the same; only the node of Berth's own answers otherwise.
  result_.json["steps"][0]["hints"]["c"]["preferred"] = false;
  EXPECT_THAT(Check().difference,
              Optional(HasSubstr("steps[0].hints.c.preferred: expected false, got true on a node of "
                                 "Berth's own")));
}

TEST_F(ReplayCompareTest, ARejectionOnTheOwnNodeAloneFails) {
  result_.json["steps"][0]["admit"] = false;
  result_.json["steps"][0]["reason"] = "TopologyAffinityError";
  EXPECT_THAT(Check().difference, Optional(HasSubstr("on a node of Berth's own")));
}

TEST(ReplayCompareLeakTest, StepsAreNotComparedOnTheOwnNodeWhileTheRecorderMissesDevices) {
  const ReplayCase replay = CaseOf(kLeak);
  const ReplayResult result = RunReplayCase(replay, nullptr);
  ASSERT_EQ(result.json["steps"].size(), 2U);
  // Berth's own node has both GPUs for the second pod.
  EXPECT_EQ(result.json["steps"][1]["admit"], false);
  EXPECT_EQ(RunOnOwnNode(std::get<TraceCase>(replay.what), result).back().answer["admit"], true);
  const Verdict verdict = CheckReplay(replay, TraceGuide(), result, result.json);
  EXPECT_EQ(verdict.difference, std::nullopt);
  EXPECT_EQ(verdict.compared_on_own_node, 0U);
}

TEST_F(ReplayCompareTest, ABrokenPromiseOnTheRecordersBooksFails) {
  ASSERT_EQ(result_.states.size(), 1U);
  result_.states[0].shared = CpuSet();
  EXPECT_THAT(Check().difference, Optional(HasSubstr("steps[0]: broken promise")));
}

}  // namespace
}  // namespace berth::conformance
