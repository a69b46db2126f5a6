// The pod resources API of a real berthd with real pods, asked by clients of other gRPC libraries, field by field.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "daemon_fixture.h"
#include "device_matrix.h"
#include "device_peer.h"
#include "host/os/unique_fd.h"

namespace berth::testkit {
namespace {

using codec::Json;

struct Said {
  int status = -1;
  Json answer;
  std::string words;  ///< on stderr
};

std::string Client() {
  const char* const other = std::getenv("BERTH_POD_RESOURCES_CLIENT");
  return other != nullptr ? other : BERTH_GRPC_CLIENT;
}

struct DaemonPodResourcesTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    ASSERT_EQ(0, ::access(Client().c_str(), X_OK)) << Client() << " is not built";
    node.Configure(
        "memoryManagerPolicy: Static\nkubeReserved: {memory: 100Mi}\n"
        "reservedMemory: [{numaNode: 0, limits: {memory: 200Mi}}]\n");
  }
  void Start() {
    std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n"
                                             "podResourcesSocket: "
                                          << path << "\ndevicePluginDir: " << node.Dir("plugins") << "\n";
    node.Start({"--config", node.Dir("berth.yaml"), "--socket", node.socket()});
  }
  Said Ask(const std::string& words, const std::string& options = "") {
    const std::string command = Client() + " " + options + " " + path + " " + words + " 2>" + node.Dir("said");
    Said out;
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    out.status = WEXITSTATUS(::pclose(pipe));
    out.words = ReadText(node.Dir("said"));
    out.answer = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    return out;
  }

  DaemonFixture node;
  std::string path = node.Dir("pod-resources/kubelet.sock");
};

constexpr std::string_view kShared =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: shared, namespace: web}\nspec:\n"
    "  terminationGracePeriodSeconds: 1\n  initContainers:\n"
    "  - {name: before, image: none, command: [/bin/true]}\n"
    "  - {name: helper, image: none, restartPolicy: Always, command: [/bin/sleep, inf]}\n"
    "  containers:\n  - {name: app, image: none, command: [/bin/sleep, inf]}\n";

TEST_F(DaemonPodResourcesTest, TellsWhatEachContainerOfEachActivePodHolds) {
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  node.AddPod("shared.yaml", kShared);
  node.AddPod("refused.yaml", SpinnerManifest("refused", "64"));
  node.AddPod("done.yaml",
              "apiVersion: v1\nkind: Pod\nmetadata: {name: done}\nspec:\n  restartPolicy: Never\n"
              "  containers:\n  - {name: app, image: none, command: [/bin/true]}\n");
  Start();
  ASSERT_TRUE(node.Until("all are there", [&] {
    return node.Runs("own") && node.PodNamed("shared")["ready"] == true &&
           node.PodNamed("refused")["phase"] == "Failed" && node.PodNamed("done")["phase"] == "Succeeded";
  }));
  const Said all = Ask("list");
  ASSERT_EQ(0, all.status) << all.words;
  const Json own = Json::parse(R"({"name": "own-n1", "namespace": "default", "containers": [{"name": "spin",
      "cpu_ids": ["1"], "memory": [{"memory_type": "memory", "size": "33554432", "topology": {"nodes": [{}]}}]}]})");
  const Json shared =
      Json::parse(R"({"name": "shared-n1", "namespace": "web", "containers": [{"name": "helper"}, {"name": "app"}]})");
  EXPECT_EQ((Json{{"pod_resources", {own, shared}}}), all.answer) << "a NUMANode without an ID is node 0";
  EXPECT_EQ((Json{{"pod_resources", own}}), Ask("get default own-n1").answer);
  EXPECT_EQ((Json{{"pod_resources", shared}}), Ask("get web shared-n1").answer);
  for (const std::string wrong : {"default done-n1", "default refused-n1", "web own-n1", "default own"}) {
    const Said none = Ask("get " + wrong);
    EXPECT_EQ(1, none.status);
    const auto space = wrong.find(' ');
    EXPECT_EQ("Unknown: pod " + wrong.substr(space + 1) + " in namespace " + wrong.substr(0, space) + " not found\n",
              none.words);
  }

  node.RemovePod("own.yaml");
  ASSERT_TRUE(node.Until("own is gone", [&] { return node.PodNamed("own").is_null(); }));
  EXPECT_EQ((Json{{"pod_resources", {shared}}}), Ask("list").answer);
}

TEST_F(DaemonPodResourcesTest, TellsWhatTheNodeCouldGive) {
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  Start();
  ASSERT_TRUE(node.Until("own runs", [&] { return node.Runs("own"); }));
  const Said said = Ask("allocatable");
  ASSERT_EQ(0, said.status) << said.words;
  Json cpus = Json::array();
  for (const CpuId cpu : OnlineCpus())
    if (Raw(cpu) != 0) cpus.push_back(std::to_string(Raw(cpu)));
  EXPECT_EQ(cpus, said.answer["cpu_ids"]) << "whoever has them";
  EXPECT_FALSE(said.answer.contains("devices"));
  ASSERT_FALSE(said.answer["memory"].empty());
  std::string meminfo = ReadText("/sys/devices/system/node/node0/meminfo");
  meminfo = meminfo.substr(meminfo.find("MemTotal:") + 9);
  const long long total = std::stoll(meminfo) * 1024;
  bool found = false;
  for (const Json& block : said.answer["memory"]) {
    EXPECT_TRUE(block["topology"]["nodes"].is_array());
    if (block["memory_type"] != "memory" || !block["topology"]["nodes"][0].empty()) continue;
    found = true;
    const long long size = std::stoll(block["size"].get<std::string>());
    EXPECT_LE(size, total - (200LL << 20));
    EXPECT_GT(size, 0);
  }
  EXPECT_TRUE(found);
}

