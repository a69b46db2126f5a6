// The program berth-conformance from the outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "api/codec/codec.h"
#include "cli/run_berth.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

using codec::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kMerge =
    R"({"name":"m","kind":"merge","merge":{"nodes":[0,1],"policy":"best-effort","distances":{"0":[10,20],"1":[20,10]},)"
    R"("providers":[{"cpu":[{"nodes":[1],"preferred":true},{"nodes":[0,1],"preferred":false}]},{"gpu":null},{}]}})";
constexpr std::string_view kMergeAnswer = R"({"hint":{"nodes":[1],"preferred":true},"admit":true})";

constexpr std::string_view kMachine =
    R"({"num_cores":4,"num_physical_cores":4,"num_sockets":1,"memory_capacity":4294967296,"topology":[{"node_id":0,)"
    R"("memory":4294967296,"hugepages":[],"distances":[10],"cores":[)"
    R"({"core_id":0,"thread_ids":[0],"socket_id":0},{"core_id":1,"thread_ids":[1],"socket_id":0},)"
    R"({"core_id":2,"thread_ids":[2],"socket_id":0},{"core_id":3,"thread_ids":[3],"socket_id":0}]}]})";

std::string Take(const std::string& takes) {
  return R"({"name":"t","kind":"take","machine":)" + std::string(kMachine) + R"(,"takes":)" + takes + "}";
}

std::string Trace(const std::string& steps, const std::string& config = R"({"cpuManagerPolicy":"static",
"reservedSystemCPUs":"0","topologyManagerPolicy":"best-effort"})") {
  std::string line =
      R"({"name":"tr","kind":"trace","machine":)" + std::string(kMachine) + R"(,"config":)" + config +
      R"(,"devices":[{"resource":"v.example/gpu","id":"a","numa":[0]},{"resource":"v.example/gpu","id":"b"}])" +
      R"(,"steps":)" + steps + "}";
  std::erase(line, '\n');
  return line;
}

std::string Pod(const std::string& uid, int cpus) {
  const std::string amounts = R"({"cpu":")" + std::to_string(cpus) + R"(","memory":"64Mi"})";
  return R"({"metadata":{"name":")" + uid + R"(","uid":")" + uid +
         R"("},"spec":{"containers":[{"name":"c","image":"i",)" + R"("resources":{"limits":)" + amounts + "}}]}}";
}

std::string Expect(std::string_view replay, std::string_view expect) {
  return R"({"case":)" + std::string(replay) + R"(,"expect":)" + std::string(expect) + "}\n";
}

Json ParseLine(const std::string& line) {
  auto json = codec::ParseJson(line, "line");
  EXPECT_TRUE(json) << line;
  return json ? *std::move(json) : Json();
}

class ReplayTest : public testing::Test {
 protected:
  std::string File(const std::string& text) {
    const std::string path = temp_ / ("cases" + std::to_string(++files_));
    WriteText(path, text);
    return path;
  }
  testkit::TempDir temp_;
  int files_ = 0;
};

TEST_F(ReplayTest, PrintsOneResultALineForBareAndWrappedCases) {
  const Ran ran = RunConformance({File(std::string(kMerge) + "\n\n" + Expect(kMerge, kMergeAnswer))});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.err, "");
  const std::string result = R"({"name":"m","hint":{"nodes":[1],"preferred":true},"admit":true})";
  EXPECT_THAT(Lines(ran.out), ElementsAre(result, result));
}

TEST_F(ReplayTest, ATraceShowsTheWholeStateAfterEveryStep) {
  const std::string steps =
      R"([{"op":"add","pod":)" + Pod("u1", 2) + R"(},{"op":"restart"},{"op":"remove","uid":"u1"}])";
  const Ran ran = RunConformance({"-"}, Trace(steps));
  EXPECT_EQ(ran.status, 0) << ran.err;
  const Json result = ParseLine(ran.out);
  ASSERT_EQ(result["steps"].size(), 3U);
  EXPECT_EQ(codec::FormatJson(result["steps"][0]),
            R"({"admit":true,"hints":{"c":{"nodes":[0],"preferred":true}},"cpus":{"u1":{"c":"1-2"}},"shared":"0,3"})");
  EXPECT_EQ(codec::FormatJson(result["steps"][1]), R"({"admit":true,"cpus":{"u1":{"c":"1-2"}},"shared":"0,3"})");
  EXPECT_EQ(codec::FormatJson(result["steps"][2]), R"({"admit":true,"shared":"0-3"})");
  EXPECT_EQ(result["cpu_manager_state"]["defaultCpuSet"], "0-3");
  EXPECT_EQ(result["memory_manager_state"]["checksum"], 4236770233U);
}

