// berthd beside a real kubelet: the cluster in $BERTH_CLUSTER, which tools/cluster made. Deployments of every class
// come, grow, shrink and go, and after each step the kernel has what the ledger says.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include "api/codec/codec.h"
#include "api/codec/node_state_json.h"
#include "base/text.h"
#include "daemon_fixture.h"
#include "host/os/clock.h"
#include "host/os/whole_file.h"
#include "kubernetes/kube_client/kube_client.h"
#include "test_cluster.h"
#include "testing/fixtures.h"
#include "testing/seen_groups.h"

namespace berth {
namespace {

using codec::Json;
using testkit::DaemonFixture;

constexpr const char* kImage = "localhost/berth/busybox:1";

/// Requests and limits of a container, as JSON.
constexpr const char* kGuaranteed = R"({"limits":{"cpu":"1","memory":"32Mi"}})";
constexpr const char* kBurstable = R"({"requests":{"cpu":"50m","memory":"16Mi"}})";
constexpr const char* kBestEffort = "{}";

/// What this kubelet logs on a node without Berth, too: it looks for containers that it has removed, and for what it
/// has not found out yet or a cloud would have.
constexpr std::array<std::string_view, 5> kUsualErrors = {
    "RecentStats: unable to find data in memory cache",  // of a container that has just come
    "an error occurred when try to find container",     "Image garbage collection failed once", "AWS credentials",
    "failed to find pid namespace of init process",
};

/// A number of the environment.
int Setting(const char* name, int usual) {
  const char* const text = std::getenv(name);
  return text != nullptr ? ParseDecimal<int>(text).value_or(usual) : usual;
}
/// Steps of the long tests.
int Steps(int usual) { return Setting("BERTH_CLUSTER_STEPS", usual); }

/// What a Deployment's container does, and what it needs for that.
struct Work {
  std::string script = "trap 'exit 0' TERM; sleep 1000 & wait";
  std::string of_container;  ///< more fields, as JSON, each after a comma
  std::string of_pod;
};

class DaemonClusterTest : public testkit::ClusterTest {
 protected:
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    ASSERT_NO_FATAL_FAILURE(ClusterTest::SetUp());
    if (IsSkipped()) return;
    ASSERT_TRUE(testkit::ApplyFile(dir_, testkit::kNodeStates));
    root_ = Root();
    ASSERT_NE("", root_);
    kubelet_said_ = testkit::ReadText(dir_ + "/kubelet.log").size();
    berthd_.emplace();
    Start();
  }
  void TearDown() override {
    if (client_ == nullptr) return;
    for (const char* const name : {"own", "part", "rest"}) static_cast<void>(client_->Delete(Deployment(name)));
    EXPECT_TRUE(Eventually("no pod is left", [&] { return Pods().empty(); }));
    EXPECT_TRUE(refuses_ || !KubeletErrors().contains("berth: ")) << "berthd's own words:\n" << KubeletErrors();
    ClusterTest::TearDown();
    berthd_.reset();
  }

  /// cgroupRoot of the cluster's kubelet.
  std::string Root() const {
    const std::string text = testkit::ReadText(dir_ + "/kubelet.yaml");
    const std::size_t at = text.find("cgroupRoot: ");
    if (at == std::string::npos) return "";
    return text.substr(at + 12, text.find('\n', at) - at - 12);
  }
  void Start() {
    std::ofstream(berthd_->Dir("berth.yaml"))
        << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nruntime: nri\n"
           "nriSocket: " +
               dir_ + "/containerd/nri.sock\npublish: {topology: false, kubeconfig: " + dir_ +
               "/kubeconfig}\npodSpecs: {kubeconfig: " + dir_ + "/kubeconfig}\n";
    berthd_->Start({"--config", berthd_->Dir("berth.yaml"), "--socket", berthd_->socket(), "--cgroup-root", root_,
                    "--node-name", "localhost"});
    ASSERT_TRUE(berthd_->Until("berthd has joined", [&] { return berthd_->CountEvents("RuntimeJoined") > 0; }));
  }

