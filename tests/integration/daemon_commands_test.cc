// `berth` beside a real berthd: what it says about containers that really run, as processes and behind CRI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "containerd_fixture.h"
#include "daemon_fixture.h"
#include "run_program.h"
#include "testing/seen_groups.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testkit::ContainerdFixture;
using testkit::DaemonFixture;
using testkit::ReadIfThere;

/// A pod of one container named app; `more`: lines of its spec.
std::string PodText(const std::string& name, const std::string& script, const std::string& more = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         "}\nspec:\n  hostNetwork: true\n  terminationGracePeriodSeconds: 5\n" + more +
         "  containers:\n  - name: app\n    image: localhost/berth/busybox:1\n    command:\n    - /bin/sh\n    - -c\n"
         "    - |\n      " +
         script + "\n";
}

std::string Numbered(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += "line " + std::to_string(i) + "\n";
  return out;
}

/// What `berth` writes when a terminal is its output.
std::string OnTerminal(const std::vector<std::string>& arguments) {
  int terminal = -1;
  const int pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    std::vector<char*> argv = {const_cast<char*>(BERTH)};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  std::string out;
  char chunk[4096];
  for (ssize_t n = 0; (n = ::read(terminal, chunk, sizeof chunk)) > 0;) out.append(chunk, static_cast<std::size_t>(n));
  ::close(terminal);
  ::waitpid(pid, nullptr, 0);
  return out;
}

/// What both runtimes have to do alike.
class CommandsTest : public testing::Test {
 protected:
  Ran Ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin() + 1, {"--socket", berthd->socket()});
    return Berth(arguments);
  }
  /// `berth` in the background, its output in the file `log`.
  int Follow(std::vector<std::string> arguments, const std::string& log) const {
    arguments.insert(arguments.begin() + 1, {"--socket", berthd->socket()});
    return Spawn(BERTH, arguments, {}, berthd->Dir(log));
  }
  static int StatusOf(int pid) {
    int status = -1;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  bool Started(const std::string& name) {
    const codec::Json pod = berthd->PodNamed(name);
    return pod.is_object() && pod["containers"][0].contains("logPath");
  }
  bool Gone(const std::string& name) { return !berthd->PodNamed(name).is_object(); }

  void FollowsOverRotationsToTheEnd();
  void PrintsTheLastWordsOfARemovedPod();
  void ATerminalIsNotHandedWhatItWouldObey();

  std::optional<DaemonFixture> berthd;
};

void CommandsTest::FollowsOverRotationsToTheEnd() {
  constexpr int kLines = 3000;
  berthd->AddPod("talk.yaml", PodText("talk",
                                      "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); "
                                      "[ $((i % 300)) -ne 0 ] || sleep 0.1; done; printf end",
                                      "  restartPolicy: Never\n"));
  ASSERT_TRUE(berthd->Until("it has begun", [&] { return Started("talk"); }));
  const int follower = Follow({"logs", "talk", "-f", "--tail", "100000"}, "talk.out");
  EXPECT_EQ(0, StatusOf(follower)) << ReadIfThere(berthd->Dir("talk.out"));
  EXPECT_EQ(Numbered(kLines) + "end\n", ReadIfThere(berthd->Dir("talk.out")));
  EXPECT_EQ("line 2999\nend\n", Ask({"logs", "talk", "--tail", "2"}).out);
  EXPECT_EQ("end\n", Ask({"logs", "talk", "-f", "--tail", "1"}).out) << "it has ended: so does this";
  EXPECT_EQ("", Ask({"logs", "talk", "--since", "2099-01-01T00:00:00Z"}).out);
  EXPECT_THAT(Ask({"logs", "talk", "--since", "1h"}).out, HasSubstr("line 2999\nend\n"));
  EXPECT_THAT(Ask({"logs", "talk", "--since", "yesterday"}).err, HasSubstr("must be a time like"));
}

void CommandsTest::ATerminalIsNotHandedWhatItWouldObey() {
  berthd->AddPod("loud.yaml", PodText("loud", R"(printf '\033]0;mine\007\033[2Jhello\n')", "  restartPolicy: Never\n"));
  const std::string sequence = "\x1b]0;mine\x07\x1b[2Jhello";
  ASSERT_TRUE(berthd->Until("it has ended", [&] { return Ask({"logs", "loud"}).out == sequence + "\n"; }));
  EXPECT_EQ(OnTerminal({"logs", "--socket", berthd->socket(), "loud"}), "\\x1b]0;mine\\x07\\x1b[2Jhello\r\n");
  EXPECT_EQ(OnTerminal({"logs", "--socket", berthd->socket(), "loud", "--raw"}), sequence + "\r\n");
}

