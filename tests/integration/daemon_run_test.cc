// `berth run` beside a real berthd: commands of a terminal and processes that run already, in places of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "daemon_fixture.h"
#include "host/os/pidfd.h"
#include "run_program.h"
#include "testing/seen_groups.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testkit::DaemonFixture;
using testkit::Lives;
using testkit::ReadIfThere;

constexpr std::chrono::milliseconds kLook{50};

int StatusOfEnded(int pid) {
  int status = -1;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Its CPUs as /proc/PID/status has them: "1", "0-1".
std::string AllowedOf(int pid) {
  const std::string text = ReadIfThere("/proc/" + std::to_string(pid) + "/status");
  const std::string label = "Cpus_allowed_list:\t";
  const std::size_t at = text.find(label);
  return at == std::string::npos ? "" : text.substr(at + label.size(), text.find('\n', at) - at - label.size());
}

class RunCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    berthd.emplace();
    berthd->Start();
  }
  std::vector<std::string> Words(std::vector<std::string> more) const {
    std::vector<std::string> words = {"run", "--socket", berthd->socket()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Ran Run(std::vector<std::string> more) const { return Berth(Words(std::move(more))); }
  /// In the background, its output in the file `log`.
  int Begin(std::vector<std::string> more, const std::string& log) const {
    return Spawn(BERTH, Words(std::move(more)), {}, berthd->Dir(log));
  }
  bool Says(const std::string& log, const std::string& text) {
    const bool said = berthd->Until(log + " says " + text,
                                    [&] { return ReadIfThere(berthd->Dir(log)).find(text) != std::string::npos; });
    EXPECT_TRUE(said) << ReadIfThere(berthd->Dir(log));
    return said;
  }
  /// The number a command wrote as a line "pid N".
  int PidIn(const std::string& log) const {
    const std::string text = ReadIfThere(berthd->Dir(log));
    const std::size_t at = text.find("pid ");
    return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + 4);
  }
  bool NoPods() {
    return berthd->Until("no pod is left", [&] { return berthd->Get("/v1/pods")["pods"].empty(); });
  }

  std::optional<DaemonFixture> berthd;
};

TEST_F(RunCommandTest, ACommandRunsOnItsCpusFromItsFirstInstructionAndItsStatusIsOurs) {
  const Ran ran = Run(
      {"--cpus", "1", "--memory", "64Mi", "--", "sh", "-c", "grep Cpus_allowed_list /proc/self/status; cat; exit 41"});
  EXPECT_EQ(41, ran.status) << ran.err;
  EXPECT_EQ("Cpus_allowed_list:\t1\n", ran.out);
  EXPECT_THAT(ran.err, HasSubstr("CPUs 1 of its own, memory 64Mi"));
  EXPECT_TRUE(NoPods()) << "gone when it has ended";
  EXPECT_EQ("", Run({"-q", "--", "true"}).err);
}

TEST_F(RunCommandTest, TheCommandIsInTheGroupsOfItsPodAndTheBooksAgree) {
  const int run = Begin({"--cpus", "1", "--memory", "64Mi", "--", "sh", "-c", "echo pid $$; sleep 60 & wait"}, "out");
  ASSERT_TRUE(Says("out", "pid "));
  const int pid = PidIn("out");
  const Ran verify = Berth({"state", "verify", "--socket", berthd->socket()});
  EXPECT_EQ(0, verify.status) << verify.out << verify.err;
  bool seen = false;
  for (const testkit::SeenProcess& process : berthd->Processes()) {
    if (process.pid != pid) continue;
    seen = true;
    EXPECT_THAT(process.cgroup, HasSubstr("kubepods/pod"));
    EXPECT_EQ("1", FormatIds(process.allowed));
  }
  EXPECT_TRUE(seen);
  ::kill(run, SIGTERM);
  EXPECT_EQ(128 + SIGTERM, StatusOfEnded(run)) << "passed on, and it ended by it";
  EXPECT_TRUE(NoPods());
}