  static constexpr std::array kVictims = {"berthd", "containerd", "kubelet"};
  void KillAndStart(const std::string& victim) {
    if (victim == "berthd") {
      berthd_->Kill();
      return Start();
    }
    for (const char* const verb : {"kill", "start"})
      ASSERT_EQ(0, std::system(Join({testkit::SourcePath("tools/cluster"), verb, dir_, victim}, " ").c_str()));
  }

  kube::Target Deployment(const std::string& name, const std::string& subresource = "") const {
    return {.resource = {.group = "apps", .plural = "deployments"},
            .namespace_ = space_,
            .name = name,
            .subresource = subresource};
  }
  void MakeDeployment(const std::string& name, const std::string& resources, int replicas, const Work& work = {}) {
    const auto made = client_->Create(
        Deployment(""),
        R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":")" + name + R"("},"spec":{"replicas":)" +
            std::to_string(replicas) + R"(,"selector":{"matchLabels":{"app":")" + name +
            R"("}},"template":{"metadata":{"labels":{"app":")" + name +
            R"("}},"spec":{"terminationGracePeriodSeconds":1,"hostNetwork":true,"automountServiceAccountToken":false)" +
            work.of_pod + R"(,"containers":[{"name":"app","image":")" + kImage +
            R"(","imagePullPolicy":"Never","command":["/bin/sh","-c",")" + work.script + "\"]" + work.of_container +
            R"(,"resources":)" + resources + "}]}}}}");
    ASSERT_TRUE(made) << made.error().message;
  }
  void Scale(const std::string& name, int replicas) {
    const auto done =
        client_->MergePatch(Deployment(name), R"({"spec":{"replicas":)" + std::to_string(replicas) + "}}");
    ASSERT_TRUE(done) << done.error().message;
  }
  /// Of this test's namespace.
  std::vector<Json> Pods() {
    std::vector<Json> out;
    const auto listed =
        client_->List({.resource = {.plural = "pods"}, .namespace_ = space_, .name = {}, .subresource = {}}, {},
                      {.begin = [&] { out.clear(); },
                       .take = [&](const kube::Object& object) -> Result<void> {
                         out.push_back(*codec::ParseJson(object.json, "pod"));
                         return {};
                       }});
    EXPECT_TRUE(listed) << listed.error().message;
    return out;
  }
  static bool IsReady(const Json& pod) {
    if (pod["status"].value("phase", "") != "Running" || pod["metadata"].contains("deletionTimestamp")) return false;
    for (const Json& condition : pod["status"]["conditions"])
      if (condition["type"] == "Ready") return condition["status"] == "True";
    return false;
  }
  int Ready(const std::string& app) {
    const std::vector<Json> pods = Pods();
    return static_cast<int>(std::ranges::count_if(
        pods, [&](const Json& pod) { return pod["metadata"]["labels"]["app"] == app && IsReady(pod); }));
  }
  /// berthd knows no pod of it: what they had is free.
  bool IsFree(const std::string& app) {
    const Json known = berthd_->Get("/v1/pods");
    return known.is_object() && !known.dump().contains("\"" + app + "-");
  }
  /// The same, and the kubelet has told the API server that none of them runs.
  bool HasEnded(const std::string& app) {
    const std::vector<Json> pods = Pods();
    return IsFree(app) && std::ranges::none_of(pods, [&](const Json& pod) {
             return pod["metadata"]["labels"]["app"] == app &&
                    !(pod["status"].contains("containerStatuses") &&
                      pod["status"]["containerStatuses"][0]["state"].contains("terminated"));
           });
  }
  /// The same, and it has none of them any more.
  bool HasGone(const std::string& app) {
    const std::vector<Json> pods = Pods();
    return IsFree(app) &&
           std::ranges::none_of(pods, [&](const Json& pod) { return pod["metadata"]["labels"]["app"] == app; });
  }
  bool Has(const std::string& app, int replicas) { return replicas == 0 ? HasGone(app) : Ready(app) == replicas; }
  /// Within four minutes: a kubelet collects the sandbox of a pod whose container was never made once a minute.
  bool Eventually(const std::string& what, const std::function<bool()>& done) {
    for (int i = 0; i < 2400; ++i, os::SleepFor(os::Millis(100)))
      if (done()) return true;
    ADD_FAILURE() << "never came true: " << what << "\nberthd said:\n" << berthd_->output();
    return false;
  }

  /// What is wrong between ledger, API server and kernel; "": nothing.
  std::string Wrong() {
    std::map<std::string, Json> running;  // by uid
    for (const Json& pod : Pods())
      if (IsReady(pod)) running.emplace(pod["metadata"]["uid"], pod);
    const Json seen = berthd_->Get("/v1/pods");
    if (!seen.is_object()) return "berthd does not answer";
    std::size_t known = 0;
    std::map<std::string, CpuSet> own;  // by pod
    std::map<std::string, CpuSet> shared;
    for (const Json& pod : seen["pods"]) {
      if (!running.contains(pod["uid"])) continue;
      ++known;
      for (const Json& container : pod["containers"]) {
        if (!container["cgroup"].is_string()) return pod["name"].get<std::string>() + " has not been looked at";
        const std::string cpus = container["cpus"];
        const std::string file =
            "/sys/fs/cgroup/cpuset" + root_ + "/" + container["cgroup"].get<std::string>() + "/cpuset.cpus";
        std::string kernel;
        std::getline(std::ifstream(file), kernel);
        if (kernel != cpus)
          return pod["name"].get<std::string>() + ": ledger " + cpus + ", kernel '" + kernel + "' in " + file;
        const bool guaranteed = pod["qosClass"] == "Guaranteed";
        if (guaranteed != container["exclusive"].get<bool>())
          return pod["name"].get<std::string>() + " should be exclusive";
        (guaranteed ? own : shared).emplace(pod["name"], testkit::Cpus(cpus));
      }
    }
    for (const auto& [owner, cpus] : own)
      for (const auto* const others : {&own, &shared})
        for (const auto& [name, theirs] : *others)
          if (name != owner && cpus.Intersects(theirs)) return name + " runs on CPUs of " + owner;
    return known == running.size() ? ""
                                   : "berthd knows " + std::to_string(known) + " of " + std::to_string(running.size());
  }
  bool BecomesRight(const std::string& when) {
    std::string wrong;
    return Eventually("all is as the ledger says " + when,
                      [&] {
                        wrong = Wrong();
                        return wrong.empty();
                      }) ||
           (std::cout << wrong << "\n", false);
  }

  /// Whether the state that is published has the pods that berthd has.
  bool IsPublished() {
    const auto there = client_->Get(testkit::NodeStateOf("localhost"));
    if (!there) return false;
    const auto state = codec::ReadNodeState(there->json);
    EXPECT_TRUE(state) << state.error().message;
    const Json seen = berthd_->Get("/v1/pods");
    if (!state || !seen.is_object()) return false;
    std::set<std::string> known;
    for (const Json& pod : seen["pods"]) known.insert(pod["uid"]);
    std::set<std::string> published;
    for (const auto& [uid, record] : state->ledger.pods) published.insert(uid);
    return published == known;
  }

  /// Errors that the kubelet has logged in this test, but for those that it logs without Berth too.
  std::string KubeletErrors() const {
    const std::string log = testkit::ReadText(dir_ + "/kubelet.log").substr(kubelet_said_);
    std::string out;
    for (const std::string_view line : Split(log, '\n')) {
      const bool error = line.size() > 5 && (line[0] == 'E' || line[0] == 'F') && line[1] >= '0' && line[1] <= '9';
      const bool usual =
          std::ranges::any_of(kUsualErrors, [&](std::string_view words) { return line.contains(words); });
      if (error && !usual) out += std::string(line) + "\n";
    }
    return out;
  }

  std::string root_;
  std::size_t kubelet_said_ = 0;  // bytes of its log before this test
  bool refuses_ = false;          // berthd is to refuse a container
  std::optional<DaemonFixture> berthd_;
};