void CommandsTest::PrintsTheLastWordsOfARemovedPod() {
  berthd->AddPod("polite.yaml", PodText("polite", "trap 'echo goodbye; exit 0' TERM; echo hello; sleep 1000 & wait"));
  const std::string log = berthd->Dir("polite.out");
  ASSERT_TRUE(berthd->Until("it has begun", [&] { return Started("polite"); }));
  const int follower = Follow({"logs", "polite", "-f"}, "polite.out");
  ASSERT_TRUE(berthd->Until("its word has arrived", [&] { return ReadIfThere(log) == "hello\n"; }));
  berthd->RemovePod("polite.yaml");
  EXPECT_EQ(0, StatusOf(follower));
  EXPECT_EQ("hello\ngoodbye\n", ReadIfThere(log));
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return Gone("polite"); }));
}

class ProcessCommandsTest : public CommandsTest {
 protected:
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    berthd.emplace();
    // More files than are filled: nothing is removed before a slow follower has read it.
    berthd->Configure("containerLogMaxSize: 20Ki\ncontainerLogMaxFiles: 50\n");
    berthd->Start();
  }
};

TEST_F(ProcessCommandsTest, APodThatWaitsForAnInitContainerSaysForWhich) {
  const auto init = [](const std::string& name, const std::string& script) {
    return "  - {name: " + name + ", image: none, command: [/bin/sh, -c, \"" + script + "\"]}\n";
  };
  const auto add = [&](const std::string& name, const std::string& policy, const std::string& script) {
    berthd->AddPod(name + ".yaml", PodText(name, "sleep 1000",
                                           "  restartPolicy: " + policy + "\n  initContainers:\n" +
                                               init("first", "exit 0") + init("second", script)));
  };
  add("busy", "Always", "sleep 1000");
  add("crashing", "OnFailure", "exit 1");
  add("failed", "Never", "exit 1");
  const auto says = [&](const std::string& pod, const std::string& status) {
    return berthd->Until(pod + " is " + status, [&] {
      const Ran ran = Ask({"pods"});
      const std::size_t at = ran.out.find(pod + "-n1 ");
      return at != std::string::npos &&
             ran.out.substr(at, ran.out.find('\n', at) - at).find(status) != std::string::npos;
    });
  };
  EXPECT_TRUE(says("busy", " Init:1/2 "));
  EXPECT_TRUE(says("crashing", " Init:CrashLoopBackOff "));
  EXPECT_TRUE(says("failed", " Init:Error "));
}

TEST_F(ProcessCommandsTest, LogsAreFollowedToTheEndOfContainerAndPod) {
  FollowsOverRotationsToTheEnd();
  PrintsTheLastWordsOfARemovedPod();
}

TEST_F(ProcessCommandsTest, ATerminalIsNotHandedWhatItWouldObey) { ATerminalIsNotHandedWhatItWouldObey(); }

TEST_F(ProcessCommandsTest, LogsAreForNobodyElse) {
  berthd->AddPod("idle.yaml", PodText("idle", "echo secret; sleep 1000"));
  ASSERT_TRUE(berthd->Until("it has spoken", [&] { return Ask({"logs", "idle"}).out == "secret\n"; }));
  const std::filesystem::path log = berthd->PodNamed("idle")["containers"][0]["logPath"].get<std::string>();
  using std::filesystem::perms;
  for (const auto& path : {log, log.parent_path(), log.parent_path().parent_path()})
    EXPECT_EQ(std::filesystem::status(path).permissions() & perms::others_all, perms::none) << path;
}

TEST_F(ProcessCommandsTest, WaitingNamesTheProgramThatIsMissing) {
  for (const char* const policy : {"Always", "Never"}) {
    const std::string file = berthd->Dir(std::string(policy) + ".yaml");
    std::string name = policy;
    name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
    std::ofstream(file) << "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                               "}\nspec:\n  restartPolicy: " + policy +
                               "\n  containers: [{name: app, command: [/no/such/program]}]\n";
    const Ran ran = Ask({"apply", "-f", file, "--wait"});
    EXPECT_EQ(1, ran.status) << policy;
    EXPECT_THAT(ran.err, HasSubstr("/no/such/program")) << policy;
  }
}

