// What needs no daemon: help, wrong usage, the unreachable socket, completion, pictures of machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "api/codec/codec.h"
#include "run_program.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kCommands[] = {"run",     "apply", "pods",       "describe", "logs",   "delete",  "map",
                                     "events",  "node",  "status",     "exec",     "images", "machine", "simulate",
                                     "explain", "check", "completion", "version",  "help",   "restart", "diff",
                                     "top",     "tree",  "state",      "defrag"};

TEST(BerthHelpTest, NoArgumentsPrintTheOverview) {
  const Ran ran = Berth({});
  EXPECT_EQ(0, ran.status);
  EXPECT_EQ("", ran.err);
  for (const std::string command : kCommands) EXPECT_THAT(ran.out, HasSubstr("\n  " + command + " ")) << command;
  EXPECT_EQ(ran.out, Berth({"--help"}).out);
  EXPECT_EQ(ran.out, Berth({"help"}).out);
}

TEST(BerthHelpTest, EveryCommandExplainsItselfWithExamplesAndStatuses) {
  for (const std::string command : kCommands) {
    const Ran ran = Berth({command, "--help"});
    EXPECT_EQ(0, ran.status) << command;
    EXPECT_EQ("", ran.err) << command;
    EXPECT_THAT(ran.out, HasSubstr("Usage: berth " + command)) << command;
    EXPECT_THAT(ran.out, HasSubstr("\nExamples:\n  berth " + command)) << command;
    EXPECT_THAT(ran.out, HasSubstr("\nExit status:\n  0 done, 1 failed, 2 wrong usage")) << command;
    EXPECT_EQ(ran.out, Berth({"help", command}).out) << command;
  }
}

TEST(BerthHelpTest, TellsTheVersion) {
  EXPECT_THAT(Berth({"version"}).out, StartsWith("berth "));
  EXPECT_EQ(Berth({"version"}).out, Berth({"--version"}).out);
  const auto json = codec::ParseJson(Berth({"version", "-o", "json"}).out, "version");
  ASSERT_TRUE(json);
  EXPECT_TRUE(json->contains("version"));
}

/// Wrong command lines give status 2, one sentence that holds `words`, and where to look.
void ExpectUsageError(const std::vector<std::string>& arguments, const std::string& words) {
  const Ran ran = Berth(arguments);
  EXPECT_EQ(2, ran.status) << words;
  EXPECT_EQ("", ran.out) << words;
  EXPECT_THAT(ran.err, HasSubstr(words));
  EXPECT_THAT(ran.err, HasSubstr("--help'.\n"));
}

TEST(BerthUsageTest, NamesTheMistakeAndTheNearestWord) {
  ExpectUsageError({"podz"}, "berth: unknown command 'podz', did you mean pods?");
  ExpectUsageError({"qqqqqq"}, "berth: unknown command 'qqqqqq'\n");
  ExpectUsageError({"pods", "--sokcet", "x"}, "berth pods: unknown option --sokcet, did you mean --socket?");
  ExpectUsageError({"status", "web"}, "berth status: unexpected argument 'web'");
  ExpectUsageError({"pods", "-o", "jsn"},
                   "'jsn' is none of table|wide|json|yaml|jsonpath=TEMPLATE|name, did you mean json?");
  ExpectUsageError({"describe"}, "POD is required");
  ExpectUsageError({"delete"}, "a POD, -f FILE or -l LABELS is required");
  ExpectUsageError({"apply"}, "-f FILE is required");
  ExpectUsageError({"map", "--width", "7"}, "--width");
  ExpectUsageError({"logs", "web", "--tail", "many"}, "--tail");
  ExpectUsageError({"logs", "web", "-f", "-p"}, "--previous excludes --follow");
  ExpectUsageError({"exec", "web"}, "COMMAND is required");
  ExpectUsageError({"run", "--cpus", "1"}, "a command after --, or --pid is required");
  ExpectUsageError({"run", "--pid", "1", "--", "true"}, "command excludes --pid");
  ExpectUsageError({"run", "-e", "A=1", "--", "true"}, "--env requires --detach");
  ExpectUsageError({"run", "--pid", "0"}, "--pid");
  ExpectUsageError({"run", "-o", "json", "--", "true"}, "berth run: -o is for -d and --dry-run");
  ExpectUsageError({"run", "--even-placed", "--", "true"}, "--even-placed requires --pid");
  ExpectUsageError({"delete", "-f", "pod.yaml", "-n", "edge"}, "--filename excludes --namespace");
  ExpectUsageError({"exec", "web", "ls", "-l"}, "unknown option -l");
  ExpectUsageError({"images", "imprt"}, "'imprt' is none of list|import, did you mean import?");
  ExpectUsageError({"images", "import"}, "FILE is required");
}