TEST_F(DaemonClusterTest, DeploymentsOfEveryClassGrowAndShrinkAndTheKernelHasWhatTheLedgerSays) {
  MakeDeployment("own", kGuaranteed, 0);
  MakeDeployment("part", kBurstable, 1);
  MakeDeployment("rest", kBestEffort, 1);
  const int steps = Steps(6);
  for (int step = 0; step < steps; ++step) {
    const int own = step % 2;
    const int part = 1 + step % 3;
    const int rest = 1 + (step / 2) % 3;
    Scale("own", own);
    Scale("part", part);
    Scale("rest", rest);
    ASSERT_TRUE(Eventually("step " + std::to_string(step),
                           [&] { return Has("own", own) && Ready("part") == part && Ready("rest") == rest; }));
    ASSERT_TRUE(BecomesRight("after step " + std::to_string(step)));
    ASSERT_TRUE(Eventually("it is published after step " + std::to_string(step), [&] { return IsPublished(); }));
  }
  for (const Json& pod : Pods())
    EXPECT_TRUE(!IsReady(pod) || pod["status"]["containerStatuses"][0]["restartCount"] == 0) << pod["metadata"]["name"];
  EXPECT_EQ("", KubeletErrors());
  EXPECT_EQ("", berthd_->Repairs()) << berthd_->output();
}

