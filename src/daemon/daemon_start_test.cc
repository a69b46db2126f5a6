#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "daemon/daemon.h"
#include "daemon/played_line_test.h"
#include "testing/fixtures.h"

namespace berth::daemon {
namespace {

/// A dry run with all its folders below one temporary folder.
struct DaemonStartTest : testing::Test {
  Result<std::unique_ptr<Daemon>> Start() {
    const CommandLine line = PlayedLine(temp);
    auto settings = LoadSettings(line);
    if (!settings) return std::unexpected(settings.error());
    return Daemon::Make(line, *std::move(settings), "test", Notifier(), log);
  }
  void SaveLedgerWith(const PodRecord& record) {
    checkpoint::Saved saved;
    saved.ledger.cpu_policy = "none";
    saved.ledger.memory_policy = "None";
    saved.ledger.pods.emplace(record.uid, record);
    auto store = checkpoint::Store::Open(temp / "state");
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE((*store)->Save(saved));
  }
  bool HasPodFolder() const { return ::access(pods.c_str(), F_OK) == 0; }

  testkit::TempDir temp;
  std::string pods = temp / "pods";
  events::Log log{events::LogLevel::kError};
};

TEST(LoadSettingsTest, ANodeNameOfTheCommandLineIsWhatOneOfTheFileHasToBe) {
  CommandLine line;
  for (const char* bad : {"-bad", "bad-", "a..b", "trailing.", ".a", "a_b", "a b"}) {
    line.node_name = bad;
    const auto settings = LoadSettings(line);
    ASSERT_FALSE(settings) << bad;
    EXPECT_EQ(settings.error().code, Code::kInvalid);
    EXPECT_NE(settings.error().message.find("nodeName: Invalid value: \"" + std::string(bad)), std::string::npos)
        << settings.error().message;
    EXPECT_NE(settings.error().message.find("--node-name"), std::string::npos) << settings.error().message;
  }
  line.node_name = std::string(254, 'a');
  EXPECT_FALSE(LoadSettings(line));
  line.node_name = "Node-1.example";
  const auto settings = LoadSettings(line);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->berth.node_name, "node-1.example");
}

TEST(LoadSettingsTest, PodLogsDirCountsUnlessBerthHasALogDirAndThatIsSaid) {
  const testkit::TempDir temp;
  CommandLine line;
  line.kubelet_config = temp / "kubelet.yaml";
  std::ofstream(*line.kubelet_config)
      << "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\npodLogsDir: /var/log/mine\n";
  auto settings = LoadSettings(line);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(PodLogsOf(*settings), "/var/log/mine");
  EXPECT_TRUE(settings->warnings.empty());
  line.log_dir = temp / "log";
  settings = LoadSettings(line);
  ASSERT_TRUE(settings);
  EXPECT_EQ(PodLogsOf(*settings), temp / "log/pods");
  ASSERT_EQ(settings->warnings.size(), 1U);
  EXPECT_NE(settings->warnings[0].find("podLogsDir: has no effect"), std::string::npos);
}

TEST(LoadSettingsTest, TheSocketIsInTheRunFolderUnlessItIsNamed) {
  const testkit::TempDir temp;
  const auto socket = [&](const std::string& config, const CommandLine& given) {
    CommandLine line = given;
    line.config = temp / "berth.yaml";
    std::ofstream(*line.config) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n" << config;
    const auto settings = LoadSettings(line);
    return settings ? settings->berth.socket : settings.error().message;
  };
  CommandLine run_dir;
  run_dir.run_dir = "/elsewhere";
  EXPECT_EQ(socket("", CommandLine()), "/run/berth/berth.sock");
  EXPECT_EQ(socket("runDir: /r\n", CommandLine()), "/r/berth.sock");
  EXPECT_EQ(socket("runDir: /r\n", run_dir), "/elsewhere/berth.sock");
  EXPECT_EQ(socket("socket: /s/b.sock\n", run_dir), "/s/b.sock");
  run_dir.socket = "/given.sock";
  EXPECT_EQ(socket("socket: /s/b.sock\n", run_dir), "/given.sock");
}

TEST_F(DaemonStartTest, MakesAMissingPodFolderOnAFreshNode) {
  const auto daemon = Start();
  ASSERT_TRUE(daemon) << daemon.error().message;
  EXPECT_TRUE(HasPodFolder());
}

TEST_F(DaemonStartTest, DoesNotMakeAMissingPodFolderWhilePodsAreHeld) {
  PodRecord record{.uid = "u1", .namespace_ = "default", .name = "web-n1"};
  record.placements.push_back({.container = "app"});
  SaveLedgerWith(record);
  const auto daemon = Start();
  ASSERT_TRUE(daemon) << daemon.error().message;
  EXPECT_FALSE(HasPodFolder()) << "an empty folder would end the pods of one that was only moved away";
}

}  // namespace
}  // namespace berth::daemon