TEST(BerthSocketTest, AnAbsentDaemonGivesStatus4AndTheCure) {
  for (const std::vector<std::string>& command : {std::vector<std::string>{"pods"},
                                                  {"describe", "web"},
                                                  {"map"},
                                                  {"events"},
                                                  {"logs", "web"},
                                                  {"exec", "web", "--", "ls", "-l"},
                                                  {"images"},
                                                  {"images", "import", "app.tar"},
                                                  {"status"},
                                                  {"node"},
                                                  {"delete", "web"},
                                                  {"apply", "-f", "/nonexistent.yaml"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.begin() + 1, {"--socket", "/nonexistent/berth.sock"});
    const Ran ran = Berth(arguments);
    EXPECT_EQ(4, ran.status) << command.front();
    EXPECT_EQ("", ran.out) << command.front();
    EXPECT_THAT(ran.err, HasSubstr("/nonexistent/berth.sock")) << command.front();
    EXPECT_THAT(ran.err, HasSubstr("start it")) << command.front();
    EXPECT_EQ(1, std::ranges::count(ran.err, '\n')) << ran.err;
  }
}

TEST(BerthCheckTest, SaysWhatIsMissingOfANode) {
  const Ran ran = Berth({"check", "--endpoint", "/nonexistent/c.sock", "--nri-socket", "/nonexistent/n.sock",
                         "--kubelet-config", "/nonexistent/k.yaml", "--kubelet-dir", "/nonexistent"});
  EXPECT_EQ(4, ran.status) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Runtime:       does not answer at /nonexistent/c.sock\n"));
  EXPECT_THAT(ran.out, HasSubstr("in the way: container runtime at /nonexistent/c.sock: there is no such socket"));
  EXPECT_EQ("", ran.err);
  const Ran data = Berth({"check", "--endpoint", "/nonexistent/c.sock", "-o", "json"});
  EXPECT_EQ(4, data.status);
  const auto json = codec::ParseJson(data.out, "check");
  ASSERT_TRUE(json);
  EXPECT_EQ(false, (*json)["ready"]);
  EXPECT_TRUE((*json)["plan"].is_null());
}

TEST(BerthCheckTest, RelativePathsCountFromTheWorkingDirectory) {
  const testkit::TempDir folder;
  std::ofstream(folder / "k.yaml") << "kind: Odd\n";
  const Ran ran =
      RunProgram("env", {"-C", folder.path(), BERTH, "check", "--endpoint", "c.sock", "--nri-socket", "n.sock",
                         "--runtime-config", "c.toml", "--kubelet-dir", ".", "--kubelet-config", "./k.yaml"});
  EXPECT_EQ(4, ran.status) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Runtime:       does not answer at " + folder / "c.sock" + "\n"));
  EXPECT_THAT(ran.out, HasSubstr(folder / "k.yaml"));
}

TEST(BerthdConfigTest, RelativePathsCountFromTheWorkingDirectory) {
  const testkit::TempDir folder;
  std::filesystem::create_directory(folder / "below");
  std::ofstream(folder / "berth.yaml")
      << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nkubeletConfig: below/../kubelet.yaml\n";
  std::ofstream(folder / "kubelet.yaml") << "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
  const Ran ran =
      RunProgram("env", {"-C", folder / "below", BERTHD, "--config", "../berth.yaml", "--machine", "pack:1 core:2 pu:1",
                         "--state-dir", "../state", "--run-dir", "run", "--pod-dir", "..", "--check-config"});
  EXPECT_EQ(0, ran.status) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("  settings         " + folder / "berth.yaml" + "\n"));
  EXPECT_THAT(ran.out, HasSubstr("  kubelet settings " + folder / "kubelet.yaml" + "\n"));
  EXPECT_THAT(ran.out, HasSubstr("  pod folder       " + folder.path() + "\n"));
}

TEST(BerthSocketTest, OneThatMayNotBeOpenedIsNotTakenForOneWithoutADaemon) {
  const testkit::TempDir folder;
  const std::string socket = folder / "closed/berth.sock";
  std::filesystem::create_directory(folder / "closed");
  std::filesystem::permissions(folder / "closed", std::filesystem::perms::none);
  const std::vector<std::string> nobody{"--reuid=65534", "--regid=65534", "--clear-groups", BERTH};
  for (const std::vector<std::string>& words : {std::vector<std::string>{"pods", "--socket", socket},
                                                {"run", "--socket", socket, "--", "true"},
                                                {"explain", "--socket", socket, "-f", "pod.yaml"}}) {
    std::vector<std::string> as_nobody = nobody;
    as_nobody.insert(as_nobody.end(), words.begin(), words.end());
    const Ran ran = ::geteuid() == 0 ? RunProgram("setpriv", as_nobody) : Berth(words);
    if (ran.status == 126 || ran.status == 127) GTEST_SKIP() << "an ordinary user may not execute berth: " << ran.err;
    EXPECT_EQ(4, ran.status) << words.front();
    EXPECT_THAT(ran.err, HasSubstr("Permission denied")) << words.front();
    EXPECT_THAT(ran.err, HasSubstr("run as root or as a member of the group")) << words.front();
  }
}

