#include "node/checkpoint/kubelet_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <random>
#include <string>
#include <vector>

#include "api/codec/codec.h"
#include "testing/fixtures.h"

namespace berth::checkpoint {
namespace {

using testing::HasSubstr;
using testkit::Cpus;

KubeletCpuState SampleCpuState() {
  return {.policy = "static",
          .default_cpus = Cpus("0-1,6-7"),
          .entries = {{"pod-a", {{"app", Cpus("2")}, {"side", Cpus("3")}}}, {"pod-b", {{"c1", Cpus("4-5")}}}}};
}

KubeletMemoryState SampleMemoryState() {
  KubeletMemoryState state{.policy = "Static"};
  const MemoryTable half_used{
      .total = GiB(4), .system_reserved = GiB(1), .allocatable = GiB(3), .reserved = GiB(1), .free = GiB(2)};
  state.nodes[NumaId{0}] = {
      .assignments = 1, .cells = {NumaId{0}}, .types = {{"hugepages-2Mi", MemoryTable{}}, {"memory", half_used}}};
  state.nodes[NumaId{2}] = {.cells = {NumaId{2}}, .types = {{"memory", {.total = Bytes{1}}}}};
  state.nodes[NumaId{10}] = {.cells = {NumaId{10}},
                             .types = {{"memory", {.total = GiB(4), .allocatable = GiB(4), .free = GiB(4)}}}};
  state.entries["pod-a"]["app"] = {{.nodes = {NumaId{0}}, .type = "memory", .size = GiB(1)}};
  return state;
}

// ---- the worked examples of the specification ----

constexpr std::string_view kE3 =
    R"({"policyName":"static","defaultCpuSet":"0-1,6-7","entries":{"pod-a":{"app":"2","side":"3"},"pod-b":{"c1":"4-5"}},"checksum":1377477554})";
constexpr std::string_view kE4 =
    R"({"policyName":"static","defaultCpuSet":"0-1,6-7","entries":{"pod-a":{"app":"2","side":"3"},"pod-b":{"c1":"4-5"}},"checksum":3755370536})";
constexpr std::string_view kE5 =
    R"({"policyName":"static","defaultCpuSet":"0-1,6-7","entries":{"pod-a":{"app":"2","side":"3"}},"podEntries":{"pod-a":{"cpuSet":"2-3,5,10"}},"checksum":112206374})";
constexpr std::string_view kE6 =
    R"({"policyName":"static","defaultCpuSet":"0-1,6-7","entries":{"cid-a":"2-3","cid-b":"4-5"},"checksum":3352946236})";
constexpr std::string_view kE8 =
    R"({"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":{"hugepages-2Mi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":{"total":4294967296,"systemReserved":1073741824,"allocatable":3221225472,"reserved":1073741824,"free":2147483648}},"cells":[0]},"10":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":4294967296,"systemReserved":0,"allocatable":4294967296,"reserved":0,"free":4294967296}},"cells":[10]},"2":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":1,"systemReserved":0,"allocatable":0,"reserved":0,"free":0}},"cells":[2]}},"entries":{"pod-a":{"app":[{"numaAffinity":[0],"type":"memory","size":1073741824}]}},"checksum":2427303854})";

// From 1.37 on: what stood in the file before, and once more as a text with a checksum of its own.
constexpr std::string_view kCpuV4None =
    R"({"policyName":"none","defaultCpuSet":"","checksum":1353318690,"data":"{\"policyName\":\"none\",\"defaultCpuSet\":\"\"}","dataChecksum":3028111495})";
constexpr std::string_view kCpuV4Fresh =
    R"({"policyName":"static","defaultCpuSet":"0-7","checksum":14413152,"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-7\"}","dataChecksum":3294586087})";
constexpr std::string_view kCpuV4Pods =
    R"({"policyName":"static","defaultCpuSet":"0-1,6-7","entries":{"pod-a":{"app":"2","side":"3"}},"checksum":4067246658,"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1,6-7\",\"entries\":{\"pod-a\":{\"app\":\"2\",\"side\":\"3\"}},\"podEntries\":{\"pod-a\":{\"cpuSet\":\"2-3,5,10\"}}}","dataChecksum":1709154875})";
constexpr std::string_view kMemoryV3None =
    R"({"policyName":"None","machineState":{},"checksum":4236770233,"data":"{\"policyName\":\"None\",\"machineState\":{}}","dataChecksum":3093843326})";

