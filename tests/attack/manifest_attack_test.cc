// Attacks by who may give manifests, by folder, API or URL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "attack_fixture.h"
#include "testing/raw_server.h"

namespace berth::testkit {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct ManifestAttackTest : AttackTest {
  void StillRunsPods() {
    node.AddPod("after.yaml", ScriptPod("after", "sleep 100"));
    EXPECT_TRUE(node.Until("a good pod starts", [&] { return node.Runs("after"); }));
  }
};

/// Each variable is the one before, twice: 2^39 bytes in the end.
std::string DoublingPod(const std::string& name) {
  std::string env = "    env:\n    - {name: A0, value: xx}\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "$(A" + std::to_string(i - 1) + ")";
    env += "    - {name: A" + std::to_string(i) + ", value: \"" + before + before + "\"}\n";
  }
  return ScriptPod(name, "sleep 100") + env;
}

TEST_F(ManifestAttackTest, AnEnvironmentThatDoublesIsRefusedFromFolderAndApi) {
  node.AddPod("bomb.yaml", DoublingPod("bomb"));
  ASSERT_TRUE(node.Until("it is told", [&] {
    return node.CountEvents("FailedCreatePodContainer", "A") > 0 || node.CountEvents("Failed", "A") > 0;
  }));
  EXPECT_THAT(PostManifest(DoublingPod("second")), StartsWith("HTTP/1.1 200"));
  StillRunsPods();
  EXPECT_FALSE(node.Runs("bomb"));
  EXPECT_FALSE(node.Runs("second"));
}

/// Variables up to one of 64 KiB, A12, then `more` that repeat it.
std::string LongVariables(int more) {
  std::string env = "    env:\n    - {name: A0, value: xxxxxxxxxxxxxxxx}\n";
  for (int i = 1; i <= 12; ++i) {
    const std::string before = "$(A" + std::to_string(i - 1) + ")";
    env += "    - {name: A" + std::to_string(i) + ", value: \"" + before + before + "\"}\n";
  }
  for (int i = 0; i < more; ++i) env += "    - {name: B" + std::to_string(i) + ", value: $(A12)}\n";
  return env;
}