TEST_F(ReplayTest, DecidesAsTheKubeletThatTheCaseElseTheCommandLineNames) {
  std::string machine(kMachine);  // with the threads 0-3 on two cores
  const std::size_t cores = machine.find("{\"core_id\"");
  machine = machine.substr(0, cores) +
            R"({"core_id":0,"thread_ids":[0,1],"socket_id":0},{"core_id":1,"thread_ids":[2,3],"socket_id":0}]}]})";
  machine.replace(machine.find("\"num_physical_cores\":4"), 22, "\"num_physical_cores\":2");
  const auto take = [&](const std::string& field, const std::vector<std::string>& arguments) {
    std::vector<std::string> all = arguments;
    all.emplace_back("-");
    const Ran ran = RunConformance(all, R"({"name":"t","kind":"take",)" + field + R"("machine":)" + machine +
                                            R"(,"takes":[{"available":"0-3","num":2,"spread":true}]})");
    return ran.status == 0 ? codec::FormatJson(ParseLine(ran.out)["takes"]) : ran.err;
  };
  EXPECT_EQ(take("", {}), R"(["0-1"])");
  EXPECT_EQ(take("", {"--kubelet-version", "1.38"}), R"(["0,2"])");
  EXPECT_EQ(take(R"("kubeletVersion":"1.36",)", {"--kubelet-version", "1.38"}), R"(["0-1"])");
  EXPECT_EQ(take(R"("kubeletVersion":"1.38",)", {}), R"(["0,2"])");
  EXPECT_THAT(take(R"("kubeletVersion":"1.3",)", {}), HasSubstr("kubeletVersion: \"1.3\" is no kubelet version"));
  EXPECT_EQ(RunConformance({"--kubelet-version", "1.3", "-"}, "").status, 2);
}

TEST_F(ReplayTest, CheckCountsAndTellsTheFirstDifference) {
  const std::string wrong = R"({"hint":{"nodes":[0],"preferred":true},"admit":true})";
  const Ran good = RunConformance({"--check", File(Expect(kMerge, kMergeAnswer))});
  EXPECT_EQ(good.status, 0);
  EXPECT_EQ(good.out, "1 passed, 0 failed\n");
  const Ran bad = RunConformance({"--check", File(Expect(kMerge, kMergeAnswer) + Expect(kMerge, wrong))});
  EXPECT_EQ(bad.status, 1);
  EXPECT_EQ(bad.out, "m: hint.nodes: expected [0], got [1]\n1 passed, 1 failed\n");
}

TEST_F(ReplayTest, ReadsGzipPlainAndStandardInputInOneRun) {
  const std::string line = Expect(kMerge, kMergeAnswer);
  WriteGzip(temp_ / "a.jsonl.gz", line + line);
  const Ran ran = RunConformance({"--check", temp_ / "a.jsonl.gz", File(line), "-"}, line.substr(0, line.size() - 1));
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "4 passed, 0 failed\n");
}

TEST_F(ReplayTest, AMissingFileIsNamedAndTheOthersAreStillChecked) {
  const Ran ran = RunConformance({"--check", temp_ / "none", File(Expect(kMerge, kMergeAnswer))});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("open " + (temp_ / "none")));
  EXPECT_EQ(ran.out, "1 passed, 0 failed\n");
}