/// The content of a file with `data`, as a kubelet of 1.37 would sign it.
std::string WithData(const std::string& fields, const std::string& data) {
  const std::string quoted = codec::FormatJson(codec::Json(data));
  return "{" + fields + R"("data":)" + quoted + R"(,"dataChecksum":)" + std::to_string(Fnv1a("(string)" + data)) + "}";
}

std::string Replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string out(text);
  const std::size_t at = out.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  if (at != std::string::npos) out.replace(at, what.size(), by);
  return out;
}

TEST(KubeletCpuStateTest, WritesPolicyNone) {
  EXPECT_EQ(FormatKubeletState(KubeletCpuState{.policy = "none"}),
            R"({"policyName":"none","defaultCpuSet":"","checksum":1353318690})");
}

TEST(KubeletCpuStateTest, WritesAFreshNode) {
  EXPECT_EQ(FormatKubeletState(KubeletCpuState{.policy = "static", .default_cpus = Cpus("0-7")}),
            R"({"policyName":"static","defaultCpuSet":"0-7","checksum":14413152})");
}

TEST(KubeletCpuStateTest, WritesAssignments) { EXPECT_EQ(FormatKubeletState(SampleCpuState()), kE3); }

TEST(KubeletCpuStateTest, TheVersionWithPodsHasAnotherChecksumForTheSameFields) {
  KubeletCpuState state = SampleCpuState();
  state.version = KubeletCpuVersion::kV3;
  EXPECT_EQ(FormatKubeletState(state), kE4);
}

TEST(KubeletCpuStateTest, WritesPodEntries) {
  KubeletCpuState state = SampleCpuState();
  state.version = KubeletCpuVersion::kV3;
  state.entries.erase("pod-b");
  state.pods["pod-a"] = Cpus("2-3,5,10");
  EXPECT_EQ(FormatKubeletState(state), kE5);
}

TEST(KubeletCpuStateTest, WritesTheVersionWithData) {
  KubeletCpuState state{.version = KubeletCpuVersion::kV4, .policy = "none"};
  EXPECT_EQ(FormatKubeletState(state), kCpuV4None);
  state = {.version = KubeletCpuVersion::kV4, .policy = "static", .default_cpus = Cpus("0-7")};
  EXPECT_EQ(FormatKubeletState(state), kCpuV4Fresh);
  state = SampleCpuState();
  state.version = KubeletCpuVersion::kV4;
  state.entries.erase("pod-b");
  state.pods["pod-a"] = Cpus("2-3,5,10");
  EXPECT_EQ(FormatKubeletState(state), kCpuV4Pods);
}

TEST(KubeletCpuStateTest, ReadsEveryVersionAndTellsWhich) {
  const auto v1 = ParseKubeletCpuState(kE6);
  const auto v2 = ParseKubeletCpuState(kE3);
  const auto v3 = ParseKubeletCpuState(kE4);
  const auto v3_pods = ParseKubeletCpuState(kE5);
  const auto v4 = ParseKubeletCpuState(kCpuV4Pods);
  ASSERT_TRUE(v1 && v2 && v3 && v3_pods && v4);
  EXPECT_EQ(v1->version, KubeletCpuVersion::kV1);
  EXPECT_EQ(v1->by_container_id, (std::map<std::string, CpuSet>{{"cid-a", Cpus("2-3")}, {"cid-b", Cpus("4-5")}}));
  EXPECT_EQ(*v2, SampleCpuState());
  EXPECT_EQ(v3->version, KubeletCpuVersion::kV3);
  EXPECT_EQ(v3->entries, SampleCpuState().entries);
  EXPECT_EQ(v3_pods->pods, (std::map<std::string, CpuSet>{{"pod-a", Cpus("2-3,5,10")}}));
  EXPECT_EQ(v4->version, KubeletCpuVersion::kV4);
  EXPECT_EQ(v4->default_cpus, Cpus("0-1,6-7"));
  EXPECT_EQ(v4->entries, v3_pods->entries);
  EXPECT_EQ(v4->pods, v3_pods->pods);
}

TEST(KubeletCpuStateTest, WhatWasReadIsWrittenBackByteForByte) {
  for (const std::string_view text : {kE3, kE4, kE5, kE6, kCpuV4None, kCpuV4Fresh, kCpuV4Pods}) {
    const auto state = ParseKubeletCpuState(text);
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(FormatKubeletState(*state), text);
  }
}