TEST_F(ProcessCommandsTest, SaysWhyThereAreNeitherExecNorImages) {
  berthd->AddPod("idle.yaml", PodText("idle", "sleep 1000"));
  ASSERT_TRUE(berthd->Until("it runs", [&] { return berthd->Runs("idle"); }));
  const Ran ran = Ask({"exec", "idle", "--", "ls"});
  EXPECT_EQ(1, ran.status);
  EXPECT_THAT(ran.err, HasSubstr("runs containers as plain processes (runtime: process)"));
  EXPECT_THAT(ran.err, HasSubstr("in these it runs the commands of probes and hooks, and other commands only"));
  EXPECT_THAT(Ask({"images"}).err, HasSubstr("there are no images"));
}

TEST(ContainerRuntimeTest, OneThatDoesNotAnswerIsNotTakenForASecondBerthd) {
  if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
  DaemonFixture berthd;
  const std::string path = berthd.Dir("web.sock");
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(0, ::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  ASSERT_EQ(0, ::listen(listener, 1));
  std::jthread hangs_up([listener] { ::close(::accept(listener, nullptr, nullptr)); });
  const auto ended = berthd.RunToEnd({"--runtime", "cri", "--runtime-endpoint", path});
  EXPECT_EQ(1, ended.status);
  EXPECT_THAT(ended.output, HasSubstr("is this a container runtime?"));
  ::shutdown(listener, SHUT_RDWR);
  hangs_up.join();
  ::close(listener);
}

TEST_F(ProcessCommandsTest, DocumentsAndTemplatesAreAppliedAndDeletedWithTheirPods) {
  const std::string file = berthd->Dir("shop.yaml");
  std::ofstream(file) << R"(apiVersion: v1
kind: Secret
metadata: {name: key}
stringData: {pw: hunter2}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  template:
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: app
        command: [/bin/sh, -c, "trap 'exit 0' TERM; sleep 1000 & wait"]
        env: [{name: PW, valueFrom: {secretKeyRef: {name: key, key: pw}}}]
)";
  const Ran without = Ask({"apply", "-f", file});
  EXPECT_EQ(without.status, 0) << without.err;
  EXPECT_EQ(without.out, "secret default/key created\n");
  EXPECT_THAT(without.err, HasSubstr("'berth apply --as-pods' makes as many pods of its template"));
  const Ran made = Ask({"apply", "-f", file, "--as-pods", "--wait"});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(made.out, "secret default/key unchanged\ndefault/web-0-n1 created\ndefault/web-1-n1 created\n");
  EXPECT_THAT(made.err, HasSubstr("made 2 pods of its template (web-0 to web-1)"));
  EXPECT_TRUE(berthd->Runs("web-0") && berthd->Runs("web-1"));
  const Ran gone = Ask({"delete", "-f", file, "--as-pods", "--wait"});
  EXPECT_EQ(gone.status, 0) << gone.err;
  EXPECT_EQ(gone.out, "default/web-0-n1 deleted\ndefault/web-1-n1 deleted\nsecret default/key deleted\n");
  EXPECT_EQ(gone.err, "") << "none was made";
  EXPECT_TRUE(std::filesystem::is_empty(berthd->Dir("pods")));
}

TEST_F(ProcessCommandsTest, ApplyRefusesWhatWouldNeverStartAndStoresNothingOfIt) {
  const std::string file = berthd->Dir("fly.yaml");
  std::ofstream(file) << PodText("good", "exit 0") << "---\n"
                      << PodText("fly", "exit 0") << "    securityContext: {capabilities: {add: [FLY]}}\n";
  const Ran refused = Ask({"apply", "-f", file});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(
      refused.err,
      HasSubstr(file + ": document 2: spec.containers[0].securityContext.capabilities.add: Forbidden: Linux has "
                       "no capability \"FLY\""));
  EXPECT_TRUE(std::filesystem::is_empty(berthd->Dir("pods")));
}

TEST_F(ProcessCommandsTest, ApplyTellsAllThatIsWrongOfADocumentAtOnceAndOfAWorkloadInItsTemplate) {
  const std::string file = berthd->Dir("web.yaml");
  std::ofstream(file) << R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      hostUsers: false
      containers:
      - name: app
        command: [/bin/true]
        resources: {requests: {cpu: 1x}}
        securityContext: {capabilities: {add: [FLY]}}
)";
  const Ran refused = Ask({"apply", "-f", file, "--as-pods"});
  EXPECT_EQ(refused.status, 1);
  for (const char* const field : {"hostUsers: Forbidden", "containers[0].resources.requests[cpu]: Invalid value",
                                  "containers[0].securityContext.capabilities.add: Forbidden"})
    EXPECT_THAT(refused.err, HasSubstr(file + ": document 1: spec.template.spec." + field));
  EXPECT_THAT(refused.err, testing::Not(HasSubstr("made 1 pod")));
}