TEST(BerthSocketTest, TheEnvironmentNamesTheSocketAndTheOptionWins) {
  const RunOptions options{.environment = {"BERTH_SOCKET=/nonexistent/env.sock"}, .input = {}};
  EXPECT_THAT(Berth({"pods"}, options).err, HasSubstr("/nonexistent/env.sock"));
  EXPECT_THAT(Berth({"pods", "--socket", "/nonexistent/option.sock"}, options).err, HasSubstr("option.sock"));
}

TEST(BerthMachineTest, AJsonPathFindsWhatIsAskedFor) {
  const std::vector<std::string> words{"machine", "-m", "pack:2 numa:1 core:2 pu:2", "-o"};
  const auto with = [&](const std::string& output) {
    std::vector<std::string> all = words;
    all.push_back(output);
    return Berth(all);
  };
  EXPECT_EQ("0 1\n", with("jsonpath={.nodes[*].id}").out);
  EXPECT_EQ(2, with("jsonpath={.nodes[}").status);
}

TEST(BerthMapTest, DrawsAMachineWithoutADaemon) {
  const Ran wrong = Berth({"map", "-m", "no such machine"});
  EXPECT_EQ(1, wrong.status);
  EXPECT_THAT(wrong.err, HasSubstr("no such machine"));
  const Ran good = Berth({"map", "-m", "pack:2 numa:1 core:2 pu:2", "--width", "60"});
  EXPECT_EQ(0, good.status) << good.err;
  EXPECT_THAT(good.out, HasSubstr("2 sockets, 2 NUMA nodes, 4 cores, 8 CPUs"));
  EXPECT_THAT(good.out, HasSubstr("shared pool 0-7"));
}

TEST(BerthMapTest, ColoursOnlyWhenAsked) {
  const std::vector<std::string> map = {"map", "-m", "pack:1 numa:1 core:2 pu:1", "--color"};
  const auto with = [&](const std::string& when) {
    std::vector<std::string> arguments = map;
    arguments.push_back(when);
    return Berth(arguments).out;
  };
  EXPECT_THAT(with("always"), HasSubstr("\x1b["));
  EXPECT_THAT(with("never"), testing::Not(HasSubstr("\x1b[")));
  EXPECT_THAT(with("auto"), testing::Not(HasSubstr("\x1b[")));  // not a terminal
}

TEST(BerthMapTest, GivesEveryCpuAsJson) {
  const Ran ran = Berth({"map", "-m", "pack:2 numa:1 core:2 pu:2", "-o", "json"});
  const auto json = codec::ParseJson(ran.out, "map");
  ASSERT_TRUE(json) << ran.out;
  ASSERT_EQ(8U, (*json)["cpus"].size());
  const codec::Json& last = (*json)["cpus"][7];
  EXPECT_EQ(7, last["cpu"].get<int>());
  EXPECT_EQ(6, last["core"].get<int>());
  EXPECT_EQ(1, last["socket"].get<int>());
  EXPECT_EQ("shared", last["use"].get<std::string>());
}

TEST(BerthOutputTest, AFullDiskIsAnError) {
  const Ran ran = RunProgram("/bin/sh", {"-c", "exec " BERTH " --help > /dev/full"});
  EXPECT_EQ(1, ran.status);
  EXPECT_THAT(ran.err, HasSubstr("could not write all of the output"));
}