TEST(KubeletCpuStateTest, AcceptsAFileFromARealNode) {
  auto state = ParseKubeletCpuState(
      R"({"policyName":"static","defaultCpuSet":"0-3,44-51,92-95","entries":{"d47c51cb-c5a2-4910-a92b-60a399dcc581":{"nginx":"24-43,72-91","test":"4-23,52-71"}},"checksum":2366120229})");
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->version, KubeletCpuVersion::kV2);
  EXPECT_EQ(state->default_cpus, Cpus("0-3,44-51,92-95"));
  EXPECT_EQ(state->entries["d47c51cb-c5a2-4910-a92b-60a399dcc581"]["test"], Cpus("4-23,52-71"));
}

TEST(KubeletCpuStateTest, EveryChangedDigitIsNoticed) {
  for (std::size_t i = 0; i < kE3.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(kE3[i])) == 0) continue;
    std::string text(kE3);
    text[i] = text[i] == '9' ? '8' : static_cast<char>(text[i] + 1);
    const auto state = ParseKubeletCpuState(text);
    ASSERT_FALSE(state) << text;
    EXPECT_EQ(state.error().code, Code::kCorrupt) << text;
  }
}

TEST(KubeletCpuStateTest, EveryTruncationIsCorrupt) {
  for (const std::string_view text : {kE5, kCpuV4Pods}) {
    for (std::size_t n = 0; n < text.size(); ++n) {
      const auto state = ParseKubeletCpuState(text.substr(0, n));
      ASSERT_FALSE(state) << n;
      EXPECT_EQ(state.error().code, Code::kCorrupt) << n;
    }
  }
}

TEST(KubeletCpuStateTest, EveryChangedDigitOfDataAndOfItsChecksumIsNoticed) {
  for (std::size_t i = kCpuV4Pods.find(R"("data")"); i < kCpuV4Pods.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(kCpuV4Pods[i])) == 0) continue;
    std::string text(kCpuV4Pods);
    text[i] = text[i] == '9' ? '8' : static_cast<char>(text[i] + 1);
    const auto state = ParseKubeletCpuState(text);
    ASSERT_FALSE(state) << text;
    EXPECT_EQ(state.error().code, Code::kCorrupt) << text;
    EXPECT_THAT(state.error().message, HasSubstr("dataChecksum")) << text;
    EXPECT_THAT(state.error().message, HasSubstr("restore the file")) << text;
  }
}

TEST(KubeletCpuStateTest, OnlyDataCountsWhereItIsSound) {
  const std::string data = R"({"policyName":"static","defaultCpuSet":"0-3","entries":{"p":{"c":"4"}},"later":[1]})";
  for (const std::string fields :
       {"", R"("policyName":"none","defaultCpuSet":"","checksum":1353318690,)",
        R"("policyName":"static","defaultCpuSet":"junk","entries":{"id":"7"},"checksum":1,"sockets":[],)"}) {
    const auto state = ParseKubeletCpuState(WithData(fields, data));
    ASSERT_TRUE(state) << fields << state.error().message;
    EXPECT_EQ(state->version, KubeletCpuVersion::kV4);
    EXPECT_EQ(state->policy, "static");
    EXPECT_EQ(state->default_cpus, Cpus("0-3"));
    EXPECT_EQ(state->entries, (decltype(state->entries){{"p", {{"c", Cpus("4")}}}}));
  }
}

TEST(KubeletCpuStateTest, AFileWithDataIsNotReadAsAnOlderOne) {
  const std::string old = R"("policyName":"static","defaultCpuSet":"0-7","checksum":14413152)";
  for (const std::string tail : {R"(,"data":"{}")", R"(,"dataChecksum":1)", R"(,"data":"","dataChecksum":1)",
                                 R"(,"data":"{}","dataChecksum":0)", R"(,"DATA":"{}","datachecksum":7)"}) {
    const auto state = ParseKubeletCpuState("{" + old + tail + "}");
    ASSERT_FALSE(state) << tail;
    EXPECT_EQ(state.error().code, Code::kCorrupt) << tail;
    EXPECT_THAT(state.error().message, HasSubstr("dataChecksum")) << tail;
  }
  for (const std::string tail : {R"(,"data":"")", R"(,"dataChecksum":0)", R"(,"data":null,"dataChecksum":null)",
                                 R"(,"data":"","dataChecksum":0)"}) {
    const auto state = ParseKubeletCpuState("{" + old + tail + "}");
    ASSERT_TRUE(state) << tail << state.error().message;
    EXPECT_EQ(state->version, KubeletCpuVersion::kV2) << tail;
  }
}