TEST_F(ProcessCommandsTest, AManifestWithAGenerateNameIsTheSamePodEachTimeItIsApplied) {
  const std::string file = berthd->Dir("made.yaml");
  std::string text = PodText("made", "exit 0");
  const std::string name = "name: made";
  text.replace(text.find(name), name.size(), "generateName: made-");
  std::ofstream(file) << text;
  const Ran first = Ask({"apply", "-f", file});
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, testing::MatchesRegex("default/made-[0-9a-f]{10}-n1 created\n"));
  EXPECT_THAT(first.err, HasSubstr("metadata.generateName: is called \"made-"));
  const std::string pod = first.out.substr(0, first.out.find(' '));
  text.replace(text.find("exit 0"), 6, "exit 1");
  std::ofstream(file) << text;
  EXPECT_EQ(Ask({"apply", "-f", file}).out, pod + " configured\n");
  const std::string other = berthd->Dir("other.yaml");
  std::ofstream(other) << text;
  EXPECT_THAT(Ask({"apply", "-f", other}).out, testing::HasSubstr(" created")) << "another file is another pod";
  const std::string storage = berthd->Dir("storage.yaml");
  std::ofstream(storage)
      << "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {accessModes: [ReadWriteOnce], "
         "resources: {requests: {storage: 1Gi}}}}\n---\n{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, "
         "spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /}}}\n";
  text.replace(text.find("spec:\n"), 6, "spec:\n  volumes: [{name: d, persistentVolumeClaim: {claimName: c}}]\n");
  std::ofstream(file) << text;
  EXPECT_EQ(Ask({"apply", "-f", file, storage}).out, pod + " configured\n") << "storage beside it does not count";
  EXPECT_EQ(Ask({"delete", "-f", file}).out, pod + " deleted\n");
}

TEST_F(ProcessCommandsTest, ADryRunSaysWhatApplyWouldDoAndDoesNothing) {
  const std::string file = berthd->Dir("pods.yaml");
  std::ofstream(file) << PodText("idle", "sleep 1000");
  ASSERT_EQ(0, Ask({"apply", "-f", file, "--wait"}).status);
  const std::string before = ReadIfThere(berthd->Dir("pods/default_idle.yaml"));
  std::ofstream(file) << PodText("idle", "sleep 2000") << "---\n"
                      << PodText("new", "exit 0", "  tolerations: [{operator: Exists}]\n")
                      << "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n";
  const std::string bad = berthd->Dir("bad.yaml");
  std::ofstream(bad) << PodText("fly", "exit 0") << "    securityContext: {capabilities: {add: [FLY]}}\n---\n"
                     << PodText("fine", "exit 0", "  schedulerName: own\n");
  const Ran ran = Ask({"apply", "-f", file, bad, "--dry-run"});
  EXPECT_EQ(1, ran.status) << "as apply's";
  EXPECT_EQ(
      "configmap default/c created (dry run)\ndefault/idle-n1 configured (dry run)\ndefault/new-n1 created (dry run)\n"
      "default/fine-n1 created (dry run; " +
          bad + " is refused)\n",
      ran.out);
  EXPECT_THAT(ran.err, testing::AllOf(HasSubstr("document 2: spec.tolerations: no effect: "),
                                      HasSubstr("Linux has no capability \"FLY\""),
                                      HasSubstr(bad + ": document 2: spec.schedulerName: no effect: ")));
  EXPECT_EQ(before, ReadIfThere(berthd->Dir("pods/default_idle.yaml")));
  EXPECT_FALSE(std::filesystem::exists(berthd->Dir("pods/default_new.yaml")));
  EXPECT_EQ("idle-n1", berthd->PodNamed("idle")["name"]);
  EXPECT_FALSE(std::filesystem::exists(berthd->Dir("pods/default_fine.yaml")));
  EXPECT_EQ(2, Ask({"apply", "-f", file, "--dry-run", "--wait"}).status);
  const std::string deployment = berthd->Dir("deployment.yaml");
  std::ofstream(deployment) << "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, "
                               "template: {spec: {containers: [{name: a, command: [\"true\"]}]}}}}\n";
  const Ran made = Ask({"apply", "-f", deployment, "--as-pods", "--dry-run"});
  EXPECT_EQ("default/web-0-n1 created (dry run)\ndefault/web-1-n1 created (dry run)\n", made.out);
  EXPECT_THAT(made.err, HasSubstr("spec: would make 2 pods of its template"));
}