TEST(OfflineTest, SimulateSaysHowManyFit) {
  const testkit::TempDir folder;
  std::ofstream(folder / "k.yaml") << "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                                      "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  std::ofstream(folder / "pod.yaml") << "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n"
                                        "  - {name: app, image: x, resources: {limits: {cpu: '2', memory: 1Mi}}}\n";
  const std::vector<std::string> line = {
      "simulate",          "-m",        "pack:1 [numa(memory=8589934592)] core:4 pu:2", "-c", folder / "k.yaml", "-f",
      folder / "pod.yaml", "--replicas"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), line.begin(), line.end());
    return Berth(more);
  };
  const Ran most = with({"max", "-o", "json"});
  EXPECT_EQ(0, most.status) << most.err;
  const codec::Json json = *codec::ParseJson(most.out, "berth");
  EXPECT_EQ(3, json["fits"][0]["fit"].get<int>()) << "of 8 CPUs one is reserved";
  EXPECT_EQ(3U, json["ledger"]["pods"].size());
  const Ran two = with({"2"});
  EXPECT_EQ(0, two.status) << two.err;
  EXPECT_THAT(two.out, HasSubstr("default/web    2  not tried"));
  const Ran four = with({"4"});
  EXPECT_EQ(3, four.status) << "one of them finds no place";
  EXPECT_THAT(four.out, HasSubstr("default/web    3  UnexpectedAdmissionError"));
  EXPECT_EQ(2, with({"0"}).status);
  EXPECT_EQ(2, with({"many"}).status);
}

TEST(OfflineTest, SimulateResizesAPodThatIsThereAndSaysWhyNot) {
  const testkit::TempDir folder;
  std::ofstream(folder / "k.yaml") << "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                                      "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  const auto pod = [&](const std::string& file, const std::string& cpus, const std::string& image = "x") {
    std::ofstream(folder / file) << "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n"
                                 << "  - {name: app, image: " << image << ", resources: {limits: {cpu: '" << cpus
                                 << "', memory: 1Mi}}}\n";
    return folder / file;
  };
  const auto simulate = [&](std::vector<std::string> steps) {
    std::vector<std::string> line = {
        "simulate", "-m", "pack:1 [numa(memory=8589934592)] core:4 pu:2", "-c", folder / "k.yaml", "-o", "json"};
    line.insert(line.end(), steps.begin(), steps.end());
    return Berth(line);
  };
  const std::string small = pod("small.yaml", "2");
  const std::string large = pod("large.yaml", "4");
  const Ran grown = simulate({small, "resize:" + large, "resize:" + small});
  ASSERT_EQ(0, grown.status) << grown.err;
  const codec::Json steps = codec::ParseJson(grown.out, "berth")->at("steps");
  EXPECT_EQ(steps[1]["action"], "resize");
  EXPECT_EQ(steps[0]["containers"][0]["cpus"], "2-3");
  EXPECT_EQ(steps[1]["containers"][0]["cpus"], "2-5");
  EXPECT_EQ(steps[2]["containers"][0]["cpus"], "2-3") << "it keeps what it was started with";
  const Ran never = simulate({small, "resize:" + pod("huge.yaml", "40")});
  EXPECT_EQ(3, never.status);
  const codec::Json refused = codec::ParseJson(never.out, "berth")->at("steps")[1];
  EXPECT_EQ(refused["reason"], "Infeasible");
  EXPECT_EQ(refused["admitted"], false);
  EXPECT_THAT(simulate({small, "resize:" + pod("other.yaml", "2", "another")}).err,
              HasSubstr("differs in more than amounts of cpu, memory and huge pages"));
  EXPECT_THAT(simulate({"resize:" + small}).err, HasSubstr("the pod default/web is not there at that step"));
}

TEST(HelpTest, TopicsAreShownAndSuggested) {
  const Ran units = Berth({"help", "units"});
  EXPECT_EQ(0, units.status);
  EXPECT_THAT(units.out, HasSubstr("500m is half of one"));
  const Ran wrong = Berth({"help", "unit"});
  EXPECT_EQ(2, wrong.status);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean units?"));
  EXPECT_THAT(Berth({}).out, HasSubstr("reasons"));
}

TEST(ManPageTest, EveryPageIsSoundAndSaysWhatHelpSays) {
  const testkit::TempDir folder;
  ASSERT_EQ(0, Berth({"__man", folder.path()}).status);
  std::ofstream(folder / "man1/berthd.8") << RunProgram(BERTHD, {"--man"}).out;
  const std::string pods = testkit::ReadText(folder / "man1/berth-pods.1");
  EXPECT_THAT(pods, HasSubstr("\\-\\-selector"));
  EXPECT_THAT(pods, HasSubstr("List the pods of this node"));
  EXPECT_THAT(testkit::ReadText(folder / "man7/berth-units.7"), HasSubstr("500m is half of one"));
  EXPECT_THAT(testkit::ReadText(folder / "man1/berthd.8"), HasSubstr("\\-\\-kubelet\\-config"));
  if (RunProgram("/bin/sh", {"-c", "command -v mandoc"}).status != 0) GTEST_SKIP() << "mandoc is not installed";
  const Ran lint = RunProgram("/bin/sh", {"-c", "mandoc -T lint -W error " + folder.path() + "/man*/*"});
  EXPECT_EQ(0, lint.status) << lint.out << lint.err;
}

}  // namespace
}  // namespace berth
