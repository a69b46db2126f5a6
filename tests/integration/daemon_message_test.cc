// What containers say about their end, as processes on this host.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "daemon_fixture.h"

namespace berth::testkit {
namespace {

struct DaemonMessageTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    std::filesystem::create_directory(mount);
    node.Start();
  }
  void Add(const std::string& name, const std::string& script, const std::string& container) {
    node.AddPod(name + ".yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                                    "}\nspec:\n  restartPolicy: Never\n  terminationGracePeriodSeconds: 1\n"
                                    "  volumes: [{name: words, emptyDir: {}}]\n"
                                    "  containers:\n  - name: app\n    command: [/bin/sh, -c]\n    args: [\"" +
                                    script + "\"]\n    volumeMounts: [{name: words, mountPath: " + mount + "}]\n" +
                                    container);
  }
  /// Of its only end; "-": it has not ended.
  std::string MessageOf(const std::string& name) {
    const codec::Json pod = node.PodNamed(name);
    if (!pod.is_object() || !pod["containers"][0]["lastEnd"].is_object()) return "-";
    return pod["containers"][0]["lastEnd"]["message"];
  }
  std::string Path() const { return "    terminationMessagePath: " + mount + "/why\n"; }

  DaemonFixture node;
  const std::string mount = node.Dir("mnt");
};

TEST_F(DaemonMessageTest, TheEndOfItsFileIsItsMessageAlsoAfterARestart) {
  Add("short", "echo because > " + mount + "/why; exit 3", Path());
  Add("long", "seq 2000 > " + mount + "/why", Path());
  Add("mode", "stat -c %a " + mount + "/why > " + mount + "/why", Path());
  EXPECT_TRUE(node.Until("its message is there", [&] { return MessageOf("short") == "because"; }));
  EXPECT_TRUE(node.Until("its message is there", [&] { return MessageOf("mode") == "666"; }));
  ASSERT_TRUE(node.Until("its message is there", [&] { return MessageOf("long").ends_with("1999\n2000"); }));
  EXPECT_LE(MessageOf("long").size(), 4096U);
  EXPECT_GT(MessageOf("long").size(), 4000U);
  node.Kill();
  node.Start();
  EXPECT_TRUE(node.Until("it is there again", [&] { return MessageOf("short") == "because"; }));
  for (const char* const name : {"short", "long", "mode"}) node.RemovePod(std::string(name) + ".yaml");
  EXPECT_TRUE(node.Until("nothing is left", [&] { return node.Leftovers().empty(); }));
}

TEST_F(DaemonMessageTest, TheUsualPathIsItsOwnAndTheHostsFileStaysAsItIs) {
  const std::string usual = "/dev/termination-log";
  const std::string before = std::filesystem::exists(usual) ? ReadText(usual) : "";
  const std::string script = "echo $HOSTNAME why > " + usual + "; test -c /dev/null && echo x > /dev/null";
  Add("named", script, "    env: [{name: HOSTNAME, value: named}]\n    terminationMessagePath: " + usual + "\n");
  Add("sealed", script,
      "    env: [{name: HOSTNAME, value: sealed}]\n    securityContext: {readOnlyRootFilesystem: true}\n");
  Add("plain", script, "    env: [{name: HOSTNAME, value: plain}]\n");
  for (const std::string name : {"named", "sealed", "plain"}) {
    EXPECT_TRUE(node.Until("its message is there", [&] { return MessageOf(name) == name + " why"; })) << name;
    EXPECT_EQ(node.PodNamed(name)["containers"][0]["lastEnd"]["exitCode"], 0) << "its /dev is the host's otherwise";
  }
  EXPECT_EQ(ReadText(usual), before) << "nothing of it is on the host";
}

TEST_F(DaemonMessageTest, TheLastLinesOfTheLogStandInForItWhereItFailedAndItsManifestSaysSo) {
  const std::string instead = "    terminationMessagePolicy: FallbackToLogsOnError\n";
  Add("failed", "seq 200; echo at last; exit 1", instead);
  Add("fine", "echo nothing to tell", instead);
  Add("silent", "echo why; exit 1", "");
  ASSERT_TRUE(node.Until("its message is there", [&] { return MessageOf("failed").ends_with("200\nat last"); }));
  EXPECT_EQ(MessageOf("failed").substr(0, 4), "122\n") << "80 lines";
  ASSERT_TRUE(node.Until("all have ended", [&] { return MessageOf("fine") != "-" && MessageOf("silent") != "-"; }));
  EXPECT_EQ(MessageOf("fine") + MessageOf("silent"), "");
}

}  // namespace
}  // namespace berth::testkit
