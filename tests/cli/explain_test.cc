// `berth explain` from the outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "api/codec/codec.h"
#include "cli/run_berth.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

using codec::Json;
using testing::HasSubstr;

class ExplainTest : public testing::Test {
 protected:
  std::vector<std::string> Arguments(std::vector<std::string> rest) const {
    std::vector<std::string> out{"explain",
                                 "-m",
                                 "numa:2(memory=8GB) core:4 pu:2",
                                 "-c",
                                 SimulateInput("kubelet.yaml"),
                                 "--devices",
                                 SimulateInput("devices.yaml")};
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
  }
  /// A ledger with the pods of pods.yaml.
  std::string LedgerFile() {
    const Ran ran = RunBerth({"simulate", "-m", "numa:2(memory=8GB) core:4 pu:2", "-c", SimulateInput("kubelet.yaml"),
                              "--devices", SimulateInput("devices.yaml"), "-o", "json", SimulateInput("pods.yaml")});
    auto json = codec::ParseJson(ran.out, "output");
    EXPECT_TRUE(json) << ran.err;
    if (json) WriteText(temp_ / "ledger.json", codec::FormatJson((*json)["ledger"]));
    return temp_ / "ledger.json";
  }
  testkit::TempDir temp_;
};

TEST_F(ExplainTest, SaysWhereAnAdmittedPodGoesAndWhy) {
  testkit::ExpectGolden("tests/golden/simulate/explain-admitted.txt",
                        Shown(RunBerth(Arguments({"-f", SimulateInput("pods.yaml"), "--pod", "shop/web"}))));
}

TEST_F(ExplainTest, SaysWhatAPodHasByAnnotationAndWhichRuleLetsIt) {
  testkit::ExpectGolden(
      "tests/golden/simulate/explain-own.txt",
      Shown(RunBerth({"explain", "-m", "numa:2(memory=8GB) core:4 pu:2", "--berth-config", SimulateInput("berth.yaml"),
                      "-f", SimulateInput("own.yaml"), "--pod", "trading/feed"})));
}

TEST_F(ExplainTest, SaysWhatIsShortAndWhatWouldHelp) {
  testkit::ExpectGolden(
      "tests/golden/simulate/explain-rejected.txt",
      Shown(RunBerth(Arguments({"--ledger", LedgerFile(), "-f", SimulateInput("more.yaml"), "--pod", "cache"}))));
}

TEST_F(ExplainTest, NamesAResourceThatNobodyHas) {
  testkit::ExpectGolden("tests/golden/simulate/explain-nobody-has.txt",
                        Shown(RunBerth(Arguments({"-f", SimulateInput("nobody_has.yaml"), "--pod", "misspelt"}))));
}

TEST_F(ExplainTest, WideOutputAddsEveryStepOfTheDecision) {
  const Ran ran = RunBerth(Arguments({"-o", "wide", "-f", SimulateInput("more.yaml"), "--pod", "cache"}));
  EXPECT_THAT(ran.out, HasSubstr("\nStep by step:\n"));
}

TEST_F(ExplainTest, JsonHoldsTheSameForPrograms) {
  const Ran ran =
      RunBerth(Arguments({"--ledger", LedgerFile(), "-o", "json", "-f", SimulateInput("more.yaml"), "--pod", "cache"}));
  EXPECT_EQ(ran.status, 3);
  const auto json = codec::ParseJson(ran.out, "output");
  ASSERT_TRUE(json) << ran.out;
  for (const char* field : {"pod", "qosClass", "machine", "decision", "hints", "merges", "shortages", "holders",
                            "nearest", "removal", "trace"})
    EXPECT_TRUE(json->contains(field)) << field;
}

TEST_F(ExplainTest, TheNearestRequestIsAManifestThatIsAdmitted) {
  const std::string ledger = LedgerFile();
  const Ran ran =
      RunBerth(Arguments({"--ledger", ledger, "-o", "json", "-f", SimulateInput("more.yaml"), "--pod", "cache"}));
  auto json = codec::ParseJson(ran.out, "output");
  ASSERT_TRUE(json) << ran.out;
  ASSERT_TRUE((*json)["nearest"].is_object()) << ran.out;
  const Ran again =
      RunBerth(Arguments({"--ledger", ledger, "-f", "-"}), codec::FormatJson((*json)["nearest"]["manifest"]));
  EXPECT_EQ(again.status, 0) << again.out << again.err;
}

TEST_F(ExplainTest, APodThatIsOnTheNodeIsExplainedAsIfItCameAnew) {
  const Ran ran = RunBerth(Arguments({"--ledger", LedgerFile(), "-f", SimulateInput("pods.yaml"), "--pod", "shop/db"}));
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("as if shop/db were not on the node yet"));
}

TEST_F(ExplainTest, AsksWhichPodWhenThereAreSeveral) {
  const Ran several = RunBerth(Arguments({"-f", SimulateInput("pods.yaml")}));
  EXPECT_EQ(several.status, 1);
  EXPECT_THAT(several.err, HasSubstr("holds 3 pods; choose one with --pod"));
  const Ran unknown = RunBerth(Arguments({"-f", SimulateInput("pods.yaml"), "--pod", "nobody"}));
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("holds no pod nobody; it has "));
  EXPECT_EQ(0, RunBerth(Arguments({"-f", SimulateInput("pods.yaml"), "--pod", "db"})).status) << "of namespace shop";
  std::string many;
  for (int i = 0; i < 30; ++i)
    many += "---\napiVersion: v1\nkind: Pod\nmetadata: {name: pod-" + std::to_string(i) +
            "}\nspec: {containers: [{name: app, image: none}]}\n";
  std::ofstream(temp_ / "many.yaml") << many;
  EXPECT_THAT(RunBerth(Arguments({"-f", temp_ / "many.yaml", "--pod", "nobody"})).err,
              HasSubstr("holds no pod nobody; it has default/pod-0, default/pod-1, default/pod-2, default/pod-3, "
                        "default/pod-4, and 25 more"));
  EXPECT_THAT(RunBerth(Arguments({"-f", temp_ / "many.yaml", "--pod", "default/pod7"})).err,
              HasSubstr("did you mean default/pod-7?"));
}

TEST_F(ExplainTest, WithoutANodeItSaysHowToNameOne) {
  const Ran ran =
      RunBerth({"explain", "--socket", temp_ / "none.sock", "-f", SimulateInput("more.yaml"), "--pod", "cache"});
  EXPECT_EQ(ran.status, 4);
  EXPECT_THAT(ran.err, HasSubstr("no berthd listens on " + (temp_ / "none.sock")));
}

}  // namespace
}  // namespace berth
