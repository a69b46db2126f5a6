#include <gmock/gmock.h>

#include "berthd_fixture.h"

namespace berth {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using NodeCommandTest = BerthdTest;

TEST_F(NodeCommandTest, MapShowsWhoHoldsWhat) {
  AddPod("web", "2");
  AddPod("logger", "");
  const Ran ran = Ask({"map", "--width", "100"});
  EXPECT_EQ(0, ran.status) << ran.err;
  for (const std::string text :
       {"2 sockets, 2 NUMA nodes, 8 cores, 16 CPUs", "2 exclusive, 12 shared, 2 reserved", " 2 A",
        "A  default/web-n1  app 2-3", "shared pool 0-1,4-15; 1 pod: default/logger-n1", "reserved for the system 0-1"})
    EXPECT_THAT(ran.out, HasSubstr(text));
  const codec::Json cpus = AskJson({"map"})["cpus"];
  ASSERT_EQ(16U, cpus.size());
  EXPECT_EQ("exclusive", cpus[2]["use"].get<std::string>());
  EXPECT_EQ("default/web-n1/app", cpus[2]["holders"][0].get<std::string>());
  EXPECT_EQ("reserved", cpus[0]["use"].get<std::string>());
}

TEST_F(NodeCommandTest, NodeShowsPoliciesAndResources) {
  const Ran ran = Ask({"node"});
  EXPECT_THAT(ran.out, AllOf(HasSubstr("Decides as:      kubelet 1.37"), HasSubstr("CPU policy:      static"),
                             HasSubstr("Reserved CPUs:   0-1"), HasSubstr("cpu"), HasSubstr("14")));
  EXPECT_EQ("static", AskJson({"node"})["cpuPolicy"].get<std::string>());
  EXPECT_EQ("1.37", AskJson({"node"})["kubeletVersion"].get<std::string>());
}

TEST_F(NodeCommandTest, MapShowsWhatAPodWouldTake) {
  AddPod("web", "2");
  const std::string pod = Manifest("new", "4");
  const Ran text = Ask({"map", "--with", pod, "--width", "100"});
  EXPECT_EQ(0, text.status) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("WHO"), HasSubstr("default/new/app"), HasSubstr("shared pool")));
  const codec::Json json = AskJson({"map", "--with", pod});
  EXPECT_EQ("default/new/app", json["changes"][0]["who"].get<std::string>());
  EXPECT_EQ("4-7", json["changes"][0]["after"].get<std::string>());
  EXPECT_THAT(Ask({"map", "--with", pod, "-o", "svg"}).out, HasSubstr("before: shared"));
  EXPECT_THAT(Ask({"map", "--with", pod, "-o", "html"}).out, HasSubstr("<h2>What changes</h2>"));
  const Ran none = Ask({"map", "--with", Manifest("huge", "64")});
  EXPECT_EQ(3, none.status);
  EXPECT_THAT(none.err, HasSubstr("default/huge"));
  EXPECT_THAT(none.out, HasSubstr("Nothing changes"));
}

TEST_F(NodeCommandTest, MapShowsWhatHasChangedSinceAState) {
  AddPod("web", "2");
  const std::string before = File("before.json", Ask({"state", "show", "-o", "json"}).out);
  EXPECT_EQ("Nothing changes.", Ask({"map", "--compare", before}).out.substr(0, 16));
  AddPod("db", "4");
  const codec::Json changes = AskJson({"map", "--compare", before})["changes"];
  ASSERT_EQ(2U, changes.size());
  EXPECT_EQ("default/db-n1/app", changes[0]["who"].get<std::string>());
  EXPECT_EQ("", changes[0]["before"].get<std::string>());
  EXPECT_EQ("shared pool", changes[1]["who"].get<std::string>());
  EXPECT_EQ(1, Ask({"map", "--compare", File("odd.json", "{}")}).status);
}