TEST_F(ReplayTest, ACutOffGzipFileIsAnError) {
  std::mt19937_64 random(7);
  std::string text;
  for (int i = 0; i < 2000; ++i)
    text += Expect(Take(R"([{"available":"0-3","num":)" + std::to_string(random()) + "}]"), "{}");
  WriteGzip(temp_ / "whole.gz", text);
  const std::string bytes = testkit::ReadText(temp_ / "whole.gz");
  WriteText(temp_ / "cut.gz", bytes.substr(0, bytes.size() / 2));
  const Ran ran = RunConformance({"--check", temp_ / "cut.gz"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("cut.gz:"));
  EXPECT_THAT(ran.err, HasSubstr("damaged or cut off"));
}

/// The trace with its first device on another NUMA node.
std::string OnNode(std::string trace, const std::string& node) {
  return trace.replace(trace.find(R"("numa":[0])"), 10, R"("numa":[)" + node + "]");
}

TEST_F(ReplayTest, AMalformedCaseIsNamedByLineAndFieldAndTheNextOneIsRun) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"{", ":2: the line"},
      {"7", ":2: expected an object"},
      {"{}", ":2: case:"},
      {R"({"case":7})", ":2: case:"},
      {R"({"kind":"merge"})", ":2: case: the field \"name\""},
      {R"({"case":{"name":"x"}})", ":2: case: the field \"kind\""},
      {R"({"name":"x","kind":"dance"})", R"(:2: case.kind: unknown kind "dance")"},
      {R"({"name":"x","kind":"merge","merge":{"nodes":[0],"policy":"strict","providers":[]}})",
       ":2: case.merge.policy:"},
      {R"({"name":"x","kind":"merge","merge":{"nodes":["a"],"policy":"none","providers":[]}})",
       ":2: case.merge.nodes[0]:"},
      {R"({"name":"x","kind":"merge","merge":{"nodes":[0],"policy":"none","providers":[{"r":[{"nodes":[0]}]}]}})",
       ":2: case.merge.providers[0].r[0]: the field \"preferred\""},
      {R"({"name":"x","kind":"take"})", ":2: case.machine:"},
      {Take(R"([{"available":"3-1","num":1}])"), ":2: case.takes[0].available:"},
      {Take(R"([{"available":"0"}])"), ":2: case.takes[0]: the field \"num\""},
      {Take(R"([{"available":"0","num":1,"group":0}])"), ":2: case.takes[0].group:"},
      {Trace("7"), ":2: case.steps:"},
      {Trace(R"([{"op":"jump"}])"), R"(:2: case.steps[0].op: unknown operation "jump")"},
      {Trace(R"([{"op":"restart"},{"op":"remove"}])"), ":2: case.steps[1].uid:"},
      {Trace(R"([{"op":"add"}])"), ":2: case.steps[0].pod:"},
      {Trace(R"([{"op":"add","pod":{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}}}])"),
       ":2: case.steps[0].pod.metadata.uid:"},
      {Trace(R"([{"op":"add","pod":{"metadata":{"name":"p","uid":"u"},"spec":{"containers":7}}}])"),
       ":2: case.steps[0].pod"},
      {Trace("[]", "7"), ":2: case.config:"},
      {OnNode(Trace("[]"), "7"), ":2: case.devices[0].numa[0]: the machine has no such NUMA node; it has 0"},
      {OnNode(Trace("[]"), "x"), ":2: the line"}};
  const std::string good = Expect(kMerge, kMergeAnswer);
  for (const auto& [text, words] : cases) {
    const std::string file = File(good + text + "\n" + good);
    const Ran ran = RunConformance({"--check", file});
    EXPECT_EQ(ran.status, 1) << text;
    EXPECT_EQ(ran.out, "2 passed, 1 failed\n") << text;
    EXPECT_THAT(ran.err, HasSubstr(file + words));
    EXPECT_THAT(Lines(ran.err), testing::SizeIs(1)) << text;
  }
}

/// A merge of `nodes` nodes and `lists` lists of `hints` hints, of every other node each.
std::string LargeMerge(int nodes, int lists, int hints) {
  Json merge = {{"nodes", Json::array()}, {"policy", "best-effort"}, {"providers", Json::array()}};
  for (int node = 0; node < nodes; ++node) merge["nodes"].push_back(node);
  Json list = Json::array();
  for (int hint = 0; hint < hints; ++hint) {
    Json set = Json::array();
    for (int bit = 0; bit < 17; ++bit)
      if (((hint + 1) >> bit & 1) != 0) set.push_back(bit);
    list.push_back({{"nodes", std::move(set)}, {"preferred", false}});
  }
  for (int i = 0; i < lists; ++i) merge["providers"].push_back({{"r" + std::to_string(i), list}});
  return codec::FormatJson({{"name", "large"}, {"kind", "merge"}, {"merge", std::move(merge)}});
}

