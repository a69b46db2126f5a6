// Simulated nodes of berthd alone in a real cluster: a real kube-scheduler spreads pods over them, as it is
// and with berth-scheduler as its extender. The cluster is that in $BERTH_CLUSTER, which tools/cluster made. Who brings
// a pod to its berthd, and berthd's word to the pod's status, is this test.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/codec/codec.h"
#include "api/codec/node_state_json.h"
#include "api/local_api/api_client.h"
#include "base/text.h"
#include "daemon_fixture.h"
#include "host/os/clock.h"
#include "kubernetes/kube_client/kube_client.h"
#include "run_program.h"
#include "test_cluster.h"
#include "testing/fixtures.h"

namespace berth::testkit {
namespace {

using codec::Json;
using std::chrono::steady_clock;

/// Two packages of two NUMA nodes with four cores of two threads.
constexpr const char* kMachine = "pack:2 numa:2(memory=16GiB) l3:1 core:4 pu:2";
constexpr int kNodes = 3;
constexpr const char* kLabel = "berth.dev/on-paper";

constexpr const char* kOwn =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"own"},"spec":{"containers":[{"name":"app","image":"none",)"
    R"("command":["/bin/true"],"resources":{"limits":{"cpu":"4","memory":"1Gi"}}}]}})";

/// A program that ends with this object.
class Program {
 public:
  Program(const std::string& program, const std::vector<std::string>& arguments, const std::string& log)
      : pid_(Spawn(program, arguments, {}, log)) {}
  ~Program() { End(SIGTERM); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  void End(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    for (int i = 0; i < 100 && ::waitpid(pid_, nullptr, WNOHANG) == 0; ++i) os::SleepFor(os::Millis(100));
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  int pid_ = -1;
};

/// A pod of the API server, brought to its node.
struct Brought {
  std::string name;
  int node = 0;
  std::string phase;
  bool less_there = false;  ///< than when the extender may have said yes
};

class SchedulerClusterTest : public ClusterTest {
 protected:
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    ASSERT_NO_FATAL_FAILURE(ClusterTest::SetUp());
    if (IsSkipped()) return;
    ASSERT_TRUE(ApplyFile(dir_, kNodeStates));
    ASSERT_TRUE(ApplyFile(dir_, "tests/integration/noderesourcetopologies.yaml"));
    for (int i = 0; i < kNodes; ++i) StartNode(i);
  }
  void TearDown() override {
    if (client_ == nullptr) return;
    extender_.reset();
    schedulers_.clear();
    for (const Json& pod : Pods())
      static_cast<void>(client_->Delete(TargetOf("pods", pod["metadata"]["name"], space_)));
    for (int i = 0; i < kNodes; ++i) static_cast<void>(client_->Delete(TargetOf("nodes", NodeName(i))));
    for (auto& node : nodes_) node.reset();
    ClusterTest::TearDown();
  }

  static void Must(const kube::Answer<kube::Object>& answer) { ASSERT_TRUE(answer) << answer.error().message; }
  std::string NodeName(int i) const { return "paper-" + run_ + "-" + std::to_string(i); }
  bool Eventually(const std::string& what, const std::function<bool()>& done) {
    for (const auto end = steady_clock::now() + std::chrono::minutes(2); steady_clock::now() < end;
         os::SleepFor(os::Millis(100)))
      if (done()) return true;
    ADD_FAILURE() << "never came true: " << what << "\nberthd 0 said:\n" << nodes_[0]->output();
    return false;
  }

  void StartNode(int i) {
    const Json node_object = {{"apiVersion", "v1"},
                              {"kind", "Node"},
                              {"metadata", {{"name", NodeName(i)}, {"labels", {{kLabel, run_}}}}},
                              {"spec", {{"taints", {{{"key", kLabel}, {"effect", "NoSchedule"}}}}}}};
    Must(client_->Create(TargetOf("nodes"), node_object.dump()));
    auto& node = nodes_[static_cast<std::size_t>(i)];
    node = std::make_unique<DaemonFixture>();
    node->Configure("reservedSystemCPUs: \"0\"\ntopologyManagerPolicy: single-numa-node\nmemoryManagerPolicy: None\n");
    std::ofstream(node->Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n"
                                              "publish: {kubeconfig: "
                                           << dir_ << "/kubeconfig}\n";
    StartBerthd(i);
    const Json seen = node->Get("/v1/node");
    ASSERT_TRUE(seen.is_object());
    const Json amounts = {
        {"cpu", seen["allocatable"]["cpu"]}, {"memory", seen["allocatable"]["memory"]}, {"pods", "110"}};
    Must(client_->MergePatch(TargetOf("nodes", NodeName(i), "", "status"),
                             Json{{"status",
                                   {{"capacity", amounts},
                                    {"allocatable", amounts},
                                    {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}}
                                 .dump()));
    ASSERT_TRUE(Eventually("the node's state is there", [&] { return StateOf(i).has_value(); }));
  }
  void StartBerthd(int i) {
    DaemonFixture& node = *nodes_[static_cast<std::size_t>(i)];
    node.Start({"--config", node.Dir("berth.yaml"), "--socket", node.socket(), "--machine",
                machines_[static_cast<std::size_t>(i)], "--node-name", NodeName(i)});
  }
  std::optional<NodeState> StateOf(int i) {
    const auto there = client_->Get(NodeStateOf(NodeName(i)));
    if (!there) return std::nullopt;
    auto state = codec::ReadNodeState(there->json);
    EXPECT_TRUE(state) << state.error().message;
    return state ? std::optional(*std::move(state)) : std::nullopt;
  }

  void StartExtender() {
    extender_ = std::make_unique<Program>(BERTH_SCHEDULER,
                                          std::vector<std::string>{"--kubeconfig", dir_ + "/kubeconfig", "--listen",
                                                                   "127.0.0.1:" + std::to_string(kPort)},
                                          nodes_[0]->Dir("extender.log"));
    const std::string ready = "curl -fsS http://127.0.0.1:" + std::to_string(kPort) + "/readyz >/dev/null 2>&1";
    ASSERT_TRUE(Eventually("the extender is ready", [&] { return std::system(ready.c_str()) == 0; }))
        << ReadText(nodes_[0]->Dir("extender.log"));
  }
  /// A second kube-scheduler, for the pods that name it.
  void StartScheduler(const std::string& name) {
    const std::string file = nodes_[0]->Dir(name + ".yaml");
    const std::string figures = "127.0.0.1:" + std::to_string(kPort + 1);
    std::ofstream(file) << "apiVersion: kubescheduler.config.k8s.io/v1beta1\nkind: KubeSchedulerConfiguration\n"
                        << "leaderElection: {leaderElect: false}\nhealthzBindAddress: " << figures
                        << "\nmetricsBindAddress: " << figures << "\nclientConnection: {kubeconfig: " << dir_
                        << "/scheduler.kubeconfig}\npodInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1\n"
                        << "profiles: [{schedulerName: " << name << "}]\n"
                        << "extenders:\n- urlPrefix: http://127.0.0.1:" << kPort
                        << "\n  filterVerb: filter\n  prioritizeVerb: prioritize\n  weight: 5\n"
                           "  nodeCacheCapable: true\n  httpTimeout: 5s\n";
    schedulers_.push_back(std::make_unique<Program>(
        KubernetesProgram("kube-scheduler"), std::vector<std::string>{"--config", file, "--port=0", "--secure-port=0"},
        nodes_[0]->Dir("scheduler.log")));
  }

  std::vector<Json> Pods() {
    std::vector<Json> out;
    const auto listed = client_->List(TargetOf("pods", "", space_), {},
                                      {.begin = [&] { out.clear(); },
                                       .take = [&](const kube::Object& object) -> Result<void> {
                                         out.push_back(*codec::ParseJson(object.json, "pod"));
                                         return {};
                                       }});
    EXPECT_TRUE(listed) << listed.error().message;
    return out;
  }
  void MakePod(const std::string& name, const std::string& scheduler, int cpus, int gib) {
    const Json amounts = {{"cpu", std::to_string(cpus)}, {"memory", std::to_string(gib) + "Gi"}};
    Must(client_->Create(TargetOf("pods", "", space_), Json{{"apiVersion", "v1"},
                                                            {"kind", "Pod"},
                                                            {"metadata", {{"name", name}}},
                                                            {"spec",
                                                             {{"schedulerName", scheduler},
                                                              {"nodeSelector", {{kLabel, run_}}},
                                                              {"tolerations", {{{"operator", "Exists"}}}},
                                                              {"automountServiceAccountToken", false},
                                                              {"terminationGracePeriodSeconds", 0},
                                                              {"containers",
                                                               {{{"name", "app"},
                                                                 {"image", "none"},
                                                                 {"command", {"/bin/true"}},
                                                                 {"resources", {{"limits", amounts}}}}}}}}}
                                                           .dump()));
  }

  /// Brings bound pods to their berthd, one after another as they were bound, its answers to the pods' status, and
  /// takes away those that are gone.
  void Carry() {
    std::map<std::string, Json> there;
    for (Json& pod : Pods()) there.emplace(pod["metadata"]["uid"], std::move(pod));
    ++round_;
    for (auto it = brought_.begin(); it != brought_.end();) {
      const bool gone = !there.contains(it->first);
      if (gone) {
        nodes_[static_cast<std::size_t>(it->second.node)]->RemovePod(it->second.name + ".yaml");
        Less(it->second.node);
      }
      it = gone ? brought_.erase(it) : std::next(it);
    }
    for (const auto& [uid, pod] : there) {
      if (!pod["spec"].contains("nodeName"))
        unbound_[uid] = round_;
      else if (unbound_.contains(uid) && !heard_.contains(uid))
        HearOf(uid, pod["spec"]["nodeName"]);
    }
    std::vector<const Json*> bound;  // and not brought yet, in the order of their bindings
    for (const auto& [uid, pod] : there)
      if (pod["spec"].contains("nodeName") && !brought_.contains(uid)) bound.push_back(&pod);
    std::ranges::sort(bound, {}, [](const Json* pod) {
      return ParseDecimal<std::uint64_t>((*pod)["metadata"]["resourceVersion"].get<std::string>()).value_or(0);
    });
    for (int i = 0; i < kNodes; ++i) {
      if (!Report(i)) continue;
      const auto next =
          std::ranges::find_if(bound, [&](const Json* pod) { return (*pod)["spec"]["nodeName"] == NodeName(i); });
      if (next != bound.end()) Bring(**next, i);
    }
  }
  /// Less counts on the node than before: pods on their way there may be placed so that a later one does not fit, which
  /// is the cause that docs/design/extender.md knows, "What is not exact".
  void Less(int node) {
    less_[static_cast<std::size_t>(node)] = round_;
    for (auto& [uid, pod] : brought_)
      if (pod.node == node && pod.phase == "Pending") pod.less_there = true;
  }
  /// It is bound: it counts on the other nodes no more.
  void HearOf(const std::string& uid, const std::string& node) {
    heard_.insert(uid);
    for (int i = 0; i < kNodes; ++i)
      if (NodeName(i) != node) Less(i);
  }
  void Bring(const Json& pod, int node) {
    const Json& metadata = pod["metadata"];
    const Json& app = pod["spec"]["containers"][0];
    const Json manifest = {
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata", {{"name", metadata["name"]}, {"namespace", metadata["namespace"]}, {"uid", metadata["uid"]}}},
        {"spec",
         {{"terminationGracePeriodSeconds", 0},
          {"containers",
           {{{"name", "app"}, {"image", "none"}, {"command", {"/bin/true"}}, {"resources", app["resources"]}}}}}}};
    const std::string name = metadata["name"];
    nodes_[static_cast<std::size_t>(node)]->AddPod(name + ".yaml", manifest.dump());
    // The extender was asked after the round in which it was last seen without a node, or in it.
    const bool less_there = less_[static_cast<std::size_t>(node)] >= unbound_[metadata["uid"]];
    brought_[metadata["uid"]] = {.name = name, .node = node, .phase = "Pending", .less_there = less_there};
    ++bound_;
  }
  /// False: it has not decided on all that were brought.
  bool Report(int node) {
    const Json seen = nodes_[static_cast<std::size_t>(node)]->Get("/v1/pods");
    if (!seen.is_object()) return false;
    std::map<std::string, Json> phases;  // of those that are decided, by uid
    for (const Json& pod : seen["pods"])
      if (pod["phase"] != "Pending") phases.emplace(pod["uid"], pod);
    bool all = true;
    for (auto& [uid, pod] : brought_) {
      if (pod.node != node || pod.phase != "Pending") continue;
      const auto decided = phases.find(uid);
      if (decided == phases.end()) {
        all = false;
        continue;
      }
      pod.phase = decided->second["phase"];
      if (pod.phase == "Failed") {
        ++rejected_;
        if (!pod.less_there) ++unexplained_;
        std::cout << (pod.less_there ? "" : "unexplained: ") << pod.name << " on node " << node << ": "
                  << decided->second["reason"] << " " << decided->second["message"] << "\n";
      }
      static_cast<void>(client_->MergePatch(TargetOf("pods", pod.name, space_, "status"),
                                            Json{{"status", {{"phase", pod.phase}}}}.dump()));
    }
    return all;
  }

  /// Pods of random shapes come and go, so that the nodes are nearly full and `most_waiting` pods wait, until `count`
  /// were bound; `midway` is called once at half of them.
  void Run(const std::string& scheduler, int count, std::size_t most_waiting, std::function<void()> midway = nullptr) {
    std::mt19937 random(1);
    const auto one_of = [&](std::size_t n) { return static_cast<int>(random() % n); };
    constexpr std::array<int, 6> kShapes = {1, 2, 3, 4, 5, 6};
    int made = 0;
    int before = -1;
    auto moved = steady_clock::now();
    while (bound_ < count) {
      if (midway && bound_ >= count / 2) std::exchange(midway, nullptr)();
      if (std::exchange(before, bound_) != bound_) moved = steady_clock::now();
      ASSERT_LT(steady_clock::now() - moved, std::chrono::minutes(1))
          << bound_ << " of " << count << " are bound\n"
          << (schedulers_.empty() ? "" : ReadText(nodes_[0]->Dir("scheduler.log")));
      std::vector<std::string> done;
      std::size_t waiting = 0;
      for (const Json& pod : Pods()) {
        const std::string phase = pod["status"].value("phase", "Pending");
        if (phase == "Pending")
          ++waiting;
        else
          done.push_back(pod["metadata"]["name"]);
      }
      for (; waiting < most_waiting && made < count; ++waiting, ++made)
        MakePod("p" + std::to_string(made), scheduler, kShapes[static_cast<std::size_t>(one_of(kShapes.size()))],
                1 + one_of(3));
      Carry();
      // Some end, more of them when nothing else would fit; so few that 130 CPUs become nearly full.
      for (const std::string& name : done)
        if (one_of(12) == 0) static_cast<void>(client_->Delete(TargetOf("pods", name, space_)));
    }
    Carry();
  }

  static constexpr int kPort = 39951;
  std::array<std::string, kNodes> machines_ = {kMachine, kMachine, kMachine};
  std::array<std::unique_ptr<DaemonFixture>, kNodes> nodes_;
  std::unique_ptr<Program> extender_;
  std::vector<std::unique_ptr<Program>> schedulers_;
  std::map<std::string, Brought> brought_;  // by uid
  std::map<std::string, int> unbound_;      // by uid, the last round in which it had no node
  std::set<std::string> heard_;             // uids of pods whose binding was seen
  std::array<int, kNodes> less_{};          // by node, the last round in which something went
  int round_ = 0;
  int bound_ = 0;
  int rejected_ = 0;
  int unexplained_ = 0;  // of these, where nothing had gone
};

/// BERTH_CLUSTER_PODS makes it longer.
int HowMany() {
  const char* const text = std::getenv("BERTH_CLUSTER_PODS");
  return text != nullptr ? std::atoi(text) : 500;
}

/// Nodes are captured machines of 32, 40 and 64 CPUs on 2, 4 and 8 NUMA nodes, where these lie beside the checkout.
class SchedulerCapturedTest : public SchedulerClusterTest {
 protected:
  SchedulerCapturedTest() {
    constexpr std::array kCaptured = {"32intel64-2p8co2t+8ve", "40intel64-4n10c+pci-conflicts", "64amd64-4s2n4ca2co"};
    for (std::size_t i = 0; i < machines_.size(); ++i)
      if (const auto path = SharedPath("machines/" + std::string(kCaptured[i]) + ".tar.bz2")) machines_[i] = *path;
    std::cout << "machines: " << machines_[0] << ", " << machines_[1] << ", " << machines_[2] << "\n";
  }
};

TEST_F(SchedulerCapturedTest, WithTheExtenderNodesRejectOnlyWhereOthersHaveGoneBeforeAndRarely) {
  StartExtender();
  StartScheduler("with-extender");
  Run("with-extender", HowMany(), 6);
  std::cout << "with the extender: " << bound_ << " pods bound, " << rejected_ << " rejected by their node, "
            << unexplained_ << " of them unexplained\n";
  EXPECT_EQ(unexplained_, 0) << ReadText(nodes_[0]->Dir("extender.log"));
  EXPECT_LE(rejected_, bound_ / 100) << "1 of 1 900 is known";
}

TEST_F(SchedulerCapturedTest, WithoutItSomeAreRejected) {
  Run("default-scheduler", HowMany(), 6);
  std::cout << "without: " << bound_ << " pods bound, " << rejected_ << " rejected by their node\n";
  EXPECT_GT(rejected_, bound_ / 50) << "else the other test shows nothing";
}

TEST_F(SchedulerCapturedTest, AnExtenderThatIsKilledInTheMidstLosesNothing) {
  StartExtender();
  StartScheduler("with-extender");
  constexpr int kWaiting = 200;
  std::ptrdiff_t pending = -1;
  Run("with-extender", std::max(HowMany(), 2 * kWaiting + 100), kWaiting, [&] {
    extender_->End(SIGKILL);
    pending = std::ranges::count_if(Pods(), [](const Json& pod) { return !pod["spec"].contains("nodeName"); });
    StartExtender();
  });
  EXPECT_GE(pending, kWaiting * 9 / 10) << "as many wait as there are to be, but for those of a round";
  std::cout << "killed in the midst, with " << pending << " pods waiting: " << bound_ << " pods bound, " << rejected_
            << " rejected by their node, " << unexplained_ << " of them unexplained\n";
  EXPECT_EQ(unexplained_, 0) << ReadText(nodes_[0]->Dir("extender.log"));
  EXPECT_LE(rejected_, bound_ / 100);
}

TEST_F(SchedulerClusterTest, AServerThatChecksItTakesTheTopologyAndEachChangeOfIt) {
  Json there;
  const auto free_cpus = [&] {
    kube::Target target = TargetOf("noderesourcetopologies", NodeName(0));
    target.resource.group = "topology.node.k8s.io";
    target.resource.version = "v1alpha2";
    const auto topology = client_->Get(target);
    there = topology ? *codec::ParseJson(topology->json, "topology") : Json();
    std::vector<std::string> out;
    for (const Json& zone : there.value("zones", Json::array()))
      for (const Json& resource : zone["resources"])
        if (resource["name"] == "cpu") out.push_back(resource["available"]);
    return Join(out, " ");
  };
  EXPECT_TRUE(Eventually("all of it is free", [&] { return free_cpus() == "7 8 8 8"; })) << there.dump(1);
  nodes_[0]->AddPod("own.yaml", kOwn);
  EXPECT_TRUE(Eventually("what is given is taken off", [&] { return free_cpus() == "3 8 8 8"; })) << there.dump(1);
  const Json zone = there["zones"][1];
  EXPECT_EQ("node-1", zone["name"].get<std::string>());
  EXPECT_EQ("Node", zone["type"].get<std::string>());
  EXPECT_TRUE(zone.contains("costs")) << "the distances of a simulated machine";
  EXPECT_EQ(NodeName(0), there["metadata"]["ownerReferences"][0]["name"].get<std::string>());
  std::map<std::string, std::string> attributes;
  for (const Json& attribute : there["attributes"]) attributes[attribute["name"]] = attribute["value"];
  EXPECT_EQ("single-numa-node", attributes["topologyManagerPolicy"]);
  EXPECT_EQ("container", attributes["topologyManagerScope"]);
  EXPECT_EQ(there["metadata"]["annotations"]["topology.node.k8s.io/fingerprint"].get<std::string>(),
            attributes["nodeTopologyPodsFingerprint"]);

  const std::string version = there["metadata"]["resourceVersion"];
  ASSERT_EQ(0, nodes_[0]->Stop());
  StartBerthd(0);
  const std::string looked = "curl -fsS --unix-socket " + nodes_[0]->socket() +
                             " http://berth/metrics | grep -q '^berth_publish_current.*NodeResourceTopology.* 1$'";
  ASSERT_TRUE(Eventually("berthd has looked", [&] { return std::system(looked.c_str()) == 0; }));
  free_cpus();
  EXPECT_EQ(version, there["metadata"]["resourceVersion"].get<std::string>()) << "a restart writes nothing";
}

TEST_F(SchedulerClusterTest, APublishedStateIsRightAgainSoonAfterTheServerWasAway) {
  const auto all = StateOf(0);
  ASSERT_TRUE(all);
  const std::string cluster = SourcePath("tools/cluster");
  ASSERT_EQ(0, std::system((cluster + " kill " + dir_ + " apiserver").c_str()));
  nodes_[0]->AddPod("own.yaml", kOwn);
  ASSERT_TRUE(Eventually("the node has it", [&] { return nodes_[0]->Get("/v1/pods").dump().contains("\"own-"); }));
  ASSERT_TRUE(Eventually("berthd has noticed", [&] { return nodes_[0]->CountEvents("PublishingFailed") > 0; }));
  ASSERT_EQ(0, std::system((cluster + " start " + dir_ + " apiserver").c_str()));
  ASSERT_TRUE(Eventually("the server answers", [&] { return StateOf(0).has_value(); }));
  const auto answers = steady_clock::now();
  ASSERT_TRUE(Eventually("the state is the node's", [&] {
    const auto state = StateOf(0);
    return state && state->ledger.shared.Count() == all->ledger.shared.Count() - 4;
  }));
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - answers);
  std::cout << "right again after " << took.count() << " ms\n";
}

/// The certificate that berthd shows is read anew for each call.
TEST_F(SchedulerClusterTest, APublishedStateIsRightAgainSoonAfterCertificatesWereExchanged) {
  const auto put = [&](const std::string& who) {
    for (const char* const kind : {".crt", ".key"})
      std::ofstream(nodes_[0]->Dir("me" + std::string(kind))) << ReadText(dir_ + "/pki/" + who + kind);
  };
  ASSERT_EQ(0, nodes_[0]->Stop());
  std::string config = ReadText(dir_ + "/kubeconfig");
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"pki/admin.crt", nodes_[0]->Dir("me.crt")},
                                 {"pki/admin.key", nodes_[0]->Dir("me.key")},
                                 {"pki/ca.crt", dir_ + "/pki/ca.crt"}}) {
    ASSERT_NE(std::string::npos, config.find(from)) << config;
    config.replace(config.find(from), from.size(), to);
  }
  std::ofstream(nodes_[0]->Dir("me.conf")) << config;
  std::ofstream(nodes_[0]->Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n"
                                                 "publish: {kubeconfig: me.conf}\n";
  put("admin");
  StartBerthd(0);
  const auto all = StateOf(0);
  ASSERT_TRUE(all);
  put("server");  // of the same authority, and nobody here
  nodes_[0]->AddPod("own.yaml", kOwn);
  ASSERT_TRUE(Eventually("it is refused", [&] { return nodes_[0]->CountEvents("PublishingFailed") > 0; }));
  put("admin");
  const auto exchanged = steady_clock::now();
  ASSERT_TRUE(Eventually("the state is the node's", [&] {
    const auto state = StateOf(0);
    return state && state->ledger.shared.Count() == all->ledger.shared.Count() - 4;
  }));
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - exchanged);
  std::cout << "right again after " << took.count() << " ms\n";
}

}  // namespace
}  // namespace berth::testkit