TEST_F(ProcessCommandsTest, ClaimsAreAnsweredByVolumesOfOtherFilesOfTheCommand) {
  std::filesystem::create_directory(berthd->Dir("shop"));
  std::filesystem::create_directory(berthd->Dir("data"));
  std::ofstream(berthd->Dir("data/word")) << "kept\n";
  std::ofstream(berthd->Dir("shop/a.yaml"))
      << PodText("reader", "cat /data/word; sleep 1000",
                 "  volumes: [{name: d, persistentVolumeClaim: {claimName: c}}]\n")
      << "    volumeMounts: [{name: d, mountPath: /data}]\n";
  const Ran alone = Ask({"apply", "-f", berthd->Dir("shop/a.yaml")});
  EXPECT_EQ(1, alone.status);
  EXPECT_THAT(alone.err, HasSubstr("a.yaml: document 1: spec.volumes[0].persistentVolumeClaim: Forbidden: there is no "
                                   "PersistentVolumeClaim default/c beside the pod"));
  const std::string modes = "accessModes: [ReadWriteOncePod]";
  std::ofstream(berthd->Dir("shop/b.yaml"))
      << "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {" << modes
      << ", resources: {requests: {storage: 1Gi}}}}\n---\n{apiVersion: v1, kind: PersistentVolume, metadata: {name: "
         "v}, "
         "spec: {"
      << modes << ", capacity: {storage: 1Gi}, hostPath: {path: " << berthd->Dir("data") << "}}}\n";
  const Ran storage = Ask({"apply", "-f", berthd->Dir("shop/b.yaml")});
  EXPECT_EQ(0, storage.status);
  EXPECT_THAT(storage.err, HasSubstr("b.yaml: no effect: PersistentVolumes and claims are read with the pods"));
  const Ran made = Ask({"apply", "-f", berthd->Dir("shop"), "--wait"});
  EXPECT_EQ(0, made.status) << made.err;
  EXPECT_EQ("default/reader-n1 created\n", made.out);
  ASSERT_TRUE(berthd->Until("it has read", [&] { return Ask({"logs", "reader"}).out == "kept\n"; }));
  EXPECT_EQ("default/reader-n1 unchanged\n", Ask({"apply", "-f", berthd->Dir("shop")}).out);
  std::ofstream(berthd->Dir("shop/a.yaml"))
      << PodText("second", "sleep 1000", "  volumes: [{name: d, persistentVolumeClaim: {claimName: c}}]\n");
  const Ran second = Ask({"apply", "-f", berthd->Dir("shop")});
  EXPECT_EQ(1, second.status);
  EXPECT_THAT(second.err, HasSubstr("a.yaml: document 1: spec.volumes[0].persistentVolumeClaim: Forbidden: claim "
                                    "default/c is ReadWriteOncePod, and pod default/reader-n1 of this node has"));
}

TEST_F(ProcessCommandsTest, ClaimsAreAnsweredByVolumesOfThePodFolder) {
  std::filesystem::create_directory(berthd->Dir("data"));
  std::ofstream(berthd->Dir("data/word")) << "kept\n";
  const std::string file = berthd->Dir("reader.yaml");
  std::ofstream(file) << PodText("reader", "cat /data/word; sleep 1000",
                                 "  volumes: [{name: d, persistentVolumeClaim: {claimName: c}}]\n")
                      << "    volumeMounts: [{name: d, mountPath: /data}]\n";
  EXPECT_EQ(1, Ask({"apply", "-f", file}).status);
  berthd->AddPod(
      "storage.yaml",
      "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {accessModes: [ReadWriteOnce], "
      "resources: {requests: {storage: 1Gi}}}}\n---\n{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, "
      "spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: " +
          berthd->Dir("data") + "}}}\n");
  ASSERT_TRUE(berthd->Until("it is read", [&] { return Ask({"apply", "-f", file, "--dry-run"}).status == 0; }));
  EXPECT_EQ("default/reader-n1 created\n", Ask({"apply", "-f", file, "--wait"}).out);
  EXPECT_TRUE(berthd->Until("it has read", [&] { return Ask({"logs", "reader"}).out == "kept\n"; }));
}