TEST_F(ReplayTest, AMergeThatIsTooLargeIsRefusedByFieldAndTheNextOneIsRun) {
  const std::string good = Expect(kMerge, kMergeAnswer);
  const std::vector<std::pair<std::string, std::string>> cases{
      {LargeMerge(65, 1, 1), ":2: case.merge.nodes: 65 nodes; a merge is of 64 at most"},
      {LargeMerge(17, 2, 4097), ":2: case.merge.providers[0].r0: 4097 hints; a list may hold 4096"},
      {LargeMerge(2, 65, 1), ":2: case.merge.providers[64]: more than 64 lists"}};
  for (const auto& [text, words] : cases) {
    const std::string file = File(good + text + "\n" + good);
    const Ran ran = RunConformance({"--check", file});
    EXPECT_EQ(ran.status, 1) << words;
    EXPECT_EQ(ran.out, "2 passed, 1 failed\n") << words;
    EXPECT_THAT(ran.err, HasSubstr(file + words));
  }
  for (const std::string& text : {LargeMerge(64, 64, 1), LargeMerge(16, 4, 300), LargeMerge(17, 3, 4096)})
    EXPECT_EQ(RunConformance({"-"}, text).status, 0);
}

TEST_F(ReplayTest, ANulByteSpoilsItsOwnLineOnly) {
  const std::string good = Expect(kMerge, kMergeAnswer);
  const std::string nul(1, '\0');
  const std::string file = File(good + nul + "\n" + good + "{" + nul + "}\n" + good.substr(0, good.size() - 1));
  const Ran ran = RunConformance({"--check", file});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.out, "3 passed, 2 failed\n");
  EXPECT_THAT(ran.err, HasSubstr(file + ":2:"));
  EXPECT_THAT(ran.err, HasSubstr(file + ":4:"));
}

TEST_F(ReplayTest, LongLinesAreReadUpToABound) {
  const std::string good = Expect(kMerge, kMergeAnswer);
  const std::string file = File(good + std::string(1 << 20, ' ') + good);
  EXPECT_EQ(RunConformance({"--check", file}).out, "2 passed, 0 failed\n");
  WriteGzip(temp_ / "long.gz", good + std::string((std::size_t{64} << 20) + 1, ' ') + "\n" + good);
  const Ran ran = RunConformance({"--check", temp_ / "long.gz"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.out, "1 passed, 0 failed\n");
  EXPECT_THAT(ran.err, HasSubstr("long.gz:2: the line is longer than 64 MiB"));
}

TEST_F(ReplayTest, ACaseWithoutExpectationCannotBeChecked) {
  const Ran ran = RunConformance({"--check", File(std::string(kMerge) + "\n")});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, HasSubstr("m: expect: the field is missing"));
}

TEST_F(ReplayTest, TimingsAddNanosecondsToEveryStep) {
  const std::string steps =
      R"([{"op":"add","pod":)" + Pod("u1", 1) + R"(},{"op":"restart"},{"op":"remove","uid":"u1"}])";
  const std::string cases = Trace(steps) + "\n" + std::string(kMerge) + "\n" +
                            Take(R"([{"available":"0-3","num":1},{"available":"0","num":9}])");
  const auto lines = Lines(RunConformance({"--timings", File(cases)}).out);
  ASSERT_EQ(lines.size(), 3U);
  for (const Json& step : ParseLine(lines[0])["steps"]) EXPECT_TRUE(step["ns"].is_number_unsigned());
  EXPECT_TRUE(ParseLine(lines[1])["ns"].is_number_unsigned());
  EXPECT_EQ(ParseLine(lines[2])["ns"].size(), 2U);
  EXPECT_THAT(RunConformance({File(cases)}).out, Not(HasSubstr("\"ns\"")));
}

