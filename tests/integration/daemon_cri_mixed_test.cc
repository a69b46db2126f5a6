// Pods of a container runtime with CPUs of their own and the shared pool beside, and pods that wait for them.
#include <gtest/gtest.h>

#include <string>

#include "cri_node.h"

namespace berth {
namespace {

struct DaemonCriMixedTest : testkit::CriNodeTest {
  void Mix(const std::string& name) {
    Add({.name = name,
         .script = "echo own $BERTH_CPUS_EXCLUSIVE pool $BERTH_CPUS_SHARED now $(cat $BERTH_CPUS_SHARED_FILE); " +
                   std::string(testkit::kIdle),
         .container = "    resources: {requests: {cpu: 1}, limits: {memory: 32Mi}}\n",
         .metadata = ", annotations: {berth.dev/cpus: 1 exclusive + shared}"});
  }
  bool Waits(const std::string& name) {
    const auto pod = berthd->PodNamed(name);
    return pod.is_object() && pod.value("queuePlace", 0) == 1;
  }
};

TEST_F(DaemonCriMixedTest, ItIsToldWhichIsWhichAndTheNextOneWaitsUntilItHasGone) {
  settings =
      "nodeFit: false\nwaiting: {max: 4, overtakes: 2}\n"
      "podPolicies:\n- {name: some, namespaces: [default], cpus: [mixed], maxCpus: 1}\n";
  Start();
  Add({.name = "best", .script = testkit::kSpin});
  Mix("mix");
  ASSERT_TRUE(berthd->Until("they run", [&] { return berthd->Runs("mix") && berthd->Runs("best"); }));
  ASSERT_TRUE(berthd->Until("it has said what it was told", [&] { return !WordsOf("mix").empty(); }));
  EXPECT_EQ("own 1 pool " + testkit::OtherCpus() + " now " + testkit::OtherCpus() + "\n", WordsOf("mix"));
  EXPECT_EQ(testkit::AllCpus(), FormatIds(CpusOf("mix")));
  EXPECT_EQ(testkit::OtherCpus(), FormatIds(CpusOf("best")));
  Mix("next");
  ASSERT_TRUE(berthd->Until("the next one waits", [&] { return Waits("next"); }));
  berthd->Kill();
  Start();
  ASSERT_TRUE(berthd->Until("it waits still", [&] { return Waits("next"); }));
  EXPECT_EQ(testkit::AllCpus(), FormatIds(CpusOf("mix")));
  Remove("mix");
  ASSERT_TRUE(berthd->Until("it has got in", [&] { return berthd->Runs("next"); }));
  EXPECT_EQ(testkit::AllCpus(), FormatIds(CpusOf("next")));
  for (const char* const name : {"next", "best"}) Remove(name);
  EXPECT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

}  // namespace
}  // namespace berth
