#include "api/codec/codec.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "api/codec/generator_test.h"

namespace berth::codec {
namespace {

PodRecord WebPod() {
  PodRecord pod;
  pod.uid = "u";
  pod.namespace_ = "default";
  pod.name = "web";
  return pod;
}

TEST(CodecTest, LedgersComeBackExactly) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const Ledger ledger = Generator(seed).OneLedger();
    const auto back = LedgerFromJson(ThroughText(ToJson(ledger)));
    ASSERT_TRUE(back) << "seed " << seed << ": " << back.error().message;
    ASSERT_EQ(ledger, *back) << "seed " << seed;
  }
}

TEST(CodecTest, MachinesComeBackExactly) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Machine machine = Generator(seed).OneMachine();
    const auto back = MachineFromJson(ThroughText(ToJson(machine)));
    ASSERT_TRUE(back) << "seed " << seed << ": " << back.error().message;
    ASSERT_EQ(machine, *back) << "seed " << seed;
  }
}

/// Every way of damaging one value of the tree, handed to `visit` with the damaged whole.
template <class Visit>
void ForEachDamage(Json& whole, Json& at, const Visit& visit) {
  if (at.is_structured())
    for (Json& child : at) ForEachDamage(whole, child, visit);
  const Json kept = at;
  for (const Json& junk : {Json(), Json(-1), Json("\x01?"), Json(1.5), Json::array({1}), Json{{"x", 1}}}) {
    at = junk;
    visit(whole);
  }
  at = kept;
}

TEST(CodecTest, DamagedLedgersAreErrorsThatNameTheLedger) {
  Json json = ToJson(Generator(7).OneLedger());
  int refused = 0;
  ForEachDamage(json, json, [&](const Json& damaged) {
    const auto back = LedgerFromJson(damaged);
    if (back) return;  // null where null is allowed, a text where any text is
    ++refused;
    EXPECT_EQ(Code::kCorrupt, back.error().code);
    EXPECT_TRUE(back.error().message.starts_with("ledger: ")) << back.error().message;
  });
  EXPECT_GT(refused, 100);
}

TEST(CodecTest, AMissingFieldIsNamedWithItsPath) {
  Ledger ledger;
  ledger.pods["u"] = WebPod();
  Json json = ToJson(ledger);
  json["pods"][0].erase("sequence");
  const auto back = LedgerFromJson(json);
  ASSERT_FALSE(back);
  EXPECT_EQ("ledger: pods[0]: the field \"sequence\" is missing", back.error().message);
}

TEST(CodecTest, APodListedTwiceIsRefused) {
  Ledger ledger;
  ledger.pods["u"] = WebPod();
  Json json = ToJson(ledger);
  json["pods"].push_back(Json(json["pods"][0]));
  const auto back = LedgerFromJson(json);
  ASSERT_FALSE(back);
  EXPECT_EQ("ledger: pods[1]: this pod's uid is listed twice", back.error().message);
}

TEST(CodecTest, UnknownFieldsAreIgnored) {
  Json json = ToJson(Ledger{});
  json["later"] = "version";
  EXPECT_TRUE(LedgerFromJson(json));
}

TEST(CodecTest, DecisionsSayWhatWasTakenOrWhyNot) {
  const Json no = ToJson(Decision(Reject{"OutOfcpu", "Node didn't have enough resource: cpu", "", {}}));
  EXPECT_EQ(R"({"admitted":false,"reason":"OutOfcpu","message":"Node didn't have enough resource: cpu",)"
            R"("container":null,"details":[]})",
            FormatJson(no));
  Admit admit;
  admit.delta.put = WebPod();
  admit.delta.shared = CpuSet::Range(0, 3);
  const Json yes = ToJson(Decision(admit));
  EXPECT_TRUE(yes["admitted"].get<bool>());
  EXPECT_EQ("web", yes["pod"]["name"].get<std::string>());
  EXPECT_EQ("0-3", yes["shared"].get<std::string>());
}