TEST_F(ReplayTest, CheckWithTimingsPrintsResultsToo) {
  const auto lines = Lines(RunConformance({"--check", "--timings", File(Expect(kMerge, kMergeAnswer))}).out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(ParseLine(lines[0]).contains("ns"));
  EXPECT_EQ(lines[1], "1 passed, 0 failed");
}

TEST_F(ReplayTest, TakesAreComparedByWhatTheyMean) {
  const std::string takes = R"([{"available":"0-3","num":9},{"available":"0-3","num":1},{"available":"0-2","num":2}])";
  EXPECT_EQ(RunConformance({"--check", "-"}, Expect(Take(takes), R"({"takes":["error: any words","0",null]})")).out,
            "1 passed, 0 failed\n");
  EXPECT_THAT(RunConformance({"--check", "-"}, Expect(Take(takes), R"({"takes":["0-3","0",null]})")).out,
              HasSubstr("t: takes[0]: expected \"0-3\", got \"error: "));
  EXPECT_THAT(RunConformance({"--check", "-"}, Expect(Take(takes), R"({"takes":["error: x","error: x",null]})")).out,
              HasSubstr("t: takes[1]: expected \"error: x\", got \"0\""));
}

TEST_F(ReplayTest, ARefusedConfigurationIsAResult) {
  const std::string replay = Trace("[]", R"({"cpuManagerPolicy":"static","reservedSystemCPUs":"77"})");
  const Ran ran = RunConformance({"-"}, replay);
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(R"("error":")"));
  EXPECT_EQ(RunConformance({"--check", "-"}, Expect(replay, R"({"error":"in other words"})")).status, 0);
  EXPECT_EQ(RunConformance({"--check", "-"}, Expect(replay, R"({"steps":[]})")).status, 1);
  EXPECT_EQ(RunConformance({"--check", "-"}, Expect(Trace("[]"), R"({"error":"refused"})")).status, 1);
}

TEST_F(ReplayTest, AfterARefusedRestartOnlyPromisesAreAskedFor) {
  const std::string steps =
      R"([{"op":"add","pod":)" + Pod("u1", 1) + R"(},{"op":"restart"},{"op":"remove","uid":"u1"}])";
  const std::string first =
      R"({"admit":true,"hints":{"c":{"nodes":[0],"preferred":true}},"cpus":{"u1":{"c":"1"}},"shared":"0,2-3"})";
  const std::string expect = R"({"steps":[)" + first + R"(,{"admit":false,"error":"could not restore","shared":""}]})";
  const Ran ran = RunConformance({"--check", "-"}, Expect(Trace(steps), expect));
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_THAT(Lines(ran.out), ElementsAre(HasSubstr("held to promises alone"), "own node: 1 of 3 steps compared",
                                          "1 passed, 0 failed"));
}

/// CPU 4 is a second thread of the core of CPU 3: only on such machines does the kubelet break promises.
std::string WithOneLargerCore(std::string trace) {
  const auto replace = [&](std::string_view from, std::string_view to) {
    const std::size_t at = trace.find(from);
    ASSERT_NE(at, std::string::npos);
    trace.replace(at, from.size(), to);
  };
  replace(R"("num_cores":4)", R"("num_cores":5)");
  replace(R"("thread_ids":[3])", R"("thread_ids":[3,4])");
  return trace;
}

TEST_F(ReplayTest, ARecordThatBreaksAPromiseWhereTheKubeletCannotIsWrong) {
  const std::string steps = R"([{"op":"add","pod":)" + Pod("u1", 1) + "}]";
  const auto record = [](const std::string& cpus, const std::string& shared) {
    return R"({"steps":[{"admit":true,"hints":{"c":{"nodes":[0],"preferred":true}},"cpus":{"u1":{"c":")" + cpus +
           R"("}},"shared":")" + shared + R"("}]})";
  };
  const auto status = [&](const std::string& trace, const std::string& expect) {
    return RunConformance({"--check", "-"}, Expect(trace, expect)).status;
  };
  EXPECT_EQ(status(Trace(steps), record("1", "0,2-3")), 0);
  EXPECT_EQ(status(Trace(steps), record("0", "1-3")), 1);
  EXPECT_EQ(status(Trace(steps), record("1", "0-3")), 1);
  const std::string larger = WithOneLargerCore(Trace(steps));
  EXPECT_EQ(status(larger, record("1", "0,2-4")), 0);
  EXPECT_EQ(status(larger, record("1", "0-4")), 0);  // handed out, and left in the shared pool
  EXPECT_EQ(status(larger, record("1", "0,2-3")), 1);
  EXPECT_EQ(status(larger, record("1", "0,2-9")), 1);
  EXPECT_EQ(status(larger, R"({"steps":[7]})"), 1);
}

