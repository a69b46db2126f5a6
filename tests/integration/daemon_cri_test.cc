// berthd with a real containerd: pods from manifest to removal, and nothing left behind.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "containerd_fixture.h"
#include "cri/client.h"
#include "daemon_fixture.h"

namespace berth {
namespace {

using testkit::ContainerdFixture;
using testkit::DaemonFixture;
using testkit::SeenProcess;

constexpr const char* kSpin = "grep Cpus_allowed_list /proc/self/status; while :; do :; done";
constexpr const char* kIdle = "trap 'exit 0' TERM; sleep 1000 & wait";

/// A pod of one container; `cpu` "" for BestEffort, else its limit.
std::string Manifest(const std::string& name, const std::string& cpu, const std::string& script,
                     const std::string& more = "") {
  std::string out = "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                    "}\nspec:\n  hostNetwork: true\n  terminationGracePeriodSeconds: 2\n" + more +
                    "  containers:\n  - name: app\n    image: localhost/berth/busybox:1\n"
                    "    command: [\"/bin/sh\", \"-c\", \"" +
                    script + "\"]\n";
  if (!cpu.empty()) out += "    resources: {limits: {cpu: \"" + cpu + "\", memory: 32Mi}}\n";
  return out;
}

std::string FileText(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

struct DaemonCriTest : testing::Test {
  void SetUp() override {
    for (const auto& why : {ContainerdFixture::WhyNot(), DaemonFixture::WhyNot()})
      if (why) GTEST_SKIP() << *why;
    containerd.emplace();
    containerd->Start();
    berthd.emplace();
  }
  void Start() { berthd->Start({"--runtime", "cri", "--runtime-endpoint", "unix://" + containerd->socket()}); }

  /// Processes of the container of a pod, the shell's children included; not the sandbox's.
  std::vector<SeenProcess> ProcessesOf(const std::string& name) {
    std::vector<SeenProcess> out;
    const std::map<std::string, int> pids = berthd->Pids();
    const auto pid = pids.find(name + "-n1/app");
    const std::vector<SeenProcess> all = berthd->Processes();
    const auto main = pid == pids.end() ? all.end() : std::ranges::find(all, pid->second, &SeenProcess::pid);
    if (main == all.end()) return out;
    std::ranges::copy_if(all, std::back_inserter(out), [&](const SeenProcess& p) { return p.cgroup == main->cgroup; });
    return out;
  }
  CpuSet CpusOf(const std::string& name) {
    CpuSet out;
    for (const SeenProcess& process : ProcessesOf(name)) out |= process.allowed;
    return out;
  }
  bool Gone(const std::string& name) { return !berthd->PodNamed(name).is_object(); }
  std::vector<std::filesystem::directory_entry> LogEntries() {
    std::error_code none_yet;
    std::vector<std::filesystem::directory_entry> out;
    for (auto it = std::filesystem::recursive_directory_iterator(berthd->Dir("log"), none_yet);
         !none_yet && it != std::filesystem::recursive_directory_iterator(); it.increment(none_yet))
      out.push_back(*it);
    return out;
  }
  std::string LogOf(const std::string& name, const std::string& container = "app") {
    std::string out;
    for (const auto& entry : LogEntries())
      if (entry.path().string().find("_" + name + "-n1_") != std::string::npos &&
          entry.path().parent_path().filename() == container)
        out += FileText(entry.path());
    return out;
  }
  int Calls(const std::string& name) {
    const codec::Json calls = berthd->Get("/v1/status")["runtimeCalls"];
    return calls.contains(name) ? calls[name]["calls"].get<int>() : 0;
  }
  void ExpectNothingLeft() {
    EXPECT_TRUE(berthd->Until("no shim is left", [&] { return containerd->Shims() == 0; }));
    EXPECT_TRUE(containerd->Mounts().empty());
    for (const std::string& group : berthd->Groups()) EXPECT_EQ(std::string::npos, group.find("/pod")) << group;
  }

  std::optional<ContainerdFixture> containerd;
  std::optional<DaemonFixture> berthd;  // ends first
};

TEST_F(DaemonCriTest, GivesCpusFromTheFirstInstructionAndTakesAllBack) {
  Start();
  berthd->AddPod("shared.yaml", Manifest("shared", "", kSpin));
  ASSERT_TRUE(berthd->Until("shared runs", [&] { return berthd->Runs("shared"); }));
  EXPECT_EQ("0-1", FormatIds(CpusOf("shared")));
  berthd->AddPod("alone.yaml", Manifest("alone", "1", kSpin));
  ASSERT_TRUE(berthd->Until("alone runs", [&] { return berthd->Runs("alone"); }));
  EXPECT_EQ("1", FormatIds(CpusOf("alone")));
  EXPECT_EQ("0", FormatIds(CpusOf("shared")));
  for (const SeenProcess& process : berthd->Processes()) {
    const bool alone = std::ranges::any_of(ProcessesOf("alone"), [&](const auto& p) { return p.pid == process.pid; });
    EXPECT_EQ(alone ? "1" : "0", FormatIds(process.allowed)) << process.name << " in " << process.cgroup;
  }
  ASSERT_TRUE(berthd->Until("its log begins", [&] { return !LogOf("alone").empty(); }));
  EXPECT_NE(std::string::npos, LogOf("alone").find("stdout F Cpus_allowed_list:\t1\n")) << LogOf("alone");
  EXPECT_EQ(0, berthd->CountEvents("CgroupRepaired"));
  EXPECT_TRUE(berthd->Until("the record follows", [&] { return Calls("UpdateContainerResources") > 0; }));

  berthd->RemovePod("alone.yaml");
  ASSERT_TRUE(berthd->Until("alone is gone", [&] { return Gone("alone"); }));
  EXPECT_TRUE(berthd->Until("the pool grows", [&] { return FormatIds(CpusOf("shared")) == "0-1"; }));
  EXPECT_TRUE(berthd->Until("the record follows", [&] { return Calls("UpdateContainerResources") > 1; }));
  EXPECT_EQ(2, Calls("UpdateContainerResources")) << "one for each change of the container that changed";
  EXPECT_EQ(2, Calls("CreateContainer"));
  berthd->RemovePod("shared.yaml");
  ASSERT_TRUE(berthd->Until("shared is gone", [&] { return Gone("shared"); }));
  ExpectNothingLeft();
  EXPECT_EQ(0, berthd->CountEvents("RuntimeWarning")) << berthd->output();
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
          "    command: [\"/bin/sh\", \"-c\", \"pwd; echo $WHO $POD; id -u; cat order; touch /x || echo read only; "
          "trap 'cat /work/stopped; exit 0' TERM; sleep 1000 & wait\"]\n");
  ASSERT_TRUE(berthd->Until("life runs", [&] {
    const codec::Json pod = berthd->PodNamed("life");
    return pod.is_object() && pod["phase"] == "Running" && LogOf("life").find("read only") != std::string::npos;
  }));
  std::string words;
  std::istringstream log(LogOf("life"));
  for (std::string line; std::getline(log, line);)
    if (const std::size_t at = line.find(" stdout F "); at != std::string::npos) words += line.substr(at + 10) + "|";
  EXPECT_EQ("/work|me life-n1|65534|one|helper|two|read only|", words);
  EXPECT_EQ(0, berthd->CountEvents("CgroupRepaired"));
  berthd->RemovePod("life.yaml");
  ASSERT_TRUE(berthd->Until("life is gone", [&] { return Gone("life"); }));
  EXPECT_EQ(0, berthd->CountEvents("RuntimeWarning")) << berthd->output();
  ExpectNothingLeft();
  EXPECT_TRUE(std::filesystem::is_empty(berthd->state_dir + "/volumes"));
}

/// A container that replaces the directory of a subPath by a link gets neither its next attempt nor anybody else out of
/// the volume.
TEST_F(DaemonCriTest, ASubPathNeverLeadsOutOfItsVolume) {
  Start();
  std::filesystem::create_directories(berthd->Dir("secret"));
  std::ofstream(berthd->Dir("secret") + "/key") << "outside\n";
  const std::string volumes = "  volumes: [{name: work, emptyDir: {}}]\n";
  const auto with = [](std::string manifest, const std::string& mount) {
    return manifest + "    volumeMounts: [{name: work, mountPath: /all}" + mount + "]\n";
  };
  berthd->AddPod("good.yaml",
                 with(Manifest("good", "", "echo here > /part/file; cat /all/a/b/file; " + std::string(kIdle), volumes),
                      ", {name: work, mountPath: /part, subPath: a/b}"));
  ASSERT_TRUE(berthd->Until("good runs", [&] { return berthd->Runs("good"); }));
  ASSERT_TRUE(berthd->Until("good says so", [&] { return LogOf("good").find("stdout F here") != std::string::npos; }));
  EXPECT_FALSE(std::filesystem::is_empty(berthd->Dir("run") + "/subpaths"));

  // The first attempt finds an empty directory, swaps it for a link and ends.
  berthd->AddPod(
      "bad.yaml",
      with(Manifest("bad", "", "ls /part; rmdir /all/part; ln -s " + berthd->Dir("secret") + " /all/part; exit 1",
                    volumes),
           ", {name: work, mountPath: /part, subPath: part}"));
  ASSERT_TRUE(berthd->Until("the link is refused", [&] {
    return berthd->output().find("it leads out of there") != std::string::npos;
  })) << berthd->output();
  EXPECT_EQ(std::string::npos, LogOf("bad").find("key")) << LogOf("bad");

  berthd->RemovePod("good.yaml");
  berthd->RemovePod("bad.yaml");
  ASSERT_TRUE(berthd->Until("both are gone", [&] { return Gone("good") && Gone("bad"); }));
  ExpectNothingLeft();
  EXPECT_TRUE(std::filesystem::is_empty(berthd->Dir("run") + "/subpaths"));
  EXPECT_EQ(std::string::npos, FileText("/proc/self/mountinfo").find(berthd->Dir("run"))) << "a mount was left";
  EXPECT_EQ("outside\n", FileText(berthd->Dir("secret") + "/key"));
}

TEST_F(DaemonCriTest, RestartsWithBackOffAndKeepsOneDeadContainer) {
  Start();
  berthd->AddPod("fails.yaml", Manifest("fails", "", "exit 3", "  restartPolicy: OnFailure\n"));
  berthd->AddPod("once.yaml", Manifest("once", "1", "echo done", "  restartPolicy: Never\n"));
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
  berthd->RemovePod("fails.yaml");
  berthd->RemovePod("once.yaml");
  ASSERT_TRUE(berthd->Until("both are gone", [&] { return Gone("fails") && Gone("once"); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriTest, ARestartOfEitherMovesAndRestartsNothing) {
  Start();
  berthd->AddPod("alone.yaml", Manifest("alone", "1", kIdle));
  berthd->AddPod("shared.yaml", Manifest("shared", "", kIdle));
  ASSERT_TRUE(berthd->Until("both run", [&] { return berthd->Runs("alone") && berthd->Runs("shared"); }));
  const std::map<std::string, int> before = berthd->Pids();
  berthd->Kill();
  Start();
  ASSERT_TRUE(berthd->Until("both are found", [&] { return berthd->Runs("alone") && berthd->Runs("shared"); }));
  EXPECT_EQ(before, berthd->Pids());
  EXPECT_EQ("1", FormatIds(CpusOf("alone")));
  EXPECT_EQ("0", FormatIds(CpusOf("shared")));

  containerd->Kill();
  ASSERT_TRUE(berthd->Until("it is noticed", [&] { return berthd->CountEvents("RuntimeWarning") > 0; }));
  containerd->Start();
  ASSERT_TRUE(berthd->Until("it is back", [&] { return berthd->CountEvents("RuntimeWarning", "answers again") > 0; }));
  EXPECT_EQ(before, berthd->Pids());
  EXPECT_EQ(0, berthd->CountEvents("Started"));
  EXPECT_EQ(0, berthd->CountEvents("ContainerDied"));
  berthd->RemovePod("alone.yaml");
  ASSERT_TRUE(berthd->Until("alone is gone", [&] { return Gone("alone"); }));
  EXPECT_TRUE(berthd->Until("the pool grows", [&] { return FormatIds(CpusOf("shared")) == "0-1"; }));
  berthd->RemovePod("shared.yaml");
  ASSERT_TRUE(berthd->Until("shared is gone", [&] { return Gone("shared"); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriTest, SaysWhatIsWrongWithAPodAndGoesOn) {
  Start();
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string image = "image: localhost/berth/busybox:1";
  berthd->AddPod("never.yaml",
                 with(Manifest("never", "", kIdle), image, "image: localhost/none:1\n    imagePullPolicy: Never"));
  berthd->AddPod("refused.yaml", with(Manifest("refused", "", kIdle), image, "image: localhost:1/none:1"));
  berthd->AddPod("command.yaml", with(Manifest("command", "1", kIdle), "/bin/sh", "/no/such/program"));
  berthd->AddPod(
      "mount.yaml",
      with(Manifest("mount", "", kIdle, "  volumes: [{name: v, hostPath: {path: /no/such/folder, type: Directory}}]\n"),
           image, image + "\n    volumeMounts: [{name: v, mountPath: /v}]"));
  berthd->AddPod("good.yaml", Manifest("good", "", kIdle));
  EXPECT_TRUE(berthd->Until("all is said", [&] {
    return berthd->CountEvents("ErrImageNeverPull", "pull policy of Never") >= 1 &&
           berthd->CountEvents("ErrImagePull", "localhost:1/none:1") >= 1 &&
           berthd->CountEvents("Failed", "/no/such/program") >= 1 &&
           berthd->CountEvents("FailedCreatePodContainer", "/no/such/folder is not a Directory") >= 1 &&
           berthd->Runs("good");
  }));
  EXPECT_EQ(0, berthd->CountEvents("CgroupRepaired")) << berthd->output();
  for (const char* const name : {"never", "refused", "command", "mount", "good"})
    berthd->RemovePod(std::string(name) + ".yaml");
  ASSERT_TRUE(berthd->Until("all are gone", [&] { return berthd->Get("/v1/pods")["pods"].empty(); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriTest, RunsHooksAndMakesNoRootWhereThereShallBeNone) {
  Start();
  const auto with = [](const std::string& name, const std::string& of_pod, const std::string& of_container) {
    return Manifest(name, "", kIdle, of_pod) + of_container;
  };
  const auto hook = [](const std::string& script) {
    return "    lifecycle: {postStart: {exec: {command: [/bin/sh, -c, \"" + script + "\"]}}}\n";
  };
  berthd->AddPod("hook.yaml", with("hook", "", hook("echo warm > /proc/1/fd/1")));
  berthd->AddPod("bad.yaml", with("bad", "  restartPolicy: Never\n", hook("echo why >&2; exit 4")));
  berthd->AddPod("root.yaml", with("root", "  securityContext: {runAsNonRoot: true}\n", ""));
  berthd->AddPod("nobody.yaml", with("nobody", "  securityContext: {runAsNonRoot: true}\n",
                                     "    securityContext: {runAsUser: 65534}\n"));
  EXPECT_TRUE(berthd->Until("the hook ran", [&] { return LogOf("hook").find("stdout F warm") != std::string::npos; }));
  EXPECT_TRUE(berthd->Until("the others are judged", [&] {
    const codec::Json bad = berthd->PodNamed("bad");
    return bad.is_object() && bad["phase"] != "Running" && bad["phase"] != "Pending" && berthd->Runs("nobody") &&
           berthd->CountEvents("CreateContainerConfigError", "runs as root") >= 1;
  }));
  EXPECT_EQ(1, berthd->CountEvents("FailedPostStartHook", "ended with exit code 4: why"));
  EXPECT_FALSE(berthd->Runs("root"));
  for (const char* const name : {"hook", "bad", "root", "nobody"}) berthd->RemovePod(std::string(name) + ".yaml");
  ASSERT_TRUE(berthd->Until("all are gone", [&] { return berthd->Get("/v1/pods")["pods"].empty(); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriTest, KeepsLogsBelowTheirSizeAndLosesNoLine) {
  berthd->Configure("containerLogMaxSize: 2Ki\ncontainerLogMonitorInterval: 3s\n");
  Start();
  berthd->AddPod("talks.yaml", Manifest("talks", "", "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.02; done"));
  std::string folder;
  ASSERT_TRUE(berthd->Until("its log is rotated", [&] {
    for (const auto& entry : LogEntries())
      if (entry.path().filename() == "0.log.1") folder = entry.path().parent_path();
    return !folder.empty() && FileText(folder + "/0.log").find("line") != std::string::npos;
  }));
  std::istringstream log(FileText(folder + "/0.log.1") + FileText(folder + "/0.log"));
  int count = 0;
  for (std::string line; std::getline(log, line) && !log.eof();)
    EXPECT_TRUE(line.ends_with(" line " + std::to_string(++count))) << line << " after " << count - 1;
  EXPECT_GT(count, 20);
  EXPECT_EQ(0, berthd->CountEvents("RuntimeWarning")) << berthd->output();
}

TEST_F(DaemonCriTest, ReportsAContainerOfSomebodyElseInAPodOnceAndLeavesIt) {
  std::ofstream(berthd->Dir("berth.yaml"))
      << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nruntime: cri\nreconcilePeriod: 500ms\nsocket: "
      << berthd->socket() << "\n";
  berthd->Start({"--config", berthd->Dir("berth.yaml"), "--runtime-endpoint", "unix://" + containerd->socket()});
  berthd->AddPod("host.yaml", Manifest("host", "", kIdle));
  ASSERT_TRUE(berthd->Until("host runs", [&] { return berthd->Runs("host"); }));
  const cri::Client other(containerd->socket());
  const auto sandboxes = other.Sandboxes({});
  ASSERT_TRUE(sandboxes && sandboxes->size() == 1);
  const cri::SandboxSpec of{
      .name = "host-n1",
      .namespace_ = "default",
      .uid = sandboxes->front().uid,
      .log_directory = berthd->Dir("log"),
      .cgroup_parent = berthd->cgroup_root() + "/kubepods/besteffort/pod" + sandboxes->front().uid,
      .host_network = true};
  const cri::ContainerSpec guest{.name = "guest",
                                 .image = testkit::kTestImage,
                                 .command = {"/bin/sh", "-c", "sleep 1000"},
                                 .log_path = "guest.log",
                                 .host_network = true};
  const auto id = other.Create(sandboxes->front().id, guest, of);
  ASSERT_TRUE(id) << id.error().message;
  ASSERT_TRUE(other.Start(*id));
  ASSERT_TRUE(berthd->Until("it is reported", [&] { return berthd->CountEvents("UnknownContainer", "host-n1") > 0; }));
  const int lists = Calls("ListContainers");
  ASSERT_TRUE(berthd->Until("it is looked at again", [&] { return Calls("ListContainers") > lists + 3; }));
  EXPECT_EQ(1, berthd->CountEvents("UnknownContainer"));
  EXPECT_EQ(cri::ContainerEntry::State::kRunning, other.Status(*id)->state);
  berthd->RemovePod("host.yaml");
  ASSERT_TRUE(berthd->Until("all is gone", [&] { return Gone("host"); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriTest, RefusesToStartWithoutARuntime) {
  const auto said = [&](const std::string& endpoint) {
    return berthd->RunToEnd({"--runtime", "cri", "--runtime-endpoint", endpoint}).output;
  };
  EXPECT_NE(std::string::npos, said(berthd->Dir("none.sock")).find("there is no such socket; start the runtime"));
  EXPECT_NE(std::string::npos, said(berthd->Dir("kubelet.yaml")).find("this is not a socket"));
  EXPECT_NE(std::string::npos, said("tcp://localhost:1").find("is no endpoint of a container runtime"));
}

TEST_F(DaemonCriTest, ThirtyAtOnceAndManyInARowLeaveNothing) {
  Start();
  constexpr int kAtOnce = 30;
  for (int i = 0; i < kAtOnce; ++i) {
    const std::string name = "p" + std::to_string(i);
    berthd->AddPod(name + ".yaml", Manifest(name, "", kIdle));
  }
  ASSERT_TRUE(berthd->Until("all run", [&] {
    const codec::Json pods = berthd->Get("/v1/pods")["pods"];
    return pods.size() == kAtOnce &&
           std::ranges::all_of(pods, [](const codec::Json& pod) { return pod["phase"] == "Running"; });
  }));
  for (int i = 0; i < 10; ++i) {
    berthd->AddPod("row.yaml", Manifest("row", "1", kIdle));
    ASSERT_TRUE(berthd->Until("row runs", [&] { return berthd->Runs("row"); }));
    EXPECT_EQ("1", FormatIds(CpusOf("row")));
    berthd->RemovePod("row.yaml");
    ASSERT_TRUE(berthd->Until("row is gone", [&] { return Gone("row"); }));
  }
  for (int i = 0; i < kAtOnce; ++i) berthd->RemovePod("p" + std::to_string(i) + ".yaml");
  ASSERT_TRUE(berthd->Until("all are gone", [&] { return berthd->Get("/v1/pods")["pods"].empty(); }));
  ExpectNothingLeft();
  EXPECT_EQ(0, berthd->CountEvents("RuntimeWarning")) << berthd->output();
  EXPECT_EQ(0, berthd->CountEvents("CgroupRepaired")) << berthd->output();
}

}  // namespace
}  // namespace berth