TEST_F(NodeCommandTest, DiffIsSilentUntilSomethingDiffers) {
  const std::string web = Manifest("web", "2");
  AddPod("web", "2");
  EXPECT_EQ(0, Ask({"diff", "-f", web}).status) << Ask({"diff", "-f", web}).out;
  EXPECT_THAT(Ask({"diff"}).err, HasSubstr("say the same"));
  const Ran other = Ask({"diff", "-f", Manifest("web", "3")});
  EXPECT_EQ(1, other.status);
  EXPECT_THAT(other.out, HasSubstr("spec.containers[0].resources.limits.cpu: 2, in the manifest 3"));
  const Ran absent = Ask({"diff", "-f", Manifest("absent", "1")});
  EXPECT_EQ(1, absent.status);
  EXPECT_THAT(absent.out, HasSubstr("and not on the node"));
  EXPECT_EQ(0, Ask({"apply", "-f", Manifest("huge", "64")}).status);
  Ask({"apply", "--wait", "-f", Manifest("huge", "64")});
  const codec::Json found = *codec::ParseJson(Ask({"diff", "-o", "json"}).out, "diff");
  EXPECT_FALSE(found["same"].get<bool>());
  EXPECT_THAT(found["differences"][0]["text"].get<std::string>(), HasSubstr("has a manifest and no place"));
}

TEST_F(NodeCommandTest, DescribeNodeShowsWhoAskedForWhat) {
  AddPod("web", "2");
  AddPod("logger", "");
  const Ran ran = Ask({"describe", "node"});
  EXPECT_EQ(0, ran.status) << ran.err;
  for (const std::string text : {"Node:          n1", "CPU policy:      static", "nothing keeps pods waiting",
                                 "Pods with a place: 2 of 2", "default/web-n1     Guaranteed    2    64Mi", "14%"})
    EXPECT_THAT(ran.out, HasSubstr(text));
  const codec::Json json = AskJson({"describe", "node"});
  EXPECT_EQ("n1", json["status"]["nodeName"].get<std::string>());
  EXPECT_EQ(2U, json["pods"].size());
}

TEST_F(NodeCommandTest, StatusShowsTheDaemon) {
  const Ran ran = Ask({"status"});
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("berthd:"), HasSubstr("Node:          n1"), HasSubstr("Runtime:       dry-run")));
  EXPECT_EQ("n1", AskJson({"status"})["nodeName"].get<std::string>());
}

TEST_F(NodeCommandTest, TreeShowsEachValueAndItsFormula) {
  AddPod("web", "2");
  const Ran ran = Ask({"tree"});
  EXPECT_EQ(0, ran.status) << ran.err;
  for (const std::string text :
       {"cgroup v2, driver cgroupfs", "pod default/web-n1", "container app of default/web-n1", "CPUs of its own",
        "the pod's CPU request 2000m × 1024 / 1000 = 2048 shares; weight 1 + (2048 - 2) × 9999 / 262142 = 79",
        "no quota: it has CPUs of its own"})
    EXPECT_THAT(ran.out, HasSubstr(text));
  const codec::Json groups = AskJson({"tree"})["groups"];
  ASSERT_FALSE(groups.empty());
  for (const codec::Json& group : groups)
    for (const codec::Json& value : group["values"]) EXPECT_TRUE(value["same"].get<bool>()) << value.dump();
  const Ran wrong = Ask({"tree", "--wrong"});
  EXPECT_EQ(0, wrong.status);
  EXPECT_EQ("", wrong.out);
  EXPECT_THAT(wrong.err, HasSubstr("Every value is what it should be"));
}

TEST_F(NodeCommandTest, EventsCanBeNarrowed) {
  AddPod("web", "2");
  AddPod("db", "1");
  const Ran all = Ask({"events"});
  EXPECT_THAT(all.out, AllOf(HasSubstr("pod/default/web-n1"), HasSubstr("pod/default/db-n1")));
  const Ran one = Ask({"events", "--pod", "web"});
  EXPECT_THAT(one.out, AllOf(HasSubstr("pod/default/web-n1"), testing::Not(HasSubstr("db-n1"))));
  EXPECT_EQ(1U, AskJson({"events", "--limit", "1"})["events"].size());
  const Ran wrong = Ask({"events", "--since", "yesterday"});
  EXPECT_EQ(1, wrong.status);
  EXPECT_THAT(wrong.err, HasSubstr("yesterday"));
}

TEST_F(NodeCommandTest, FollowingEventsEndsWithTheDaemon) {
  AddPod("web", "2");
  StopBerthd();
  const Ran ran = Ask({"events", "-f"});
  EXPECT_EQ(4, ran.status);
}

}  // namespace
}  // namespace berth
