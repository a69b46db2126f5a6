#include <gmock/gmock.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/text.h"
#include "berthd_fixture.h"
#include "testing/seen_groups.h"

namespace berth {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using PodsCommandTest = BerthdTest;

TEST_F(PodsCommandTest, ShowsWhatEachPodHolds) {
  AddPod("web", "2");
  AddPod("logger", "");
  const Ran ran = Ask({"pods"});
  EXPECT_EQ(0, ran.status) << ran.err;
  const auto lines = Split(ran.out, '\n');
  ASSERT_EQ(4U, lines.size()) << ran.out;
  EXPECT_THAT(SplitWords(lines[0]), testing::Contains("CPUS"));
  EXPECT_THAT(std::string(lines[1]), AllOf(HasSubstr("logger-n1"), HasSubstr("shared"), HasSubstr("BestEffort")));
  EXPECT_THAT(std::string(lines[2]), AllOf(HasSubstr("web-n1"), HasSubstr("2-3"), HasSubstr("Guaranteed")));
  EXPECT_EQ(lines[0].find("CPUS"), lines[2].find("2-3"));  // columns line up
  EXPECT_THAT(Ask({"pods", "-o", "wide"}).out, HasSubstr("web.yaml"));
  EXPECT_EQ("2-3", AskJson({"pods"})["pods"][1]["containers"][0]["cpus"].get<std::string>());
  EXPECT_THAT(Ask({"pods", "-o", "yaml"}).out, HasSubstr("cpus: \"2-3\""));
  EXPECT_EQ(0U, AskJson({"pods", "-n", "other"})["pods"].size());
}

TEST_F(PodsCommandTest, ListsOnlyThePodsThatAreNamed) {
  AddPod("web", "1");
  AddPod("db", "1");
  EXPECT_EQ(1U, AskJson({"pods", "web"})["pods"].size());
  EXPECT_EQ(2U, AskJson({"pods", "web", "default/db"})["pods"].size());
  EXPECT_EQ(2U, AskJson({"pods", "-A"})["pods"].size());
  const Ran none = Ask({"pods", "wbe"});
  EXPECT_EQ(1, none.status);
  EXPECT_THAT(none.err, HasSubstr("did you mean web?"));
}

class LabelledPodsTest : public BerthdTest {
 protected:
  void Add(const std::string& name, const std::string& labels, const std::string& more = "") {
    const std::string file =
        File(name + ".yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", labels: {" + labels +
                                 "}}\nspec:\n  containers: [{name: app, image: none, " +
                                 "command: [sleep, '1000']}]\n" + more);
    const Ran ran = Ask({"apply", "--wait", "-f", file});
    ASSERT_EQ(0, ran.status) << ran.err;
  }
};

TEST_F(LabelledPodsTest, SelectorsAndNamesMakeListsForOtherCommands) {
  Add("web", "app: web, tier: front");
  Add("api", "app: api, tier: front");
  Add("db", "app: db");
  EXPECT_EQ("default/api-n1\ndefault/web-n1\n", Ask({"pods", "-l", "tier=front", "-o", "name"}).out);
  EXPECT_EQ("default/db-n1\n", Ask({"pods", "-l", "!tier", "-o", "name"}).out);
  EXPECT_EQ("default/web-n1\n", Ask({"pods", "-l", "app in (web,db),tier", "-o", "name"}).out);
  EXPECT_THAT(Ask({"pods", "-o", "wide"}).out, HasSubstr("app=web,tier=front"));
  EXPECT_EQ("front", AskJson({"pods", "web"})["pods"][0]["labels"]["tier"].get<std::string>());
  EXPECT_THAT(Ask({"pods", "-l", "app=nobody"}).err, HasSubstr("No pods with these labels"));
  const Ran wrong = Ask({"pods", "-l", "app in (web"});
  EXPECT_EQ(2, wrong.status);
  EXPECT_THAT(wrong.err, HasSubstr("write KEY in (A,B)"));
  EXPECT_EQ(0, Ask({"delete", "-l", "tier=front", "--wait"}).status);
  EXPECT_EQ("default/db-n1\n", Ask({"pods", "-o", "name"}).out);
  EXPECT_EQ(2, Ask({"delete", "-n", "default"}).status) << "a namespace alone is not enough to delete by";
  EXPECT_EQ("default/db-n1\n", Ask({"pods", "-o", "name"}).out);
}

TEST_F(LabelledPodsTest, CommandsThatReadTakeANamespaceAndLabels) {
  Add("web", "app: web");
  Add("db", "app: db");
  const std::string edge = File("edge.yaml",
                                "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: edge}\n"
                                "spec:\n  containers: [{name: app, image: none, command: [sleep, '1000']}]\n");
  ASSERT_EQ(0, Ask({"apply", "--wait", "-f", edge}).status);
  EXPECT_EQ("edge", AskJson({"describe", "web", "-n", "edge"})["namespace"].get<std::string>());
  EXPECT_THAT(Ask({"describe", "web"}).err, HasSubstr("'web' may be any of default/web-n1, edge/web-n1"));
  EXPECT_THAT(Ask({"describe", "db", "-n", "edge"}).err,
              HasSubstr("no pod 'db' in namespace edge, did you mean default/db-n1?"));
  EXPECT_EQ("edge/web-n1\n", Ask({"pods", "web", "-n", "edge", "-o", "name"}).out);
  EXPECT_THAT(Ask({"pods", "db", "-n", "edge"}).err, HasSubstr("in namespace edge, did you mean default/db-n1?"));
  EXPECT_THAT(Ask({"describe", std::string(20'000, '/')}).err, HasSubstr("no pod '/"));
  EXPECT_THAT(Ask({"logs", "web", "-n", "edge"}).err, HasSubstr("there are no logs")) << "found, but nothing runs";
  const codec::Json of_namespace = AskJson({"top", "-n", "edge"})["pods"];
  ASSERT_EQ(1U, of_namespace.size());
  EXPECT_EQ("edge", of_namespace[0]["podRef"]["namespace"].get<std::string>());
  EXPECT_EQ(1U, AskJson({"top", "-l", "app=db"})["pods"].size());
  EXPECT_EQ(3U, AskJson({"top", "-A"})["pods"].size());
  const codec::Json events = AskJson({"events", "-n", "edge"})["events"];
  EXPECT_FALSE(events.empty());
  for (const codec::Json& event : events) EXPECT_EQ("pod/edge/web-n1", event["object"].get<std::string>());
  const codec::Json newest = AskJson({"events", "-n", "edge", "--limit", "1"});
  ASSERT_EQ(1U, newest["events"].size());
  EXPECT_EQ(events.back(), newest["events"][0]);
  EXPECT_TRUE(newest["leftOut"].get<bool>()) << "as without a namespace";
  EXPECT_EQ(2, Ask({"events", "-n", "edge", "-A"}).status);
}

TEST_F(LabelledPodsTest, RestartedContainersComeBackWhereTheyWere) {
  AddPod("web", "2");
  Add("db", "app: db");
  Add("job", "app: job", "  restartPolicy: Never\n");
  const std::string where = "jsonpath={.pods[?(@.name=='web-n1')].containers[0].cpus}";
  const std::string before = Ask({"pods", "-o", where}).out;
  const Ran ran = Ask({"restart", "web", "--wait"});
  EXPECT_EQ(0, ran.status) << ran.err;
  EXPECT_EQ("default/web-n1 restarted: app\n", ran.out);
  EXPECT_EQ(before, Ask({"pods", "-o", where}).out);
  EXPECT_EQ("1\n", Ask({"pods", "web", "-o", "jsonpath={.pods[0].containers[0].restarts}"}).out);
  EXPECT_THAT(Ask({"events", "--pod", "web"}).out, HasSubstr("is restarted because that was asked for"));
  EXPECT_EQ(0, Ask({"restart", "-l", "app=db", "--wait"}).status);
  const Ran never = Ask({"restart", "job"});
  EXPECT_EQ(1, never.status);
  EXPECT_THAT(never.err, HasSubstr("its restartPolicy is Never"));
  EXPECT_EQ(1, Ask({"restart", "nobody"}).status);
  EXPECT_EQ(2, Ask({"restart"}).status);
}

TEST_F(LabelledPodsTest, JsonPathFindsWhatIsAskedFor) {
  Add("web", "app: web");
  EXPECT_EQ("web-n1 Running\n", Ask({"pods", "-o", "jsonpath={.pods[0].name} {.pods[0].phase}"}).out);
  EXPECT_EQ("static\n", Ask({"node", "-o", "jsonpath={.cpuPolicy}"}).out) << "of every command's JSON";
  const Ran wrong = Ask({"pods", "-o", "jsonpath={.pods[}"});
  EXPECT_EQ(2, wrong.status);
  EXPECT_THAT(wrong.err, HasSubstr("jsonpath, character 8"));
  EXPECT_EQ(2, Ask({"node", "-o", "name"}).status) << "what is listed there has no names";
}

TEST_F(PodsCommandTest, WatchingPrintsALineForEachPodThatChangesAndSaysWhatIsGone) {
  AddPod("web", "1");
  const std::string log = File("watch.out", "");
  const int watcher = Spawn(BERTH, {"pods", "-w", "--socket", socket()}, {}, log);
  const auto says = [&](const std::string& text) {
    for (int i = 0; i < 400; ++i) {
      if (testkit::ReadIfThere(log).find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  };
  EXPECT_TRUE(says("web-n1"));
  AddPod("db", "1");
  EXPECT_TRUE(says("db-n1"));
  EXPECT_EQ(0, Ask({"delete", "--all", "--wait"}).status);
  EXPECT_TRUE(says("default/db-n1 is gone"));
  EXPECT_TRUE(says("default/web-n1 is gone"));
  ::kill(watcher, SIGTERM);
  ::waitpid(watcher, nullptr, 0);
  const std::string text = testkit::ReadIfThere(log);
  EXPECT_EQ(text.find("NAMESPACE"), text.rfind("NAMESPACE")) << "one heading: " << text;
}

TEST_F(PodsCommandTest, DeletesAllOfANamespaceAndNothingElse) {
  AddPod("web", "1");
  EXPECT_THAT(Ask({"delete", "--all", "-n", "other"}).err, HasSubstr("No pods to delete."));
  EXPECT_EQ(1U, AskJson({"pods"})["pods"].size());
  EXPECT_EQ(2, Ask({"delete", "--all", "web"}).status);
  EXPECT_EQ(0, Ask({"delete", "--all", "-n", "default", "--wait"}).status);
  EXPECT_EQ(0U, AskJson({"pods"})["pods"].size());
}

TEST_F(PodsCommandTest, AnEmptyNodeSaysHowToBeginAndPrintsNoTable) {
  const Ran ran = Ask({"pods"});
  EXPECT_EQ(0, ran.status);
  EXPECT_EQ("", ran.out);
  EXPECT_THAT(ran.err, HasSubstr("berth apply -f FILE"));
}

TEST_F(PodsCommandTest, FindsAPodByWhatAPersonCallsIt) {
  AddPod("web", "1");
  AddPod("web-db", "1");
  AddPod("cache", "");
  for (const std::string name : {"web", "web-n1", "default/web", "default/web-n1"})
    EXPECT_EQ("web-n1", AskJson({"describe", name})["name"].get<std::string>()) << name;
  for (const std::string name : {"web-d", "web-db", "default/web-db"})
    EXPECT_EQ("web-db-n1", AskJson({"describe", name})["name"].get<std::string>()) << name;
  const Ran several = Ask({"describe", "we"});
  EXPECT_EQ(1, several.status);
  EXPECT_THAT(several.err, HasSubstr("'we' may be any of default/web-db-n1, default/web-n1"));
  EXPECT_THAT(Ask({"describe", "cahce"}).err, HasSubstr("no pod 'cahce' on this node, did you mean cache?"));
  EXPECT_THAT(Ask({"describe", "zzz"}).err, HasSubstr("'berth pods' lists them"));
}

TEST_F(PodsCommandTest, DescribesPlacementReasonsAndEvents) {
  AddPod("web", "2");
  const Ran ran = Ask({"describe", "web"});
  EXPECT_EQ(0, ran.status) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("Name:            web-n1\n"));
  for (const std::string text : {"QoS class:       Guaranteed", "\nContainers:\n  app (app)\n", "2-3 (its own)",
                                 "\nDecided as:      kubelet 1.37\n", "\nWhy:\n", "\nEvents:\n", "kubepods"})
    EXPECT_THAT(ran.out, HasSubstr(text));
}

TEST_F(PodsCommandTest, ExplainsAPodOfTheNodeByItsNameWithOrWithoutTheNode) {
  AddPod("web", "12");
  const std::string manifest = Manifest("web", "12");
  const std::vector<std::vector<std::string>> calls{
      {}, {"--pod", "web"}, {"--pod", "web-n1"}, {"--pod", "default/web"}, {"--pod", "default/web-n1"}};
  for (const auto& more : calls) {
    std::vector<std::string> arguments{"explain", "-f", manifest};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = Ask(arguments);
    EXPECT_EQ(0, ran.status) << ran.out << ran.err;  // twice 12 CPUs would not fit
    EXPECT_THAT(ran.out, HasSubstr("were not on the node yet"));
  }
  EXPECT_EQ(1, Ask({"explain", "-f", manifest, "--pod", "web-n2"}).status);
}

TEST_F(PodsCommandTest, ARejectedPodGivesStatus3AndItsReason) {
  const Ran ran = Ask({"apply", "--wait", "-f", Manifest("huge", "64")});
  EXPECT_EQ(3, ran.status) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("default/huge-n1 created"));
  EXPECT_THAT(ran.err, HasSubstr("default/huge-n1: UnexpectedAdmissionError: Allocate failed"));
  EXPECT_THAT(Ask({"describe", "huge"}).out,
              AllOf(HasSubstr("UnexpectedAdmissionError"), HasSubstr("Phase:           Failed")));
  EXPECT_THAT(Ask({"pods"}).out, HasSubstr("UnexpectedAdmissionError"));
}

TEST_F(PodsCommandTest, AppliesManyFilesAndReportsTheWrongOnes) {
  const std::string good = Manifest("web", "1");
  const std::string bad = File("bad.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: []}\n");
  const Ran ran = Ask({"apply", "-f", bad, good, "/nonexistent.yaml"});
  EXPECT_EQ(1, ran.status);
  EXPECT_THAT(ran.out, HasSubstr("default/web-n1 created\n"));
  EXPECT_THAT(ran.err, AllOf(HasSubstr("bad.yaml"), HasSubstr("spec.containers"), HasSubstr("/nonexistent.yaml")));
  EXPECT_EQ(0, Ask({"apply", "--wait", "-f", good}).status);
  EXPECT_THAT(Ask({"apply", "-f", good}).out, HasSubstr("unchanged"));
  const std::string again = File("again.yaml", "# the same in other words\n" + testkit::ReadText(good));
  EXPECT_EQ("default/web-n1 unchanged\n", Ask({"apply", "--wait", "-f", again}).out);
}

TEST_F(PodsCommandTest, WaitsForTheNewPodWhenAManifestChanged) {
  AddPod("web", "1");
  const std::string before = AskJson({"describe", "web"})["uid"].get<std::string>();
  EXPECT_EQ("default/web-n1 configured\n", Ask({"apply", "--wait", "-f", Manifest("web", "2")}).out);
  EXPECT_EQ(before, AskJson({"describe", "web"})["uid"].get<std::string>()) << "other amounts alone are a resize";
  std::string text = testkit::ReadText(Manifest("web", "2"));
  const std::size_t name = text.find("name: app");
  ASSERT_NE(std::string::npos, name) << text;
  text.replace(name, 9, "name: other");
  const Ran ran = Ask({"apply", "--wait", "-f", File("other.yaml", text)});
  EXPECT_EQ("default/web-n1 configured\n", ran.out) << ran.err;
  const codec::Json after = AskJson({"describe", "web"});
  EXPECT_NE(before, after["uid"].get<std::string>());
  EXPECT_EQ("2-3", after["containers"][0]["cpus"].get<std::string>());
}

TEST_F(PodsCommandTest, AppliesFromStandardInputAndFolders) {
  const RunOptions input{.environment = {}, .input = testkit::ReadText(Manifest("piped", ""))};
  EXPECT_EQ("default/piped-n1 created\n", Ask({"apply", "-f", "-"}, input).out);
  EXPECT_EQ(1, Ask({"apply", "-f", "/proc/self/task"}).status);  // a folder without manifests
}

TEST_F(PodsCommandTest, DeletesByNameAndByManifest) {
  AddPod("web", "2");
  AddPod("db", "1");
  const std::string manifest = Manifest("db", "1");
  EXPECT_EQ("default/web-n1 deleted\n", Ask({"delete", "web", "--wait"}).out);
  const Ran by_file = Ask({"delete", "-f", manifest, "--wait"});
  EXPECT_EQ("default/db-n1 deleted\n", by_file.out) << by_file.err;
  EXPECT_EQ(0U, AskJson({"pods"})["pods"].size());
  const Ran again = Ask({"delete", "web"});
  EXPECT_EQ(1, again.status);
  EXPECT_THAT(again.err, HasSubstr("no pod 'web'"));
}

TEST_F(PodsCommandTest, WhatChangesAPodTakesItsWholeNameAndNamespace) {
  AddPod("webserver", "1");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"delete", "web"}, {"restart", "web"}, {"resize", "web", "--cpus", "2"}}) {
    const Ran ran = Ask(words);
    EXPECT_EQ(1, ran.status) << words[0];
    EXPECT_THAT(ran.err, HasSubstr("no pod 'web' in namespace default; did you mean default/webserver-n1?"))
        << words[0];
  }
  const Ran exec = Berth({"exec", "--socket", socket(), "web", "--", "ls"});
  EXPECT_THAT(exec.err, HasSubstr("no pod 'web' in namespace default"));
  EXPECT_EQ(1, Ask({"delete", "-n", "other", "webserver"}).status);
  EXPECT_THAT(Ask({"describe", "web"}).out, HasSubstr("webserver-n1")) << "reading takes the beginning";
  EXPECT_EQ(1U, AskJson({"pods"})["pods"].size());
  EXPECT_EQ("default/webserver-n1 deleted\n", Ask({"delete", "-n", "default", "webserver-n1", "--wait"}).out);
}

TEST_F(PodsCommandTest, WhatWasAppliedCanBeDeletedAtOnce) {
  AddPod("web-db", "1");
  const std::string web = Manifest("web", "1");
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ("default/web-n1 created\n", Ask({"apply", "-f", web}).out) << i;
    const Ran ran = i % 2 == 0 ? Ask({"delete", "web"}) : Ask({"delete", "-f", web});
    EXPECT_EQ("default/web-n1 deleted\n", ran.out) << ran.err;  // and not web-db, whose name begins so
  }
  AddPod("last", "1");  // read after all of that; the web of some round may still be ending
  const auto names = [&] {
    std::vector<std::string> out;
    const codec::Json answer = AskJson({"pods"});  // outlives the loop over a part of it
    for (const auto& pod : answer["pods"]) out.push_back(pod["name"].get<std::string>());
    return out;
  };
  for (int i = 0; i < 300 && names().size() != 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_THAT(names(), testing::ElementsAre("last-n1", "web-db-n1"));
}

TEST_F(PodsCommandTest, ARejectedPodIsAdmittedWhenAnotherOneIsDeleted) {
  AddPod("first", "12");
  const std::string second = Manifest("second", "12");
  EXPECT_EQ(3, Ask({"apply", "--wait", "-f", second}).status);
  EXPECT_EQ("default/first-n1 deleted\n", Ask({"delete", "first", "--wait"}).out);
  EXPECT_EQ("default/second-n1 unchanged\n", Ask({"apply", "--wait", "-f", second}).out);
  for (int i = 0; i < 300 && AskJson({"describe", "second"})["phase"] != "Running"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const Ran ran = Ask({"describe", "second"});
  EXPECT_THAT(ran.out, AllOf(HasSubstr("2-5,8-15 (its own)"), HasSubstr("Reconsidered"), HasSubstr("was rejected")))
      << ran.out;
}

TEST_F(PodsCommandTest, LogsWantAContainerThatExists) {
  AddPod("web", "1");
  const Ran ran = Ask({"logs", "web", "-c", "ap"});
  EXPECT_EQ(1, ran.status);
  EXPECT_THAT(ran.err, HasSubstr("pod default/web-n1 has no container 'ap', did you mean app?"));
}

TEST_F(PodsCommandTest, APlayedMachineSaysWhyItRunsNoCommandsAndHasNoImages) {
  AddPod("web", "2");
  const std::string socket = PodsCommandTest::socket();
  const Ran ran = Berth({"exec", "--socket", socket, "web", "--", "ls", "-l"});
  EXPECT_EQ(1, ran.status);
  EXPECT_EQ("", ran.out);
  EXPECT_THAT(ran.err, HasSubstr("plays a machine (--machine): nothing runs, so there are no containers that take"));
  EXPECT_THAT(Ask({"images"}).err, HasSubstr("nothing runs, so there are no images"));
  EXPECT_EQ(1, Ask({"images", "import", "/nonexistent.tar"}).status);
  EXPECT_THAT(Berth({"exec", "--socket", socket, "none", "--", "ls"}).err, HasSubstr("no pod 'none' on this node"));
  EXPECT_THAT(Berth({"exec", "--socket", socket, "web", "-c", "ap", "--", "ls"}).err, HasSubstr("did you mean app?"));
  for (const char* const wrong : {"soon", "0", "-1s", "25h"})
    EXPECT_THAT(Berth({"exec", "--socket", socket, std::string("--timeout=") + wrong, "web", "--", "ls"}).err,
                HasSubstr("must be a time like 30s or 5m, at most 24h"))
        << wrong;
  EXPECT_THAT(Berth({"exec", "--socket", socket, "web", "--", "ls", "caf\xe9"}).err, HasSubstr("not UTF-8"));
}

TEST_F(PodsCommandTest, APlayedMachineSaysWhyItHasNoLogs) {
  AddPod("web", "1");
  const Ran ran = Ask({"logs", "web"});
  EXPECT_EQ(1, ran.status);
  EXPECT_THAT(ran.err, HasSubstr("plays a machine (--machine): nothing runs, so there are no logs"));
}

}  // namespace
}  // namespace berth