TEST(PlayedMachineTest, RefusesWhatItsRuntimeWouldRefuse) {
  if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
  for (const std::string runtime : {"", "process", "cri"}) {
    DaemonFixture node;
    std::vector<std::string> arguments = {"--machine", "pack:2 numa:1 core:8 pu:2"};
    if (!runtime.empty()) arguments.insert(arguments.end(), {"--runtime", runtime});
    node.Start(arguments);
    const std::string file = node.Dir("pod.yaml");
    std::ofstream(file) << "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: i, "
                           "command: [x], securityContext: {procMount: Unmasked, appArmorProfile: {type: "
                           "RuntimeDefault}}}]}}\n";
    const Ran ran = Berth({"apply", "--socket", node.socket(), "-f", file, "--dry-run"});
    EXPECT_EQ(runtime.empty() ? 0 : 1, ran.status) << runtime << ": " << ran.err;
    EXPECT_EQ(!runtime.empty(), ran.err.find("procMount: Forbidden") != std::string::npos) << ran.err;
    EXPECT_EQ(runtime == "process", ran.err.find("appArmorProfile.type: Forbidden") != std::string::npos) << ran.err;
    EXPECT_TRUE(std::filesystem::is_empty(node.Dir("pods")));
  }
}

class CriCommandsTest : public CommandsTest {
 protected:
  void SetUp() override {
    for (const auto& why : {ContainerdFixture::WhyNot(), DaemonFixture::WhyNot()})
      if (why) GTEST_SKIP() << *why;
    containerd.emplace();
    containerd->Start();
    berthd.emplace();
    berthd->Start({"--runtime", "cri", "--runtime-endpoint", "unix://" + containerd->socket()});
  }
  void TearDown() override { berthd.reset(); }
  void RunIdle() {
    berthd->AddPod("idle.yaml", PodText("idle", "trap 'exit 0' TERM; sleep 1000 & wait"));
    ASSERT_TRUE(berthd->Until("it runs", [&] { return berthd->Runs("idle"); }));
  }
  Ran Exec(std::vector<std::string> command, std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"exec", "idle"});
    options.emplace_back("--");
    options.insert(options.end(), command.begin(), command.end());
    return Ask(options);
  }

  std::optional<ContainerdFixture> containerd;
};

TEST_F(CriCommandsTest, LogsAreFollowedToTheEndOfContainerAndPod) {
  FollowsOverRotationsToTheEnd();
  PrintsTheLastWordsOfARemovedPod();
}

TEST_F(CriCommandsTest, ACommandsOutputAndExitCodeComeThrough) {
  RunIdle();
  const Ran ran = Exec({"/bin/sh", "-c", "echo out; echo wrong >&2; cat; printf '\\377\\000x'; exit 7"});
  EXPECT_EQ(7, ran.status);
  EXPECT_EQ(std::string("out\n\377\000x", 7), ran.out);
  EXPECT_EQ("wrong\n", ran.err);
  EXPECT_EQ("a b\n", Exec({"/bin/echo", "a b"}).out);

  const Ran missing = Exec({"/no/such/program"});
  EXPECT_EQ(127, missing.status);
  EXPECT_THAT(missing.err, HasSubstr("/no/such/program"));
  const Ran forbidden = Exec({"/etc"});
  EXPECT_EQ(126, forbidden.status) << forbidden.err;
  const Ran late = Exec({"/bin/sleep", "100"}, {"--timeout", "1"});
  EXPECT_EQ(124, late.status);
  EXPECT_THAT(late.err, HasSubstr("did not end within 1 s and was killed"));

  const Ran large = Exec({"/bin/sh", "-c", "head -c 4000000 /dev/zero"});
  EXPECT_EQ(0, large.status) << large.err;
  EXPECT_EQ(4'000'000U, large.out.size());
  const Ran huge = Exec({"/bin/sh", "-c", "head -c 20000000 /dev/zero"});
  EXPECT_THAT(huge.err, HasSubstr("16 MiB")) << huge.status;

  EXPECT_THAT(Exec({"ls"}, {"-c", "ap"}).err, HasSubstr("did you mean app?"));
  EXPECT_THAT(Ask({"exec", "none", "--", "ls"}).err, HasSubstr("no pod 'none'"));
  berthd->AddPod("over.yaml", PodText("over", "exit 3", "  restartPolicy: Never\n"));
  ASSERT_TRUE(berthd->Until("it has ended", [&] { return berthd->PodNamed("over")["phase"] == "Failed"; }));
  const Ran over = Ask({"exec", "over", "--", "ls"});
  EXPECT_EQ(1, over.status);
  EXPECT_THAT(over.err, HasSubstr("does not run: it is exited"));
}