TEST_F(RunCommandTest, CtrlCReachesTheCommandOnceAndOnlyItDecides) {
  int terminal = -1;
  std::vector<std::string> words = Words(
      {"-q", "--cpus", "1", "--memory", "64Mi", "--", "sh", "-c",
       "n=0; trap 'n=$((n+1)); echo asked $n; [ $n -lt 2 ] || exit 6' INT; echo ready; while :; do sleep 0.05; done"});
  const int pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    std::vector<char*> argv = {const_cast<char*>(BERTH)};
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  std::string out;
  const auto read_until = [&](const std::string& text) {
    char chunk[4096];
    while (out.find(text) == std::string::npos) {
      const ssize_t n = ::read(terminal, chunk, sizeof chunk);
      if (n <= 0) return;
      out.append(chunk, static_cast<std::size_t>(n));
    }
  };
  read_until("ready");
  ASSERT_EQ(1, ::write(terminal, "\x03", 1));
  read_until("asked 1");
  EXPECT_TRUE(Lives(pid));
  ASSERT_EQ(1, ::write(terminal, "\x03", 1));
  EXPECT_EQ(6, StatusOfEnded(pid)) << out;
  read_until("asked 2");
  EXPECT_EQ(out.find("asked 3"), std::string::npos) << "one signal for each key";
  ::close(terminal);
  EXPECT_TRUE(NoPods());
}

TEST_F(RunCommandTest, WhatHasNoPlaceIsNotExecuted) {
  const std::string mark = berthd->Dir("mark");
  const Ran large = Run({"--cpus", "4096", "--memory", "64Mi", "--", "touch", mark});
  EXPECT_EQ(3, large.status);
  EXPECT_THAT(large.err, testing::StartsWith("berth: no place for default/run-touch-"));
  EXPECT_THAT(large.err, HasSubstr("CPUs asked"));
  EXPECT_THAT(large.err, testing::Not(HasSubstr("unexpected")));
  const Ran shared = Run({"--isolate", "--cpus", "500m", "--memory", "64Mi", "--", "touch", mark});
  EXPECT_EQ(3, shared.status);
  EXPECT_THAT(shared.err, HasSubstr("has no CPUs of its own (--isolate): that takes --cpus with a whole number"));
  const Ran promised = Run({"--dry-run", "--isolate", "--cpus", "500m", "--memory", "64Mi", "--", "touch", mark});
  EXPECT_EQ(3, promised.status);
  EXPECT_THAT(promised.err, HasSubstr("has no CPUs of its own (--isolate): that takes --cpus with a whole number"));
  const Ran wrong = Run({"--cpus", "many", "--", "touch", mark});
  EXPECT_EQ(1, wrong.status);
  EXPECT_THAT(wrong.err, HasSubstr("--cpus: "));
  EXPECT_EQ(2, Run({"--cpus", "1"}).status) << "there is nothing to run";
  const Ran paper = Run({"--dry-run", "--cpus", "1", "--memory", "64Mi", "--", "touch", mark});
  EXPECT_EQ(0, paper.status);
  EXPECT_THAT(paper.out, HasSubstr("admitted"));
  EXPECT_FALSE(std::filesystem::exists(mark));
  EXPECT_TRUE(NoPods());
  const Ran nobody = Berth({"run", "--socket", berthd->Dir("no.sock"), "--cpus", "1", "--", "true"});
  EXPECT_EQ(4, nobody.status);
  EXPECT_THAT(nobody.err, HasSubstr("berth run --once"));
}

TEST_F(RunCommandTest, WhatCannotBeExecutedHasTheStatusAShellGivesIt) {
  EXPECT_EQ(127, Run({"--cpus", "1", "--memory", "64Mi", "--", "/nonexistent/program"}).status);
  EXPECT_EQ(126, Run({"--cpus", "1", "--memory", "64Mi", "--", "/tmp"}).status);
  EXPECT_TRUE(NoPods());
}

