// berthd beside a real kubelet: the cluster in $BERTH_CLUSTER, which tools/cluster made. Deployments of every class
// come, grow, shrink and go, and after each step the kernel has what the ledger says.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "base/text.h"
#include "codec/codec.h"
#include "codec/node_state_json.h"
#include "daemon_fixture.h"
#include "kube/client.h"
#include "os/clock.h"
#include "os/whole_file.h"
#include "test_cluster.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

using codec::Json;
using testkit::DaemonFixture;

constexpr const char* kImage = "localhost/berth/busybox:1";

/// Requests and limits of a container, as JSON.
constexpr const char* kGuaranteed = R"({"limits":{"cpu":"1","memory":"32Mi"}})";
constexpr const char* kBurstable = R"({"requests":{"cpu":"50m","memory":"16Mi"}})";
constexpr const char* kBestEffort = "{}";

/// Steps of the long test; BERTH_CLUSTER_STEPS makes it longer.
int Steps(int usual) {
  const char* const text = std::getenv("BERTH_CLUSTER_STEPS");
  return text != nullptr ? ParseDecimal<int>(text).value_or(usual) : usual;
}

class DaemonClusterTest : public testkit::ClusterTest {
 protected:
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    ASSERT_NO_FATAL_FAILURE(ClusterTest::SetUp());
    if (IsSkipped()) return;
    ASSERT_TRUE(testkit::ApplyFile(dir_, testkit::kNodeStates));
    root_ = Root();
    ASSERT_NE("", root_);
    berthd_.emplace();
    Start();
  }
  void TearDown() override {
    if (client_ == nullptr) return;
    for (const char* const name : {"own", "part", "rest"}) static_cast<void>(client_->Delete(Deployment(name)));
    EXPECT_TRUE(Eventually("no pod is left", [&] { return Pods().empty(); }));
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
               dir_ + "/containerd/nri.sock\npublish: {topology: false, kubeconfig: " + dir_ + "/kubeconfig}\n";
    berthd_->Start({"--config", berthd_->Dir("berth.yaml"), "--socket", berthd_->socket(), "--cgroup-root", root_,
                    "--node-name", "localhost"});
    ASSERT_TRUE(berthd_->Until("berthd has joined", [&] { return berthd_->CountEvents("RuntimeJoined") > 0; }));
  }

  kube::Target Deployment(const std::string& name, const std::string& subresource = "") const {
    return {.resource = {.group = "apps", .plural = "deployments"},
            .namespace_ = space_,
            .name = name,
            .subresource = subresource};
  }
  void MakeDeployment(const std::string& name, const std::string& resources, int replicas) {
    const auto made = client_->Create(
        Deployment(""),
        R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":")" + name + R"("},"spec":{"replicas":)" +
            std::to_string(replicas) + R"(,"selector":{"matchLabels":{"app":")" + name +
            R"("}},"template":{"metadata":{"labels":{"app":")" + name +
            R"("}},"spec":{"terminationGracePeriodSeconds":1,"hostNetwork":true,"automountServiceAccountToken":false,)"
            R"("containers":[{"name":"app","image":")" +
            kImage +
            R"(","imagePullPolicy":"Never","command":["/bin/sh","-c","trap 'exit 0' TERM; sleep 1000 & wait"],"resources":)" +
            resources + "}]}}}}");
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
  bool Eventually(const std::string& what, const std::function<bool()>& done) {
    for (int i = 0; i < 600; ++i, os::SleepFor(os::Millis(100)))
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
    std::map<std::string, std::string> owner;  // CPU -> pod
    for (const Json& pod : seen["pods"]) {
      if (!running.contains(pod["uid"])) continue;
      ++known;
      for (const Json& container : pod["containers"]) {
        const std::string cpus = container["cpus"];
        const std::string file =
            "/sys/fs/cgroup/cpuset" + root_ + "/" + container["cgroup"].get<std::string>() + "/cpuset.cpus";
        std::string kernel;
        std::getline(std::ifstream(file), kernel);
        if (kernel != cpus)
          return pod["name"].get<std::string>() + ": ledger " + cpus + ", kernel '" + kernel + "' in " + file;
        if (container["exclusive"] && !owner.emplace(cpus, pod["name"]).second)
          return "CPUs " + cpus + " are two pods'";
        const bool guaranteed = pod["qosClass"] == "Guaranteed";
        if (guaranteed != container["exclusive"].get<bool>())
          return pod["name"].get<std::string>() + " should be exclusive";
        if (!guaranteed && owner.contains(cpus)) return pod["name"].get<std::string>() + " runs on another's CPUs";
      }
    }
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

  std::string root_;
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
                           [&] { return Ready("own") == own && Ready("part") == part && Ready("rest") == rest; }));
    ASSERT_TRUE(BecomesRight("after step " + std::to_string(step)));
    ASSERT_TRUE(Eventually("it is published after step " + std::to_string(step), [&] { return IsPublished(); }));
  }
  for (const Json& pod : Pods())
    EXPECT_TRUE(!IsReady(pod) || pod["status"]["containerStatuses"][0]["restartCount"] == 0) << pod["metadata"]["name"];
  EXPECT_EQ(0, berthd_->CountEvents("CgroupRepaired")) << berthd_->output();
}

TEST_F(DaemonClusterTest, WhyAContainerIsNotMadeStandsInItsPodAndItIsMadeWhenThereIsRoom) {
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

}  // namespace
}  // namespace berth
