#include "daemon/kubelet_version_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/played_line_test.h"
#include "daemon/settings.h"
#include "kubernetes/kube_client/fake_api_test.h"
#include "node/checkpoint/kubelet_files.h"
#include "testing/fixtures.h"

namespace berth::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr os::Millis kPatience{60'000};

struct KubeletVersionChoiceTest : ::testing::Test {
  void WriteState(checkpoint::KubeletCpuVersion version) {
    std::ofstream(folder / "cpu_manager_state")
        << checkpoint::FormatKubeletState(checkpoint::KubeletCpuState{.version = version, .policy = "none"});
  }
  /// A program of that name in the folder.
  void InstallKubelet(const std::string& says) const {
    const std::string program = folder / "kubelet";
    std::ofstream(program) << "#!/bin/sh\n[ \"$*\" != --version ] || echo '" << says << "'\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  KubeletVersionChoice Choose(std::function<Result<std::string>()> node = {}) const {
    return ChooseKubeletVersion({.node = std::move(node), .kubelet_dir = folder.path()});
  }
  testkit::TempDir folder;
};

TEST_F(KubeletVersionChoiceTest, WhatAKubeletCallsItselfIsReadAsTheNearestKnownVersion) {
  const auto nearest = [](std::string_view text) {
    const auto version = NearestKubeletVersion(text);
    return version ? Name(*version) : "none";
  };
  EXPECT_EQ(nearest("v1.36.0"), "1.36");
  EXPECT_EQ(nearest("v1.37.2+k3s1"), "1.37");
  EXPECT_EQ(nearest("v1.38.0-alpha.1"), "1.38");
  EXPECT_EQ(nearest("v1.29.4-gke.100"), "1.36");
  EXPECT_EQ(nearest("v1.41.0"), "1.38");
  EXPECT_EQ(nearest("v1.37"), "1.37");
  for (const std::string_view text : {"", "1.37.0", "v1.", "v1.x", "v2.0.0", "v1.-1.0", "v1.99999999999"})
    EXPECT_EQ(nearest(text), "none") << text;
}

TEST_F(KubeletVersionChoiceTest, TheApiServerCountsBeforeStateFilesAndTheseBeforeTheDefault) {
  EXPECT_EQ(Choose().version, kDefaultKubeletVersion);
  EXPECT_THAT(Choose().from, HasSubstr("nothing tells"));
  WriteState(checkpoint::KubeletCpuVersion::kV2);
  EXPECT_EQ(Choose().version, KubeletVersion::k1_36);
  EXPECT_THAT(Choose().from, HasSubstr("state files in " + folder.path()));
  WriteState(checkpoint::KubeletCpuVersion::kV4);
  EXPECT_EQ(Choose().version, KubeletVersion::k1_37);
  const auto told = Choose([] { return std::string("v1.38.1"); });
  EXPECT_EQ(told.version, KubeletVersion::k1_38);
  EXPECT_THAT(told.from, HasSubstr("v1.38.1"));
}

TEST_F(KubeletVersionChoiceTest, ASourceThatFailsIsPassedOverAndNamed) {
  WriteState(checkpoint::KubeletCpuVersion::kV2);
  const auto away = Choose([]() -> Result<std::string> { return Fail(Code::kTimeout, "GET nodes/n1: no answer"); });
  EXPECT_EQ(away.version, KubeletVersion::k1_36);
  EXPECT_FALSE(away.certain);
  EXPECT_TRUE(Choose().certain);
  EXPECT_THAT(away.from, HasSubstr("GET nodes/n1: no answer"));
  const auto odd = Choose([] { return std::string("unknown"); });
  EXPECT_EQ(odd.version, KubeletVersion::k1_36);
  EXPECT_THAT(odd.from, HasSubstr("the API server does not tell: unknown"));
  std::ofstream(folder / "cpu_manager_state") << "junk";
  EXPECT_EQ(Choose().version, kDefaultKubeletVersion);
  EXPECT_THAT(Choose().from, HasSubstr("cpu_manager_state"));
}

TEST_F(KubeletVersionChoiceTest, TheInstalledKubeletIsAskedForItsVersion) {
  const auto none = AskKubeletProgram(folder.path(), kPatience);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  InstallKubelet("Kubernetes v1.38.2");
  const auto version = AskKubeletProgram(folder.path(), kPatience);
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_EQ(*version, "v1.38.2");
  InstallKubelet("something else");
  const auto odd = AskKubeletProgram(folder.path(), kPatience);
  ASSERT_FALSE(odd);
  EXPECT_THAT(odd.error().message, HasSubstr("kubelet --version says \"something else"));
}

TEST_F(KubeletVersionChoiceTest, TheInstalledKubeletCountsAfterTheApiServerAndBeforeStateFiles) {
  WriteState(checkpoint::KubeletCpuVersion::kV2);
  using Source = std::function<Result<std::string>()>;
  const auto choose = [&](Source node, Source program) {
    return ChooseKubeletVersion({.node = std::move(node), .program = std::move(program), .kubelet_dir = folder.path()});
  };
  const Source newer = [] { return std::string("v1.38.0"); };
  EXPECT_EQ(choose([] { return std::string("v1.37.0"); }, newer).version, KubeletVersion::k1_37);
  const auto installed =
      choose([]() -> Result<std::string> { return Fail(Code::kTimeout, "no answer from it"); }, newer);
  EXPECT_EQ(installed.version, KubeletVersion::k1_38);
  EXPECT_THAT(installed.from, HasSubstr("installed is v1.38.0; the API server does not tell: no answer from it"));
  const auto missing = choose({}, []() -> Result<std::string> { return Fail(Code::kNotFound, "none here"); });
  EXPECT_EQ(missing.version, KubeletVersion::k1_36);
  EXPECT_THAT(missing.from, ::testing::Not(HasSubstr("none here")));
  const auto odd = choose({}, [] { return std::string("unknown"); });
  EXPECT_EQ(odd.version, KubeletVersion::k1_36);
  EXPECT_THAT(odd.from, HasSubstr("the program kubelet does not tell: unknown"));
}

TEST_F(KubeletVersionChoiceTest, TheNodeOfTheApiServerNamesItsKubelet) {
  const std::vector<std::string> answers = {
      kube::JsonAnswer(
          200, R"({"metadata":{"name":"n1"},"status":{"nodeInfo":{"osImage":"x","kubeletVersion":"v1.37.2"}}})"),
      kube::JsonAnswer(200, R"({"metadata":{"name":"n1"},"status":{}})"),
      kube::JsonAnswer(403, kube::StatusText(403, "Forbidden"))};
  kube::FakeApi api([&](const kube::Asked&, int number, int fd) {
    testkit::SendAll(fd, answers.at(static_cast<std::size_t>(number - 1)));
  });
  const std::string kubeconfig = folder / "node.conf";
  std::ofstream(kubeconfig) << kube::KubeconfigOf(api.access());
  const auto version = AskNodesKubelet(kubeconfig, "n1", kPatience);
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_EQ(*version, "v1.37.2");
  EXPECT_THAT(api.lines(), ElementsAre("GET /api/v1/nodes/n1"));
  const auto none = AskNodesKubelet(kubeconfig, "n1", kPatience);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("node n1 has no nodeInfo"));
  EXPECT_FALSE(AskNodesKubelet(kubeconfig, "n1", kPatience));
  EXPECT_FALSE(AskNodesKubelet(folder / "none.conf", "n1", kPatience));
}