TEST_F(RunCommandTest, ADetachedCommandIsBerthdsAndItsNameIsTaken) {
  const Ran ran = Run({"-d", "--name", "feed", "--cpus", "1", "--memory", "64Mi", "-e", "GREETING=hello $(me)", "--",
                       "sh", "-c", "echo $GREETING; pwd; sleep 1000"});
  ASSERT_EQ(0, ran.status) << ran.err;
  EXPECT_EQ("default/feed-n1\n", ran.out);
  const auto logs = [&] { return Berth({"logs", "--socket", berthd->socket(), "feed"}).out; };
  const std::string expected = "hello $(me)\n" + std::filesystem::current_path().string() + "\n";
  EXPECT_TRUE(berthd->Until("it has spoken", [&] { return logs() == expected; })) << logs();
  const Ran again = Run({"-d", "--name", "feed", "--", "true"});
  EXPECT_EQ(1, again.status);
  EXPECT_THAT(again.err, HasSubstr("there is a pod default/feed-n1 already"));
  EXPECT_EQ(1, Run({"--dry-run", "--name", "feed", "--", "true"}).status);
  const Ran data = Run({"-d", "--name", "other", "-o", "jsonpath={.namespace}/{.name}", "--", "sleep", "1000"});
  EXPECT_EQ("default/other-n1\n", data.out) << data.err;
  EXPECT_EQ(0, Berth({"delete", "--socket", berthd->socket(), "other", "--wait"}).status);
  EXPECT_EQ(0, Berth({"delete", "--socket", berthd->socket(), "feed", "--wait"}).status);
}

TEST_F(RunCommandTest, ProcessesThatRunAreTakenInWithTheirChildrenAndGivenBackAsTheyWere) {
  const int parent = Spawn("/bin/sh", {"-c", "sleep 1000 & echo pid $!; wait"}, {}, berthd->Dir("child"));
  ASSERT_TRUE(Says("child", "pid "));
  const int child = PidIn("child");
  cpu_set_t only_first;
  CPU_ZERO(&only_first);
  CPU_SET(0, &only_first);
  ASSERT_EQ(0, ::sched_setaffinity(child, sizeof only_first, &only_first));
  const auto before = os::CgroupLinesOf(child);
  const std::string parents_cpus = AllowedOf(parent);

  const int run = Begin({"--pid", std::to_string(parent), "--cpus", "1", "--memory", "64Mi"}, "hold");
  ASSERT_TRUE(Says("hold", "CPUs 1 of its own"));
  EXPECT_EQ("1", AllowedOf(parent));
  EXPECT_EQ("1", AllowedOf(child));
  ::kill(run, SIGINT);
  EXPECT_EQ(0, StatusOfEnded(run));
  EXPECT_TRUE(NoPods());
  EXPECT_EQ("0", AllowedOf(child));
  EXPECT_EQ(parents_cpus, AllowedOf(parent));
  EXPECT_EQ(before.value_or(std::vector<std::string>()), os::CgroupLinesOf(child).value_or(std::vector<std::string>()));

  ASSERT_EQ(0,
            Run({"-d", "--name", "held", "--pid", std::to_string(parent), "--cpus", "1", "--memory", "64Mi"}).status);
  EXPECT_EQ("1", AllowedOf(child));
  EXPECT_EQ(0, Berth({"delete", "--socket", berthd->socket(), "held", "--wait"}).status);
  EXPECT_EQ("0", AllowedOf(child));
  EXPECT_TRUE(Lives(child) && Lives(parent)) << "nobody was hurt";
  ::kill(child, SIGKILL);
  StatusOfEnded(parent);
}

