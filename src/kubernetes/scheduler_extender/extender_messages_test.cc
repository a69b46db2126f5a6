#include "kubernetes/scheduler_extender/extender_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace berth::scheduler_extender {
namespace {

using testing::HasSubstr;

constexpr std::string_view kPod =
    R"({"metadata":{"name":"web","namespace":"shop","uid":"u-1"},"spec":{"containers":[{"name":"app","resources":)"
    R"({"limits":{"cpu":"2","memory":"1Gi"}}}]}})";

std::string CallOf(std::string_view rest, std::string_view pod = kPod) {
  return R"({"Pod":)" + std::string(pod) + "," + std::string(rest) + "}";
}
std::string ErrorOf(std::string_view body) {
  const auto call = ReadCall(body);
  return call ? "read" : call.error().message;
}

TEST(ExtenderWireTest, ACallWithNamesIsReadAndAnsweredWithNames) {
  const std::string body = CallOf(R"("Nodes":null,"NodeNames":["a","b","c"])");
  const auto call = ReadCall(body);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_TRUE(call->names_only);
  EXPECT_EQ(FullName(call->pod), "shop/web");
  EXPECT_EQ(call->pod.containers[0].resources.requests.size(), 2U) << "limits become requests";
  EXPECT_EQ(FormatFilterResult(*call, {0, 2}, {{.node = "b", .reason = "4 CPUs short"}}),
            R"({"Nodes":null,"NodeNames":["a","c"],"FailedNodes":{"b":"4 CPUs short"},)"
            R"("FailedAndUnresolvableNodes":{},"Error":""})");
}

TEST(ExtenderWireTest, NodesComeBackAsTheyCame) {
  const std::string first = R"({"metadata":{"labels":{"name":"x"},"name":"a"},"status":{"odd":[1.50,"\u00e9"]}})";
  const std::string second = R"({ "metadata" : {"name":"b\"c"} })";
  const std::string body =
      CallOf(R"("Nodes":{"metadata":{},"items":[)" + first + "," + second + R"(]},"NodeNames":null)");
  const auto call = ReadCall(body);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_FALSE(call->names_only);
  ASSERT_EQ(call->nodes.size(), 2U);
  EXPECT_EQ(call->nodes[1].name, "b\"c");
  EXPECT_EQ(FormatFilterResult(*call, {0}, {{.node = "b\"c", .reason = "never", .final = true}}),
            R"({"Nodes":{"metadata":{},"items":[)" + first +
                R"(]},"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{"b\"c":"never"},"Error":""})");
}

TEST(ExtenderWireTest, NoNodePassesAsAnEmptyListAndNotAsNull) {
  const auto names = ReadCall(CallOf(R"("NodeNames":["a"])"));
  ASSERT_TRUE(names);
  EXPECT_THAT(FormatFilterResult(*names, {}, {}), HasSubstr(R"("NodeNames":[])"));
  const std::string body = CallOf(R"("Nodes":{"items":null})");
  const auto nodes = ReadCall(body);
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_THAT(FormatFilterResult(*nodes, {}, {}), HasSubstr(R"("Nodes":{"metadata":{},"items":[]})"));
}

TEST(ExtenderWireTest, FieldNamesCountInAnyCaseAndNamesBeforeNodes) {
  const std::string body =
      R"({"pod":)" + std::string(kPod) + R"(,"nodes":{"items":[{"metadata":{"name":"a"}}]},"nodenames":["b"]})";
  const auto call = ReadCall(body);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_TRUE(call->names_only);
  ASSERT_EQ(call->nodes.size(), 1U);
  EXPECT_EQ(call->nodes[0].name, "b");
}

TEST(ExtenderWireTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("an object is missing"));
  EXPECT_THAT(ErrorOf("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOf(R"({"NodeNames":[]})"), HasSubstr("\"Pod\" is missing"));
  EXPECT_THAT(ErrorOf(CallOf(R"("Nodes":null)")), HasSubstr("neither"));
  EXPECT_THAT(ErrorOf(CallOf(R"("NodeNames":["a",1])")), HasSubstr("NodeNames: "));
  EXPECT_THAT(ErrorOf(CallOf(R"("NodeNames":["a","a"])")), HasSubstr("\"a\" twice"));
  EXPECT_THAT(ErrorOf(CallOf(R"("NodeNames":[""])")), HasSubstr("empty name"));
  EXPECT_THAT(ErrorOf(CallOf(R"("Nodes":{"items":[{}]})")), HasSubstr("Nodes: a node without metadata.name"));
  EXPECT_THAT(ErrorOf(CallOf(R"("Nodes":[])")), HasSubstr("an object is missing"));
  EXPECT_THAT(ErrorOf(CallOf(R"("NodeNames":[])", R"({"metadata":{"name":"web"}})")), HasSubstr("Pod"));
  EXPECT_THAT(ErrorOf(CallOf(R"("NodeNames":[])", "7")), HasSubstr("Pod"));
}

TEST(ExtenderWireTest, WhatIsTooMuchIsRefused) {
  std::string names = "\"NodeNames\":[";
  for (std::size_t i = 0; i <= kMostCandidates; ++i) {
    if (i > 0) names += ',';
    names += "\"n" + std::to_string(i) + "\"";
  }
  EXPECT_THAT(ErrorOf(CallOf(names + "]")), HasSubstr("more than 20000 nodes"));
  const std::string pod = R"({"metadata":{"name":")" + std::string(kMostPodBytes, 'x') + "\"}}";
  EXPECT_THAT(ErrorOf(CallOf(R"("NodeNames":[])", pod)), HasSubstr("Pod: more than"));
  EXPECT_THAT(ErrorOf(std::string(kMostCallBytes + 1, ' ')), HasSubstr("more than"));
}

TEST(ExtenderWireTest, PrioritiesAreABareListInTheOrderOfTheCall) {
  const auto call = ReadCall(CallOf(R"("NodeNames":["b","a"])"));
  ASSERT_TRUE(call);
  EXPECT_EQ(FormatHostPriorities(*call, {3, 10}), R"([{"Host":"b","Score":3},{"Host":"a","Score":10}])");
}

TEST(ExtenderWireTest, AnErrorIsTheWholeAnswer) {
  EXPECT_THAT(FormatFilterError("\"x\" is not there"), HasSubstr(R"("Error":"\"x\" is not there"})"));
}

}  // namespace
}  // namespace berth::scheduler_extender