TEST_F(ReplayTest, WhereTheRecordBreaksAPromiseItIsNoModel) {
  const std::string steps = R"([{"op":"add","pod":)" + Pod("u1", 1) + R"(},{"op":"add","pod":)" + Pod("u2", 1) + "}]";
  const std::string reserved =
      R"({"steps":[{"admit":true,"hints":{"c":{"nodes":[0],"preferred":true}},"cpus":{"u1":{"c":"1"}},"shared":"0,2-4"},)"
      R"({"admit":true,"cpus":{"u1":{"c":"1"},"u2":{"c":"0"}},"shared":"2-4"}]})";
  const Ran ran = RunConformance({"--check", "--timings", "-"}, Expect(WithOneLargerCore(Trace(steps)), reserved));
  EXPECT_EQ(ran.status, 0) << ran.out;
  const Json result = ParseLine(Lines(ran.out)[0]);
  EXPECT_EQ(result["promisesOnlyFrom"], 1);
  EXPECT_THAT(result["promisesOnlyBecause"].get<std::string>(), HasSubstr("u2/c holds reserved CPUs: 0"));
}

// ---- the comparison must see every changed value ----

/// Paths of all values of `json` that are no objects or lists.
void Leaves(const Json& json, const Json::json_pointer& at, std::vector<Json::json_pointer>& out) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) Leaves(value, at / key, out);
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) Leaves(json[i], at / i, out);
  } else {
    out.push_back(at);
  }
}

/// Another value of the same kind. False: this one is not compared (the words of an error, no answer on record).
bool Change(Json& value) {
  if (value.is_boolean()) {
    value = !value.get<bool>();
  } else if (value.is_number()) {
    value = value.get<std::int64_t>() + 1;
  } else if (value.is_string() && !value.get<std::string>().starts_with("error")) {
    value = value.get<std::string>() + "7";
  } else {
    return false;
  }
  return true;
}

/// A line whose expectation differs in one value; "" when there is none to change.
std::string Spoiled(const std::string& line, std::mt19937_64& random) {
  Json json = ParseLine(line);
  Json& expect = json["expect"];
  if (expect.contains("error")) return "";
  std::vector<Json::json_pointer> leaves;
  Leaves(expect, Json::json_pointer(), leaves);
  for (int tries = 0; tries < 20 && !leaves.empty(); ++tries) {
    const Json::json_pointer& at = leaves[random() % leaves.size()];
    if (Change(expect[at])) return codec::FormatJson(json);
  }
  return "";
}

TEST_F(ReplayTest, EveryChangedValueOfARecordIsSeen) {
  for (const char* kind : {"trace", "merge", "take"}) {
    const std::uint64_t seed = 20;
    std::mt19937_64 random(seed);
    std::string cases;
    std::size_t count = 0;
    for (const std::string& line : GzipLines(testkit::SourcePath("tests/golden/" + std::string(kind) + ".jsonl.gz"))) {
      const std::string spoiled = Spoiled(line, random);
      if (spoiled.empty()) continue;
      cases += spoiled + "\n";
      ++count;
    }
    ASSERT_GT(count, 50U);
    const Ran ran = RunConformance({"--check", "-"}, cases);
    const auto lines = Lines(ran.out);
    EXPECT_EQ(lines.back(), "0 passed, " + std::to_string(count) + " failed") << kind << ", seed " << seed;
  }
}

TEST_F(ReplayTest, AnotherSoundChoiceOfCpusIsADifference) {
  const std::string steps = R"([{"op":"add","pod":)" + Pod("u1", 1) + "}]";
  const std::string other =
      R"({"steps":[{"admit":true,"hints":{"c":{"nodes":[0],"preferred":true}},"cpus":{"u1":{"c":"2"}},"shared":"0-1,3"}]})";
  const Ran ran = RunConformance({"--check", "-"}, Expect(Trace(steps), other));
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, HasSubstr(R"(tr: steps[0].cpus.u1.c: expected "2", got "1")"));
}

}  // namespace
}  // namespace berth