TEST(CodecTest, PodsAreWrittenAsKubernetesDoes) {
  Pod pod;
  pod.name = "web";
  pod.uid = "u-1";
  Container app;
  app.name = "app";
  app.resources.requests["cpu"] = Quantity::FromMilli(1500);
  pod.containers.push_back(app);
  Container sidecar;
  sidecar.name = "side";
  sidecar.restartable_init = true;
  sidecar.post_start_exec = {"warm"};
  sidecar.pre_stop_exec = {"true"};
  sidecar.pre_stop_sleep_s = 3;
  pod.init_containers.push_back(sidecar);
  const Json json = ToJson(pod);
  EXPECT_EQ("v1", json["apiVersion"].get<std::string>());
  EXPECT_EQ("1500m", json["spec"]["containers"][0]["resources"]["requests"]["cpu"].get<std::string>());
  EXPECT_EQ("Always", json["spec"]["initContainers"][0]["restartPolicy"].get<std::string>());
  const Json& lifecycle = json["spec"]["initContainers"][0]["lifecycle"];
  EXPECT_EQ("true", lifecycle["preStop"]["exec"]["command"][0].get<std::string>());
  EXPECT_EQ(3, lifecycle["preStop"]["sleep"]["seconds"].get<int>());
  EXPECT_EQ("warm", lifecycle["postStart"]["exec"]["command"][0].get<std::string>());
  EXPECT_FALSE(json.contains("status"));
  EXPECT_FALSE(json["spec"].contains("overhead"));
}

std::string ParseProblem(std::string_view text) {
  const auto parsed = ParseJson(text, "f.json");
  return parsed ? "parsed" : parsed.error().message;
}

TEST(ParseJsonTest, NamesLineAndColumnOfTheFirstMistake) {
  const std::string problem = ParseProblem("{\n  \"a\": tru\n}");
  EXPECT_TRUE(problem.starts_with("f.json: line 2, column 1")) << problem;
  EXPECT_NE(std::string::npos, problem.find("not valid JSON: syntax error")) << problem;
  for (const std::string_view text : {"", "{", "[1,]", "{\"a\" 1}", "1 2", "\"\xff\"", "1e999", "{\"a\":1"})
    EXPECT_TRUE(ParseProblem(text).starts_with("f.json: line 1, column ")) << text << " -> " << ParseProblem(text);
}

TEST(ParseJsonTest, RefusesAKeyGivenTwice) {
  EXPECT_EQ("f.json: not valid JSON: the key \"cpu\" is given twice in one object",
            ParseProblem(R"({"a":[{"cpu":1,"x":2,"cpu":3}]})"));
}

TEST(ParseJsonTest, RefusesBottomlessNesting) {
  EXPECT_EQ("parsed", ParseProblem(std::string(kMaxDepth, '[') + std::string(kMaxDepth, ']')));
  EXPECT_NE(std::string::npos, ParseProblem(std::string(100'000, '[')).find("levels of nesting"));
}

TEST(ParseJsonTest, TakesNoMoreValuesThanItMay) {
  EXPECT_TRUE(ParseJson(R"([1, {"a": []}])", "f.json", 4));
  const auto much = ParseJson(R"([1, {"a": []}, 2])", "f.json", 4);
  ASSERT_FALSE(much);
  EXPECT_EQ("f.json: not valid JSON: too many values", much.error().message);
}

TEST(ParseJsonTest, KeepsOrderAndEveryKindOfValue) {
  const std::string text = R"({"z":[1,-2,1.5,true,null,"é"],"a":{"b":{}},"m":18446744073709551615})";
  const auto parsed = ParseJson(text, "f.json");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(text, FormatJson(*parsed));
}

TEST(FormatJsonTest, ReplacesBytesThatAreNotText) { EXPECT_EQ("\"a\xef\xbf\xbd\"", FormatJson(Json("a\xff"))); }

TEST(YamlTest, StringsThatLookLikeSomethingElseStayStrings) {
  for (const std::string text :
       {"1",    "0-3", "true",        "No",    "null",     "~",  "",   "1e3",         ".inf",  "2026-01-02",
        "0x1f", "- a", "a: b",        "# c",   "a #b",     "@x", "*x", "&x",          "!x",    "%x",
        "[",    "{}",  "line\nbreak", " pad ", "12:30:00", "=",  "<<", "plain words", "/a/b.c"}) {
    const YAML::Node node = YAML::Load(ToYaml(Json{{"v", text}, {text, 1}}));
    EXPECT_EQ(text, node["v"].Scalar()) << ToYaml(Json(text));
    EXPECT_EQ("1", node[text].Scalar());
    const bool quoted = ToYaml(Json(text)).front() == '"';
    EXPECT_EQ(text != "plain words" && text != "/a/b.c", quoted) << text;
  }
}

TEST(YamlTest, ShowsTheSameTreeAsJson) {
  const auto json = ParseJson(R"({"pods":[{"name":"web","cpus":"0-3","pid":2,"x":null,"none":[],"empty":{}}]})", "f");
  ASSERT_TRUE(json);
  EXPECT_EQ("pods:\n  - name: web\n    cpus: \"0-3\"\n    pid: 2\n    x: null\n    none: []\n    empty: {}\n",
            ToYaml(*json));
}

}  // namespace
}  // namespace berth::codec