TEST_F(ManifestAttackTest, ManyLongVariablesOfOneContainerAreNeverAllHeld) {
  node.AddPod("long.yaml", ScriptPod("long", "sleep 100") + LongVariables(10'000));  // 0.6 GB
  ASSERT_TRUE(node.Until("it is told", [&] {
    return node.CountEvents("FailedCreatePodContainer", "6 MiB") > 0 || node.CountEvents("Failed", "6 MiB") > 0;
  }));
  StillRunsPods();
  EXPECT_FALSE(node.Runs("long"));
}

TEST_F(ManifestAttackTest, ManyContainersOfLongVariablesAreOnePodsBudget) {
  std::string text = ScriptPod("wide", "sleep 100") + LongVariables(60);
  for (int i = 0; i < 200; ++i)  // 4 MiB each
    text += "  - name: c" + std::to_string(i) + "\n    command: [sleep, \"100\"]\n" + LongVariables(60);
  node.AddPod("wide.yaml", text);
  ASSERT_TRUE(node.Until("it is told", [&] {
    return node.CountEvents("FailedCreatePodContainer", "8 MiB") > 0 || node.CountEvents("Failed", "8 MiB") > 0;
  }));
  StillRunsPods();
  EXPECT_FALSE(node.Runs("wide"));
}

TEST_F(ManifestAttackTest, AliasesManyContainersAndManyPodsAreRefused) {
  std::string aliases = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string n = std::to_string(i);
    const std::string before = "*a" + std::to_string(i - 1);
    aliases += "a" + n + ": &a" + n + " [" + before;
    for (int j = 1; j < 10; ++j) aliases += "," + before;
    aliases += "]\n";
  }
  node.AddPod("aliases.yaml", ScriptPod("aliases", "sleep 100") + aliases);
  std::string containers = ScriptPod("wide", "sleep 100");
  for (int i = 0; i < 5000; ++i)
    containers += "  - {name: c" + std::to_string(i) + ", image: none, command: [sleep, \"100\"]}\n";
  node.AddPod("wide.yaml", containers);
  std::string pods;
  for (int i = 0; i < 5000; ++i) pods += ScriptPod("p" + std::to_string(i), "sleep 100") + "---\n";
  node.AddPod("pods.yaml", pods);
  for (const char* const file : {"aliases.yaml", "wide.yaml", "pods.yaml"})
    EXPECT_TRUE(node.Until(file, [&] { return node.CountEvents("FailedValidation", file) > 0; }));
  StillRunsPods();
}

TEST_F(ManifestAttackTest, LargeFilesAreRefusedWithoutTakingMemory) {
  node.AddPod("lines.yaml", PodsInLines());
  node.AddPod("brackets.yaml", "x: " + std::string(9'500'000, '['));
  node.AddPod("larger.yaml", std::string(60'000'000, ' '));
  for (const char* const file : {"lines.yaml", "brackets.yaml", "larger.yaml"})
    EXPECT_TRUE(node.Until(file, [&] { return node.CountEvents("FailedValidation", file) > 0; }));
  StillRunsPods();
}

TEST_F(ManifestAttackTest, WhatOthersMayWriteIsNotRun) {
  const std::string file = node.Dir("pods/foreign.yaml");
  std::ofstream(file) << "";
  ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
  std::ofstream(file) << ScriptPod("foreign", "sleep 100");
  EXPECT_TRUE(node.Until("it is told", [&] { return node.CountEvents("FailedValidation", "foreign.yaml") > 0; }));
  StillRunsPods();
  EXPECT_TRUE(node.PodNamed("foreign").is_null());
}

/// A web server that says what it likes.
struct UrlAttackTest : AttackTest {
  bool starts_itself() const override { return true; }
  void BeginWith(RawServer& server) {
    node.Configure("staticPodURL: " + server.url() + "\nhttpCheckFrequency: 100ms\n");
    Begin();
    ASSERT_TRUE(node.Until("it was told", [&] { return node.CountEvents("FailedValidation", server.url()) > 0; }));
  }
};

TEST_F(UrlAttackTest, AStatusLineOfFiftyThousandBytesIsAnError) {
  RawServer server("HTTP/1.1 200 " + std::string(50'000, 'a') + "\r\nContent-Length: 0\r\n\r\n");
  BeginWith(server);
}

TEST_F(UrlAttackTest, AHeaderWithoutAnEndIsCutOff) {
  RawServer server([](int fd) {
    ReceiveAll(fd, "\r\n\r\n");
    if (!SendAll(fd, "HTTP/1.1 200 OK\r\nX: ")) return;
    const std::string piece(65'536, 'a');
    for (int i = 0; i < 8000 && SendAll(fd, piece); ++i) {  // 500 MB
    }
  });
  BeginWith(server);
}

TEST_F(UrlAttackTest, ABodyWithoutAnEndIsCutOff) {
  RawServer server([](int fd) {
    ReceiveAll(fd, "\r\n\r\n");
    if (!SendAll(fd, "HTTP/1.1 200 OK\r\n\r\n")) return;
    const std::string piece(65'536, '[');
    for (int i = 0; i < 8000 && SendAll(fd, piece); ++i) {
    }
  });
  BeginWith(server);
}

TEST_F(UrlAttackTest, ALargeBodyOfManyPodsIsRefusedWithoutTakingMemory) {
  RawServer server(HttpText(200, "", PodsInLines()));
  BeginWith(server);
}

TEST_F(UrlAttackTest, ALargeBodyOfNestedBracketsIsRefusedWithoutTakingMemory) {
  RawServer server(HttpText(200, "", "x: " + std::string(9'500'000, '[')));
  BeginWith(server);
}

}  // namespace
}  // namespace berth::testkit
