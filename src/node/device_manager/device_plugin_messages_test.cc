#include "node/device_manager/device_plugin_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/device_manager/played_plugin_test.h"

namespace berth::device_manager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const NodeSet kTwoNodes{NumaId{0}, NumaId{1}};

std::string WhyRefusedRegistration(const std::string& version, const std::string& endpoint, const std::string& name) {
  pb::RegisterRequest request;
  request.set_version(version);
  request.set_endpoint(endpoint);
  request.set_resource_name(name);
  const auto right = CheckRegistration(*ReadRegistration(request.SerializeAsString()));
  return right ? "" : right.error().message;
}

std::string WhyRefusedAnswer(const pb::AllocateResponse& answer) {
  const auto read = ReadAllocation(answer.SerializeAsString());
  return read ? "" : read.error().message;
}

TEST(PluginMessagesTest, RegistrationsAreRefusedInTheKubeletsWords) {
  EXPECT_EQ(WhyRefusedRegistration("v1beta1", "gpu.sock", "vendor.example/gpu"), "");
  EXPECT_EQ(WhyRefusedRegistration("v1alpha", "gpu.sock", "vendor.example/gpu"),
            "requested API version \"v1alpha\" is not supported by kubelet. Supported version is [\"v1beta1\"]");
  for (const char* const name : {"gpu", "", "/gpu", "vendor.example/", "kubernetes.io/gpu", "node.kubernetes.io/gpu",
                                 "requests.vendor.example/gpu", "vendor.example/g/pu", "Vendor!/gpu"})
    EXPECT_EQ(WhyRefusedRegistration("v1beta1", "gpu.sock", name),
              std::string("the ResourceName \"") + name + "\" is invalid");
  for (const char* const endpoint : {"", ".", "..", "../gpu.sock", "/run/gpu.sock", "kubelet.sock"})
    EXPECT_THAT(WhyRefusedRegistration("v1beta1", endpoint, "vendor.example/gpu"), HasSubstr("is no name of a socket"));
  EXPECT_FALSE(ReadRegistration("nonsense"));
}

TEST(PluginMessagesTest, ListsAreSortedAndWhatIsWrongInThemIsLeftOutAndTold) {
  const auto list = ReadDeviceList(ListOf({{"d2", "Healthy", {1}},
                                           {"d1", "Unhealthy", {0, 1}},
                                           {"d3", "healthy", {}},
                                           {"d1", "Healthy", {}},
                                           {"", "Healthy", {}},
                                           {"d4", "Healthy", {7, -1, 1}}}),
                                   kTwoNodes);
  ASSERT_TRUE(list);
  EXPECT_THAT(list->devices, ElementsAre(Device{"d1", {NumaId{0}, NumaId{1}}, false}, Device{"d2", {NumaId{1}}, true},
                                         Device{"d3", {}, false}, Device{"d4", {NumaId{1}}, true}));
  EXPECT_THAT(list->problems, SizeIs(4));
  EXPECT_THAT(list->problems.front(), HasSubstr("d1 is listed twice"));
  EXPECT_FALSE(ReadDeviceList("nonsense", kTwoNodes));
}

TEST(PluginMessagesTest, OfManyProblemsOnlySomeAreTold) {
  const auto list = ReadDeviceList(ListOf(std::vector<PlayedDevice>(1'000)), kTwoNodes);
  ASSERT_TRUE(list);
  EXPECT_THAT(list->problems, SizeIs(6));
  EXPECT_EQ(list->problems.back(), "and 995 problems more");
}

TEST(PluginMessagesTest, TenThousandDevicesAreTakenAndMoreThanTheMostAreNot) {
  std::vector<PlayedDevice> devices(10'000);
  for (std::size_t i = 0; i < devices.size(); ++i) devices[i].id = "d" + std::to_string(i);
  const auto list = ReadDeviceList(ListOf(devices), kTwoNodes);
  ASSERT_TRUE(list);
  EXPECT_THAT(list->devices, SizeIs(10'000));
  EXPECT_FALSE(ReadDeviceList(ListOf(std::vector<PlayedDevice>(kMostDevices + 1)), kTwoNodes));
}

TEST(PluginMessagesTest, AnAllocationIsReadAsAWhole) {
  pb::AllocateResponse answer;
  auto& first = *answer.add_container_responses();
  (*first.mutable_envs())["VISIBLE"] = "0";
  (*first.mutable_annotations())["vendor.example/note"] = "x";
  auto& mount = *first.add_mounts();
  mount.set_container_path("/usr/lib/gpu");
  mount.set_host_path("/opt/gpu");
  mount.set_read_only(true);
  auto& node = *first.add_devices();
  node.set_container_path("/dev/gpu0");
  node.set_host_path("/dev/gpu/0");
  node.set_permissions("mrw");
  first.add_cdi_devices()->set_name("vendor.example/gpu=0");
  const auto read = ReadAllocation(answer.SerializeAsString());
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, (DeviceAnswer{.env = {{"VISIBLE", "0"}},
                                 .mounts = {{"/usr/lib/gpu", "/opt/gpu", true}},
                                 .device_nodes = {{"/dev/gpu0", "/dev/gpu/0", "mrw"}},
                                 .annotations = {{"vendor.example/note", "x"}},
                                 .cdi_devices = {"vendor.example/gpu=0"}}));
}

TEST(PluginMessagesTest, AnAllocationThatNoContainerCouldHaveIsRefused) {
  EXPECT_EQ(WhyRefusedAnswer({}), "no containers return in allocation response");
  pb::AllocateResponse env;
  (*env.add_container_responses()->mutable_envs())["A=B"] = "";
  EXPECT_THAT(WhyRefusedAnswer(env), HasSubstr("cannot be a variable"));
  pb::AllocateResponse mount;
  mount.add_container_responses()->add_mounts()->set_host_path("/x");
  EXPECT_THAT(WhyRefusedAnswer(mount), HasSubstr("the path '' of a mount is not absolute"));
  pb::AllocateResponse node;
  auto& device = *node.add_container_responses()->add_devices();
  device.set_container_path("/dev/x");
  device.set_host_path("/dev/x");
  device.set_permissions("rwx");
  EXPECT_THAT(WhyRefusedAnswer(node), HasSubstr("'rwx' of device node /dev/x are no permissions"));
  pb::AllocateResponse large;
  (*large.add_container_responses()->mutable_envs())["A"] = std::string(kLongestAnswer, 'x');
  EXPECT_THAT(WhyRefusedAnswer(large), HasSubstr("262144 are the most"));
}

TEST(PluginMessagesTest, APreferenceIsAskedForAndRead) {
  pb::PreferredAllocationRequest request;
  ASSERT_TRUE(request.ParseFromString(WritePreference({.available = {"a", "b"}, .must = {"a"}, .size = 2})));
  ASSERT_EQ(request.container_requests_size(), 1);
  EXPECT_THAT(request.container_requests(0).available_deviceids(), ElementsAre("a", "b"));
  EXPECT_THAT(request.container_requests(0).must_include_deviceids(), ElementsAre("a"));
  EXPECT_EQ(request.container_requests(0).allocation_size(), 2);
  pb::PreferredAllocationResponse answer;
  answer.add_container_responses()->add_deviceids("b");
  const auto read = ReadPreference(answer.SerializeAsString());
  ASSERT_TRUE(read);
  EXPECT_THAT(*read, ElementsAre("b"));
  EXPECT_THAT(ReadPreference("").value(), testing::IsEmpty());
}

}  // namespace
}  // namespace berth::device_manager