TEST_F(DaemonClusterTest, WhyAContainerIsNotMadeStandsInItsPodAndItIsMadeWhenThereIsRoom) {
  refuses_ = true;
  MakeDeployment("own", kGuaranteed, 2);
  ASSERT_TRUE(Eventually("one of them runs", [&] { return Ready("own") == 1; }));
  EXPECT_TRUE(Eventually("the other says why", [&] {
    const std::vector<Json> pods = Pods();
    return std::ranges::any_of(pods, [](const Json& pod) {
      return pod["status"].dump().find("not enough cpus available") != std::string::npos;
    });
  }));
  for (const Json& pod : Pods()) {
    if (!IsReady(pod)) continue;
    const auto deleted = client_->Delete(
        {.resource = {.plural = "pods"}, .namespace_ = space_, .name = pod["metadata"]["name"], .subresource = {}});
    EXPECT_TRUE(deleted) << deleted.error().message;
  }
  EXPECT_TRUE(BecomesRight("when the first has gone"));
  EXPECT_TRUE(Eventually("one of those that wait has its CPU", [&] { return Ready("own") == 1; }));
}

TEST_F(DaemonClusterTest, BerthdThatWasKilledPutsRightWhatTheKubeletDidMeanwhile) {
  MakeDeployment("part", kBurstable, 1);
  ASSERT_TRUE(Eventually("it runs", [&] { return Ready("part") == 1; }));
  berthd_->Kill();
  MakeDeployment("own", kGuaranteed, 1);
  Scale("part", 2);
  ASSERT_TRUE(Eventually("all run without berthd", [&] { return Ready("own") == 1 && Ready("part") == 2; }));
  Start();
  EXPECT_TRUE(BecomesRight("when berthd is back"));
}

/// 30 pods, with one that has a CPU of its own among them.
TEST_F(DaemonClusterTest, PodsMadeWhileBerthdWasAwayAreInTheirPlaceSoonAfterItIsBack) {
  constexpr int kShared = 29;
  berthd_->Kill();
  MakeDeployment("own", kGuaranteed, 1);
  MakeDeployment("rest", kBestEffort, kShared);
  ASSERT_TRUE(Eventually("all run without berthd", [&] { return Ready("own") == 1 && Ready("rest") == kShared; }));
  Start();
  const os::MonoTime joined = os::SystemClock().Now();
  EXPECT_TRUE(BecomesRight("when berthd is back"));
  const auto took = std::chrono::duration_cast<os::Millis>(os::SystemClock().Now() - joined);
  std::cout << "30 pods were in their place " << took.count() << " ms after berthd had joined\n";
  EXPECT_TRUE(Eventually("that is told", [&] { return berthd_->CountEvents("PlacedLate") == kShared + 1; }));
}

