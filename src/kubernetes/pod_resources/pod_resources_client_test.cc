// The client of the pod resources API: asked of Berth's own service in the place of a kubelet's, and of servers that
// answer badly.
#include "kubernetes/pod_resources/pod_resources_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "kubernetes/pod_resources/made_node_test.h"
#include "kubernetes/pod_resources/pod_resources_service.h"
#include "podresources.pb.h"
#include "rpc/grpc/transport.h"
#include "testing/fixtures.h"
#include "testing/scripted_grpc_server.h"

namespace berth::pod_resources {
namespace {

using testkit::GrpcAnswer;
using testkit::GrpcFrame;
using testkit::GrpcRequest;

constexpr os::Millis kLong{20'000};
constexpr os::Millis kShort{30};
constexpr const char* kGpu = "vendor.example/gpu";

NodeSet Nodes(std::initializer_list<std::uint32_t> ids) {
  NodeSet out;
  for (const std::uint32_t id : ids) out.Insert(NumaId{id});
  return out;
}

v1::PodResources PodOf(const std::string& name) {
  v1::PodResources out;
  out.set_namespace_("default");
  out.set_name(name);
  out.add_containers()->set_name("app");
  return out;
}

void AddDevice(v1::PodResources& pod, const std::string& id, std::initializer_list<std::int64_t> nodes,
               const std::string& resource = kGpu) {
  v1::ContainerDevices& entry = *pod.mutable_containers(0)->add_devices();
  entry.set_resource_name(resource);
  entry.add_device_ids(id);
  for (const std::int64_t node : nodes) entry.mutable_topology()->add_nodes()->set_id(node);
}

struct PodResourcesClientTest : testing::Test {
  /// Berth's own service is the kubelet's.
  void StartService() {
    MadeNode made;
    DeviceAssignment gpus{.resource = kGpu, .ids = {"g0", "g1"}};
    gpus.answer.emplace();
    gpus.answer->nodes = {{"g0", Nodes({0, 1})}};
    made.Add("train", {{.devices = {gpus}}, {.name = "side"}});
    made.Add("web", {{}});
    auto started = Service::Start(
        {.socket = path}, [snapshot = std::make_shared<const NodeSnapshot>(made.Snapshot())] { return snapshot; });
    ASSERT_TRUE(started) << started.error().message;
    service = *std::move(started);
  }
  /// A kubelet that has `pods`, and answers Get with this status.
  void StartWithoutGet(const std::string& status, std::initializer_list<v1::PodResources> pods) {
    v1::ListPodResourcesResponse all;
    for (const v1::PodResources& pod : pods) *all.add_pod_resources() = pod;
    Serve([this, status, all = all.SerializeAsString()](const GrpcRequest& asked) {
      if (asked.method == "/v1.PodResourcesLister/List") return GrpcAnswer{.body = GrpcFrame(all)};
      ++gets;
      return GrpcAnswer{.body = "", .status = status, .message = "no"};
    });
  }
  void StartWith(GrpcAnswer answer) {
    Serve([answer](const GrpcRequest&) { return answer; });
  }
  /// In the place of one before it.
  void Serve(std::function<GrpcAnswer(const GrpcRequest&)> answer) {
    server.reset();
    std::filesystem::remove(path);
    server = std::make_unique<testkit::GrpcServer>(path, std::move(answer));
  }

  testkit::TempDir temp;
  std::string path = temp / "kubelet.sock";
  testkit::ManualClock clock;
  std::atomic<int> gets = 0;
  std::unique_ptr<Service> service;
  std::unique_ptr<testkit::GrpcServer> server;
  PodResourcesClient client{path, clock};
};

const PodDevices& TrainDevices() {
  static const PodDevices kDevices = {
      {"app", {{kGpu, {{.id = "g0", .nodes = Nodes({0, 1})}, {.id = "g1", .nodes = {}}}}}}};
  return kDevices;
}

TEST_F(PodResourcesClientTest, ReadsThePodsDevicesWithTheirNodes) {
  StartService();
  const auto devices = client.DevicesOf("default", "train", kLong);
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_EQ(TrainDevices(), *devices);
  EXPECT_EQ(1U, service->figures().get.tried);
  EXPECT_EQ(0U, service->figures().list.tried);
}

TEST_F(PodResourcesClientTest, ReadsTheDevicesOfAllPodsAtOnce) {
  StartService();
  const auto all = client.AllDevices(kLong);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ((DevicesByPod{{{"default", "train"}, TrainDevices()}, {{"default", "web"}, {}}}), *all);
}

TEST_F(PodResourcesClientTest, APodThatTheKubeletDoesNotKnowHasNoDevices) {
  StartService();
  for (int i = 0; i < 2; ++i) {
    const auto devices = client.DevicesOf("default", "none", kLong);
    ASSERT_TRUE(devices) << devices.error().message;
    EXPECT_EQ(PodDevices(), *devices);
  }
  EXPECT_EQ(2U, service->figures().get.tried) << "that is no reason to ask by List from now on";
}

/// Unimplemented, of a kubelet before 1.27, and Unknown, of one whose feature gate is off.
TEST_F(PodResourcesClientTest, AsksByListForAWhileWhereThereIsNoGet) {
  for (const char* const status : {"12", "2"}) {
    v1::PodResources train = PodOf("train");
    AddDevice(train, "g0", {1});
    StartWithoutGet(status, {train, PodOf("web")});
    PodResourcesClient fresh(path, clock);
    gets = 0;
    for (int i = 0; i < 3; ++i) {
      const auto devices = fresh.DevicesOf("default", "train", kLong);
      ASSERT_TRUE(devices) << devices.error().message;
      EXPECT_EQ((PodDevices{{"app", {{kGpu, {{.id = "g0", .nodes = Nodes({1})}}}}}}), *devices);
    }
    EXPECT_EQ(1, gets) << status;
    clock.Advance(os::Millis(600'000));
    EXPECT_TRUE(fresh.DevicesOf("default", "train", kLong));
    EXPECT_EQ(2, gets) << status;
  }
}

TEST_F(PodResourcesClientTest, NodesThatNoMachineHasAndResourcesWithTooManyDevicesAreLeftOut) {
  v1::PodResources odd = PodOf("odd");
  AddDevice(odd, "g0", {-1, 2, std::int64_t{1} << 40});
  AddDevice(odd, "", {0});
  v1::PodResources many = PodOf("many");
  for (int i = 0; i < 2000; ++i) AddDevice(many, "g" + std::to_string(i), {0});
  for (int i = 0; i < 1024; ++i) AddDevice(many, "h" + std::to_string(i), {0}, "vendor.example/most");
  StartWithoutGet("12", {odd, many});
  const auto all = client.AllDevices(kLong);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ((PodDevices{{"app", {{kGpu, {{.id = "g0", .nodes = Nodes({2})}}}}}}), all->at({"default", "odd"}));
  const DeviceInventory& most = all->at({"default", "many"}).at("app");
  ASSERT_EQ(1U, most.size());
  EXPECT_EQ(1024U, most.at("vendor.example/most").size());
}

TEST_F(PodResourcesClientTest, LongNamesAndResourcesBeyondTheMostOfAContainerAreLeftOut) {
  const std::string longest(1024, 'g');
  v1::PodResources named = PodOf("long");
  AddDevice(named, longest, {0});
  AddDevice(named, longest + "g", {0});
  AddDevice(named, "g0", {0}, longest + "g");
  v1::PodResources many = PodOf("many");
  for (int i = 0; i < 100; ++i) AddDevice(many, "g0", {0}, "vendor.example/kind-" + std::to_string(i));
  AddDevice(many, "g1", {1}, "vendor.example/kind-0");
  StartWithoutGet("12", {named, many});
  const auto all = client.AllDevices(kLong);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ((PodDevices{{"app", {{kGpu, {{.id = longest, .nodes = Nodes({0})}}}}}}), all->at({"default", "long"}));
  const DeviceInventory& kinds = all->at({"default", "many"}).at("app");
  EXPECT_EQ(64U, kinds.size());
  EXPECT_EQ(2U, kinds.at("vendor.example/kind-0").size()) << "it is known already";
}

TEST_F(PodResourcesClientTest, NobodyAnswersAtASocketThatIsNotThereYet) {
  EXPECT_EQ(Code::kUnreachable, client.DevicesOf("default", "train", kLong).error().code);
  EXPECT_EQ(Code::kUnreachable, client.AllDevices(kLong).error().code);
  StartService();
  EXPECT_TRUE(client.DevicesOf("default", "train", kLong));
}

TEST_F(PodResourcesClientTest, WhoNeverAnswersIsGivenUpInTime) {
  StartWith({.end = GrpcAnswer::End::kSilence});
  EXPECT_EQ(Code::kTimeout, client.DevicesOf("default", "train", kShort).error().code);
  EXPECT_EQ(Code::kTimeout, client.AllDevices(kShort).error().code);
}

TEST_F(PodResourcesClientTest, WhoTakesNoConnectionIsGivenUpInTime) {
  const auto listener = grpc::UnixListener::Open(path, 0600);
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_EQ(Code::kTimeout, client.DevicesOf("default", "train", kShort).error().code);
}

TEST_F(PodResourcesClientTest, AnAnswerThatIsTooLongOrNoneIsRefused) {
  std::string huge = GrpcFrame("message");
  huge[1] = 1;  // 16 MiB
  StartWith({.body = huge});
  EXPECT_NE(std::string::npos, client.AllDevices(kLong).error().message.find("longer than the limit"));
  StartWith({.body = GrpcFrame("\x0A\xFF")});
  PodResourcesClient fresh(path, clock);
  EXPECT_EQ(Code::kCorrupt, fresh.AllDevices(kLong).error().code);
  EXPECT_EQ(Code::kCorrupt, fresh.DevicesOf("default", "train", kLong).error().code);
}

}  // namespace
}  // namespace berth::pod_resources
