#include "runtime/lifecycle/device_grants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

DeviceAnswer Gpu() {
  return {.nodes = {{"g0", NodeSet{NumaId{0}}}},
          .env = {{"GPUS", "0"}, {"SHARED", "of gpu"}},
          .mounts = {{.container_path = "/opt/gpu", .host_path = "/usr/lib/gpu", .read_only = true}},
          .device_nodes = {{.container_path = "/dev/gpu0", .host_path = "/dev/gpu0", .permissions = "rw"}},
          .annotations = {{"vendor.example/gpu", "0"}, {"shared", "of gpu"}},
          .cdi_devices = {"vendor.example/gpu=0"}};
}
DeviceAnswer Nic() {
  return {.nodes = {{"n1", {}}},
          .env = {{"NICS", "1"}, {"SHARED", "of nic"}},
          .mounts = {{.container_path = "/opt/gpu", .host_path = "/usr/lib/nic"},
                     {.container_path = "/opt/nic", .host_path = "/usr/lib/nic"}},
          .device_nodes = {{.container_path = "/dev/gpu0", .host_path = "/dev/nic1", .permissions = "r"},
                           {.container_path = "/dev/nic", .host_path = "/dev/nic1", .permissions = "rwm"}},
          .annotations = {{"shared", "of nic"}},
          .cdi_devices = {"vendor.example/gpu=0", "vendor.example/nic=1"}};
}

TEST(DeviceGrantsTest, WhatIsSaidTwiceIsTakenFromTheFirstResourceByName) {
  const auto grants = GrantsOf({{"vendor.example/nic", {"n1"}, Nic()},
                                {"vendor.example/later", {"x"}, std::nullopt},
                                {"vendor.example/gpu", {"g0"}, Gpu()}});
  ASSERT_TRUE(grants) << grants.error().message;
  DeviceAnswer want = Gpu();
  want.nodes.clear();
  want.env["NICS"] = "1";
  want.mounts.push_back(Nic().mounts[1]);
  want.device_nodes.push_back(Nic().device_nodes[1]);
  want.cdi_devices.emplace_back("vendor.example/nic=1");
  EXPECT_EQ(grants->all, want);
  EXPECT_THAT(grants->conflicts,
              ElementsAre("env SHARED of vendor.example/nic: vendor.example/gpu says it first",
                          "mount /opt/gpu of vendor.example/nic: vendor.example/gpu says it first",
                          "device /dev/gpu0 of vendor.example/nic: vendor.example/gpu says it first",
                          "annotation shared of vendor.example/nic: vendor.example/gpu says it first"));
}

TEST(DeviceGrantsTest, NothingComesOfNoDevices) {
  const auto grants = GrantsOf({});
  ASSERT_TRUE(grants);
  EXPECT_EQ(grants->all, DeviceAnswer());
  EXPECT_THAT(grants->conflicts, IsEmpty());
  EXPECT_EQ(WithDevices(grants->all, Environment{{"A", "1"}}), (Environment{{"A", "1"}}));
}

TEST(DeviceGrantsTest, ThePodsVariablesComeLaterAndWin) {
  EXPECT_THAT(WithDevices(Gpu(), Environment{{"B", "2"}, {"GPUS", "mine"}}),
              ElementsAre(Pair("SHARED", "of gpu"), Pair("B", "2"), Pair("GPUS", "mine")));
}

TEST(DeviceGrantsTest, ThePodsVolumesWinAndThatIsTold) {
  std::vector<std::string> conflicts;
  const std::vector<BoundMount> mounts =
      WithDevices(Nic(), {{.container_path = "/opt/nic", .host_path = "/srv/own"}}, conflicts);
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(mounts[0].host_path, "/usr/lib/nic");
  EXPECT_EQ(mounts[0].container_path, "/opt/gpu");
  EXPECT_EQ(mounts[1].host_path, "/srv/own");
  EXPECT_THAT(conflicts, ElementsAre("mount /opt/nic: the container mounts a volume there"));
}

TEST(DeviceGrantsTest, PathsThatLeadElsewhereAndVariablesNoProgramCanHaveAreRefusedWithTheirResource) {
  const auto problem = [](const DeviceAnswer& answer) {
    const auto grants = GrantsOf({{"vendor.example/gpu", {"g0"}, answer}});
    return grants ? "" : grants.error().message;
  };
  EXPECT_THAT(problem({.mounts = {{.container_path = "opt", .host_path = "/a"}}}), HasSubstr("a mount at \"opt\""));
  EXPECT_THAT(problem({.mounts = {{.container_path = "/opt", .host_path = "/a/../etc"}}}),
              HasSubstr("vendor.example/gpu: its devices come with a mount of \"/a/../etc\""));
  EXPECT_THAT(problem({.device_nodes = {{.container_path = "/dev/../x", .host_path = "/dev/x"}}}),
              HasSubstr("device node at"));
  EXPECT_THAT(problem({.device_nodes = {{.container_path = "/dev/x", .host_path = ""}}}),
              HasSubstr("device node \"\""));
  EXPECT_THAT(problem({.env = {{"A=B", "1"}}}), HasSubstr("A=B"));
  EXPECT_THAT(problem({.env = {{"A", std::string("x\0y", 3)}}}), HasSubstr("no program can have"));
  const std::string longest(kLongestWord - 2, 'x');  // beside "A="
  EXPECT_EQ(problem({.env = {{"A", longest}}}), "");
  EXPECT_THAT(problem({.env = {{"A", longest + "x"}}}),
              HasSubstr("vendor.example/gpu: its devices come with a variable A of 131072 bytes"));
  EXPECT_EQ(problem({.mounts = {{.container_path = "/a..b/..c", .host_path = "/x/..."}}}), "");
}

TEST(DeviceGrantsTest, ADeviceNodeHasToBeThereAndBeOne) {
  EXPECT_TRUE(CheckThere({{.container_path = "/dev/null", .host_path = "/dev/null"}}));
  EXPECT_TRUE(CheckThere({{.container_path = "/dev/all", .host_path = "/dev"}}));
  EXPECT_EQ(CheckThere({{.container_path = "/x", .host_path = "/dev/berth-no-such-node"}}).error().code,
            Code::kNotFound);
  EXPECT_THAT(CheckThere({{.container_path = "/x", .host_path = "/etc/passwd"}}).error().message,
              HasSubstr("/etc/passwd is no device node"));
}

}  // namespace
}  // namespace berth::runtime