TEST_F(RunCommandTest, WhatBerthNeedsItselfIsNotMovedAndWhoComesIsSaidBefore) {
  const auto paper = [&](int pid) { return Run({"--dry-run", "--cpus", "500m", "--pid", std::to_string(pid)}); };
  const Ran first = paper(1);
  EXPECT_EQ(1, first.status) << first.out;
  EXPECT_THAT(first.err, HasSubstr("--pid 1: process 1 ("));
  const Ran daemon = paper(berthd->pid());
  EXPECT_EQ(1, daemon.status) << daemon.out;
  EXPECT_THAT(daemon.err, HasSubstr("is a berthd or a supervisor of its containers"));
  EXPECT_EQ(1, paper(::getpid()).status) << "berthd and the one that asks descend from it";
  const int parent = Spawn("/bin/sh", {"-c", "sleep 1000 & echo pid $!; wait"}, {}, berthd->Dir("child"));
  ASSERT_TRUE(Says("child", "pid "));
  const Ran free = paper(parent);
  EXPECT_EQ(0, free.status) << free.err;
  EXPECT_THAT(free.err, HasSubstr("process " + std::to_string(parent) + " (sh) comes with 1 that descend from it"));
  ::kill(PidIn("child"), SIGKILL);
  StatusOfEnded(parent);
  EXPECT_TRUE(NoPods());
}

TEST_F(RunCommandTest, APodThatIsRemovedBeforeItHasAPlaceIsNotWaitedFor) {
  const std::string program = berthd->Dir("berth");
  std::ofstream(program) << "#!/bin/sh\ntrap 'exit 0' TERM\nsleep 1000 &\nwait\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const int process = Spawn("/bin/sleep", {"1000"}, {}, berthd->Dir("child"));
  // The command's own `berth` is there for it alone: berthd starts the script, which holds nobody.
  const std::string script = std::string("mount --bind ") + BERTH + " " + program + " && exec " + program +
                             " run --name held --cpus 1 --memory 64Mi --pid " + std::to_string(process) + " --socket " +
                             berthd->socket();
  const int run = Spawn("unshare", {"-m", "sh", "-c", script}, {}, berthd->Dir("out"));
  ASSERT_TRUE(berthd->Until("it runs", [&] {
    const codec::Json pod = berthd->PodNamed("held");
    return pod.is_object() && pod["phase"] == "Running";
  })) << ReadIfThere(berthd->Dir("out"));
  EXPECT_EQ(0, Berth({"delete", "--socket", berthd->socket(), "held"}).status);
  EXPECT_EQ(1, StatusOfEnded(run));
  EXPECT_THAT(ReadIfThere(berthd->Dir("out")), HasSubstr(" was removed before it had a place"));
  EXPECT_TRUE(NoPods());
  ::kill(process, SIGKILL);
  StatusOfEnded(process);
}