TEST(KubeletCpuStateTest, WhatIsWrongInDataIsNamed) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {WithData("", "junk"), "data"},
      {WithData("", "[]"), "the top level of data"},
      {WithData("", R"({"policyName":7})"), "policyName"},
      {WithData("", R"({"policyName":"static","defaultCpuSet":"x"})"), "defaultCpuSet"},
      {WithData("", R"({"policyName":"static","entries":{"cid":"2"}})"), "entries.cid is not an object"},
      {WithData("", R"({"policyName":"static","podEntries":{"p":"2"}})"), "podEntries.p"},
      {R"({"policyName":"static","data":{},"dataChecksum":1})", "data is not a string"},
      {R"({"policyName":"static","data":"{}","dataChecksum":"1"})", "dataChecksum is not a whole number"},
      {R"({"policyName":"static","data":"{}","dataChecksum":4294967296})", "dataChecksum is out of range"}};
  for (const auto& [text, words] : cases) {
    const auto state = ParseKubeletCpuState(text);
    ASSERT_FALSE(state) << text;
    EXPECT_EQ(state.error().code, Code::kCorrupt) << text;
    EXPECT_THAT(state.error().message, HasSubstr("data")) << text;
    EXPECT_THAT(state.error().message, HasSubstr(words)) << text;
  }
}

TEST(KubeletCpuStateTest, AFieldOfAnotherVersionIsNotCalledDamage) {
  std::string text(kE3);
  text.insert(text.find(R"("checksum")"), R"("sockets":{"0":"x"},)");
  EXPECT_TRUE(ParseKubeletCpuState(text)) << "unknown fields do not count while the checksum fits";
  text.replace(text.find("1377477554"), 10, "1377477555");
  const auto state = ParseKubeletCpuState(text);
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, Code::kUnsupported);
  EXPECT_THAT(state.error().message, HasSubstr("\"sockets\""));
  const auto newer = ParseKubeletCpuState(Replaced(Replaced(kCpuV4Pods, "{", R"({"sockets":[],)"), "1709154875", "1"));
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, Code::kUnsupported);
}

TEST(KubeletCpuStateTest, AFileOfVersion1KeepsItsContainersWithEveryChecksumThatIsAccepted) {
  for (const std::string_view checksum : {"3352946236", "0"}) {
    const auto state = ParseKubeletCpuState(Replaced(kE6, "3352946236", checksum));
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(state->version, KubeletCpuVersion::kV1);
    EXPECT_EQ(state->by_container_id.size(), 2U);
  }
  EXPECT_FALSE(ParseKubeletCpuState(Replaced(kE6, "3352946236", "3352946237")));
}

TEST(KubeletCpuStateTest, TheNameOfVersion2InTheChecksumIsAccepted) {
  const std::uint32_t checksum = Fnv1a(
      "(*state.CPUManagerCheckpointV2){PolicyName:(string)static DefaultCPUSet:(string)0-7 "
      "Entries:(map[string]map[string]string)map[] Checksum:(checksum.Checksum)0}");
  const auto state = ParseKubeletCpuState(R"({"policyName":"static","defaultCpuSet":"0-7","checksum":)" +
                                          std::to_string(checksum) + "}");
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->version, KubeletCpuVersion::kV2);
}

TEST(KubeletCpuStateTest, AcceptsAFileWithoutChecksumAsTheKubeletDoes) {
  EXPECT_TRUE(ParseKubeletCpuState(R"({"policyName":"static","defaultCpuSet":"0-7"})"));
  EXPECT_TRUE(ParseKubeletCpuState(R"({"policyName":"static","defaultCpuSet":"0-7","checksum":0})"));
  const auto pods = ParseKubeletCpuState(
      R"({"policyName":"static","defaultCpuSet":"0-5","podEntries":{"p":{"cpuSet":"6-7"}},"checksum":0})");
  ASSERT_TRUE(pods);
  EXPECT_EQ(pods->pods.size(), 1U);
}

TEST(KubeletCpuStateTest, FieldNamesMayHaveAnyCase) {
  EXPECT_TRUE(ParseKubeletCpuState(R"({"PolicyName":"static","DEFAULTCPUSET":"0-7","Checksum":14413152})"));
}

