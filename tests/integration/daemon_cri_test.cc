// berthd with a real containerd: pods from manifest to removal, and nothing left behind.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "cri_node.h"
#include "runtime/cri/cri_client.h"
#include "testing/raw_server.h"
#include "testing/seen_groups.h"

namespace berth {
namespace {

using testkit::kIdle;
using testkit::kSpin;
using testkit::SeenProcess;

class DaemonCriTest : public testkit::CriNodeTest {
 protected:
  /// Calls berthd has counted.
  int Calls(const std::string& name) {
    const codec::Json calls = berthd->Get("/v1/status")["runtimeCalls"];
    return calls.contains(name) ? calls[name]["calls"].get<int>() : 0;
  }
};

TEST_F(DaemonCriTest, GivesCpusFromTheFirstInstructionAndTakesAllBack) {
  Start();
  Add({.name = "shared", .script = kSpin});
  ASSERT_TRUE(berthd->Until("shared runs", [&] { return berthd->Runs("shared"); }));
  EXPECT_EQ(testkit::AllCpus(), FormatIds(CpusOf("shared")));
  Add({.name = "alone", .script = kSpin, .cpu = "1"});
  ASSERT_TRUE(berthd->Until("alone runs", [&] { return berthd->Runs("alone"); }));
  EXPECT_EQ("1", FormatIds(CpusOf("alone")));
  EXPECT_EQ(testkit::OtherCpus(), FormatIds(CpusOf("shared")));
  for (const SeenProcess& process : berthd->Processes()) {
    const bool alone = std::ranges::any_of(ProcessesOf("alone"), [&](const auto& p) { return p.pid == process.pid; });
    EXPECT_EQ(alone ? "1" : testkit::OtherCpus(), FormatIds(process.allowed))
        << process.name << " in " << process.cgroup;
  }
  ASSERT_TRUE(berthd->Until("its log begins", [&] { return !LogOf("alone").empty(); }));
  EXPECT_NE(std::string::npos, LogOf("alone").find("stdout F Cpus_allowed_list:\t1\n")) << LogOf("alone");
  EXPECT_EQ("", berthd->Repairs());
  EXPECT_TRUE(berthd->Until("the record follows", [&] { return Calls("UpdateContainerResources") > 0; }));

  Remove("alone");
  ASSERT_TRUE(berthd->Until("alone is gone", [&] { return Gone("alone"); }));
  EXPECT_TRUE(berthd->Until("the pool grows", [&] { return FormatIds(CpusOf("shared")) == testkit::AllCpus(); }));
  EXPECT_TRUE(berthd->Until("the record follows", [&] { return Calls("UpdateContainerResources") > 1; }));
  EXPECT_EQ(2, Calls("UpdateContainerResources")) << "one for each change of the container that changed";
  EXPECT_EQ(2, Calls("CreateContainer"));
  Remove("shared");
  ASSERT_TRUE(berthd->Until("shared is gone", [&] { return Gone("shared"); }));
  ExpectNothingLeft();
  EXPECT_EQ(0, berthd->CountEvents("RuntimeWarning")) << berthd->output();
  EXPECT_EQ(0, berthd->CountEvents("RuntimeNotReady")) << berthd->output();
  EXPECT_EQ(0, berthd->Stop());
  EXPECT_TRUE(berthd->Groups().empty()) << berthd->Groups().front();
}

TEST_F(DaemonCriTest, RunsAPodThroughItsLife) {
  Start();
  std::filesystem::create_directories(berthd->Dir("host"));
  const std::string image = "    image: localhost/berth/busybox:1\n    imagePullPolicy: Never\n";
  const std::string mounts = "    volumeMounts: [{name: work, mountPath: /work}, {name: host, mountPath: /host}]\n";
  berthd->AddPod(
      "life.yaml",
      "apiVersion: v1\nkind: Pod\nmetadata: {name: life}\nspec:\n  hostNetwork: true\n"
      "  terminationGracePeriodSeconds: 10\n"
      "  volumes:\n  - {name: work, emptyDir: {}}\n  - {name: host, hostPath: {path: " +
          berthd->Dir("host") +
          ", type: Directory}}\n"
          "  initContainers:\n"
          "  - name: first\n" +
          image + mounts +
          "    command: [\"/bin/sh\", \"-c\", \"echo one >> /work/order\"]\n"
          "  - name: helper\n    restartPolicy: Always\n" +
          image + mounts +
          "    command: [\"/bin/sh\", \"-c\", \"echo helper >> /work/order; trap 'exit 0' TERM; sleep 1000 & wait\"]\n"
          "  - name: second\n" +
          image + mounts +
          "    command: [\"/bin/sh\", \"-c\", \"sleep 0.3; echo two >> /work/order\"]\n"
          "  containers:\n  - name: app\n" +
          image + mounts +
          "    workingDir: /work\n    env: [{name: WHO, value: me}, {name: POD, valueFrom: {fieldRef: {fieldPath: "
          "metadata.name}}}]\n"
          "    securityContext: {runAsUser: 65534, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}\n"
          "    lifecycle: {preStop: {exec: {command: [\"/bin/sh\", \"-c\", \"echo stopping > /work/stopped; cat "
          "/work/stopped\"]}}}\n"
          "    command: [\"/bin/sh\", \"-c\", \"pwd; echo $WHO $POD; id -u; cat order; touch /x 2> /dev/null || echo "
          "read only; "
          "trap 'cat /work/stopped; exit 0' TERM; sleep 1000 & wait\"]\n");
  ASSERT_TRUE(berthd->Until("life runs", [&] {
    const codec::Json pod = berthd->PodNamed("life");
    return pod.is_object() && pod["phase"] == "Running" && LogOf("life").find("read only") != std::string::npos;
  }));
  EXPECT_EQ("/work\nme life-n1\n65534\none\nhelper\ntwo\nread only\n", WordsOf("life"));
  EXPECT_EQ("", berthd->Repairs());
  Remove("life");
  ASSERT_TRUE(berthd->Until("life is gone", [&] { return Gone("life"); }));
  EXPECT_EQ(0, berthd->CountEvents("RuntimeWarning")) << berthd->output();
  EXPECT_EQ(0, berthd->CountEvents("RuntimeNotReady")) << berthd->output();
  ExpectNothingLeft();
}

/// A container that replaces the directory of a subPath by a link gets neither its next attempt nor anybody else out of
/// the volume.
TEST_F(DaemonCriTest, ASubPathNeverLeadsOutOfItsVolume) {
  Start();
  std::filesystem::create_directories(berthd->Dir("secret"));
  std::ofstream(berthd->Dir("secret") + "/key") << "outside\n";
  const std::string volumes = "  volumes: [{name: work, emptyDir: {}}]\n";
  const auto mounted = [](const std::string& sub_path) {
    return "    volumeMounts: [{name: work, mountPath: /all}, {name: work, mountPath: /part, subPath: " + sub_path +
           "}]\n";
  };
  Add({.name = "good",
       .script = "echo here > /part/file; cat /all/a/b/file; " + std::string(kIdle),
       .spec = volumes,
       .container = mounted("a/b")});
  ASSERT_TRUE(berthd->Until("good runs", [&] { return berthd->Runs("good"); }));
  ASSERT_TRUE(berthd->Until("good says so", [&] { return LogOf("good").find("stdout F here") != std::string::npos; }));
  EXPECT_FALSE(std::filesystem::is_empty(berthd->Dir("run") + "/subpaths"));

  // The first attempt finds an empty directory, swaps it for a link and ends.
  Add({.name = "bad",
       .script = "ls /part; rmdir /all/part; ln -s " + berthd->Dir("secret") + " /all/part; exit 1",
       .spec = volumes,
       .container = mounted("part")});
  ASSERT_TRUE(berthd->Until("the link is refused", [&] {
    return berthd->output().find("it leads out of there") != std::string::npos;
  })) << berthd->output();
  EXPECT_EQ(std::string::npos, LogOf("bad").find("key")) << LogOf("bad");

  Remove("good");
  Remove("bad");
  ASSERT_TRUE(berthd->Until("both are gone", [&] { return Gone("good") && Gone("bad"); }));
  ExpectNothingLeft();
  EXPECT_TRUE(std::filesystem::is_empty(berthd->Dir("run") + "/subpaths"));
  EXPECT_EQ(std::string::npos, testkit::ReadText("/proc/self/mountinfo").find(berthd->Dir("run")))
      << "a mount was left";
  EXPECT_EQ("outside\n", testkit::ReadText(berthd->Dir("secret") + "/key"));
}

TEST_F(DaemonCriTest, WhatIsMountedInAVolumeIsNotRemovedWithIt) {
  settings = "reconcilePeriod: 500ms\n";
  Start();
  Add({.name = "host",
       .spec = "  volumes: [{name: work, emptyDir: {}}]\n",
       .container = "    volumeMounts: [{name: work, mountPath: /work}]\n"});
  ASSERT_TRUE(berthd->Until("host runs", [&] { return berthd->Runs("host"); }));
  const std::filesystem::directory_iterator folders(berthd->state_dir + "/volumes");
  const std::string volume = folders->path() / "work";
  std::filesystem::create_directory(volume + "/mounted");
  std::ofstream(volume + "/own") << "own\n";
  ASSERT_EQ(0, ::mount("tmpfs", (volume + "/mounted").c_str(), "tmpfs", 0, nullptr));
  std::ofstream(volume + "/mounted/key") << "somebody else's\n";
  Remove("host");
  EXPECT_TRUE(berthd->Until("it is said", [&] { return berthd->CountEvents("FailedRemovePodFolders") > 0; }));
  EXPECT_TRUE(std::filesystem::exists(volume + "/mounted/key"));
  EXPECT_FALSE(std::filesystem::exists(volume + "/own"));
  EXPECT_EQ(0, ::umount2((volume + "/mounted").c_str(), MNT_DETACH));
  EXPECT_TRUE(berthd->Until("the rest is removed", [&] { return !std::filesystem::exists(volume); }));
  EXPECT_EQ(1, berthd->CountEvents("FailedRemovePodFolders"));
  ExpectNothingLeft();
}

TEST_F(DaemonCriTest, AContainerIsAskedToEndWithItsOwnSignal) {
  const testkit::TempDir said;
  Start();
  const auto add = [&](const std::string& name, const std::string& script, const std::string& grace) {
    Add({.name = name,
         .script = "trap 'echo term > /said/" + name + "; exit 0' TERM; " + script,
         .spec = "  os: {name: linux}\n  terminationGracePeriodSeconds: " + grace +
                 "\n  volumes: [{name: said, hostPath: {path: " + said.path() + "}}]\n",
         .container = "    lifecycle: {stopSignal: SIGUSR1}\n    volumeMounts: [{name: said, mountPath: /said}]\n"});
    ASSERT_TRUE(berthd->Until("it listens", [&] { return WordsOf(name) == "ready\n"; }));
  };
  add("own", "trap 'echo usr1 > /said/own; exit 0' USR1; echo ready; sleep 1000 & wait", "300");
  add("deaf", "trap '' USR1; echo ready; while :; do sleep 0.1; done", "2");
  for (const char* const pod : {"own", "deaf"}) {
    Remove(pod);
    ASSERT_TRUE(berthd->Until("it is gone", [&] { return Gone(pod); }));
  }
  EXPECT_EQ("usr1\n", testkit::ReadIfThere(said / "own"));
  EXPECT_EQ("", testkit::ReadIfThere(said / "deaf")) << "it was killed, and no TERM was sent";
  EXPECT_EQ(berthd->output().find("stopSignal"), std::string::npos) << berthd->output();
  ExpectNothingLeft();
}

TEST_F(DaemonCriTest, RestartsWithBackOffAndKeepsOneDeadContainer) {
  Start();
  Add({.name = "fails", .script = "exit 3", .spec = "  restartPolicy: OnFailure\n"});
  Add({.name = "once", .script = "echo done", .cpu = "1", .spec = "  restartPolicy: Never\n"});
  ASSERT_TRUE(berthd->Until("it is restarted", [&] {
    const codec::Json pod = berthd->PodNamed("fails");
    return pod.is_object() && pod["containers"][0]["restarts"].get<int>() >= 1;
  }));
  EXPECT_TRUE(berthd->Until("the other has succeeded", [&] {
    const codec::Json pod = berthd->PodNamed("once");
    return pod.is_object() && pod["phase"] == "Succeeded";
  }));
  berthd->Kill();
  Start();
  EXPECT_TRUE(berthd->Until("it is remembered", [&] {
    const codec::Json pod = berthd->PodNamed("once");
    return pod.is_object() && pod["phase"] == "Succeeded";
  }));
  const std::string log = LogOf("once");
  EXPECT_EQ(log.find("done"), log.rfind("done")) << "it ran again: " << log;
  Remove("fails");
  Remove("once");
  ASSERT_TRUE(berthd->Until("both are gone", [&] { return Gone("fails") && Gone("once"); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriTest, ARestartOfEitherMovesAndRestartsNothing) {
  Start();
  Add({.name = "alone", .cpu = "1"});
  Add({.name = "shared"});
  ASSERT_TRUE(berthd->Until("both run", [&] { return berthd->Runs("alone") && berthd->Runs("shared"); }));
  const std::map<std::string, int> before = berthd->Pids();
  berthd->Kill();
  Start();
  ASSERT_TRUE(berthd->Until("both are found", [&] { return berthd->Runs("alone") && berthd->Runs("shared"); }));
  EXPECT_EQ(before, berthd->Pids());
  EXPECT_EQ("1", FormatIds(CpusOf("alone")));
  EXPECT_EQ(testkit::OtherCpus(), FormatIds(CpusOf("shared")));

  containerd->Kill();
  ASSERT_TRUE(berthd->Until("it is noticed", [&] { return berthd->CountEvents("RuntimeNotReady") > 0; }));
  containerd->Start();
  ASSERT_TRUE(berthd->Until("it is back", [&] { return berthd->CountEvents("RuntimeReady") > 0; }));
  EXPECT_EQ(before, berthd->Pids());
  EXPECT_EQ(0, berthd->CountEvents("Started"));
  EXPECT_EQ(0, berthd->CountEvents("ContainerDied"));
  Remove("alone");
  ASSERT_TRUE(berthd->Until("alone is gone", [&] { return Gone("alone"); }));
  EXPECT_TRUE(berthd->Until("the pool grows", [&] { return FormatIds(CpusOf("shared")) == testkit::AllCpus(); }));
  Remove("shared");
  ASSERT_TRUE(berthd->Until("shared is gone", [&] { return Gone("shared"); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriTest, RunsHooksAndMakesNoRootWhereThereShallBeNone) {
  Start();
  const auto hook = [](const std::string& script) {
    return "    lifecycle: {postStart: {exec: {command: [/bin/sh, -c, \"" + script + "\"]}}}\n";
  };
  Add({.name = "hook", .container = hook("echo warm > /proc/1/fd/1")});
  Add({.name = "bad", .spec = "  restartPolicy: Never\n", .container = hook("echo why >&2; exit 4")});
  std::atomic<int> asked = 0;
  const testkit::RawServer server(testkit::Answering([&](const testkit::RawRequest& request) {
    if (request.target == (asked == 0 ? "/hello" : "/bye")) ++asked;
    return testkit::HttpText(500, "", "");  // any answer will do
  }));
  const std::string at = "{httpGet: {port: " + std::to_string(server.port()) + ", path: ";
  Add({.name = "asks",  // its grace period is over for no hook that is slow, and it ends as soon as it is asked to
       .script = "trap 'exit 0' TERM; echo up; sleep 1000 & wait",
       .spec = "  terminationGracePeriodSeconds: 300\n",
       .container = "    lifecycle: {postStart: " + at + "/hello}}, preStop: " + at + "/bye}}}\n"});
  Add({.name = "root", .spec = "  securityContext: {runAsNonRoot: true}\n"});
  Add({.name = "nobody",
       .spec = "  securityContext: {runAsNonRoot: true}\n",
       .container = "    securityContext: {runAsUser: 65534}\n"});
  EXPECT_TRUE(berthd->Until("the hook ran", [&] { return LogOf("hook").find("stdout F warm") != std::string::npos; }));
  EXPECT_TRUE(berthd->Until("the others are judged", [&] {
    const codec::Json bad = berthd->PodNamed("bad");
    return bad.is_object() && bad["phase"] != "Running" && bad["phase"] != "Pending" && berthd->Runs("nobody") &&
           berthd->CountEvents("CreateContainerConfigError", "runs as root") >= 1;
  }));
  EXPECT_EQ(1, berthd->CountEvents("FailedPostStartHook", "ended with exit code 4: why"));
  EXPECT_FALSE(berthd->Runs("root"));
  EXPECT_TRUE(berthd->Until("it is ready", [&] {
    const codec::Json asks = berthd->PodNamed("asks");
    return asks.is_object() && asks["ready"] == true && WordsOf("asks") == "up\n";
  }));
  EXPECT_EQ(1, asked);
  for (const char* const name : {"hook", "bad", "root", "nobody", "asks"}) Remove(name);
  ASSERT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
  EXPECT_EQ(2, asked);
  EXPECT_EQ(0, berthd->CountEvents("FailedPreStopHook"));
  ExpectNothingLeft();
}

TEST_F(DaemonCriTest, WhatAContainerSaysAboutItsEndIsItsMessage) {
  Start();
  Add({.name = "file", .script = "echo because > /dev/termination-log; exit 3", .spec = "  restartPolicy: Never\n"});
  Add({.name = "log",
       .script = "echo at last; exit 1",
       .spec = "  restartPolicy: Never\n",
       .container = "    terminationMessagePolicy: FallbackToLogsOnError\n"});
  const auto message = [&](const std::string& name) {
    const codec::Json pod = berthd->PodNamed(name);
    const bool ended = pod.is_object() && pod["containers"][0]["lastEnd"].is_object();
    return ended ? pod["containers"][0]["lastEnd"]["message"].get<std::string>() : "";
  };
  EXPECT_TRUE(berthd->Until("its file is read", [&] { return message("file") == "because"; }));
  EXPECT_TRUE(berthd->Until("its log is read", [&] { return message("log") == "at last"; }));
  for (const char* const name : {"file", "log"}) Remove(name);
  ASSERT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriTest, KeepsLogsBelowTheirSizeAndLosesNoLine) {
  // More files than are filled: none is removed, however many looks it takes until all is written.
  berthd->Configure("containerLogMaxSize: 2Ki\ncontainerLogMaxFiles: 9\ncontainerLogMonitorInterval: 3s\n");
  Start();
  constexpr int kLines = 250;
  Add({.name = "talks",
       .script = "i=0; while [ $i -lt " + std::to_string(kLines) +
                 " ]; do i=$((i+1)); echo line $i; sleep 0.02; done; " + std::string(kIdle)});
  std::vector<std::string> lines;
  std::size_t files = 0;
  ASSERT_TRUE(berthd->Until("all lines are in its logs", [&] {
    std::vector<std::filesystem::path> logs = LogFiles();
    std::ranges::sort(logs, std::greater());  // the oldest first
    files = logs.size();
    std::string text;
    for (const std::filesystem::path& log : logs) text += testkit::ReadIfThere(log);
    lines.clear();
    for (const std::string_view line : Split(text, '\n'))
      if (line.find(" line ") != std::string_view::npos) lines.emplace_back(line);
    return lines.size() >= kLines;
  }));
  for (std::size_t i = 0; i < lines.size(); ++i)
    EXPECT_TRUE(lines[i].ends_with(" line " + std::to_string(i + 1))) << lines[i] << " at " << i;
  EXPECT_GT(files, 1U) << "nothing was rotated";
  EXPECT_EQ(0, berthd->CountEvents("RuntimeWarning")) << berthd->output();
  EXPECT_EQ(0, berthd->CountEvents("RuntimeNotReady")) << berthd->output();
}

TEST_F(DaemonCriTest, ReportsAContainerOfSomebodyElseInAPodOnceAndLeavesIt) {
  settings = "reconcilePeriod: 500ms\n";
  Start();
  Add({.name = "host"});
  ASSERT_TRUE(berthd->Until("host runs", [&] { return berthd->Runs("host"); }));
  const cri::Client other(containerd->socket());
  const auto sandboxes = other.Sandboxes({});
  ASSERT_TRUE(sandboxes && sandboxes->size() == 1);
  const cri::SandboxSpec of{.name = "host-n1",
                            .namespace_ = "default",
                            .uid = sandboxes->front().uid,
                            .log_directory = berthd->Dir("log"),
                            .cgroup_parent = berthd->GroupOfPod(QosClass::kBestEffort, sandboxes->front().uid),
                            .namespaces = {.host_network = true}};
  const cri::ContainerSpec guest{.name = "guest",
                                 .image = testkit::kTestImage,
                                 .command = {"/bin/sh", "-c", "sleep 1000"},
                                 .log_path = "guest.log",
                                 .namespaces = {.host_network = true}};
  const auto id = other.Create(sandboxes->front().id, guest, of);
  ASSERT_TRUE(id) << id.error().message;
  ASSERT_TRUE(other.Start(*id));
  ASSERT_TRUE(berthd->Until("it is reported", [&] { return berthd->CountEvents("UnknownContainer", "host-n1") > 0; }));
  const int lists = Calls("ListContainers");
  ASSERT_TRUE(berthd->Until("it is looked at again", [&] { return Calls("ListContainers") > lists + 3; }));
  EXPECT_EQ(1, berthd->CountEvents("UnknownContainer"));
  EXPECT_EQ(cri::ContainerEntry::State::kRunning, other.Status(*id)->state);
  Remove("host");
  ASSERT_TRUE(berthd->Until("all is gone", [&] { return Gone("host"); }));
  ExpectNothingLeft();
}

}  // namespace
}  // namespace berth
