// What needs no daemon: help, wrong usage, the unreachable socket, completion, pictures of machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/codec.h"
#include "process.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kCommands[] = {"run",     "apply", "pods",   "describe",   "logs",    "delete",  "map",
                                     "events",  "node",  "status", "exec",       "images",  "machine", "simulate",
                                     "explain", "check", "replay", "completion", "version", "help"};

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
  ExpectUsageError({"pods", "-o", "jsn"}, "'jsn' is none of table|wide|json|yaml, did you mean json?");
  ExpectUsageError({"describe"}, "pod is required");
  ExpectUsageError({"delete"}, "a POD or -f FILE is required");
  ExpectUsageError({"apply"}, "--filename is required");
  ExpectUsageError({"map", "--width", "7"}, "--width");
  ExpectUsageError({"logs", "web", "--tail", "many"}, "--tail");
  ExpectUsageError({"logs", "web", "-f", "-p"}, "--previous excludes --follow");
  ExpectUsageError({"exec", "web"}, "command is required");
  ExpectUsageError({"run", "--cpus", "1"}, "a command after --, or --pid is required");
  ExpectUsageError({"run", "--pid", "1", "--", "true"}, "command excludes --pid");
  ExpectUsageError({"run", "-e", "A=1", "--", "true"}, "--env requires --detach");
  ExpectUsageError({"run", "--pid", "0"}, "--pid");
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

TEST(BerthSocketTest, TheEnvironmentNamesTheSocketAndTheOptionWins) {
  const RunOptions options{.environment = {"BERTH_SOCKET=/nonexistent/env.sock"}, .input = {}};
  EXPECT_THAT(Berth({"pods"}, options).err, HasSubstr("/nonexistent/env.sock"));
  EXPECT_THAT(Berth({"pods", "--socket", "/nonexistent/option.sock"}, options).err, HasSubstr("option.sock"));
}

TEST(BerthMapTest, DrawsAMachineWithoutADaemon) {
  const Ran wrong = Berth({"map", "--from", "no such machine"});
  EXPECT_EQ(1, wrong.status);
  EXPECT_THAT(wrong.err, HasSubstr("no such machine"));
  const Ran good = Berth({"map", "--from", "pack:2 numa:1 core:2 pu:2", "--width", "60"});
  EXPECT_EQ(0, good.status) << good.err;
  EXPECT_THAT(good.out, HasSubstr("2 sockets, 2 NUMA nodes, 4 cores, 8 CPUs"));
  EXPECT_THAT(good.out, HasSubstr("shared pool 0-7"));
}

TEST(BerthMapTest, ColoursOnlyWhenAsked) {
  const std::vector<std::string> map = {"map", "--from", "pack:1 numa:1 core:2 pu:1", "--color"};
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
  const Ran ran = Berth({"map", "--from", "pack:2 numa:1 core:2 pu:2", "-o", "json"});
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

}  // namespace
}  // namespace berth