TEST(KubeletCpuStateTest, WrongTypesNameTheField) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"([])", "top level"},
      {R"({"policyName":7})", "policyName"},
      {R"({"policyName":"static","defaultCpuSet":"0-7 "})", "defaultCpuSet"},
      {R"({"policyName":"static","defaultCpuSet":"7-0"})", "defaultCpuSet"},
      {R"({"policyName":"static","entries":[]})", "entries"},
      {R"({"policyName":"static","entries":{"p":7}})", "entries.p"},
      {R"({"policyName":"static","entries":{"p":{"c":"x"}}})", "entries.p.c"},
      {R"({"policyName":"static","entries":{"p":{"c":"1"},"cid":"2"}})", "mixed"},
      {R"({"policyName":"static","entries":{"cid":"2"},"podEntries":{"p":{"cpuSet":"3"}}})", "mixed"},
      {R"({"policyName":"static","podEntries":{"p":"1"}})", "podEntries.p"},
      {R"({"policyName":"static","checksum":-1})", "checksum"},
      {R"({"policyName":"static","checksum":4294967296})", "checksum"}};
  for (const auto& [text, words] : cases) {
    const auto state = ParseKubeletCpuState(text);
    ASSERT_FALSE(state) << text;
    EXPECT_EQ(state.error().code, Code::kCorrupt) << text;
    EXPECT_THAT(state.error().message, HasSubstr(words));
  }
}

TEST(KubeletMemoryStateTest, WritesPolicyNoneInEveryVersion) {
  EXPECT_EQ(FormatKubeletState(KubeletMemoryState{.policy = "None"}),
            R"({"policyName":"None","machineState":{},"checksum":4236770233})");
  EXPECT_EQ(FormatKubeletState(KubeletMemoryState{.version = KubeletMemoryVersion::kV2, .policy = "None"}),
            R"({"policyName":"None","machineState":{},"checksum":512582496})");
  EXPECT_EQ(FormatKubeletState(KubeletMemoryState{.version = KubeletMemoryVersion::kV3, .policy = "None"}),
            kMemoryV3None);
}

TEST(KubeletMemoryStateTest, BesideDataStandsTheFileOfVersion1) {
  KubeletMemoryState state = SampleMemoryState();
  state.version = KubeletMemoryVersion::kV3;
  state.pods["pod-a"] = {{.nodes = {NumaId{0}, NumaId{2}}, .type = "memory", .size = GiB(1)}};
  const std::string text = FormatKubeletState(state);
  EXPECT_THAT(text, testing::StartsWith(std::string(kE8.substr(0, kE8.size() - 1)) + R"(,"data":")"));
  EXPECT_THAT(text, HasSubstr(R"(\"podEntries\":{\"pod-a\":{\"memoryBlocks\":[{\"numaAffinity\":[0,2])"));
  const auto again = ParseKubeletMemoryState(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, state);
}

TEST(KubeletMemoryStateTest, OnlyDataCountsAndOnlyWhereItIsSound) {
  const auto sound = ParseKubeletMemoryState(kMemoryV3None);
  ASSERT_TRUE(sound) << sound.error().message;
  EXPECT_EQ(*sound, (KubeletMemoryState{.version = KubeletMemoryVersion::kV3, .policy = "None"}));
  const auto other = ParseKubeletMemoryState(Replaced(kMemoryV3None, R"("policyName":"None")", R"("policyName":"x")"));
  ASSERT_TRUE(other) << "what stands beside data is for older kubelets";
  EXPECT_EQ(other->policy, "None");
  for (const std::string& text :
       {Replaced(kMemoryV3None, "3093843326", "3093843327"), Replaced(kMemoryV3None, R"(\"None\")", R"(\"Nine\")"),
        Replaced(kMemoryV3None, R"(,"dataChecksum":3093843326)", "")}) {
    const auto damaged = ParseKubeletMemoryState(text);
    ASSERT_FALSE(damaged) << text;
    EXPECT_EQ(damaged.error().code, Code::kCorrupt);
    EXPECT_THAT(damaged.error().message, HasSubstr("dataChecksum"));
  }
}

TEST(KubeletMemoryStateTest, SortsNodesAsTextButHashesThemAsNumbers) {
  EXPECT_EQ(FormatKubeletState(SampleMemoryState()), kE8);
}

TEST(KubeletMemoryStateTest, TheVersionWithPodsHasAnotherChecksum) {
  KubeletMemoryState state = SampleMemoryState();
  state.version = KubeletMemoryVersion::kV2;
  EXPECT_THAT(FormatKubeletState(state), HasSubstr(R"("checksum":3989421985)"));
}

TEST(KubeletMemoryStateTest, ReadsWhatItWrote) {
  const auto state = ParseKubeletMemoryState(kE8);
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(*state, SampleMemoryState());
  KubeletMemoryState pods = SampleMemoryState();
  pods.version = KubeletMemoryVersion::kV2;
  pods.pods["pod-a"] = {{.nodes = {NumaId{0}, NumaId{2}}, .type = "memory", .size = GiB(1)}};
  const auto again = ParseKubeletMemoryState(FormatKubeletState(pods));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, pods);
}