TEST_F(CriCommandsTest, ACommandEndsWithWhoeverAskedForIt) {
  constexpr const char* kMarker = "31536001";
  const auto runs = [&] {
    return std::ranges::any_of(berthd->Processes(), [&](const testkit::SeenProcess& process) {
      return ReadIfThere("/proc/" + std::to_string(process.pid) + "/cmdline").contains(kMarker);
    });
  };
  RunIdle();
  ::signal(SIGINT, SIG_DFL);  // a shell's background job ignores it, and so would its children
  const std::vector<std::string> forever = {"exec", "idle", "--timeout", "10m", "--", "/bin/sleep", kMarker};
  int pid = Follow(forever, "exec.out");
  ASSERT_TRUE(berthd->Until("the command runs", runs)) << ReadIfThere(berthd->Dir("exec.out"));
  ::kill(pid, SIGINT);
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << "130 for a shell";
  EXPECT_TRUE(berthd->Until("the command has ended", [&] { return !runs(); }));

  pid = Follow(forever, "exec.out");
  ASSERT_TRUE(berthd->Until("the command runs", runs));
  EXPECT_EQ(0, berthd->Stop());
  EXPECT_NE(0, StatusOf(pid));
  EXPECT_TRUE(containerd->Until("the command has ended", [&] { return !runs(); })) << "berthd asked for it";
}

TEST_F(CriCommandsTest, ACommandHoldsUpNeitherBerthdNorItsEnd) {
  constexpr int kMost = 8;
  std::filesystem::create_directory(berthd->Dir("begun"));
  std::string text = PodText("idle", "trap 'exit 0' TERM; sleep 1000 & wait",
                             "  volumes: [{name: begun, hostPath: {path: " + berthd->Dir("begun") + "}}]\n");
  text.replace(text.find("busybox:1"), 9, "busybox:1\n    volumeMounts: [{name: begun, mountPath: /begun}]");
  berthd->AddPod("idle.yaml", text);
  ASSERT_TRUE(berthd->Until("it runs", [&] { return berthd->Runs("idle"); }));
  std::vector<int> commands;
  for (int i = 0; i < kMost; ++i)
    commands.push_back(Follow({"exec", "idle", "--timeout", "10m", "--", "/bin/sh", "-c",
                               "touch /begun/" + std::to_string(i) + "; exec sleep 600"},
                              "exec.out"));
  ASSERT_TRUE(berthd->Until("all have begun", [&] {
    using Files = std::filesystem::directory_iterator;
    return std::distance(Files(berthd->Dir("begun")), Files()) == kMost;
  }));
  const Ran ninth = Exec({"/bin/true"});
  EXPECT_EQ(1, ninth.status);
  EXPECT_THAT(ninth.err, HasSubstr("8 commands run in containers already"));
  EXPECT_EQ(0, Ask({"status"}).status);
  berthd->AddPod("more.yaml", PodText("more", "sleep 1000"));
  ASSERT_TRUE(berthd->Until("another pod runs", [&] { return berthd->Runs("more"); }));
  EXPECT_EQ(0, berthd->Stop());
  for (const int pid : commands) EXPECT_NE(0, StatusOf(pid));
}

TEST_F(CriCommandsTest, APodShowsImageIdAndHowItsLastAttemptEnded) {
  std::string text = PodText("lost", "sleep 1");
  text.replace(text.find("busybox:1"), 9, "none:1\n    imagePullPolicy: Never");
  std::ofstream(berthd->Dir("lost.yaml")) << text;
  std::ofstream(berthd->Dir("fails.yaml")) << PodText("fails", "exit 3",
                                                      "  volumes: [{name: work, emptyDir: {}}]\n"
                                                      "  securityContext: {runAsUser: 65534}\n");
  ASSERT_EQ(0, Ask({"apply", "-f", berthd->Dir("lost.yaml"), berthd->Dir("fails.yaml")}).status);
  ASSERT_TRUE(berthd->Until("both are told", [&] {
    return Ask({"describe", "lost"}).out.contains("waiting, ErrImageNeverPull, ") &&
           Ask({"describe", "fails"}).out.contains("    Last end:    Error, exit code 3, 20");
  }));
  EXPECT_THAT(Ask({"describe", "lost"}).out, HasSubstr("    Image:       localhost/berth/none:1\n"));
  const Ran fails = Ask({"describe", "fails"});
  EXPECT_THAT(fails.out, HasSubstr("    Id:          "));
  const auto json = codec::ParseJson(Ask({"describe", "fails", "-o", "json"}).out, "describe");
  ASSERT_TRUE(json);
  EXPECT_EQ(64U, (*json)["containers"][0]["id"].get<std::string>().size());
  EXPECT_EQ(65534, (*json)["manifest"]["spec"]["securityContext"]["runAsUser"].get<int>()) << "apply keeps all of it";
  EXPECT_EQ("work", (*json)["manifest"]["spec"]["volumes"][0]["name"].get<std::string>());
}