TEST_F(KubeletVersionChoiceTest, TheSettingOutweighsWhatIsFoundAndAPlayedNodeFindsNothing) {
  WriteState(checkpoint::KubeletCpuVersion::kV2);
  const auto choice = [&](const std::string& fields, const CommandLine& line) {
    CommandLine with = line;
    with.config = folder / "berth.yaml";
    std::ofstream(*with.config) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nkubeletDir: "
                                << folder.path() << "\n"
                                << fields;
    const auto settings = LoadSettings(with);
    return settings ? std::string(Name(settings->kubelet_version)) : settings.error().message;
  };
  const char* const path = std::getenv("PATH");
  const std::string before = path != nullptr ? path : "";
  ::setenv("PATH", folder.path().c_str(), 1);  // whatever this host has installed
  EXPECT_EQ(choice("", {}), "1.36");
  InstallKubelet("Kubernetes v1.37.1");
  EXPECT_EQ(choice("", {}), "1.37");
  EXPECT_EQ(choice("kubeletVersion: 1.38\n", {}), "1.38");
  InstallKubelet("Kubernetes v1.38.0");
  EXPECT_EQ(choice("", PlayedLine(folder)), "1.37");
  EXPECT_EQ(choice("kubeletVersion: 1.36\n", PlayedLine(folder)), "1.36");
  ::setenv("PATH", before.c_str(), 1);
}

TEST_F(KubeletVersionChoiceTest, AVersionThatIsFoundAnewWaitsForARestartAndIsNamed) {
  Settings now;
  now.kubelet_version = KubeletVersion::k1_37;
  Settings running;
  running.kubelet_version = KubeletVersion::k1_36;
  EXPECT_THAT(TakeReloadable(running, now), ElementsAre("kubeletVersion"));
  EXPECT_EQ(running.kubelet_version, KubeletVersion::k1_36);
  now.kubelet_version_certain = false;
  EXPECT_THAT(TakeReloadable(running, now), ElementsAre()) << "the API server is away, say";
  now.kubelet_version_certain = true;
  now.kubelet_version = KubeletVersion::k1_36;
  now.berth.kubelet_version = KubeletVersion::k1_36;
  EXPECT_THAT(TakeReloadable(running, now), ElementsAre());
}

}  // namespace
}  // namespace berth::daemon