TEST(KubeletMemoryStateTest, AmountsBelowZeroWrapAroundAsInTheKubelet) {
  KubeletMemoryState state = SampleMemoryState();
  state.nodes[NumaId{2}].types["memory"].free = Bytes{-4096};
  const std::string text = FormatKubeletState(state);
  EXPECT_THAT(text, HasSubstr("18446744073709547520"));
  const auto again = ParseKubeletMemoryState(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, state);
}

TEST(KubeletMemoryStateTest, TheOrderOfBlocksIsPartOfTheChecksum) {
  KubeletMemoryState state = SampleMemoryState();
  const MemoryBlock pages{.nodes = {NumaId{0}}, .type = "hugepages-2Mi", .size = Bytes{0}};
  auto& blocks = state.entries["pod-a"]["app"];
  blocks.push_back(pages);
  const std::string one = FormatKubeletState(state);
  std::swap(blocks[0], blocks[1]);
  const std::string other = FormatKubeletState(state);
  EXPECT_NE(one.substr(one.find("checksum")), other.substr(other.find("checksum")));
  EXPECT_TRUE(ParseKubeletMemoryState(one));
  EXPECT_TRUE(ParseKubeletMemoryState(other));
}

TEST(KubeletMemoryStateTest, DamageAndWrongTypesAreNamed) {
  std::string text(kE8);
  text.replace(text.find("2147483648"), 10, "2147483649");
  const auto damaged = ParseKubeletMemoryState(text);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Code::kCorrupt);
  EXPECT_THAT(damaged.error().message, HasSubstr("checksum"));
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"policyName":"Static","machineState":{"x":{}}})", "machineState.x"},
      {R"({"policyName":"Static","machineState":{"0":[]}})", "machineState.0"},
      {R"({"policyName":"Static","machineState":{"0":{"cells":[-1]}}})", "machineState.0.cells"},
      {R"({"policyName":"Static","machineState":{"0":{"cells":[99999]}}})", "machineState.0.cells"},
      {R"({"policyName":"Static","machineState":{"0":{"memoryMap":{"memory":7}}}})", "memoryMap.memory"},
      {R"({"policyName":"Static","entries":{"p":{"c":7}}})", "entries.p.c"},
      {R"({"policyName":"Static","entries":{"p":{"c":[{"size":"1"}]}}})", "size"}};
  for (const auto& [bad, words] : cases) {
    const auto state = ParseKubeletMemoryState(bad);
    ASSERT_FALSE(state) << bad;
    EXPECT_EQ(state.error().code, Code::kCorrupt) << bad;
    EXPECT_THAT(state.error().message, HasSubstr(words));
  }
}

TEST(KubeletStateTest, EscapesWhatTheKubeletEscapes) {
  KubeletCpuState state{.policy = "static", .default_cpus = Cpus("0")};
  state.entries["a<b>&c"]["\xe2\x80\xa8"] = Cpus("1");
  const std::string text = FormatKubeletState(state);
  EXPECT_THAT(text, HasSubstr(R"({"a\u003cb\u003e\u0026c":{"\u2028":"1"}})"));
  const auto again = ParseKubeletCpuState(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, state);
  state.version = KubeletCpuVersion::kV4;
  const std::string with_data = FormatKubeletState(state);
  EXPECT_THAT(with_data, HasSubstr(R"({\"a\\u003cb\\u003e\\u0026c\":{\"\\u2028\":\"1\"}})"));
  const auto data_again = ParseKubeletCpuState(with_data);
  ASSERT_TRUE(data_again) << data_again.error().message;
  EXPECT_EQ(*data_again, state);
}