TEST_F(CriCommandsTest, ApplyRefusesWhatThisNodeDoesNotHave) {
  std::ofstream(berthd->Dir("kata.yaml")) << PodText("kata", "exit 0", "  runtimeClassName: kata\n");
  const Ran refused = Ask({"apply", "-f", berthd->Dir("kata.yaml")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err,
              HasSubstr("kata.yaml: document 1: spec.runtimeClassName: Forbidden: RuntimeClass \"kata\" not "
                        "found"));
  EXPECT_TRUE(berthd->PodNamed("kata").is_null());
}

TEST_F(CriCommandsTest, ARestartedPodHasNewContainersAtItsPlace) {
  std::string text = PodText("again", "sleep 1000");
  text.replace(text.find("busybox:1"), 9, "busybox:1\n    resources: {limits: {cpu: \"1\", memory: 32Mi}}");
  berthd->AddPod("again.yaml", text);
  ASSERT_TRUE(berthd->Until("it runs", [&] { return berthd->Runs("again"); }));
  const codec::Json before = berthd->PodNamed("again");
  const Ran ran = Ask({"restart", "again", "--wait"});
  EXPECT_EQ(0, ran.status) << ran.err;
  EXPECT_EQ("default/again-n1 restarted: app\n", ran.out);
  const codec::Json after = berthd->PodNamed("again");
  EXPECT_EQ(before["uid"], after["uid"]);
  const codec::Json& first = before["containers"][0];
  const codec::Json& second = after["containers"][0];
  EXPECT_NE(first["id"], second["id"]) << "another container of containerd's";
  EXPECT_NE(first["pid"], second["pid"]);
  EXPECT_EQ(1, second["restarts"]);
  EXPECT_EQ("running", second["state"]);
  EXPECT_TRUE(second["exclusive"].get<bool>());
  EXPECT_EQ(first["cpus"], second["cpus"]) << "its place stays";
}

TEST_F(CriCommandsTest, ImagesAreListedAndImported) {
  const Ran list = Ask({"images"});
  EXPECT_EQ(0, list.status) << list.err;
  EXPECT_THAT(list.out, HasSubstr("localhost/berth/busybox  1 "));
  const std::string archive = berthd->Dir("one.tar");
  const Ran made = RunProgram(std::string(BERTH_SOURCE_DIR) + "/tools/make_image", {archive});
  ASSERT_EQ(0, made.status) << made.err;
  const Ran again = Ask({"images", "import", archive});
  EXPECT_EQ(0, again.status) << again.err;
  EXPECT_THAT(again.out, HasSubstr("localhost/berth/busybox  1 ")) << "also when it was there";
  EXPECT_THAT(Ask({"images", "-o", "name"}).out, HasSubstr("localhost/berth/busybox:1\n"));

  const std::string name = "localhost/berth/busybox:1";
  ASSERT_EQ(0, RunProgram("ctr", {"-a", containerd->socket(), "-n", "k8s.io", "images", "rm", name}).status);
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return !Ask({"images", "-o", "json"}).out.contains(name); }));
  EXPECT_THAT(Ask({"images", "import", archive, "-o", "json"}).out, HasSubstr(name));
  std::ofstream(berthd->Dir("wrong.tar")) << "no archive";
  const Ran wrong = Ask({"images", "import", berthd->Dir("wrong.tar")});
  EXPECT_EQ(1, wrong.status);
  EXPECT_THAT(wrong.err, HasSubstr("ctr could not import"));
  EXPECT_THAT(Ask({"images", "import", "/no/such.tar"}).err, HasSubstr("read /no/such.tar: No such file"));
  const Ran without =
      Berth({"images", "import", archive, "--socket", berthd->socket()}, {.environment = {"PATH=/nowhere"}});
  EXPECT_EQ(1, without.status);
  EXPECT_THAT(without.err, HasSubstr("there is no ctr in PATH"));
}

}  // namespace
}  // namespace berth