TEST_F(DaemonPodResourcesTest, TellsWhichDevicesAPluginHasAndWhoHoldsThem) {
  const std::string gpu = "vendor.example/gpu";
  Start();
  auto plugin = StartPeer({.folder = node.Dir("plugins"),
                           .resource = gpu,
                           .endpoint = "gpu.sock",
                           .devices = {{"g0"}, {.id = "g1", .healthy = false}, {.id = "g2", .node = std::nullopt}},
                           .scratch = node.Dir("")});
  node.AddPod("train.yaml", DevicePod("train", gpu, 2));
  ASSERT_TRUE(node.Until("train runs", [&] { return node.Runs("train"); }));
  const Json devices = Json::parse(R"([
      {"resource_name": "vendor.example/gpu", "device_ids": ["g0"], "topology": {"nodes": [{}]}},
      {"resource_name": "vendor.example/gpu", "device_ids": ["g2"]}])");
  const Json train = {
      {"name", "train-n1"}, {"namespace", "default"}, {"containers", {{{"name", "app"}, {"devices", devices}}}}};
  EXPECT_EQ((Json{{"pod_resources", {train}}}), Ask("list").answer);
  EXPECT_EQ((Json{{"pod_resources", train}}), Ask("get default train-n1").answer);
  EXPECT_EQ(devices, Ask("allocatable").answer["devices"]) << "those that are healthy, whoever has them";

  plugin.reset();
  EXPECT_TRUE(node.Until("none is healthy", [&] { return !Ask("allocatable").answer.contains("devices"); }));
  EXPECT_EQ((Json{{"pod_resources", {train}}}), Ask("list").answer) << "with those whose plug-in went";
  node.Kill();
  Start();
  EXPECT_EQ((Json{{"pod_resources", {train}}}), Ask("list").answer) << "and with those of before the start";
  node.RemovePod("train.yaml");
  ASSERT_TRUE(node.Until("train is gone", [&] { return node.PodNamed("train").is_null(); }));
  EXPECT_EQ(Json::object(), Ask("list").answer);
}

TEST_F(DaemonPodResourcesTest, RefusesMoreCallsThanAKubeletTakes) {
  Start();
  EXPECT_EQ(0, Ask("list", "--times 5").status);
  const auto begin = std::chrono::steady_clock::now();
  const Said many = Ask("list", "--times 400");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const int refused = std::atoi(many.words.c_str());
  EXPECT_LE(400 - refused, 10 + 100 * took.count()) << many.words << "10 at once and 100 a second";
  EXPECT_LT(refused, 400) << many.words;
  ASSERT_TRUE(node.Until("calls are taken again", [&] { return Ask("list").status == 0; }));
}

TEST_F(DaemonPodResourcesTest, IsForRootOnlyAndComesBackAfterAKill) {
  Start();
  struct stat info{};
  ASSERT_EQ(0, ::stat(path.c_str(), &info));
  EXPECT_EQ(0600U, info.st_mode & 0777U);
  ASSERT_EQ(0, ::stat(node.Dir("pod-resources").c_str(), &info));
  EXPECT_EQ(0750U, info.st_mode & 0777U);
  node.Kill();
  ASSERT_EQ(0, ::stat(path.c_str(), &info)) << "its socket is left behind";
  Start();
  EXPECT_EQ(0, Ask("list").status);
  node.Stop();
  EXPECT_NE(0, ::stat(path.c_str(), &info));
}

TEST_F(DaemonPodResourcesTest, LeavesAKubeletsSocketAloneAndRunsPodsAllTheSame) {
  ASSERT_EQ(0, ::mkdir(node.Dir("pod-resources").c_str(), 0750));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  const os::UniqueFd kubelet(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(0, ::bind(kubelet.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  ASSERT_EQ(0, ::listen(kubelet.get(), 16));
  struct stat before{};
  ASSERT_EQ(0, ::stat(path.c_str(), &before));
  node.AddPod("own.yaml", SpinnerManifest("own", "1"));
  Start();
  ASSERT_TRUE(node.Until("own runs", [&] { return node.Runs("own"); }));
  EXPECT_EQ(1, node.CountEvents("PodResourcesUnavailable", "somebody listens there already"));
  node.Stop();
  struct stat after{};
  ASSERT_EQ(0, ::stat(path.c_str(), &after));
  EXPECT_EQ(before.st_ino, after.st_ino);
}

}  // namespace
}  // namespace berth::testkit