TEST_F(RunCommandTest, AHolderThatSomebodyElseWroteRefusesTheSame) {
  const std::string program = berthd->Dir("berthd");  // by its name alone one of Berth's
  std::filesystem::copy_file("/bin/sleep", program);
  const int pid = Spawn(program, {"1000"}, {}, berthd->Dir("named"));
  ASSERT_TRUE(
      berthd->Until("it runs", [&] { return ReadIfThere("/proc/" + std::to_string(pid) + "/comm") == "berthd\n"; }));
  const std::string cpus = AllowedOf(pid);
  const auto ticks = os::StartTicksOf(pid);
  ASSERT_TRUE(ticks);
  const std::string word = std::to_string(pid) + ":" + std::to_string(*ticks);
  berthd->AddPod("holder.yaml", std::string(R"(apiVersion: v1
kind: Pod
metadata: {name: holder}
spec:
  restartPolicy: Never
  hostNetwork: true
  containers:
  - name: run
    command: [)") + BERTH + ", __hold, " +
                                    berthd->socket() + ", --give-back, \"" + word + R"("]
    terminationMessagePolicy: FallbackToLogsOnError
    securityContext: {privileged: true}
    resources: {limits: {cpu: 1, memory: 64Mi}}
    env:
    - {name: POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
    - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
)");
  const auto failed = [&] {
    const codec::Json pod = berthd->PodNamed("holder");
    return pod.is_object() && pod["phase"] == "Failed";
  };
  EXPECT_TRUE(berthd->Until("the holder refuses", failed));
  const std::string logs = Berth({"logs", "--socket", berthd->socket(), "holder"}).out;
  EXPECT_THAT(logs, HasSubstr("process " + std::to_string(pid) + " (berthd) is a berthd or a supervisor"));
  EXPECT_EQ(cpus, AllowedOf(pid));
  ::kill(pid, SIGKILL);
  StatusOfEnded(pid);
}

TEST_F(RunCommandTest, ADeletedPodsCommandIsAskedToEnd) {
  const int run = Begin({"--name", "polite", "--cpus", "1", "--memory", "64Mi", "--", "sh", "-c",
                         "trap 'echo bye; exit 8' TERM; echo ready; while :; do sleep 0.05; done"},
                        "out");
  ASSERT_TRUE(Says("out", "ready"));
  EXPECT_EQ(0, Berth({"delete", "--socket", berthd->socket(), "polite"}).status);
  EXPECT_EQ(8, StatusOfEnded(run));
  EXPECT_THAT(ReadIfThere(berthd->Dir("out")), HasSubstr("bye"));
  EXPECT_TRUE(NoPods());
}

TEST_F(RunCommandTest, NeitherAKilledBerthdNorAKilledBerthEndsTheCommand) {
  const std::string gate = berthd->Dir("gate");
  const int run = Begin({"--cpus", "1", "--memory", "64Mi", "--", "sh", "-c",
                         "echo pid $$; while [ ! -e " + gate + " ]; do sleep 0.05; done"},
                        "out");
  ASSERT_TRUE(Says("out", "pid "));
  const int pid = PidIn("out");
  berthd->Kill();
  berthd->Start();
  EXPECT_EQ("1", AllowedOf(pid));
  ::kill(run, SIGKILL);
  StatusOfEnded(run);
  EXPECT_TRUE(Lives(pid));
  EXPECT_EQ("1", AllowedOf(pid));
  EXPECT_EQ(1U, berthd->Get("/v1/pods")["pods"].size()) << "its place stays its own";
  std::filesystem::create_directory(gate);
  EXPECT_TRUE(NoPods()) << "its holder saw it end";
}

TEST(RunOnceTest, SeveralShareOneBerthdWhichLeavesNothingBehind) {
  if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
  if (std::filesystem::exists("/run/berth-once/berth.sock")) GTEST_SKIP() << "somebody uses --once on this host";
  const testkit::TempDir temp;
  const std::string gate = temp / "gate";
  const std::string script = "echo pid $$; while [ ! -e " + gate + " ]; do sleep 0.05; done";
  const int first =
      Spawn(BERTH, {"run", "--once", "--cpus", "1", "--memory", "64Mi", "--", "sh", "-c", script}, {}, temp / "first");
  const auto has = [&](const std::string& text) { return ReadIfThere(temp / "first").find(text) != std::string::npos; };
  while (!has("pid ") && Lives(first)) std::this_thread::sleep_for(kLook);
  ASSERT_TRUE(has("pid ")) << ReadIfThere(temp / "first");
  const Ran second = Berth({"run", "--once", "--", "sh", "-c", "grep Cpus_allowed_list /proc/self/status"});
  EXPECT_EQ(0, second.status) << second.err;
  EXPECT_EQ(second.out.find("\t1\n"), std::string::npos) << "the first's CPU is its own: " << second.out;
  EXPECT_TRUE(std::filesystem::exists("/run/berth-once/berth.sock")) << "the first needs it still";
  std::filesystem::create_directory(gate);
  EXPECT_EQ(0, StatusOfEnded(first)) << ReadIfThere(temp / "first");
  EXPECT_FALSE(std::filesystem::exists("/run/berth-once")) << "nothing of it is left";
}

TEST(RunOnceTest, ABerthdThatDoesNotStartLeavesNothingBehind) {
  if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
  if (std::filesystem::exists("/run/berth-once")) GTEST_SKIP() << "somebody uses --once on this host";
  const testkit::TempDir temp;
  std::filesystem::copy_file(BERTH, temp / "berth");
  std::ofstream(temp / "berthd") << "#!/bin/sh\necho no such luck\nexit 1\n";  // the one beside is taken
  std::filesystem::permissions(temp / "berthd", std::filesystem::perms::owner_all);
  const int pid = Spawn(temp / "berth", {"run", "--once", "--", "true"}, {}, temp / "said");
  EXPECT_EQ(1, StatusOfEnded(pid));
  EXPECT_THAT(ReadIfThere(temp / "said"), HasSubstr("berthd ended; it said:\nno such luck"));
  EXPECT_FALSE(std::filesystem::exists("/run/berth-once"));
}

TEST(RunOnceTest, WhoNamesNoMemoryHasCpusOfItsOwnAndNoLimitOfMemory) {
  if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
  if (std::filesystem::exists("/run/berth-once/berth.sock")) GTEST_SKIP() << "somebody uses --once on this host";
  const Ran ran = Berth({"run", "--once", "--cpus", "1", "--", "berth-no-such-word", "x"});
  EXPECT_THAT(ran.err, HasSubstr("CPUs 1 of its own\n")) << "nothing about memory";
  EXPECT_EQ(127, ran.status);
}

TEST(RunOnceTest, TheNodesThatAreAskedForAreWhereItRuns) {
  if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
  if (std::filesystem::exists("/run/berth-once/berth.sock")) GTEST_SKIP() << "somebody uses --once on this host";
  const Ran ran =
      Berth({"run", "--once", "--numa", "0", "--cpus", "1", "--", "grep", "Mems_allowed_list", "/proc/self/status"});
  EXPECT_EQ(0, ran.status) << ran.err;
  EXPECT_EQ("Mems_allowed_list:\t0\n", ran.out);
  EXPECT_THAT(ran.err, HasSubstr("memory nodes 0"));
  const Ran nowhere = Berth({"run", "--once", "--numa", "0,900", "--", "true"});
  EXPECT_EQ(3, nowhere.status);
  EXPECT_THAT(nowhere.err, HasSubstr("this machine has no NUMA node 900"));
}

TEST(RunOnceTest, WhatAKilledOneLeftTheNextRemoves) {
  if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
  if (std::filesystem::exists("/run/berth-once/berth.sock")) GTEST_SKIP() << "somebody uses --once on this host";
  const testkit::TempDir temp;
  const std::string hold = temp / "hold";  // goes with the test, whatever becomes of it
  std::filesystem::create_directory(hold);
  const std::string script = "echo pid $$; while [ -e " + hold + " ]; do sleep 0.05; done";
  const int killed =
      Spawn(BERTH, {"run", "--once", "--cpus", "1", "--memory", "64Mi", "--", "sh", "-c", script}, {}, temp / "killed");
  const auto runs = [&] { return ReadIfThere(temp / "killed").find("pid ") != std::string::npos; };
  while (!runs() && Lives(killed)) std::this_thread::sleep_for(kLook);
  ASSERT_TRUE(runs()) << ReadIfThere(temp / "killed");
  ASSERT_EQ(0, ::kill(killed, SIGKILL));
  StatusOfEnded(killed);
  EXPECT_TRUE(std::filesystem::exists("/run/berth-once/berth.sock")) << "its berthd goes on";
  std::filesystem::remove(hold);
  const auto pods = [] { return Berth({"pods", "--socket", "/run/berth-once/berth.sock", "-o", "name"}).out; };
  while (!pods().empty()) std::this_thread::sleep_for(kLook);  // the command's holder removes it
  const Ran next = Berth({"run", "--once", "--", "true"});
  EXPECT_EQ(0, next.status) << next.err;
  EXPECT_FALSE(std::filesystem::exists("/run/berth-once"));
}

}  // namespace
}  // namespace berth
