#include "simulator/offline/offline_node.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "testing/fixtures.h"

namespace berth::offline {
namespace {

TEST(OfflineNodeTest, EveryOptionOfDecisionsInTheSettingsCounts) {
  const testkit::TempDir dir;
  const auto load = [&](const std::string& settings) {
    const std::string file = dir / "berth.yaml";
    std::ofstream(file) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n" << settings;
    std::ostringstream err;
    const auto node = LoadOfflineNode({.machine = "core:4 pu:1", .config = {}, .berth_config = file}, err);
    EXPECT_TRUE(node) << node.error().message;
    EXPECT_EQ(err.str(), "");
    return node->node.options();
  };
  EXPECT_EQ(load(""), (allocator::EngineOptions{.whole_cores = true}));
  EXPECT_EQ(load("nodeFit: false\nwholeCores: false\n"), allocator::EngineOptions{.node_fit = false});
  EXPECT_EQ(load("closeDevices: true\n"), (allocator::EngineOptions{.whole_cores = true, .close_devices = true}));
  EXPECT_EQ(load("judgeByFreeMemory: true\n"),
            (allocator::EngineOptions{.whole_cores = true, .judge_by_free_memory = true}));
  EXPECT_EQ(load("memoryGroupsOverlap: true\n"),
            (allocator::EngineOptions{.whole_cores = true, .memory_groups_overlap = true}));
  EXPECT_EQ(load("podFallsBack: true\n"), (allocator::EngineOptions{.whole_cores = true, .pod_falls_back = true}));
  EXPECT_EQ(load("keepRestAligned: true\n"),
            (allocator::EngineOptions{.whole_cores = true, .keep_rest_aligned = true}));
  EXPECT_EQ(load("lookAhead: true\n"), (allocator::EngineOptions{.whole_cores = true, .look_ahead = true}));
}

TEST(OfflineNodeTest, TheVersionOfTheKubeletIsTheCommandLinesElseThatOfTheSettings) {
  const testkit::TempDir dir;
  const std::string file = dir / "berth.yaml";
  std::ofstream(file) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nkubeletVersion: 1.36\n";
  const std::string kubelet = dir / "kubelet.yaml";
  std::ofstream(kubelet) << "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                            "featureGates: {SidecarContainers: true}\n";
  const auto version = [&](const std::string& config, const std::string& settings, const std::string& said) {
    std::ostringstream err;
    const auto node = LoadOfflineNode(
        {.machine = "core:4 pu:1", .config = config, .berth_config = settings, .kubelet_version = said}, err);
    return node ? std::string(Name(node->node.options().kubelet_version)) : node.error().message;
  };
  EXPECT_EQ(version("", "", ""), "1.37");
  EXPECT_EQ(version("", file, ""), "1.36");
  EXPECT_EQ(version("", file, "1.38"), "1.38");
  EXPECT_EQ(version(kubelet, file, ""), "1.36");
  EXPECT_NE(version(kubelet, "", "1.37").find("this feature gate was removed"), std::string::npos);
  EXPECT_NE(version("", "", "1.39").find("is no kubelet version"), std::string::npos);
}

TEST(OfflineNodeTest, AMadeNameDoesNotDependOnHowTheFileIsNamed) {
  const testkit::TempDir dir;
  const std::string file = dir / "pod.yaml";
  std::ofstream(file) << "apiVersion: v1\nkind: Pod\nmetadata: {generateName: web-}\n"
                         "spec: {containers: [{name: a, image: b}]}\n";
  const std::string link = dir / "link.yaml";
  std::filesystem::create_symlink(file, link);
  std::ostringstream err;
  const auto straight = LoadPods(file, err);
  const auto through = LoadPods(link, err);
  ASSERT_TRUE(straight && through);
  EXPECT_EQ(straight->front().name, through->front().name);
}

}  // namespace
}  // namespace berth::offline
