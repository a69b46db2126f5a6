#include "runtime/cri/cri_specs.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace berth::cri {
namespace {

using runtime::ContainerState;
using runtime::StartRequest;

StartRequest Request() {
  StartRequest out;
  out.pod_uid = "0f1e-2d";
  out.pod_namespace = "prod";
  out.pod_name = "web";
  out.container.name = "app";
  out.container.image = "registry.example/app:2";
  out.container.command = {"/bin/app"};
  out.container.args = {"-v", ""};
  out.container.working_dir = "/srv";
  out.container.security.run_as_user = 1000;
  out.env = {{"A", "1"}, {"B", ""}};
  out.attempt = 3;
  out.oom_score_adj = -997;
  out.log_path = "/var/log/pods/prod_web_0f1e-2d/app/3.log";
  out.place.pod_group = "/kubepods/pod0f1e-2d";
  out.place.hostname = "web-1";
  out.place.log_folder = "/var/log/pods/prod_web_0f1e-2d";
  out.place.mounts = {{.container_path = "/data", .host_path = "/srv/data", .read_only = true, .propagation = "None"}};
  return out;
}

CgroupValues Values() {
  CgroupValues out;
  out.cpus = CpuSet{CpuId{2}, CpuId{3}, CpuId{7}};
  out.mems = NodeSet{NumaId{1}};
  out.shares = 2048;
  out.weight = 80;
  out.cpu_max = CpuMax{.quota = std::chrono::microseconds(150'000)};
  out.memory_max = Bytes{1 << 20};
  out.hugetlb = {{Bytes{2 << 20}, Bytes{4 << 20}}, {Bytes{1 << 30}, Bytes{0}}};
  out.memory_min = Bytes{4096};
  out.memory_high = Bytes{-1};
  out.swap_max = Bytes{0};
  out.oom_group = true;
  return out;
}

TEST(CriSpecsTest, SaysResourcesInTheInterfacesWords) {
  const Resources v1 = ResourcesOf(Values(), 5, false);
  const Resources want{.cpu_period_us = 100'000,
                       .cpu_quota_us = 150'000,
                       .cpu_shares = 2048,
                       .memory_limit = 1 << 20,
                       .oom_score_adj = 5,
                       .cpus = "2-3,7",
                       .mems = "1",
                       .hugepages = {{"2MB", 4U << 20U}, {"1GB", 0}}};
  EXPECT_EQ(want, v1);
}

TEST(CriSpecsTest, SaysInFilesWhatOnlyV2Has) {
  Resources want = ResourcesOf(Values(), 0, false);
  want.unified = {{"memory.min", "4096"},
                  {"memory.high", "max"},
                  {"memory.swap.max", "0"},
                  {"cpu.weight", "80"},
                  {"memory.oom.group", "1"}};
  EXPECT_EQ(want, ResourcesOf(Values(), 0, true));
  EXPECT_TRUE(ResourcesOf({}, 0, true).unified.empty());
}

TEST(CriSpecsTest, LeavesToTheRuntimeWhatIsNotSet) {
  EXPECT_EQ(Resources{}, ResourcesOf({}, 0, false));
  CgroupValues unlimited;
  unlimited.cpu_max = CpuMax{};
  unlimited.memory_max = Bytes{-1};
  const Resources said = ResourcesOf(unlimited, 0, false);
  EXPECT_EQ(-1, said.cpu_quota_us);
  EXPECT_EQ(0, said.memory_limit) << "0 is 'nothing said'; -1 would be none";
}

TEST(CriSpecsTest, MakesASandboxOfAPod) {
  const SandboxSpec spec = SandboxOf(Request(), "berth-1", 4);
  EXPECT_EQ("web", spec.name);
  EXPECT_EQ("prod", spec.namespace_);
  EXPECT_EQ("0f1e-2d", spec.uid);
  EXPECT_EQ(4U, spec.attempt);
  EXPECT_EQ("web-1", spec.hostname);
  EXPECT_EQ("/kubepods/pod0f1e-2d", spec.cgroup_parent);
  EXPECT_EQ("/var/log/pods/prod_web_0f1e-2d", spec.log_directory);
  EXPECT_EQ((Labels{{kPodName, "web"}, {kPodNamespace, "prod"}, {kPodUid, "0f1e-2d"}, {kOwner, "berth-1"}}),
            spec.labels);
}

TEST(CriSpecsTest, HashesAContainerAsTheKubeletDoes) {
  EXPECT_EQ("8e45cbd0", HashOf({.name = "test_container", .image = "foo/image:v1"}));
}

TEST(CriSpecsTest, TellsOthersOfThePodAsItsManifestDoes) {
  StartRequest request = Request();
  Pod pod;
  pod.labels = {{"app", "web"}, {kPodName, "somebody else"}};
  pod.annotations = {{"example.com/note", "x"}};
  pod.host_pid = true;
  pod.security.sysctls = {{"net.core.somaxconn", "7"}};
  pod.termination_grace_s = 5;
  request.place.pod = std::make_shared<const Pod>(pod);
  const SandboxSpec sandbox = SandboxOf(request, "berth-1", 0);
  EXPECT_EQ("web", sandbox.labels.at("app"));
  EXPECT_EQ("web", sandbox.labels.at(kPodName)) << "nobody takes another pod's name";
  EXPECT_EQ("x", sandbox.annotations.at("example.com/note"));
  EXPECT_EQ((Labels{{"net.core.somaxconn", "7"}}), sandbox.sysctls);
  EXPECT_TRUE(sandbox.namespaces.host_pid);
  request.container.tty = true;
  const ContainerSpec container = ContainerOf(request, "berth-1");
  EXPECT_FALSE(container.labels.contains("app")) << "as with the kubelet";
  EXPECT_EQ("5", container.annotations.at(kGrace));
  EXPECT_EQ("/dev/termination-log", container.annotations.at(kMessagePath));
  EXPECT_TRUE(container.tty);
  EXPECT_TRUE(container.namespaces.host_pid);
}

TEST(CriSpecsTest, MakesAContainerOfARequest) {
  const ContainerSpec spec = ContainerOf(Request(), "berth-1");
  EXPECT_EQ("app", spec.name);
  EXPECT_EQ(3U, spec.attempt);
  EXPECT_EQ("registry.example/app:2", spec.user_image);
  EXPECT_EQ((std::vector<std::string>{"/bin/app"}), spec.command);
  EXPECT_EQ((std::vector<std::string>{"-v", ""}), spec.args);
  EXPECT_EQ("/srv", spec.working_dir);
  EXPECT_EQ(Request().env, spec.env);
  ASSERT_EQ(1U, spec.mounts.size());
  EXPECT_EQ("/data", spec.mounts[0].container_path);
  EXPECT_EQ("/srv/data", spec.mounts[0].host_path);
  EXPECT_TRUE(spec.mounts[0].read_only);
  EXPECT_EQ("app/3.log", spec.log_path) << "below the sandbox's folder";
  EXPECT_EQ("app", spec.labels.at(kContainerName));
  EXPECT_EQ("3", spec.annotations.at(kAttempt));
  EXPECT_EQ(1000, spec.security.run_as_user);
}

TEST(CriSpecsTest, GivesAContainerItsDevicesAndKeepsItsOwnAnnotations) {
  StartRequest request = Request();
  request.devices.device_nodes = {{.container_path = "/dev/in", .host_path = "/dev/out", .permissions = "rw"}};
  request.devices.cdi_devices = {"vendor.example/gpu=0"};
  request.devices.annotations = {{"vendor.example/gpu", "0"}, {kAttempt, "99"}};
  const ContainerSpec spec = ContainerOf(request, "owner");
  EXPECT_EQ(request.devices.device_nodes, spec.devices);
  EXPECT_EQ(request.devices.cdi_devices, spec.cdi_devices);
  EXPECT_EQ("0", spec.annotations.at("vendor.example/gpu"));
  EXPECT_EQ("3", spec.annotations.at(kAttempt));
}

TEST(CriSpecsTest, KnowsWhichRuntimesLeaveOutCdiDevices) {
  EXPECT_NE("", CdiProblem("containerd", "1.6.20", std::nullopt));
  EXPECT_NE("", CdiProblem("containerd", "v1.6.20~ds1", std::nullopt));
  for (const char* const version : {"1.7.24", "2.1.9", "v2.0.0", "1.", "", "1.x"}) {
    EXPECT_EQ("", CdiProblem("containerd", version, std::nullopt)) << version;
    EXPECT_EQ("", CdiProblem("containerd", version, true)) << version;
    EXPECT_NE(std::string::npos, CdiProblem("containerd", version, false).find("set enable_cdi = true")) << version;
  }
  EXPECT_EQ("", CdiProblem("cri-o", "1.30.1", std::nullopt));
}

TEST(CriSpecsTest, TrustsNoImageToRunAsSomebodyElseThanRoot) {
  const auto problem = [](std::optional<bool> non_root, std::optional<std::int64_t> user, const Image& image) {
    SecurityContext security;
    security.run_as_non_root = non_root;
    security.run_as_user = user;
    return RootProblem(security, image);
  };
  const Image of_root{.uid = 0};
  const Image of_nobody{.uid = 65534};
  const Image of_name{.user = "nobody"};
  for (const Image& image : {of_root, of_nobody, of_name, Image{}}) {
    EXPECT_EQ("", problem(std::nullopt, std::nullopt, image));
    EXPECT_EQ("", problem(false, 0, image));
    EXPECT_EQ("", problem(true, 1000, image)) << "runAsUser decides";
    EXPECT_NE("", problem(true, 0, image));
  }
  EXPECT_EQ("", problem(true, std::nullopt, of_nobody));
  EXPECT_NE("", problem(true, std::nullopt, of_root));
  EXPECT_NE("", problem(true, std::nullopt, Image{})) << "an image without a user runs as root";
  EXPECT_NE(std::string::npos, problem(true, std::nullopt, of_name).find("nobody"));
}

ContainerEntry Ours(ContainerEntry::State state) {
  return {.id = "abc",
          .attempt = 2,
          .state = state,
          .labels = {{kPodUid, "u"}, {kContainerName, "app"}},
          .started_at_ns = 1'000'000'000,
          .finished_at_ns = 2'000'000'000,
          .pid = 77};
}

TEST(CriSpecsTest, ReadsAStatus) {
  const auto running = StatusOf(Ours(ContainerEntry::State::kRunning));
  ASSERT_TRUE(running);
  EXPECT_EQ(ContainerState::kRunning, running->state);
  EXPECT_EQ("u", running->pod_uid);
  EXPECT_EQ("app", running->container);
  EXPECT_EQ(2, running->attempt);
  EXPECT_EQ(77, running->pid);
  EXPECT_EQ(std::nullopt, running->exit_code);
  EXPECT_TRUE(running->started_at.starts_with("1970-01-01T00:00:01")) << running->started_at;
  EXPECT_EQ("", running->finished_at) << "it runs";
  EXPECT_EQ(ContainerState::kCreating, StatusOf(Ours(ContainerEntry::State::kCreated))->state);
  EXPECT_EQ(ContainerState::kUnknown, StatusOf(Ours(ContainerEntry::State::kUnknown))->state);
}

TEST(CriSpecsTest, ReadsHowAContainerEnded) {
  ContainerEntry entry = Ours(ContainerEntry::State::kExited);
  EXPECT_EQ(0, StatusOf(entry)->exit_code);
  EXPECT_EQ(0, StatusOf(entry)->pid);
  EXPECT_EQ(std::nullopt, StatusOf(entry)->signal);
  entry.exit_code = 137;
  entry.reason = "OOMKilled";
  EXPECT_EQ(9, StatusOf(entry)->signal);
  EXPECT_TRUE(StatusOf(entry)->oom_killed);
  entry.exit_code = 255;
  entry.reason = "Error";
  EXPECT_EQ(std::nullopt, StatusOf(entry)->signal) << "no such signal";
  EXPECT_FALSE(StatusOf(entry)->oom_killed);
}

TEST(CriSpecsTest, KnowsWhatIsNotOurs) {
  ContainerEntry entry = Ours(ContainerEntry::State::kRunning);
  entry.labels = {{kPodUid, "u"}};
  EXPECT_EQ(std::nullopt, StatusOf(entry));
  entry.labels = {{kContainerName, "app"}};
  EXPECT_EQ(std::nullopt, StatusOf(entry));
}

}  // namespace
}  // namespace berth::cri