/// The runtime waits for berthd in the hook of the first of them, and cuts it off then.
TEST_F(DaemonClusterTest, AHookWithoutAnAnswerCostsAKubeletNothingButTheWait) {
  MakeDeployment("part", kBurstable, 1);
  ASSERT_TRUE(Eventually("it runs", [&] { return Ready("part") == 1; }));
  ::kill(berthd_->pid(), SIGSTOP);
  MakeDeployment("own", kGuaranteed, 1);
  Scale("part", 2);
  EXPECT_TRUE(Eventually("all run without berthd", [&] { return Ready("own") == 1 && Ready("part") == 2; }));
  ::kill(berthd_->pid(), SIGCONT);
  EXPECT_TRUE(BecomesRight("when berthd goes on"));
  EXPECT_EQ("", KubeletErrors());
}

/// A start of a container that looks at its first instruction who else may run on its CPU; every other time berthd,
/// containerd or kubelet is killed meanwhile. One that was made while nobody asked berthd has all CPUs at first, and is
/// promised none. BERTH_CLUSTER_STARTS: how many; BERTH_CLUSTER_SEED. The scheduler is not asked: for it the one before
/// has its CPU until the kubelet, ten seconds later, has its pod deleted.
TEST_F(DaemonClusterTest, WhoIsMadeWithACpuHasItAloneWhateverIsKilled) {
  const std::string said = berthd_->Dir("said");
  std::filesystem::create_directory(said);
  const Work waits{.script = "trap 'exit 0' TERM; tail -f /dev/null & wait", .of_container = "", .of_pod = ""};
  MakeDeployment("part", kBurstable, 1, waits);
  MakeDeployment("rest", kBestEffort, 1, waits);
  MakeDeployment(
      "own", kGuaranteed, 0,
      {.script = "exec /overlap_probe /hostproc " + root_ + " >>/said/own",
       .of_container =
           R"(,"securityContext":{"privileged":true},"volumeMounts":[{"name":"proc","mountPath":"/hostproc"},)"
           R"({"name":"probe","mountPath":"/overlap_probe"},{"name":"said","mountPath":"/said"}])",
       .of_pod =
           R"(,"nodeName":"localhost","volumes":[{"name":"proc","hostPath":{"path":"/proc"}},{"name":"probe","hostPath":{"path":")" +
           std::string(BERTH_OVERLAP_PROBE) + R"("}},{"name":"said","hostPath":{"path":")" + said + R"("}}])"});
  ASSERT_TRUE(Eventually("the others run", [&] { return Ready("part") == 1 && Ready("rest") == 1; }));
  ASSERT_TRUE(BecomesRight("before it begins"));
  const int seed = Setting("BERTH_CLUSTER_SEED", 20261129);
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  const int starts = Setting("BERTH_CLUSTER_STARTS", 6);
  int alone = 0;
  int late = 0;
  for (int start = 0; start < starts; ++start) {
    const std::string victim = start % 2 == 0 ? "" : kVictims[static_cast<std::size_t>(start / 2) % kVictims.size()];
    SCOPED_TRACE("seed " + std::to_string(seed) + " start " + std::to_string(start) + ", killed: " + victim);
    std::ofstream(said + "/own").close();
    Scale("own", 1);
    if (!victim.empty()) {
      os::SleepFor(os::Millis(std::uniform_int_distribution<int>(0, 1'500)(random)));
      KillAndStart(victim);
    }
    std::string words;
    ASSERT_TRUE(Eventually("it has looked", [&] {
      words = testkit::ReadText(said + "/own");
      return words.find("overlaps") != std::string::npos && words.ends_with('\n');
    })) << words;
    bool has_one = false;
    for (const std::string_view line : Split(words, '\n')) {
      const std::vector<std::string_view> parts = SplitWords(line);
      if (parts.size() < 3) continue;
      if (parts[0] != "cpus") {  // of a process beside it
        EXPECT_FALSE(has_one) << words;
        continue;
      }
      has_one = testkit::Cpus(std::string(parts[1])).Count() == 1;
      ++(has_one ? alone : late);
      EXPECT_TRUE(has_one || !victim.empty()) << words;
    }
    // A kubelet that has not seen it run yet would end it a minute later.
    ASSERT_TRUE(Eventually("it runs", [&] { return Ready("own") == 1; }));
    Scale("own", 0);
    ASSERT_TRUE(Eventually("it has ended", [&] { return HasEnded("own"); }));
    ASSERT_TRUE(BecomesRight("after it"));
  }
  EXPECT_GE(alone, starts / 2);
  std::cout << starts << " starts: " << alone << " were alone on their CPU from the first instruction, " << late
            << " were made while nobody asked berthd\n";
}

TEST_F(DaemonClusterTest, KillsOfBerthdRuntimeAndKubeletAtAnyMomentAreOvercome) {
  MakeDeployment("own", kGuaranteed, 0);
  MakeDeployment("part", kBurstable, 1);
  ASSERT_TRUE(Eventually("it runs", [&] { return Ready("part") == 1; }));
  const std::uint64_t seed = 20261125;
  std::mt19937_64 random(seed);
  const int steps = Steps(6);
  for (int step = 0; step < steps; ++step) {
    const std::string victim = kVictims[static_cast<std::size_t>(step) % kVictims.size()];
    SCOPED_TRACE("seed " + std::to_string(seed) + " step " + std::to_string(step) + ", " + victim + " is killed");
    const int own = step % 2 == 0 ? 1 : 0;
    const int part = 1 + step % 3;
    Scale("own", own);
    Scale("part", part);
    os::SleepFor(os::Millis(std::uniform_int_distribution<int>(0, 2'500)(random)));
    KillAndStart(victim);
    ASSERT_TRUE(Eventually("as many run as shall", [&] { return Has("own", own) && Ready("part") == part; }));
    ASSERT_TRUE(BecomesRight("after it"));
    EXPECT_EQ("", berthd_->Repairs()) << berthd_->output();
  }
}

/// Of a pod that is not Guaranteed a runtime shows no memory request, and of none which containers will come.
TEST_F(DaemonClusterTest, WhatContainersRequestIsWhatTheirPodsSpecSays) {
  MakeDeployment("part", kBurstable, 1);
  ASSERT_TRUE(Eventually("it runs", [&] { return Ready("part") == 1; }));
  const auto memory = [&]() -> std::string {
    const auto there = client_->Get(testkit::NodeStateOf("localhost"));
    if (!there) return "";
    const auto state = codec::ReadNodeState(there->json);
    if (!state) return state.error().message;
    for (const auto& [uid, record] : state->ledger.pods)
      if (record.name.starts_with("part-")) {
        const auto request = record.requests.find("memory");
        return request == record.requests.end() ? "none" : request->second.ToString();
      }
    return "";
  };
  EXPECT_TRUE(Eventually("its request is published", [&] { return memory() == "16Mi"; })) << memory();
  EXPECT_EQ(0, berthd_->CountEvents("PodSpecUnknown")) << berthd_->output();
}

/// packaging/kubernetes as it is, but for folders and image, which are this cluster's.
class InstalledClusterTest : public DaemonClusterTest {
 protected:
  void SetUp() override {
    DaemonClusterTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    EXPECT_EQ(0, berthd_->Stop());  // the one in the cluster counts
    top_ = berthd_->Dir("installed");
    const std::string programs = std::filesystem::path(BERTHD).parent_path();
    const std::string replace = "sed -i -e 's|hostPath: {path: /var/lib/berth,|hostPath: {path: " + top_ +
                                "/state,|' -e 's|hostPath: {path: /run/berth,|hostPath: {path: " + top_ +
                                "/run,|' -e 's|hostPath: {path: /var/run/nri,|hostPath: {path: " + dir_ +
                                "/containerd,|' ";
    ASSERT_TRUE(Runs("mkdir " + top_ + " && cp -r " + testkit::SourcePath("packaging/kubernetes") + " " + top_));
    ASSERT_TRUE(Runs(replace + top_ + "/kubernetes/base/daemonset.yaml"));
    ASSERT_TRUE(Runs("echo 'cgroupRoot: " + root_ + "' >>" + top_ + "/kubernetes/base/placement.yaml"));
    ASSERT_TRUE(Runs(testkit::SourcePath("tools/make_image") + " " + top_ + "/node.tar --node " + programs));
    ASSERT_TRUE(Runs(testkit::SourcePath("build/containerd/trixie/bin/ctr") + " -a " + dir_ +
                     "/containerd/containerd.sock -n k8s.io images import " + top_ + "/node.tar"));
  }

  static bool Runs(const std::string& command) {
    const int status = std::system(("{ " + command + "; } >&2").c_str());
    return status == 0 || (std::cout << "failed: " << command << "\n", false);
  }
  std::string Kubectl() const {
    return testkit::KubernetesProgram("kubectl") + " --kubeconfig " + dir_ + "/kubeconfig";
  }
  /// Of all groups of pods and containers of this test: their CPUs, by path below the kubelet's root.
  std::map<std::string, std::string> Cpusets() {
    std::map<std::string, std::string> out;
    const std::string top = "/sys/fs/cgroup/cpuset" + root_;
    for (const std::string& group : testkit::GroupsBelow(top + "/kubepods")) {
      std::string cpus;
      if (std::getline(std::ifstream(group + "/cpuset.cpus"), cpus)) out.emplace(group.substr(top.size()), cpus);
    }
    return out;
  }
  /// CPUs of the group of a pod's container "app"; "": there is none.
  std::string CpusOfApp(const std::string& app) {
    for (const Json& pod : Pods()) {
      if (pod["metadata"]["labels"]["app"] != app || !IsReady(pod)) continue;
      const std::string id = pod["status"]["containerStatuses"][0].value("containerID", "");
      for (const auto& [path, cpus] : Cpusets())
        if (path.ends_with("/" + id.substr(id.rfind('/') + 1))) return cpus;
    }
    return "";
  }

  std::string top_;
};

TEST_F(InstalledClusterTest, AfterUninstallContainersHaveTheCpusThatAKubeletGivesAndTheNodeHasNothingLeft) {
  MakeDeployment("part", kBurstable, 1);
  ASSERT_TRUE(Eventually("it runs", [&] { return Ready("part") == 1; }));
  const std::string all = CpusOfApp("part");
  ASSERT_TRUE(Runs(Kubectl() + " apply -k " + top_ + "/kubernetes/base"));
  ASSERT_TRUE(Runs(Kubectl() + " -n berth-system rollout status daemonset/berth --timeout 120s"));
  MakeDeployment("own", kGuaranteed, 1);
  MakeDeployment("rest", kBestEffort, 1);
  ASSERT_TRUE(Eventually("all run", [&] { return Ready("own") == 1 && Ready("rest") == 1; }));
  const CpuSet own = testkit::Cpus(CpusOfApp("own"));
  EXPECT_EQ(1, own.Count());
  for (const char* const app : {"part", "rest"})
    EXPECT_EQ(testkit::Cpus(all) - own, testkit::Cpus(CpusOfApp(app))) << app;
  EXPECT_TRUE(Runs(Kubectl() + " -n berth-system exec daemonset/berth -- berth map"));
  ASSERT_TRUE(Runs("KUBECTL='" + Kubectl() + "' " + top_ + "/kubernetes/uninstall"));
  for (const auto& [path, cpus] : Cpusets()) EXPECT_EQ(all, cpus) << path;
  for (const char* const app : {"own", "part", "rest"}) EXPECT_EQ(all, CpusOfApp(app)) << app;
  for (const Json& pod : Pods())
    EXPECT_EQ(0, pod["status"]["containerStatuses"][0]["restartCount"]) << pod["metadata"]["name"];
  for (const char* const folder : {"/state", "/run"})
    EXPECT_TRUE(!std::filesystem::exists(top_ + folder) || std::filesystem::is_empty(top_ + folder)) << folder;
  Scale("rest", 2);
  ASSERT_TRUE(Eventually("another one runs", [&] { return Ready("rest") == 2; }));
  for (const auto& [path, cpus] : Cpusets()) EXPECT_EQ(all, cpus) << path;
  EXPECT_TRUE(Eventually("the namespace has gone",
                         [&] { return !client_->Get(testkit::TargetOf("namespaces", "berth-system")); }));
}

}  // namespace
}  // namespace berth