TEST(KubeletStateTest, RandomStatesComeBackUnchanged) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    KubeletCpuState cpu{
        .version = std::array{KubeletCpuVersion::kV2, KubeletCpuVersion::kV3, KubeletCpuVersion::kV4}.at(pick(3)),
        .policy = "static"};
    KubeletMemoryState memory{
        .version =
            std::array{KubeletMemoryVersion::kV1, KubeletMemoryVersion::kV2, KubeletMemoryVersion::kV3}.at(pick(3)),
        .policy = "Static"};
    for (std::uint32_t i = pick(6); i > 0; --i) {
      CpuSet cpus;
      for (std::uint32_t n = pick(9); n > 0; --n) cpus.Insert(CpuId{pick(300)});
      cpu.default_cpus |= cpus;
      cpu.entries["uid-" + std::to_string(pick(4))]["c" + std::to_string(pick(3))] = cpus;
      if (cpu.version != KubeletCpuVersion::kV2) cpu.pods["uid-" + std::to_string(pick(4))] = cpus;
      NodeSet nodes;
      for (std::uint32_t n = pick(4); n > 0; --n) nodes.Insert(NumaId{pick(70)});
      memory.nodes[NumaId{pick(70)}] = {.assignments = static_cast<int>(pick(5)),
                                        .cells = nodes,
                                        .types = {{"memory", {.total = Bytes{static_cast<std::int64_t>(random())}}}}};
      const MemoryBlock block{nodes, "memory", Bytes{pick(1000)}};
      memory.entries["uid-" + std::to_string(pick(4))]["c"].push_back(block);
      if (memory.version != KubeletMemoryVersion::kV1) memory.pods["uid-" + std::to_string(pick(4))].push_back(block);
    }
    const auto cpu_again = ParseKubeletCpuState(FormatKubeletState(cpu));
    const auto memory_again = ParseKubeletMemoryState(FormatKubeletState(memory));
    ASSERT_TRUE(cpu_again && memory_again) << "seed " << seed;
    EXPECT_EQ(*cpu_again, cpu) << "seed " << seed;
    EXPECT_EQ(*memory_again, memory) << "seed " << seed;
  }
}

TEST(KubeletStateTest, ExportHoldsOnlyWhatIsExclusiveOrPinned) {
  Ledger ledger;
  ledger.cpu_policy = "static";
  ledger.memory_policy = "Static";
  ledger.shared = Cpus("0-1,4-7");
  PodRecord pod;
  pod.placements.resize(2);
  pod.placements[0].container = "shared";
  pod.placements[1].container = "pinned";
  pod.placements[1].cpus = Cpus("2-3");
  pod.placements[1].memory.emplace(
      {MemoryBlock{{NumaId{0}}, "memory", GiB(1)}, MemoryBlock{{NumaId{0}}, "hugepages-2Mi", MiB(2)}});
  ledger.pods["uid-1"] = pod;
  const KubeletCpuState cpu = ExportCpuState(ledger, KubeletVersion::k1_36);
  EXPECT_EQ(cpu.version, KubeletCpuVersion::kV2);
  EXPECT_EQ(cpu.policy, "static");
  EXPECT_EQ(cpu.default_cpus, Cpus("0-1,4-7"));
  EXPECT_EQ(cpu.entries, (decltype(cpu.entries){{"uid-1", {{"pinned", Cpus("2-3")}}}}));
  const KubeletMemoryState memory = ExportMemoryState(ledger, KubeletVersion::k1_36);
  EXPECT_EQ(memory.version, KubeletMemoryVersion::kV1);
  ASSERT_EQ(memory.entries.size(), 1U);
  const auto& blocks = memory.entries.begin()->second.begin()->second;
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[0].type, "hugepages-2Mi");
  for (const KubeletVersion version : {KubeletVersion::k1_37, KubeletVersion::k1_38}) {
    KubeletCpuState newer_cpu = cpu;
    newer_cpu.version = KubeletCpuVersion::kV4;
    EXPECT_EQ(ExportCpuState(ledger, version), newer_cpu);
    KubeletMemoryState newer_memory = memory;
    newer_memory.version = KubeletMemoryVersion::kV3;
    EXPECT_EQ(ExportMemoryState(ledger, version), newer_memory);
  }
}

}  // namespace
}  // namespace berth::checkpoint
